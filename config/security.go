package config

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// relateKafka checks the rules between the settings of the connection. None of them
// ever leads to plaintext unasked: a contradiction is refused.
func (r *reader) relateKafka() {
	k := &r.cfg.Kafka
	k.tlsGiven = len(r.tlsValues()) > 0
	r.relateProtocol(k)
	r.relateTLS(k)
	r.relateSASL(k)
	r.relatePlaintext(k)
	r.relateBinding(k)
}

// tlsValues returns the TLS settings that are set, besides KAFKA_TLS_ENABLED, by the
// names that they are set by. Each asks for TLS, whatever its value.
func (r *reader) tlsValues() []string {
	return r.givenOf(func(variable string) bool {
		return strings.HasPrefix(variable, "KAFKA_TLS_") && variable != tlsEnabled
	})
}

// givenOf returns the settings in the order of the table that are set and wanted, by the
// names that they are set by.
func (r *reader) givenOf(wanted func(variable string) bool) []string {
	var names []string
	for _, s := range r.settings {
		if r.given[s.Variable] && wanted(s.Variable) {
			names = append(names, r.asSet(s.Variable))
		}
	}
	return names
}

// asSet returns the name that a setting is set by: its own, that of its twin, or that of
// the binding.
func (r *reader) asSet(variable string) string {
	switch {
	case r.fromBinding[variable]:
		return variable + " (of " + bindingRoot + ")"
	case r.env[variable+fileSuffix] != "":
		return variable + fileSuffix
	default:
		return variable
	}
}

// relateProtocol refuses a KAFKA_SECURITY_PROTOCOL that says another thing than the
// settings that it is a shorthand for.
func (r *reader) relateProtocol(k *Kafka) {
	p := k.SecurityProtocol
	if p == "" || r.bad[tlsEnabled] || r.bad[saslMechanism] {
		return
	}
	hasLogin := k.SASL.Mechanism != ""
	if p.sasl() && !hasLogin {
		r.refuse(saslMechanism, fmt.Sprintf("is missing: %s is %s, which is with a login", r.asSet(securityProtocol), p))
		hasLogin = true
	}
	var wrong []string
	switch {
	case p.tls() && !k.TLSOn():
		wrong = append(wrong, "is with TLS, and "+r.asSet(tlsEnabled)+" is false")
	case !p.tls() && k.TLSOn():
		wrong = append(wrong, "is without TLS, and "+r.tlsSource(k)+" asks for it")
	}
	if !p.sasl() && hasLogin {
		wrong = append(wrong, "is without a login, and "+r.asSet(saslMechanism)+" is set")
	}
	if len(wrong) > 0 {
		r.refuse(securityProtocol, fmt.Sprintf("%s %s: they have to agree", quote(string(p)), strings.Join(wrong, "; it ")))
		r.example(securityProtocol, string(protocolOf(k.TLSOn(), hasLogin)))
	}
}

// tlsSource names the variable that turned TLS on besides the protocol.
func (r *reader) tlsSource(k *Kafka) string {
	if k.TLS.Enabled == ToggleTrue {
		return r.asSet(tlsEnabled)
	}
	if values := r.tlsValues(); len(values) > 0 {
		return values[0]
	}
	return string(k.SASL.Mechanism)
}

// relateTLS checks certificates and key, and refuses half a pair.
func (r *reader) relateTLS(k *Kafka) {
	t := &k.TLS
	_, problems := t.load(r.host.now(), Secret.asRead)
	if _, err := authorities(k.SASL.OAuth.CA, oauthCA, r.host.now(), Secret.asRead); err != nil {
		problems = append(problems, Problem{Variable: oauthCA, Reason: err.Error()})
	}
	for _, p := range problems {
		r.refuse(p.Variable, p.Reason+r.from(p.Variable))
	}
	switch {
	case t.Cert.IsSet() && !t.Key.IsSet() && !r.bad[tlsKey]:
		r.refuse(tlsKey, "is missing: "+r.asSet(tlsCert)+" is set, and a certificate needs its key")
	case t.Key.IsSet() && !t.Cert.IsSet() && !r.bad[tlsCert]:
		r.refuse(tlsCert, "is missing: "+r.asSet(tlsKey)+" is set, and a key needs its certificate")
	}
	if k.tlsGiven && t.Enabled == ToggleFalse {
		r.warn("%s is false: connections are in plaintext, and these have no effect: %s", r.asSet(tlsEnabled), strings.Join(r.tlsValues(), ", "))
	}
	if t.InsecureSkipVerify && k.TLSOn() {
		r.warn("%s is true: any certificate of any broker is taken, and whoever is in between can read and change everything", r.asSet(tlsSkipVerify))
	}
}

// relatePlaintext refuses to send a login in the clear. SCRAM sends none, and its
// exchange can still be searched for weak passwords.
func (r *reader) relatePlaintext(k *Kafka) {
	m := k.SASL.Mechanism
	if m == "" || k.TLSOn() || r.bad[tlsEnabled] || r.bad[securityProtocol] {
		return
	}
	switch {
	case m.scram():
		r.warn("%s without TLS: records are in plaintext, and whoever listens can try passwords against the login; set %s=true", m, tlsEnabled)
	case !r.given[kafkaBrokers] || r.bad[kafkaBrokers]: // that is said, and where the login goes is not known
	case !slices.ContainsFunc(k.Brokers, isRemote):
	case k.SASL.AllowPlaintext:
		r.warn("%s is true: %s sends the login in plaintext, and whoever is in between can read it", r.asSet(saslAllowPlaintext), m)
	case k.SecurityProtocol == ProtocolSASLPlaintext:
		r.refuse(securityProtocol, fmt.Sprintf("%s would send the login of %s in plaintext: want %s, or %s=true if that is meant",
			quote(string(k.SecurityProtocol)), m, ProtocolSASLSSL, saslAllowPlaintext))
	default:
		r.refuse(tlsEnabled, fmt.Sprintf("TLS is not on, and %s would send the login in plaintext: set it to true, or %s=true if that is meant", m, saslAllowPlaintext))
	}
}

// MayLogIn reports whether the login may be sent to a broker, host:port. Brokers that
// others name are not known when the settings are checked.
func (k *Kafka) MayLogIn(broker string) bool {
	m := k.SASL.Mechanism
	return m == "" || m.scram() || k.TLSOn() || k.SASL.AllowPlaintext || !isRemote(broker)
}

// isRemote reports whether a broker, host:port, is not on this host for sure.
func isRemote(broker string) bool {
	host, _, err := net.SplitHostPort(broker)
	return err != nil || !isLoopback(host)
}

// isLoopback reports whether a host is this one by its name or address alone.
func isLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost") // a name below it is asked of DNS
}

// from says which file a value is from; empty if from none.
func (r *reader) from(variable string) string {
	path, ok := r.files[variable]
	if !ok {
		return ""
	}
	return "; it is from the file " + quote(path) + " of " + r.fileSource(variable)
}
