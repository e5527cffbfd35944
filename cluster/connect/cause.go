package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/config"
)

// The reasons of refusals, as metrics have them.
const (
	ReasonTLS         = "tls"         // no common ground, or a certificate that one side does not take
	ReasonLogin       = "login"       // the broker does not take the mechanism or the credentials
	ReasonCredentials = "credentials" // there are none to send: a file, a token endpoint, AWS
	ReasonProtocol    = "protocol"    // one side speaks TLS or logs in, the other does not
)

// Reasons are all of them.
func Reasons() []string { return []string{ReasonTLS, ReasonLogin, ReasonCredentials, ReasonProtocol} }

// Cause is why a connection is refused.
type Cause struct {
	Reason  string
	LookAt  string // the setting, or several
	Message string // of the error, on one line, without secrets
	Unsure  bool   // it may be a broker that is starting or ending
}

// cause returns why err is a refusal; false if it is none: a broker that is down, or
// nothing at all.
func (c *Connection) cause(err error) (Cause, bool) {
	if err == nil || isPause(err) || errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) {
		return Cause{}, false
	}
	for _, find := range []func(error) (reason, lookAt, hint string){ofCredentials, c.ofLogin, c.ofCertificates, c.ofProtocol} {
		if reason, lookAt, hint := find(err); reason != "" {
			message := strings.Join(strings.Fields(err.Error()), " ")
			if hint != "" {
				message = hint + ": " + message
			}
			return Cause{Reason: reason, LookAt: lookAt, Message: message, Unsure: closedAtOnce(err)}, true
		}
	}
	return Cause{}, false
}

// Explain adds the setting to look at to the error of a client, where it is refused. The
// result is one line, as err is.
func (c *Connection) Explain(err error) error {
	if cause, ok := c.cause(err); ok {
		return fmt.Errorf("%w; look at %s", err, cause.LookAt)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := c.lasting(time.Now()); len(all) > 0 { // kgo's last error may be a time-out
		r := &all[0]
		if strings.Contains(err.Error(), "look at "+r.LookAt) { // a pause repeats its cause
			return err
		}
		return fmt.Errorf("%w; %s refused the connection: %s; look at %s", err, r.Broker, r.Message, r.LookAt)
	}
	return err
}

func ofCredentials(err error) (reason, lookAt, hint string) {
	if e, ok := errors.AsType[*credentialError](err); ok {
		return ReasonCredentials, e.lookAt, ""
	}
	return "", "", ""
}

// ofLogin is about brokers' answers to a login.
func (c *Connection) ofLogin(err error) (reason, lookAt, hint string) {
	switch {
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return ReasonLogin, "KAFKA_SASL_MECHANISM", fmt.Sprintf("the broker does not offer %s there", c.cfg.Kafka.SASL.Mechanism)
	case errors.Is(err, kerr.IllegalSaslState):
		return ReasonProtocol, "KAFKA_SASL_MECHANISM and the port in KAFKA_BROKERS", "the broker wants no login there, or another one first"
	case errors.Is(err, kerr.SaslAuthenticationFailed), strings.Contains(err.Error(), "unexpected data in oauth response"), strings.Contains(err.Error(), "empty challenge response"):
		return ReasonLogin, c.credentials(), "the broker does not take the login"
	}
	return "", "", ""
}

// credentials names the settings of the login.
func (c *Connection) credentials() string {
	s := &c.cfg.Kafka.SASL
	switch {
	case s.Mechanism == config.MechanismAWS:
		return "the AWS credentials, KAFKA_SASL_AWS_REGION and the IAM policy (kafka-cluster:Connect)"
	case s.Mechanism == config.MechanismOAuth && s.OAuth.Token.IsSet():
		return "KAFKA_SASL_OAUTH_TOKEN_FILE and KAFKA_SASL_OAUTH_EXTENSIONS"
	case s.Mechanism == config.MechanismOAuth:
		return "KAFKA_SASL_OAUTH_CLIENT_ID, KAFKA_SASL_OAUTH_SCOPES, KAFKA_SASL_OAUTH_AUDIENCE and KAFKA_SASL_OAUTH_EXTENSIONS"
	default:
		return "KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD"
	}
}

// ofCertificates is about the TLS handshake: what either side finds in the other's
// certificate, and whether they have a version and a cipher in common.
func (c *Connection) ofCertificates(err error) (reason, lookAt, hint string) {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return ReasonTLS, "KAFKA_TLS_CA", "the broker's certificate is of no authority that is trusted here"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return ReasonTLS, "KAFKA_TLS_SERVER_NAME, KAFKA_BROKERS and the names that brokers advertise", "the broker's certificate is for other names"
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		hint = "the broker's certificate is not valid"
		if e.Reason == x509.Expired {
			hint = "the broker's certificate has expired, or the clock is wrong here"
		}
		return ReasonTLS, "the broker's certificate", hint
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return ReasonTLS, "KAFKA_TLS_CA", "the broker's certificate cannot be verified"
	}
	if remote, ok := errors.AsType[*net.OpError](err); ok && remote.Op == "remote error" {
		return ofAlert(remote.Err.Error())
	}
	if strings.Contains(err.Error(), "tls: server selected unsupported protocol version") {
		return ofAlert("protocol version")
	}
	return "", "", ""
}

