package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// otherNames are the names that Java's and librdkafka's properties get in an
// environment, with KAFKA_ or LAYOVER_ in front or without.
var otherNames = map[string]string{
	"SECURITY_PROTOCOL": securityProtocol,
	"SASL_MECHANISM":    saslMechanism, "SASL_MECHANISMS": saslMechanism,
	"SASL_USERNAME": saslUsername,
	"SASL_PASSWORD": saslPassword, "SASL_JAAS_CONFIG": saslPassword,
	"SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL": oauthTokenEndpoint,
	"SASL_OAUTHBEARER_CLIENT_ID":          oauthClientID,
	"SASL_OAUTHBEARER_CLIENT_SECRET":      oauthClientSecret,
	"SASL_OAUTHBEARER_SCOPE":              oauthScopes,
	"SASL_OAUTHBEARER_EXTENSIONS":         oauthExtensions,
	"SSL_CA_LOCATION":                     tlsCA, "SSL_TRUSTSTORE_LOCATION": tlsCA, "SSL_TRUSTSTORE_CERTIFICATES": tlsCA,
	"SSL_TRUSTSTORE_PASSWORD": tlsCA, "SSL_TRUSTSTORE_TYPE": tlsCA, "SSL_TRUSTSTORE_CRT": tlsCA,
	"SSL_CERTIFICATE_LOCATION": tlsCert, "SSL_KEYSTORE_LOCATION": tlsCert,
	"SSL_KEYSTORE_CERTIFICATE_CHAIN": tlsCert, "SSL_KEYSTORE_TYPE": tlsCert, "SSL_KEYSTORE_CRT": tlsCert,
	"SSL_KEY_LOCATION": tlsKey, "SSL_KEYSTORE_KEY": tlsKey, "SSL_KEYSTORE_PASSWORD": tlsKey,
	"SSL_ENDPOINT_IDENTIFICATION_ALGORITHM": tlsServerName,
	"ENABLE_SSL_CERTIFICATE_VERIFICATION":   tlsSkipVerify,
	"BOOTSTRAP_SERVERS":                     kafkaBrokers, "METADATA_BROKER_LIST": kafkaBrokers,
}

