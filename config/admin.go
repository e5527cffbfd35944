package config

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// HTTP is the settings of both HTTP servers besides their addresses.
type HTTP struct {
	TLS HTTPTLS
}

// HTTPTLS is the certificate that HTTP is served with. It is set where its key is;
// without the two HTTP is plaintext.
type HTTPTLS struct {
	Cert Secret `kind:"certificates" derived:"none: plaintext" example:"-----BEGIN CERTIFICATE-----..." desc:"certificate with its chain that LAYOVER_HTTP_ADDR and LAYOVER_ADMIN_ADDR are served with, over TLS 1.2 or later; in LAYOVER_HTTP_TLS_CERT_FILE, a path, read again when it changes"`
	Key  Secret `kind:"key" secret:"true" derived:"none" example:"-----BEGIN PRIVATE KEY-----..." desc:"private key of that certificate, not encrypted; in LAYOVER_HTTP_TLS_KEY_FILE, a path, read again when it changes"`
}

// On reports whether HTTP is served over TLS.
func (t *HTTPTLS) On() bool { return t.Cert.IsSet() }

// Load reads the certificate and its key, also from their files, and checks them as of
// now. The certificate has its Leaf, and is nil without TLS. An error is an *[Errors].
func (t *HTTPTLS) Load(now time.Time) (*tls.Certificate, error) {
	pair, problems := t.pair().load(now)
	if len(problems) > 0 {
		return nil, &Errors{Problems: problems}
	}
	return pair, nil
}

func (t *HTTPTLS) pair() keyPair { return keyPair{t.Cert, t.Key, httpTLSCert, httpTLSKey} }

// relateHTTP checks the rules between the settings of HTTP.
func (r *rules) relateHTTP() {
	r.relateHTTPTLS(&r.cfg.HTTP.TLS)
	r.relateAdmin()
}

// relateHTTPTLS checks the certificate and its key, and refuses one without the other.
func (r *rules) relateHTTPTLS(t *HTTPTLS) {
	_, problems := t.pair().loadBy(r.host.now(), Secret.asRead)
	for _, p := range problems {
		r.refuse(p.Variable, p.Reason+r.from(p.Variable))
	}
	r.refuseHalf(t.pair())
}

// relateAdmin refuses an admin address that others reach without a token, and one that
// LAYOVER_HTTP_ADDR has taken.
func (r *rules) relateAdmin() {
	c := r.cfg
	if c.AdminToken.IsSet() && !isHeaderText(c.AdminToken.text()) {
		r.refuse(adminToken, "has white space or another character that no Authorization header can have"+r.from(adminToken))
	}
	if c.AdminAddr == "" {
		if c.AdminToken.IsSet() && !r.bad[adminAddr] {
			r.warn("%s has no effect without %s", r.asSet(adminToken), adminAddr)
		}
		return
	}
	host, _, _ := net.SplitHostPort(c.AdminAddr)
	switch {
	case isLoopback(host):
	case !c.AdminToken.IsSet() && !r.bad[adminToken]:
		r.refuse(adminAddr, fmt.Sprintf("%s is not loopback, and %s is not set: whoever reaches it could read memory profiles and change the log level; set %s, or choose a loopback address",
			quote(c.AdminAddr), adminToken, adminToken))
	case !c.HTTP.TLS.On():
		r.warn("%s %s is not loopback and there is no %s: %s is sent in plaintext", adminAddr, quote(c.AdminAddr), httpTLSCert, adminToken)
	}
	if sameAddress(c.AdminAddr, c.HTTPAddr) {
		r.refuse(adminAddr, fmt.Sprintf("%s is taken by %s, which is %s: want another port", quote(c.AdminAddr), httpAddr, r.shown(httpAddr)))
	}
}

// sameAddress reports whether two listeners cannot have both of the addresses.
func sameAddress(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || strings.TrimLeft(portA, "0") == "" { // port 0 is any free one
		return false
	}
	every := func(host string) bool {
		ip, err := netip.ParseAddr(host)
		return host == "" || err == nil && ip.IsUnspecified()
	}
	return strings.TrimLeft(portA, "0") == strings.TrimLeft(portB, "0") &&
		(strings.EqualFold(hostA, hostB) || every(hostA) || every(hostB))
}

// isHeaderText reports whether text can follow "Bearer " in a header.
func isHeaderText(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}
