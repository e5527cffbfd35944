package config

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"layover/verify/long"
)

// spellings are the ways to write the name of a table in an environment.
func spellings(word string, isJavas bool) []string {
	dotted := strings.ToLower(strings.ReplaceAll(word, "_", "."))
	all := []string{"KAFKA_" + word, "LAYOVER_" + word, "LAYOVER_KAFKA_" + word, "kafka." + dotted, "KAFKA_" + word + "_FILE"}
	if isJavas {
		all = append(all, word, dotted, strings.ReplaceAll(dotted, ".", "-"))
	}
	return all
}

// TestEveryOtherNameIsRefusedOrWarnedAbout tries each name of the tables. One that asks
// for TLS or a login is an error with the setting that was meant, and any other a
// warning. A value is never printed.
func TestEveryOtherNameIsRefusedOrWarnedAbout(t *testing.T) {
	count, every := 0, long.Of(1, 3)
	names := newReader(nil, host)
	empty := minimal()
	for _, table := range []map[string]string{otherNames, nearNames} {
		for _, word := range slices.Sorted(maps.Keys(table)) {
			meant := table[word]
			_, isJavas := otherNames[word]
			for _, name := range spellings(word, isJavas) {
				if names.isKnown(name) {
					continue // KAFKA_SASL_USERNAME stands for itself
				}
				if count++; count%every > 0 {
					continue
				}
				cfg, warnings, err := load(minimal("LAYOVER_GROUP_ID=", name+"=hunter2"), host)
				all := strings.Join(warnings, "\n") + errorText(err)
				switch {
				case strings.Contains(all, "hunter2"):
					t.Errorf("%s: the value is in %s", name, all)
				case isSecurity(meant):
					if err == nil || cfg != nil || len(warnings) > 0 || strings.Contains(all, "\n") || !strings.HasPrefix(all, name+": is no setting") || !strings.Contains(all, "did you mean "+meant+"?; example: "+meant) {
						t.Errorf("%s: got %q, want an error that names %s", name, all, meant)
					}
				case err != nil || len(warnings) != 1 || !strings.Contains(all, name+" is ignored"):
					t.Errorf("%s: got %q, want a warning", name, all)
				case !strings.HasPrefix(name, "LAYOVER_") && meant != kafkaBrokers && !strings.HasSuffix(all, "did you mean "+meant+"?"): // brokers are set
					t.Errorf("%s: got %q, want one that names %s", name, all, meant)
				}
				if _, _, clientErr := loadClient([]string{name + "=hunter2"}, host); (clientErr != nil) != (err != nil) {
					t.Errorf("%s: a client %v, the daemon %v", name, clientErr, err)
				}
				empty = append(empty, name+"=")
			}
		}
	}
	mustLoad(t, empty)
	if count < 400 {
		t.Errorf("%d names, and one in %d is tried", count, every)
	}
}

