package config

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// bindings makes a root of bindings, each as Kubernetes mounts it. The entries are links
// into ..data, which is a link to a directory that changes as a whole.
func bindings(t *testing.T, all map[string]map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, entries := range all {
		dir := filepath.Join(root, name)
		content := filepath.Join(dir, "..2026_11_22")
		must(t, os.MkdirAll(content, 0o700))
		must(t, os.Symlink("..2026_11_22", filepath.Join(dir, "..data")))
		for key, text := range entries {
			must(t, os.WriteFile(filepath.Join(content, key), []byte(text), 0o600))
			must(t, os.Symlink(filepath.Join("..data", key), filepath.Join(dir, key)))
		}
	}
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// withBindings is a valid environment but for the brokers, with a root of bindings.
func withBindings(root string, more ...string) []string {
	return append(minimal("KAFKA_BROKERS=", bindingRoot+"="+root), more...)
}

// strimzi is what the Strimzi Access Operator writes for a TLS listener with SCRAM.
func strimzi(t *testing.T) map[string]string {
	return map[string]string{
		"type": "kafka", "provider": "strimzi",
		"bootstrap.servers": "cluster-kafka-bootstrap.kafka.svc:9093", "bootstrapServers": "cluster-kafka-bootstrap.kafka.svc:9093", "bootstrap-servers": "cluster-kafka-bootstrap.kafka.svc:9093",
		"security.protocol": "SASL_SSL", "securityProtocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "saslMechanism": "SCRAM-SHA-512",
		"username": "my-user", "user": "my-user", "password": "hunter2", "sasl.jaas.config": "org.apache.kafka... password=\"hunter2\";",
		"ssl.truststore.crt": certificates(t).ca,
	}
}

func TestABindingIsAWholeConnection(t *testing.T) {
	root := bindings(t, map[string]map[string]string{"my-kafka": strimzi(t), "my-db": {"type": "postgresql", "username": "x", "password": "y"}})
	cfg, warnings, err := load(withBindings(root), realFiles())
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	k := cfg.Kafka
	if !slices.Equal(k.Brokers, []string{"cluster-kafka-bootstrap.kafka.svc:9093"}) || !k.TLSOn() || k.SecurityProtocol != ProtocolSASLSSL ||
		k.SASL.Mechanism != MechanismScramSHA512 || k.SASL.Username.text() != "my-user" || k.SASL.Password.text() != "hunter2" || !k.TLS.CA.IsSet() {
		t.Errorf("got %+v", k)
	}
	// A change of the Secret is a change of the link.
	dir := filepath.Join(root, "my-kafka")
	must(t, os.MkdirAll(filepath.Join(dir, "..2027"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "..2027", "password"), []byte("changed"), 0o600))
	must(t, os.Remove(filepath.Join(dir, "..data")))
	must(t, os.Symlink("..2027", filepath.Join(dir, "..data")))
	if got, err := k.SASL.Password.Read(); got != "changed" || err != nil {
		t.Errorf("the password is %q, %v", got, err)
	}
	client, _, err := loadClient([]string{bindingRoot + "=" + bindings(t, map[string]map[string]string{"a": strimzi(t)})}, realFiles())
	if err != nil || len(client.Kafka.Brokers) != 1 {
		t.Errorf("a client: %+v, %v", client, err)
	}
}

// TestEveryKeyOfABindingFillsItsSetting tries each name of each key alone.
func TestEveryKeyOfABindingFillsItsSetting(t *testing.T) {
	crypt := certificates(t)
	values := map[string]string{
		kafkaBrokers: "bound:1", securityProtocol: "SASL_SSL", tlsCA: crypt.ca, tlsCert: crypt.cert, tlsKey: crypt.key,
		saslMechanism: "SCRAM-SHA-512", saslUsername: "bound", saslPassword: " bound ",
	}
	if len(values) != len(bindingKeys) {
		t.Fatalf("%d values of %d settings", len(values), len(bindingKeys))
	}
	for variable, keys := range bindingKeys {
		for _, key := range keys {
			t.Run(key, func(t *testing.T) {
				root := bindings(t, map[string]map[string]string{"a": {"type": "kafka", key: values[variable] + "\n"}})
				environ := append(companions(t, variable), bindingRoot+"="+root, variable+"=")
				cfg, _, err := load(environ, realFiles())
				if err != nil {
					t.Fatal(err)
				}
				want := fieldOf(mustLoad(t, alone(t, variable, values[variable])), variable)
				if got := fieldOf(cfg, variable); !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
				// Whatever is set counts before it.
				set := alone(t, variable, exampleOfVariable(t, variable))
				got, _, err := load(append(set, bindingRoot+"="+root), realFiles())
				if err != nil || !reflect.DeepEqual(fieldOf(got, variable), fieldOf(mustLoad(t, set), variable)) {
					t.Errorf("beside a value that is set: got %v, %v", fieldOf(got, variable), err)
				}
			})
		}
	}
}

func exampleOfVariable(t *testing.T, variable string) string {
	t.Helper()
	for _, s := range settingsOf(new(Config)) {
		if s.Variable == variable {
			return exampleOf(t, s)
		}
	}
	t.Fatalf("no setting %s", variable)
	return ""
}

func TestABindingIsShownAsTheOrigin(t *testing.T) {
	root := bindings(t, map[string]map[string]string{"a": strimzi(t)})
	r := newReader(withBindings(root, "KAFKA_SASL_USERNAME=other"), realFiles())
	if _, err := r.readAll(); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]Value)
	for _, v := range r.values(nil, goRuntime{limit: math.MaxInt64}) {
		got[v.Variable] = v
	}
	for variable, want := range map[string]Value{
		kafkaBrokers: {Text: "cluster-kafka-bootstrap.kafka.svc:9093", Origin: Origin{FromBinding, filepath.Join(root, "a", "bootstrap.servers")}},
		saslPassword: {Text: "set, 7 bytes", Secret: true, Origin: Origin{FromBinding, filepath.Join(root, "a", "password")}},
		saslUsername: {Text: "other", Origin: Origin{Kind: FromEnvironment}},
		tlsKey:       {Secret: true, Origin: Origin{Kind: FromDefault}},
	} {
		want.Variable = variable
		if got[variable] != want {
			t.Errorf("got  %+v\nwant %+v", got[variable], want)
		}
	}
	if text := (Origin{FromBinding, "/b/password"}).String(); text != "binding /b/password" {
		t.Errorf("got %q", text)
	}
}

