package config

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// planted is a text that fuzz targets put into secrets, and look for in all output.
const planted = "hunter2"

// knownWarning is how warnings begin or end: each is about a setting or a variable.
var knownWarning = regexp.MustCompile(`^unknown variable | is ignored: | is false: connections are in plaintext|^SCRAM-SHA-\d+ without TLS: | is true: |^without effect with | has no effect without | is not loopback and there is no |: nothing is moved to runs, |^set LAYOVER_GROUP_ID=`)

// connectionSeeds are settings of connections, each as it may be set.
func connectionSeeds(f *testing.F) [][]string {
	f.Helper()
	crypt := certificates(f)
	seeds := [][]string{
		{"KAFKA_TLS_ENABLED=true"}, {"KAFKA_TLS_ENABLED=false", "KAFKA_TLS_CA=" + crypt.ca}, {"KAFKA_TLS_CA=/etc/ca.pem"},
		{"KAFKA_TLS_CERT=" + crypt.cert, "KAFKA_TLS_KEY=" + crypt.key}, {"KAFKA_TLS_CERT=" + crypt.cert, "KAFKA_TLS_KEY=" + crypt.encrypted},
		{"KAFKA_TLS_CERT_FILE=/v/" + crypt.oldCert, "KAFKA_TLS_KEY_FILE=/v/" + crypt.key}, {"KAFKA_TLS_CA=" + crypt.oldCA}, {"KAFKA_TLS_CA_FILE=/v/"},
		{"KAFKA_TLS_SERVER_NAME=kafka.example.com"}, {"KAFKA_TLS_SERVER_NAME=::1"}, {"KAFKA_TLS_INSECURE_SKIP_VERIFY=false"}, {"KAFKA_TLS_INSECURE_SKIP_VERIFY=true"},
		{"KAFKA_SECURITY_PROTOCOL=SSL"}, {"KAFKA_SECURITY_PROTOCOL=PLAINTEXT", "KAFKA_TLS_ENABLED=true"}, {"KAFKA_SECURITY_PROTOCOL=SASL_SSL"}, {"KAFKA_RACK=eu-1"},
		{"KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD= hunter2 "}, {"KAFKA_SASL_PASSWORD=hunter2"},
		{"KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD=hunter2", "KAFKA_BROKERS=localhost:1,[::1]:2"},
		{"KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD=hunter2", "KAFKA_SASL_ALLOW_PLAINTEXT=true"},
		{"KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=me", "KAFKA_SASL_PASSWORD_FILE=/v/hun\nter2"},
		{"KAFKA_SASL_MECHANISM=AWS_MSK_IAM"}, {"AWS_REGION=?", "AWS_SECRET_ACCESS_KEY=hunter2\x01"}, {"KAFKA_BROKERS=b-1.x.kafka.eu-west-1.amazonaws.com:9098", "KAFKA_SASL_MECHANISM=AWS_MSK_IAM", "AWS_EC2_METADATA_DISABLED=false"},
		{"KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_TOKEN_FILE=/v/hunter2", "KAFKA_TLS_ENABLED=true"}, {"KAFKA_SASL_OAUTH_TOKEN_ENDPOINT=https://me:hunter2@host/"},
		{"KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT=http://host/?token=hunter2", "KAFKA_SASL_OAUTH_CLIENT_SECRET=hunter2", "KAFKA_SASL_OAUTH_EXTENSIONS=a=b,auth=c"},
		{"KAFKA_SASL_MECHANISM=hunter2"}, {"KAFKA_SSL_CA=hunter2"}, {"KAFKA_SASL_USER=hunter2", "KAFKA_SASL_USERNAME=me"}, {"sasl.jaas.config=hunter2"}, {"KAFKA_BOOTSTRAP_SERVERS=hunter2"},
		{"SERVICE_BINDING_ROOT=/bindings"}, {"LAYOVER_SASL_PASSWORD=hunter2"},
	}
	for _, variable := range Known() {
		if strings.HasPrefix(variable, "AWS_") || isSecurity(variable) {
			seeds = append(seeds, companions(f, variable))
		}
	}
	return seeds
}

// checkNoSecret checks that output has no planted text that only secrets have.
func checkNoSecret(t *testing.T, environ []string, output string) {
	t.Helper()
	if !strings.Contains(output, planted) {
		return
	}
	secrets := make(map[string]bool)
	for _, s := range settingsOf(new(Config)) {
		secrets[s.Variable] = s.Secret || s.kind == "certificates" || s.isURL()
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		isPublic := strings.HasSuffix(name, "_FILE") || slices.Contains(Known(), name) && !secrets[name] || name == bindingRoot
		if strings.Contains(name, planted) || isPublic && strings.Contains(value, planted) {
			return // that is where it may be from
		}
	}
	for _, s := range settingsOf(new(Config)) {
		if s.isURL() && slices.ContainsFunc(environ, func(entry string) bool { return strings.HasPrefix(entry, s.Variable+"=") }) {
			return // a valid URL is shown
		}
	}
	t.Fatalf("%q: a secret is in\n%s", environ, output)
}