func TestNamesThatPlatformsAndToolsSet(t *testing.T) {
	for name, meant := range map[string]string{
		"KAFKA_SSL_CA":                  "KAFKA_TLS_CA",
		"KAFKA_SSL_TRUSTSTORE_LOCATION": "KAFKA_TLS_CA",
		"SASL_JAAS_CONFIG":              "KAFKA_SASL_PASSWORD",
		"sasl.jaas.config":              "KAFKA_SASL_PASSWORD",
		"KAFKA_SASL_USER":               "KAFKA_SASL_USERNAME",
		"KAFKA_SASL_USER_FILE":          "KAFKA_SASL_USERNAME",
		"KAFKA_SASL_USERNAM":            "KAFKA_SASL_USERNAME",
		"KAFKA_SASL_MECANISM":           "KAFKA_SASL_MECHANISM",
		"KAFKA_TLS_CAS":                 "KAFKA_TLS_CA",
		"KAFKA_TLS_SERVERNAME":          "KAFKA_TLS_SERVER_NAME",
		"KAFKA_SECURITY_PROTOKOL":       "KAFKA_SECURITY_PROTOCOL",
		"kafka_tls_ca":                  "KAFKA_TLS_CA",
		"LAYOVER_KAFKA_TLS_CA":          "KAFKA_TLS_CA",
		"LAYOVER_SASL_PASSWORD":         "KAFKA_SASL_PASSWORD",
		"LAYOVER_TLS_KEY_FILE":          "KAFKA_TLS_KEY",
		"KAFKA_TRUSTED_CERT":            "KAFKA_TLS_CA",
		"KAFKA_CLIENT_CERT_KEY":         "KAFKA_TLS_KEY",
		"KAFKA_SASL_OAUTH_TOKEN_URL":    "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT",
		"KAFKA_OAUTH_CLIENT_SECRET":     "KAFKA_SASL_OAUTH_CLIENT_SECRET",
		// Words written together, as .NET and envconfig have them.
		"Kafka__SecurityProtocol": "KAFKA_SECURITY_PROTOCOL",
		"Kafka__SaslUsername":     "KAFKA_SASL_USERNAME",
		"KAFKA_SASLMECHANISM":     "KAFKA_SASL_MECHANISM",
		"KAFKA_SSLCALOCATION":     "KAFKA_TLS_CA",
		"KAFKA_CACERT":            "KAFKA_TLS_CA",
		"KAFKA_KEYFILE":           "KAFKA_TLS_KEY",
		"KAFKA_CERT":              "KAFKA_TLS_CERT",
		"KAFKA_CERT_FILE":         "KAFKA_TLS_CERT",
		"KAFKA_TRUSTSTORE":        "KAFKA_TLS_CA",
		"KAFKA_MTLS_ENABLED":      "KAFKA_TLS_ENABLED",
		"KAFKA_AUTH_PASSWORD":     "KAFKA_SASL_PASSWORD",
		// A property of one kind of client.
		"KAFKA_CONSUMER_SECURITY_PROTOCOL":         "KAFKA_SECURITY_PROTOCOL",
		"KAFKA_CLIENT_SASL_MECHANISM":              "KAFKA_SASL_MECHANISM",
		"KAFKA_PROPERTIES_SSL_TRUSTSTORE_LOCATION": "KAFKA_TLS_CA",
	} {
		wantProblem(t, minimal(name+"=hunter2"), name, "did you mean "+meant+"?", "without TLS or without a login")
	}
	for _, name := range []string{"KAFKA_SASL_KERBEROS_SERVICE_NAME", "KAFKA_TLS_", "KAFKA_SSL_ENGINE_FACTORY_CLASS", "KAFKA_SASL_" + strings.Repeat("X", 1000)} {
		wantProblem(t, minimal(name+"=hunter2"), name, "is no setting", "unset it")
	}
	for name, meant := range map[string]string{"KAFKA_BOOTSTRAP_SERVERS": "KAFKA_BROKERS", "BOOTSTRAP_SERVERS": "KAFKA_BROKERS"} {
		_, warnings, err := loadClient([]string{name + "=hunter2"}, host)
		if err != nil || len(warnings) != 1 || warnings[0] != name+" is ignored: did you mean "+meant+"?" {
			t.Errorf("%s: got %q, %v", name, warnings, err)
		}
	}
	loaded(t, minimal("KAFKA_GROUP_ID=hunter2"), "KAFKA_GROUP_ID is ignored: did you mean LAYOVER_GROUP_ID?")
	loaded(t, minimal("KAFKA_CLIENT_RACK=hunter2"), "KAFKA_CLIENT_RACK is ignored: did you mean KAFKA_RACK?")
}

