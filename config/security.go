package config

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// connectionRules are the rules between the settings of the connection. None of them
// ever leads to plaintext unasked: a contradiction is refused.
type connectionRules struct {
	r *rules
	k *Kafka
}

// relateKafka checks the rules of the connection.
func (r *rules) relateKafka() {
	c := connectionRules{r, &r.cfg.Kafka}
	c.k.tlsGiven = len(c.tlsValues()) > 0
	c.protocol()
	c.tls()
	c.login()
	c.plaintext()
	c.binding()
}

// tlsValues returns the TLS settings that are set, besides KAFKA_TLS_ENABLED, by the
// names that they are set by. Each asks for TLS, whatever its value.
func (c connectionRules) tlsValues() []string {
	return c.r.givenOf(func(variable string) bool {
		return strings.HasPrefix(variable, "KAFKA_TLS_") && variable != tlsEnabled
	})
}

// protocol refuses a KAFKA_SECURITY_PROTOCOL that says another thing than the
// settings that it is a shorthand for.
func (c connectionRules) protocol() {
	p := c.k.SecurityProtocol
	if p == "" || c.r.bad[tlsEnabled] || c.r.bad[saslMechanism] {
		return
	}
	hasLogin := c.k.SASL.Mechanism != ""
	if p.sasl() && !hasLogin {
		c.r.refuse(saslMechanism, fmt.Sprintf("is missing: %s is %s, which is with a login", c.r.asSet(securityProtocol), p))
		hasLogin = true
	}
	var wrong []string
	switch {
	case p.tls() && !c.k.TLSOn():
		wrong = append(wrong, "is with TLS, and "+c.r.asSet(tlsEnabled)+" is false")
	case !p.tls() && c.k.TLSOn():
		wrong = append(wrong, "is without TLS, and "+c.tlsSource()+" asks for it")
	}
	if !p.sasl() && hasLogin {
		wrong = append(wrong, "is without a login, and "+c.r.asSet(saslMechanism)+" is set")
	}
	if len(wrong) > 0 {
		c.r.refuse(securityProtocol, fmt.Sprintf("%s %s: they have to agree", quote(string(p)), strings.Join(wrong, "; it ")))
		c.r.example(securityProtocol, string(protocolOf(c.k.TLSOn(), hasLogin)))
	}
}

// tlsSource names the variable that turned TLS on besides the protocol.
func (c connectionRules) tlsSource() string {
	if c.k.TLS.Enabled == ToggleTrue {
		return c.r.asSet(tlsEnabled)
	}
	if values := c.tlsValues(); len(values) > 0 {
		return values[0]
	}
	return string(c.k.SASL.Mechanism)
}

// tls checks certificates and key, and refuses half a pair.
func (c connectionRules) tls() {
	t := &c.k.TLS
	_, problems := t.load(c.r.host.now(), Secret.asRead)
	if _, err := authorities(c.k.SASL.OAuth.CA, oauthCA, c.r.host.now(), Secret.asRead); err != nil {
		problems = append(problems, Problem{Variable: oauthCA, Reason: err.Error()})
	}
	for _, p := range problems {
		c.r.refuse(p.Variable, p.Reason+c.r.from(p.Variable))
	}
	c.r.refuseHalf(t.pair())
	if c.k.tlsGiven && t.Enabled == ToggleFalse {
		c.r.warn("%s is false: connections are in plaintext, and these have no effect: %s", c.r.asSet(tlsEnabled), strings.Join(c.tlsValues(), ", "))
	}
	if t.InsecureSkipVerify && c.k.TLSOn() {
		c.r.warn("%s is true: any certificate of any broker is taken, and whoever is in between can read and change everything", c.r.asSet(tlsSkipVerify))
	}
}

// refuseHalf refuses a certificate without its key, and a key without its certificate.
func (r *rules) refuseHalf(k keyPair) {
	switch {
	case k.cert.IsSet() && !k.key.IsSet() && !r.bad[k.keyName]:
		r.refuse(k.keyName, "is missing: "+r.asSet(k.certName)+" is set, and a certificate needs its key")
	case k.key.IsSet() && !k.cert.IsSet() && !r.bad[k.certName]:
		r.refuse(k.certName, "is missing: "+r.asSet(k.keyName)+" is set, and a key needs its certificate")
	}
}

// plaintext refuses to send a login in the clear. SCRAM sends none, and its
// exchange can still be searched for weak passwords.
func (c connectionRules) plaintext() {
	m := c.k.SASL.Mechanism
	if m == "" || c.k.TLSOn() || c.r.bad[tlsEnabled] || c.r.bad[securityProtocol] {
		return
	}
	switch {
	case m.scram():
		c.r.warn("%s without TLS: records are in plaintext, and whoever listens can try passwords against the login; set %s=true", m, tlsEnabled)
	case !c.r.given[kafkaBrokers] || c.r.bad[kafkaBrokers]: // that is said, and where the login goes is not known
	case !slices.ContainsFunc(c.k.Brokers, isRemote):
	case c.k.SASL.AllowPlaintext:
		c.r.warn("%s is true: %s sends the login in plaintext, and whoever is in between can read it", c.r.asSet(saslAllowPlaintext), m)
	case c.k.SecurityProtocol == ProtocolSASLPlaintext:
		c.r.refuse(securityProtocol, fmt.Sprintf("%s would send the login of %s in plaintext: want %s, or %s=true if that is meant",
			quote(string(c.k.SecurityProtocol)), m, ProtocolSASLSSL, saslAllowPlaintext))
	default:
		c.r.refuse(tlsEnabled, fmt.Sprintf("TLS is not on, and %s would send the login in plaintext: set it to true, or %s=true if that is meant", m, saslAllowPlaintext))
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