func TestBindingsOfOtherKindsAreNothing(t *testing.T) {
	root := bindings(t, map[string]map[string]string{"db": {"type": "mysql", "password": "x"}, "none": {"password": "x"}, "..old": strimzi(t), ".hidden": strimzi(t)})
	must(t, os.WriteFile(filepath.Join(root, "README"), []byte("kafka"), 0o600))
	must(t, os.Symlink(filepath.Join(root, "README"), filepath.Join(root, "link")))
	must(t, os.Symlink(filepath.Join(root, "nowhere"), filepath.Join(root, "dangling")))
	cfg, warnings, err := load(minimal(bindingRoot+"="+root), realFiles())
	if err != nil || len(warnings) > 0 || cfg.Kafka.SASL.Password.IsSet() || cfg.Kafka.TLSOn() {
		t.Errorf("got %+v, %q, %v", cfg, warnings, err)
	}
	mustLoad(t, minimal(bindingRoot+"= "))
}

func TestBindingsThatAreRefused(t *testing.T) {
	refused := func(environ []string, variable string, parts ...string) {
		t.Helper()
		_, _, err := load(environ, realFiles())
		var all *Errors
		if !errors.As(err, &all) || len(all.Problems) != 1 || all.Problems[0].Variable != variable || all.Problems[0].Example == "" {
			t.Fatalf("%q: got %v, want one problem of %s", environ, err, variable)
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in %v", part, err)
			}
		}
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v", err)
		}
	}
	one := func(changes map[string]string) string {
		entries := strimzi(t)
		for key, text := range changes {
			entries[key] = text
		}
		return bindings(t, map[string]map[string]string{"k": entries})
	}
	two := bindings(t, map[string]map[string]string{"one": strimzi(t), "two": {"type": "KAFKA\n"}})
	refused(minimal(bindingRoot+"="+two), bindingRoot, "2 bindings of type kafka, want one", filepath.Join(two, "one"), filepath.Join(two, "two"))
	refused(minimal(bindingRoot+"="+filepath.Join(two, "one")), bindingRoot, "is a binding of type kafka itself", filepath.Join(two, "one"))
	refused(minimal(bindingRoot+"=/no/such\nroot"), bindingRoot, `"/no/such\nroot"`, "cannot be read")
	refused(withBindings(one(map[string]string{"security.protocol": "PLAINTEXT"})), securityProtocol, "is without TLS, and KAFKA_TLS_CA (of SERVICE_BINDING_ROOT) asks for it", "is without a login")
	refused(withBindings(one(map[string]string{"ssl.truststore.crt": "hunter2"})), tlsCA, "neither PEM", "ssl.truststore.crt", "of SERVICE_BINDING_ROOT")
	refused(withBindings(one(map[string]string{"ssl.truststore.crt": "\n"})), tlsCA, "ssl.truststore.crt", "of SERVICE_BINDING_ROOT is empty")
	refused(withBindings(one(map[string]string{"password": ""})), saslPassword, "is empty")
	refused(withBindings(one(map[string]string{"bootstrap.servers": " "})), kafkaBrokers, "required", "of SERVICE_BINDING_ROOT is empty")
	refused(withBindings(one(map[string]string{"sasl.mechanism": "GSSAPI"})), saslMechanism, `"GSSAPI" is no choice`, "sasl.mechanism")
	refused(withBindings(one(nil), "KAFKA_SECURITY_PROTOCOL=SSL"), securityProtocol, "is without a login, and KAFKA_SASL_MECHANISM (of SERVICE_BINDING_ROOT) is set")
	for _, key := range []string{"sasl.jaas.config", "ssl.truststore.p12", "security-protocol", "ca.crt"} {
		other := bindings(t, map[string]map[string]string{"k": {"type": "kafka", "provider": "x", "bootstrapServers": "kafka:9092", key: "hunter2"}})
		refused(withBindings(other), bindingRoot, filepath.Join(other, "k", key), "fills no setting", "set KAFKA_SECURITY_PROTOCOL")
		if _, _, err := load(withBindings(other, "KAFKA_SECURITY_PROTOCOL=PLAINTEXT"), realFiles()); err != nil {
			t.Errorf("%s, and plaintext is asked for: %v", key, err)
		}
	}
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		return // there nothing is unreadable by its mode
	}
	unreadable := one(nil)
	must(t, os.Chmod(filepath.Join(unreadable, "k", "..data", "password"), 0))
	refused(withBindings(unreadable), saslPassword, "cannot be read: permission denied")
	must(t, os.Chmod(filepath.Join(unreadable, "k", "..data", "type"), 0))
	refused(minimal(bindingRoot+"="+unreadable), bindingRoot, "type", "cannot be read: permission denied")
}

// As root no mode is in the way, so the file system is the test's own.
func TestABindingThatCannotBeReadIsNotPassedOver(t *testing.T) {
	root := bindings(t, map[string]map[string]string{"k": strimzi(t)})
	for entry, variable := range map[string]string{"type": bindingRoot, "password": saslPassword, "security.protocol": securityProtocol} {
		broken := realFiles()
		broken.readFile = func(path string) ([]byte, error) {
			if filepath.Base(path) == entry {
				return nil, cannotRead(&os.PathError{Op: "open", Path: path, Err: os.ErrPermission})
			}
			return readFile(path)
		}
		_, _, err := load(minimal(bindingRoot+"="+root), broken)
		var all *Errors
		if !errors.As(err, &all) || !slices.ContainsFunc(all.Problems, func(p Problem) bool { return p.Variable == variable && strings.Contains(p.Reason, "permission denied") }) {
			t.Errorf("%s: got %v, want a problem of %s", entry, err, variable)
		}
	}
}
