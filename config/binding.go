package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// bindingRoot is the variable of the Service Binding Specification for Kubernetes 1.0.
// It names the directory with a directory for each binding, in which each entry is a file.
const bindingRoot = "SERVICE_BINDING_ROOT"

// bindingKeys are the entries of a binding of type kafka, by the setting they fill, as
// the Strimzi Access Operator writes them. Of several names the first is taken.
var bindingKeys = map[string][]string{
	kafkaBrokers:     {"bootstrap.servers", "bootstrap-servers", "bootstrapServers"},
	securityProtocol: {"security.protocol", "securityProtocol"},
	tlsCA:            {"ssl.truststore.crt"},
	tlsCert:          {"ssl.keystore.crt"},
	tlsKey:           {"ssl.keystore.key"},
	saslMechanism:    {"sasl.mechanism", "saslMechanism"},
	saslUsername:     {"username", "user"},
	saslPassword:     {"password"},
}

// bind finds the binding of type kafka, of which there is at most one. Bindings of
// other types are of something else.
func (r *reader) bind() {
	root := strings.TrimSpace(r.env[bindingRoot])
	if root == "" {
		return
	}
	entries, err := r.host.readDir(root)
	if err != nil {
		r.refuseBinding(fmt.Sprintf("the directory %s %v", quote(root), cannotRead(err)))
		return
	}
	if kind, err := r.host.readFile(filepath.Join(root, "type")); err == nil && isKafka(kind) {
		r.refuseBinding(fmt.Sprintf("%s is a binding of type kafka itself, want the directory that it is in", quote(root)))
		return
	}
	var found []string
	for _, entry := range entries {
		dir := filepath.Join(root, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") || entry.Type().IsRegular() { // Kubernetes has ..data beside what it mounts
			continue
		}
		kind, err := r.host.readFile(filepath.Join(dir, "type"))
		switch {
		case err == nil && isKafka(kind):
			found = append(found, dir)
		case err != nil && !isMissing(err): // it may be of type kafka, and ask for TLS
			r.refuseBinding(fmt.Sprintf("the file %s %v", quote(filepath.Join(dir, "type")), err))
		}
	}
	if len(found) > 1 {
		r.refuseBinding(fmt.Sprintf("has %d bindings of type kafka, want one: %s", len(found), strings.Join(found, ", ")))
		return
	}
	if len(found) == 1 {
		r.bindingDir = found[0]
	}
}

// isKafka reports whether the content of an entry type is of a binding to Kafka.
func isKafka(kind []byte) bool { return strings.EqualFold(strings.TrimSpace(string(kind)), "kafka") }

// isMissing reports whether a file is not there, as an entry of another binding may not be.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// bound returns the value of a setting from the binding; empty if it has none. An entry
// that is there and cannot be read is a problem.
func (r *reader) bound(s *setting) (text string, ok bool) {
	if r.bindingDir == "" {
		return "", true
	}
	for _, key := range bindingKeys[s.Variable] {
		path := filepath.Join(r.bindingDir, key)
		content, err := r.host.readFile(path)
		switch {
		case err == nil:
			r.files[s.Variable], r.fromBinding[s.Variable] = path, true
			return r.textIn(s, content)
		case !isMissing(err):
			r.refuse(s.Variable, fmt.Sprintf("the file %s of %s %v", quote(path), bindingRoot, err))
			return "", false
		}
	}
	return "", true
}

// binding refuses an entry about TLS or a login that fills no setting, such as a key
// store. Without it the connection would be without TLS or a login, and nobody says so.
func (c connectionRules) binding() {
	if c.r.bindingDir == "" || c.r.given[securityProtocol] || c.r.given[tlsEnabled] {
		return
	}
	entries, err := c.r.host.readDir(c.r.bindingDir)
	if err != nil {
		c.r.refuseBinding(fmt.Sprintf("the directory %s %v", quote(c.r.bindingDir), cannotRead(err)))
	}
	for _, entry := range entries {
		meant, security := misnamed("KAFKA_" + entry.Name())
		lacks := !c.k.TLSOn()
		if strings.HasPrefix(meant, "KAFKA_SASL_") {
			lacks = c.k.SASL.Mechanism == "" && !c.r.bad[saslMechanism]
		}
		if security && lacks && !isBindingKey(entry.Name()) {
			c.r.refuseBinding(fmt.Sprintf("the entry %s fills no setting, and to go on without it could be to connect without TLS or without a login: set %s to the one that is meant",
				quote(filepath.Join(c.r.bindingDir, entry.Name())), securityProtocol))
			return
		}
	}
}

func isBindingKey(name string) bool {
	for _, keys := range bindingKeys {
		if slices.Contains(keys, name) {
			return true
		}
	}
	return false
}