// checkConnection holds the settings of connections to what docs/configuration.md says.
func checkConnection(t *testing.T, k *Kafka) {
	t.Helper()
	isScram := k.SASL.Mechanism == MechanismScramSHA256 || k.SASL.Mechanism == MechanismScramSHA512
	isRemote := slices.ContainsFunc(k.Brokers, func(broker string) bool {
		return !regexp.MustCompile(`(?i)^((.*\.)?localhost|127\.\d+\.\d+\.\d+|\[(::|(0+:)+)0*1(%.*)?\]|\[(::|(0+:)+)ffff:(127\..*|7f.*)\]):\d+$`).MatchString(broker)
	})
	protocol := k.SecurityProtocol
	switch {
	case k.TLS.Enabled == ToggleFalse && k.TLSOn(), k.TLS.Enabled == ToggleTrue && !k.TLSOn():
		t.Fatalf("TLS %v beside %s", k.TLSOn(), k.TLS.Enabled)
	case k.TLS.Enabled == ToggleAuto && !k.TLSOn() && (k.TLS.CA.IsSet() || k.TLS.Cert.IsSet() || k.TLS.ServerName != "" || k.TLS.InsecureSkipVerify || k.SASL.Mechanism == MechanismAWS):
		t.Fatalf("no TLS, and it is asked for: %+v", k)
	case k.TLS.Cert.IsSet() != k.TLS.Key.IsSet():
		t.Fatal("half of a pair")
	case protocol != "" && (strings.HasSuffix(string(protocol), "SSL") != k.TLSOn() || strings.HasPrefix(string(protocol), "SASL") != (k.SASL.Mechanism != "")):
		t.Fatalf("%s, TLS %v, mechanism %q", protocol, k.TLSOn(), k.SASL.Mechanism)
	case k.SASL.Mechanism != "" && !isScram && !k.TLSOn() && isRemote && !k.SASL.AllowPlaintext:
		t.Fatalf("%s in plaintext to %q", k.SASL.Mechanism, k.Brokers)
	case (isScram || k.SASL.Mechanism == MechanismPlain) && (!k.SASL.Username.IsSet() || !k.SASL.Password.IsSet()):
		t.Fatal("a login without its credentials")
	case k.SASL.Mechanism == MechanismAWS && slices.ContainsFunc(k.Brokers, func(broker string) bool { return k.RegionFor(broker) == "" }):
		t.Fatal("a broker without a region")
	}
	if _, problems := k.TLS.load(host.now(), Secret.asRead); len(problems) > 0 {
		t.Fatalf("loaded, and then: %v", problems)
	}
}

// FuzzPEM reads two texts as certificates and key, as the settings do. Nothing panics,
// a refusal is one line without the key's content, and what is taken fits together.
func FuzzPEM(f *testing.F) {
	crypt := certificates(f)
	for _, cert := range []string{"", crypt.cert, crypt.cert + crypt.ca, crypt.oldCert, crypt.der, crypt.key, inBase64(crypt.cert), onOneLine(crypt.cert), crypt.cert[:len(crypt.cert)/2] + crypt.ca,
		"/etc/ca.pem", "\xfe\xed\xfe\xed", "# comment\n" + crypt.ca, inBase64(crypt.der), "-----BEGIN CERTIFICATE-----", strings.ReplaceAll(crypt.ca, "\n", "\r\n")} {
		for _, key := range []string{"", crypt.key, crypt.otherKey, crypt.rsaKey, crypt.encrypted, crypt.encrypted8, inBase64(crypt.key), "-----BEGIN PRIVATE KEY-----\nhunter2", crypt.cert} {
			f.Add(cert, key)
		}
	}
	now := time.Now()
	f.Fuzz(func(t *testing.T, cert, key string) {
		pair, problems := keyPair{NewSecret(cert), NewSecret(key), tlsCert, tlsKey}.load(now)
		_, err := authorities(NewSecret(cert), tlsCA, now, Secret.Read)
		if err != nil {
			problems = append(problems, Problem{Variable: tlsCA, Reason: err.Error()})
		}
		for _, p := range problems {
			isKey := p.Variable == tlsKey
			if p.Reason == "" || strings.ContainsAny(p.Reason, "\n\r") || len(p.Reason) > 300 || isKey && strings.Contains(p.Reason, planted) {
				t.Fatalf("%q, %q: refused by %q", cert, key, p)
			}
		}
		if pair != nil && (len(problems) > 0 && err == nil || pair.Leaf == nil || now.After(pair.Leaf.NotAfter) || pair.PrivateKey == nil) {
			t.Fatalf("%q, %q: got %+v beside %q", cert, key, pair.Leaf, problems)
		}
		text, err := toPEM(cert)
		if err != nil {
			return
		}
		all, err := parseCertificates(text)
		if blocks := strings.Count(string(text), "-----BEGIN "); err == nil && (len(all) == 0 || len(all) > blocks) {
			t.Fatalf("%q: %d certificates of %d blocks", cert, len(all), blocks)
		}
	})
}