// nearNames are other names of our settings, behind KAFKA_ or LAYOVER_ alone: by
// themselves they may be of anything else. They are what platforms and tools for Kafka have.
var nearNames = map[string]string{
	"SASL_TYPE": saslMechanism, "SASL_ENABLED": saslMechanism, "AUTH_TYPE": saslMechanism,
	"SASL_ENABLED_MECHANISMS": saslMechanism,
	"SASL_USER":               saslUsername, "SASL_USER_NAME": saslUsername, "USERNAME": saslUsername, "USER": saslUsername,
	"API_KEY":   saslUsername,
	"SASL_PASS": saslPassword, "SASL_PASSWD": saslPassword, "SASL_SECRET": saslPassword,
	"PASSWORD": saslPassword, "API_SECRET": saslPassword,
	"SASL_OAUTH_SCOPE": oauthScopes,
	"SASL_OAUTH_URL":   oauthTokenEndpoint, "SASL_OAUTH_TOKEN_URL": oauthTokenEndpoint,
	"SASL_OAUTH_SECRET": oauthClientSecret,
	"AWS_REGION":        saslAWSRegion, "SASL_REGION": saslAWSRegion,
	"AUTH_MECHANISM": saslMechanism, "MECHANISM": saslMechanism, "JAAS_CONFIG": saslPassword, "SASL_JAAS": saslPassword,
	"OAUTH_TOKEN_ENDPOINT": oauthTokenEndpoint, "OAUTH_TOKEN_ENDPOINT_URI": oauthTokenEndpoint,
	"OAUTH_CLIENT_ID": oauthClientID, "OAUTH_CLIENT_SECRET": oauthClientSecret, "OAUTH_SCOPE": oauthScopes,
	"TRUSTED_CERT": tlsCA, "CLIENT_CERT_KEY": tlsKey,
	"SSL_CA_PEM": tlsCA, "SSL_CA": tlsCA, "SSL_CAFILE": tlsCA, "TLS_CA_CERT": tlsCA, "TLS_CA_PATH": tlsCA,
	"TLS_CAFILE": tlsCA, "TLS_CAFILEPATH": tlsCA, "TLS_CA_LOCATION": tlsCA, "CA": tlsCA, "CA_PATH": tlsCA,
	"CA_CERT": tlsCA, "CA_FILE": tlsCA, "TRUSTSTORE_PATH": tlsCA, "TRUSTSTORE_LOCATION": tlsCA,
	"TRUSTSTORE_PASSWORD": tlsCA,
	"SSL_CERTIFICATE_PEM": tlsCert, "SSL_CERTIFICATE": tlsCert, "SSL_CERT": tlsCert, "SSL_CERTFILE": tlsCert,
	"TLS_CERT_PATH": tlsCert, "TLS_CERTIFICATE": tlsCert, "TLS_CERTFILEPATH": tlsCert,
	"TLS_CLIENT_CERT": tlsCert, "CERTIFICATE": tlsCert, "CERTIFICATE_PATH": tlsCert, "CLIENT_CERT": tlsCert,
	"KEYSTORE_PATH": tlsCert, "KEYSTORE_LOCATION": tlsCert,
	"SSL_KEY_PEM": tlsKey, "SSL_KEY": tlsKey, "SSL_KEYFILE": tlsKey, "SSL_KEY_PASSWORD": tlsKey,
	"SSL_PASSWORD": tlsKey, "TLS_KEY_PATH": tlsKey, "TLS_KEYFILEPATH": tlsKey, "TLS_CLIENT_KEY": tlsKey,
	"TLS_PRIVATE_KEY": tlsKey, "TLS_PASSPHRASE": tlsKey, "TLS_KEY_PASSWORD": tlsKey,
	"KEYSTORE_PASSWORD": tlsKey, "CREDSTORE_PASSWORD": tlsKey, "PRIVATE_KEY": tlsKey,
	"PRIVATE_KEY_PATH": tlsKey, "CLIENT_KEY": tlsKey,
	"SSL_ENABLED": tlsEnabled, "SSL_PROTOCOL": tlsEnabled, "SSL": tlsEnabled, "TLS": tlsEnabled,
	"USE_TLS": tlsEnabled, "USE_SSL": tlsEnabled, "ENABLE_TLS": tlsEnabled, "ENABLE_SSL": tlsEnabled,
	"TLS_ENABLE":      tlsEnabled,
	"TLS_SKIP_VERIFY": tlsSkipVerify, "TLS_INSECURE": tlsSkipVerify,
	"TLS_INSECURESKIPTLSVERIFY": tlsSkipVerify,
	"BOOTSTRAP_SERVER":          kafkaBrokers, "BOOTSTRAP": kafkaBrokers, "BROKER": kafkaBrokers,
	"BROKER_LIST": kafkaBrokers, "BROKERS_LIST": kafkaBrokers, "SERVERS": kafkaBrokers, "HOSTS": kafkaBrokers,
	"URL": kafkaBrokers, "SEED_BROKERS": kafkaBrokers,
	"CERT": tlsCert, "CERT_PATH": tlsCert, "CLIENT_CERTIFICATE": tlsCert, "KEYSTORE": tlsCert,
	"KEY_FILE": tlsKey, "KEY_PATH": tlsKey,
	"CA_CRT": tlsCA, "CA_CERTS": tlsCA, "CA_CERTIFICATE": tlsCA, "CA_BUNDLE": tlsCA, "CA_LOCATION": tlsCA,
	"ROOT_CA": tlsCA, "TRUSTSTORE": tlsCA,
	"PROTOCOL": securityProtocol, "SECURE": tlsEnabled, "MTLS": tlsEnabled, "MTLS_ENABLED": tlsEnabled,
	"AUTH_ENABLED": saslMechanism, "ENABLE_SASL": saslMechanism, "USE_SASL": saslMechanism,
	"AUTH_USERNAME": saslUsername, "AUTH_USER": saslUsername, "AUTH_PASSWORD": saslPassword,
	"PASS": saslPassword, "JAAS": saslPassword, "CLIENT_SECRET": oauthClientSecret,
	"CLIENTID": kafkaClientID, "CLIENT": kafkaClientID,
	"CLIENT_RACK": kafkaRack, "RACK_ID": kafkaRack, "RACKID": kafkaRack,
	"GROUP": groupID, "GROUP_ID": groupID, "CONSUMER_GROUP": groupID,
}

// squeezed are both tables without underscores, as some tools make names of words that
// are written together: KAFKA_SASLMECHANISM, Kafka__SecurityProtocol.
var squeezed = sync.OnceValue(func() map[string]string {
	all := make(map[string]string)
	for _, table := range []map[string]string{nearNames, otherNames} {
		for name, meant := range table {
			all[squeeze(name)] = meant
		}
	}
	return all
})