// ofAlert is about the alert that a broker ends a handshake with, by crypto/tls's words
// for it: its type is not exported.
func ofAlert(alert string) (reason, lookAt, hint string) {
	switch {
	case strings.Contains(alert, "certificate"), strings.Contains(alert, "access denied"):
		return ReasonTLS, "KAFKA_TLS_CERT and KAFKA_TLS_KEY", "the broker does not take the client's certificate, or there is none"
	case strings.Contains(alert, "protocol version"):
		return ReasonTLS, "the broker's ssl.enabled.protocols", "the broker does not speak TLS 1.2 or later"
	case strings.Contains(alert, "unrecognized name"):
		return ReasonTLS, "KAFKA_TLS_SERVER_NAME", "the broker does not know the name that it is called by"
	}
	return ReasonTLS, "the broker's ssl.cipher.suites, KAFKA_TLS_CERT and KAFKA_TLS_KEY", "the broker ends the TLS handshake"
}

// ofProtocol is about two sides that do not speak the same. A connection that is closed
// at once may be a broker's end, too: it is taken for that once some broker has answered.
func (c *Connection) ofProtocol(err error) (reason, lookAt, hint string) {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return ReasonProtocol, "KAFKA_TLS_ENABLED and the port in KAFKA_BROKERS", "the broker does not speak TLS there"
	}
	if strings.Contains(err.Error(), "tls alert record") || strings.Contains(err.Error(), "plaintext connection speaking to a tls endpoint") {
		return ReasonProtocol, "KAFKA_TLS_ENABLED and the port in KAFKA_BROKERS", "the broker wants TLS there"
	}
	c.mu.Lock()
	answered := c.answered
	c.mu.Unlock()
	switch {
	case answered || !closedAtOnce(err):
		return "", "", ""
	case errors.As(err, new(temporary)):
		return ReasonProtocol, "KAFKA_TLS_ENABLED and the port in KAFKA_BROKERS", "the broker closes the connection in the TLS handshake, as one does without TLS"
	case c.certs == nil && c.mechanism == nil:
		return ReasonProtocol, "KAFKA_TLS_ENABLED, KAFKA_SASL_MECHANISM and the port in KAFKA_BROKERS", "the broker closes the connection at once, as one does that wants TLS or a login, or a published port of a container whose Kafka is not up yet"
	case c.certs == nil:
		return ReasonProtocol, "KAFKA_TLS_ENABLED and the port in KAFKA_BROKERS", "the broker closes the connection at once, as one does that wants TLS"
	case c.mechanism == nil:
		return ReasonProtocol, "KAFKA_SASL_MECHANISM, KAFKA_TLS_CERT and the port in KAFKA_BROKERS", "the broker closes the connection at once, as one does that wants a login or a certificate"
	}
	return ReasonProtocol, c.credentials() + ", and KAFKA_TLS_CERT", "the broker closes the connection at once"
}

// closedAtOnce reports whether a broker closed a connection without a word. One that does
// not read to the end what it was sent resets it.
func closedAtOnce(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}
