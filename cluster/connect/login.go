package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/aws"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"layover/config"
)

// credentialError is why there are no credentials for an attempt. It is found before
// anything is sent.
type credentialError struct {
	lookAt string // the setting
	err    error
}

// Error names the setting.
func (e *credentialError) Error() string { return e.lookAt + ": " + e.err.Error() }

// Unwrap returns the reason.
func (e *credentialError) Unwrap() error { return e.err }

// Temporary is how kgo asks: a file may be written again.
func (e *credentialError) Temporary() bool { return true }

// login returns the mechanism of the settings; nil without one. Credentials are read for
// each session.
func (c *Connection) login() sasl.Mechanism {
	s := &c.cfg.Kafka.SASL
	switch s.Mechanism {
	case config.MechanismPlain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			user, password, err := userAndPassword(s)
			return plain.Auth{User: user, Pass: password}, err
		})
	case config.MechanismScramSHA256, config.MechanismScramSHA512:
		auth := func(context.Context) (scram.Auth, error) {
			user, password, err := userAndPassword(s)
			return scram.Auth{User: user, Pass: password}, err
		}
		if s.Mechanism == config.MechanismScramSHA256 {
			return scram.Sha256(auth)
		}
		return scram.Sha512(auth)
	case config.MechanismOAuth:
		tokens := newTokens(&s.OAuth, c.cfg.Dial)
		c.renew = tokens.renew
		return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			token, err := tokens.token(ctx)
			return oauth.Auth{Token: token, Extensions: extensions(s.OAuth.Extensions)}, err
		})
	case config.MechanismAWS:
		keys := newAWS(&c.cfg.Kafka, c.cfg.Dial)
		if keys.cached != nil {
			c.renew = keys.cached.Invalidate
		}
		return aws.ManagedStreamingIAM(keys.auth)
	default:
		return nil
	}
}

// gated is a login that is not made during a pause. Gates do not see the logins of open
// connections, which brokers ask for when a session ends (KIP-368).
type gated struct {
	sasl.Mechanism
	gates *gates
}

// Authenticate implements sasl.Mechanism.
func (g gated) Authenticate(ctx context.Context, addr string) (sasl.Session, []byte, error) {
	if err := g.gates.pausing(addr, time.Now()); err != nil {
		return nil, nil, err
	}
	return g.Mechanism.Authenticate(ctx, addr)
}

func userAndPassword(s *config.SASL) (user, password string, err error) {
	if user, err = read(s.Username, "KAFKA_SASL_USERNAME"); err == nil {
		password, err = read(s.Password, "KAFKA_SASL_PASSWORD")
	}
	return user, password, err
}

// read reads a secret that has to be there.
func read(s config.Secret, variable string) (string, error) {
	text, err := s.Read()
	if err == nil && text == "" {
		err = errors.New("is not set")
	}
	if err != nil {
		return "", &credentialError{lookAt: variable, err: err}
	}
	return text, nil
}

func extensions(pairs []string) map[string]string {
	all := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}

func lookAt(variable, format string, args ...any) error {
	return &credentialError{lookAt: variable, err: fmt.Errorf(format, args...)}
}