func squeeze(name string) string {
	if strings.HasSuffix(name, "_") { // which no name has
		return name
	}
	return strings.ReplaceAll(name, "_", "")
}

// clientKinds are in front of properties that tools keep apart by client.
var clientKinds = []string{"CONSUMER_", "PRODUCER_", "ADMIN_", "CLIENT_", "COMMON_", "PROPERTIES_"}

// misnamed returns the setting that a variable was probably meant for, "" if none is
// near. It also returns whether the variable asks for TLS or a login, by its
// beginning or by that setting. Java's properties may be there as they are, with dots
// and in small letters.
func misnamed(name string) (meant string, security bool) {
	word, ours := strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name)), false
	for _, prefix := range []string{"LAYOVER_", "KAFKA_"} { // LAYOVER_KAFKA_SASL_PASSWORD has both
		if rest, ok := strings.CutPrefix(word, prefix); ok {
			word, ours = rest, true
		}
	}
	if !ours {
		meant = otherNames[word]
		return meant, isSecurity(meant)
	}
	if meant = nearName(word); meant != "" {
		return meant, isSecurity(meant)
	}
	for _, kind := range clientKinds {
		if rest, ok := strings.CutPrefix(word, kind); ok {
			if meant, security = securityName(rest); security {
				return meant, true
			}
		}
	}
	return securityName(word)
}

// nearName looks for a name without its prefix in the tables; "" if it is in none.
func nearName(word string) string {
	base := strings.TrimSuffix(word, fileSuffix)
	return cmp.Or(otherNames[word], nearNames[word], otherNames[base], nearNames[base], squeezed()[squeeze(base)])
}

// securityName judges a name without its prefix by its beginning.
func securityName(word string) (meant string, security bool) {
	word = strings.TrimSuffix(strings.TrimLeft(word, "_"), fileSuffix)
	begins := func(prefix string) bool { return strings.HasPrefix(word, prefix) }
	if !slices.ContainsFunc([]string{"SASL", "TLS", "SSL", "SECURITY", "OAUTH"}, begins) {
		return "", false
	}
	if meant = otherNames[word]; meant != "" {
		return meant, true
	}
	near := nearestName("KAFKA_"+word, securityNames())
	if 3*editDistance(word, withoutPrefix(near)) > len(word) { // too far to pass over it
		near = ""
	}
	return near, true
}

// isSecurity reports whether a setting is about TLS or a login to Kafka.
func isSecurity(variable string) bool {
	return strings.HasPrefix(variable, "KAFKA_SASL_") || strings.HasPrefix(variable, "KAFKA_TLS_") || variable == securityProtocol
}

func securityNames() []string {
	return slices.DeleteFunc(Known(), func(name string) bool { return !isSecurity(name) })
}

// refuseMisnamed reports each variable that somebody meant for the connection and that
// is none. To go on would be to connect in another way than was asked for. What
// Kubernetes sets for a Service called kafka-tls asks for nothing. Values are never
// printed: some are passwords.
func (r *rules) refuseMisnamed() {
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		if r.env[name] == "" || r.isKnown(name) || isServiceLink(name, r.env[name]) {
			continue
		}
		meant, security := misnamed(name)
		switch {
		case !security && meant == "", !security && strings.HasPrefix(name, prefix): // unknownNames has it
		case r.given[meant]:
			r.warn("%s is ignored: %s is set", printable(name), r.asSet(meant))
		case asksForNothing(meant, r.env[name]):
			r.warn("%s is ignored: it asks for neither TLS nor a login", printable(name))
		case !security:
			r.warn("%s is ignored: did you mean %s?", printable(name), meant)
		case meant != "":
			r.refuseUnknown(name, "did you mean "+meant+"?", r.exampleOf(meant))
		default:
			r.refuseUnknown(name, "unset it", "")
		}
	}
}

// asksForNothing reports whether a variable that was meant for a setting switches TLS or
// the login off. Who has connected in plaintext so far may well have one.
func asksForNothing(meant, value string) bool {
	value = strings.ToLower(strings.TrimSpace(value))
	switch meant {
	case tlsEnabled, saslMechanism:
		return slices.Contains([]string{"false", "no", "off", "0", "none"}, value)
	case securityProtocol:
		return value == "plaintext"
	default:
		return false
	}
}