// FuzzBinding reads a directory of any entries as a service binding. Nothing panics,
// its password is in no output, and each setting is the entry that it is documented for.
func FuzzBinding(f *testing.F) {
	crypt := certificates(f)
	scram := entriesOf("type", "kafka", "bootstrap.servers", "a:1", "security.protocol", "SASL_SSL", "sasl.mechanism", "SCRAM-SHA-512", "username", "me", "password", planted, "ssl.truststore.crt", crypt.ca)
	f.Add(scram, "")
	f.Add(scram, entriesOf("type", "kafka"))
	f.Add(scram, entriesOf("type", "mysql", "password", "x"))
	f.Add(entriesOf("type", "Kafka\n", "bootstrapServers", "a:1,b:2", "security.protocol", "SSL", "ssl.keystore.crt", crypt.cert, "ssl.keystore.key", crypt.key), "")
	f.Add(entriesOf("type", "kafka", "ssl.truststore.crt", ""), entriesOf("password", "\n"))
	f.Add(entriesOf("type", "kafka", "password", planted+"\n"+planted, "..data", "x", "a/b", "y"), "")
	f.Fuzz(func(t *testing.T, first, second string) {
		files := make(fstest.MapFS)
		kafkas := 0
		var all []map[string]string
		for i, text := range []string{first, second} {
			entries := writeEntries(files, path.Join("bindings", string(rune('a'+i))), text)
			all = append(all, entries)
			if strings.EqualFold(strings.TrimSpace(entries["type"]), "kafka") {
				kafkas++
			}
		}
		bound := host
		bound.readDir = files.ReadDir
		bound.readFile = func(path string) ([]byte, error) {
			content, err := files.ReadFile(filepath.ToSlash(path))
			if err != nil {
				err = cannotRead(err)
			}
			return content, err
		}
		files["bindings/file"] = &fstest.MapFile{}
		cfg, warnings, err := load([]string{bindingRoot + "=bindings", "LAYOVER_INGRESS_TOPICS=a", "LAYOVER_EGRESS_TOPIC=b", "LAYOVER_DLQ_TOPIC=c"}, bound)
		if err != nil {
			var problems *Errors
			if !errors.As(err, &problems) || strings.Count(err.Error(), "\n")+1 != len(problems.Problems) {
				t.Fatalf("refused by %q", err)
			}
		}
		if output := strings.Join(warnings, "") + errorText(err); strings.Contains(output, planted) && !plantedInPublic(all) {
			t.Fatalf("a secret is in %q, %v", warnings, err)
		}
		switch {
		case kafkas != 1 && (err == nil || cfg != nil):
			t.Fatalf("loaded with %d bindings", kafkas)
		case err == nil:
			checkConnection(t, &cfg.Kafka)
			checkBound(t, cfg, all)
		}
	})
}

// checkBound checks that what a binding has was taken.
func checkBound(t *testing.T, cfg *Config, all []map[string]string) {
	t.Helper()
	at := slices.IndexFunc(all, func(entries map[string]string) bool {
		return strings.EqualFold(strings.TrimSpace(entries["type"]), "kafka")
	})
	entries := all[at]
	if !slices.ContainsFunc([]string{"bootstrap.servers", "bootstrap-servers", "bootstrapServers"}, func(key string) bool { return entries[key] != "" }) {
		t.Fatal("loaded without brokers")
	}
	for key, secret := range map[string]Secret{"password": cfg.Kafka.SASL.Password, "ssl.truststore.crt": cfg.Kafka.TLS.CA, "ssl.keystore.key": cfg.Kafka.TLS.Key} {
		if _, has := entries[key]; has != secret.IsSet() || has && filepath.Base(secret.Path()) != key {
			t.Fatalf("%s: there %v, taken from %q", key, has, secret.Path())
		}
	}
	if cfg.Kafka.TLS.CA.IsSet() && !cfg.Kafka.TLSOn() {
		t.Fatal("an authority and no TLS")
	}
}

// plantedInPublic reports whether the planted text is in an entry that is no secret.
func plantedInPublic(all []map[string]string) bool {
	for _, entries := range all {
		for key, content := range entries {
			if key != "password" && !strings.HasPrefix(key, "ssl.") && strings.Contains(content, planted) {
				return true
			}
		}
	}
	return false
}

// entriesOf is a directory as one text: names and contents in turn.
func entriesOf(pairs ...string) string { return strings.Join(pairs, "\x00") }

// writeEntries adds the directory that a text stands for, and returns what is there.
func writeEntries(files fstest.MapFS, dir, text string) map[string]string {
	written := make(map[string]string)
	parts := strings.Split(text, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		name, content := parts[i], parts[i+1]
		if fs.ValidPath(name) && name != "." && !strings.Contains(name, "/") {
			written[name] = content
			files[path.Join(dir, name)] = &fstest.MapFile{Data: []byte(content)}
		}
	}
	return written
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