// The application beside Layover may have names of its own for the same settings.
func TestANearMissIsAWarningWhereItsSettingIsSet(t *testing.T) {
	crypt := certificates(t)
	loaded(t, with(scram, tlsOn, "KAFKA_SASL_USER=hunter2", "KAFKA_SASL_JAAS_CONFIG=hunter2", "KAFKA_TLS=1", "KAFKA_BOOTSTRAP_SERVERS=hunter2"),
		"KAFKA_BOOTSTRAP_SERVERS is ignored: KAFKA_BROKERS is set", "KAFKA_SASL_JAAS_CONFIG is ignored: KAFKA_SASL_PASSWORD is set",
		"KAFKA_SASL_USER is ignored: KAFKA_SASL_USERNAME is set", "KAFKA_TLS is ignored: KAFKA_TLS_ENABLED is set")
	loaded(t, minimal("KAFKA_TLS_CA_FILE=/v/"+crypt.ca, "KAFKA_SSL_CA_LOCATION=hunter2"), "KAFKA_SSL_CA_LOCATION is ignored: KAFKA_TLS_CA_FILE is set")
	loaded(t, minimal(tlsOff, "KAFKA_SSL_ENABLED=true"), "KAFKA_SSL_ENABLED is ignored: KAFKA_TLS_ENABLED is set")
	// What is near nothing is not passed over because something else is set.
	wantProblem(t, with(scram, tlsOn, "KAFKA_SASL_KERBEROS_KEYTAB=x"), "KAFKA_SASL_KERBEROS_KEYTAB", "unset it")
}

// A pod that has connected in plaintext so far goes on with what says so.
func TestANearMissThatSwitchesOffIsAWarning(t *testing.T) {
	for _, entry := range []string{
		"KAFKA_SSL_ENABLED=false", "KAFKA_USE_TLS=0", "KAFKA_TLS=off", "KAFKA_SASL_ENABLED=False", "KAFKA_AUTH_TYPE=none",
		"SECURITY_PROTOCOL=PLAINTEXT", "KAFKA_CONSUMER_SECURITY_PROTOCOL=plaintext",
	} {
		name, _, _ := strings.Cut(entry, "=")
		loaded(t, minimal(entry), name+" is ignored: it asks for neither TLS nor a login")
	}
	for _, entry := range []string{
		"KAFKA_SSL_ENABLED=true", "KAFKA_SASL_TYPE=plaintext", "SECURITY_PROTOCOL=SASL_PLAINTEXT", "KAFKA_TLS_SKIP_VERIFY=false",
		"KAFKA_ENABLE_SSL_CERTIFICATE_VERIFICATION=false", "KAFKA_PASSWORD=none", "KAFKA_SSL_CA=none", "KAFKA_SSL_CLIENT_AUTH=none",
	} {
		name, _, _ := strings.Cut(entry, "=")
		wantProblem(t, minimal(entry), name, "is no setting")
	}
}

// Go's own are read by the standard library, and mean there what they say.
func TestNamesThatAreNotOursMeanNothing(t *testing.T) {
	mustLoad(t, minimal(
		"SSL_CERT_FILE=/etc/ssl/cert.pem", "SSL_CERT_DIR=/etc/ssl/certs", "HTTPS_PROXY=http://proxy", "PASSWORD=x", "USERNAME=x", "USER=x", "API_KEY=x",
		"SSL_CA=x", "CA_CERT=x", "TLS_CERT=x", "SASL_USER=x", "GROUP_ID=x", "KAFKA_PORT=tcp://10.0.0.1:9092", "KAFKA_HEAP_OPTS=-Xmx1g", "KAFKA_LOG_DIRS=/x", "KAFKA_TOPIC=x",
		"KAFKA_KEY=x", "KAFKA_CLIENT_PASSWORDS=x", "KAFKA_ADMIN_USER=x", "KAFKA_CONSUMER_GROUPS=x", "KAFKA_INTER_BROKER_LISTENER_NAME=x",
		"SPRING_KAFKA_PROPERTIES_SASL_JAAS_CONFIG=x", "CONNECT_SASL_MECHANISM=PLAIN", "KAFKA_SSL_SERVICE_HOST=10.0.0.1", "KAFKA_SSL_PORT=tcp://10.0.0.1:9093",
	))
}
