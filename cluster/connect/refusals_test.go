package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/config"
)

// outcome of an attempt at a broker, and of a request behind its login.
var (
	brokerA  = kgo.BrokerMetadata{NodeID: 1, Host: "a", Port: 9092}
	brokerB  = kgo.BrokerMetadata{NodeID: 2, Host: "b", Port: 9092}
	errLogin = fmt.Errorf("sasl: %w", kerr.SaslAuthenticationFailed)
)

func (w *fixture) tried(c *Connection, b kgo.BrokerMetadata, err error) {
	c.OnBrokerConnect(b, time.Second, nil, err)
}

func (w *fixture) asked(c *Connection, b kgo.BrokerMetadata, key int16, err error) {
	c.OnBrokerE2E(b, key, kgo.BrokerE2E{ReadErr: err})
}

// refusedBy returns the brokers of the status.
func refusedBy(c *Connection) string {
	var all []string
	for _, r := range c.Status().Refused {
		all = append(all, r.Broker)
	}
	return strings.Join(all, " ")
}

const metadata, apiVersions = 3, 18

func TestConnectionsFromBeforeDoNotHideThatNewOnesAreRefused(t *testing.T) {
	inBubble(t, func(w *fixture) {
		c := w.connect(plainLogin(config.NewSecret("x")))
		w.asked(c, brokerA, metadata, nil)
		w.tried(c, brokerA, errLogin)
		w.asked(c, brokerA, metadata, nil) // by a connection from before
		if refusedBy(c) != "a:9092" {
			t.Errorf("refusals by %q, want a", refusedBy(c))
		}
		w.tried(c, brokerA, nil)
		if refusedBy(c) != "" {
			t.Errorf("refusals by %q behind a connection, want none", refusedBy(c))
		}
	})
}

// TestAListenerThatWantsALoginIsNoneThatTakesConnections: it takes the connection, and
// closes it at the first request.
func TestAListenerThatWantsALoginIsNoneThatTakesConnections(t *testing.T) {
	inBubble(t, func(w *fixture) {
		c := w.connect(config.Kafka{})
		for range 3 {
			w.tried(c, brokerA, nil)
			w.asked(c, brokerA, apiVersions, nil)
			w.asked(c, brokerA, metadata, io.EOF)
		}
		w.tried(c, brokerA, nil)
		w.asked(c, brokerA, apiVersions, nil)
		if s := c.Status(); len(s.Refused) != 1 || s.Refused[0].LookAt != "KAFKA_TLS_ENABLED, KAFKA_SASL_MECHANISM and the port in KAFKA_BROKERS" || s.Answered {
			t.Errorf("status %+v, want a refusal", s)
		}
		w.asked(c, brokerA, metadata, nil)
		if refusedBy(c) != "" || !c.Status().Answered {
			t.Errorf("refusals by %q behind an answer, want none", refusedBy(c))
		}
		w.asked(c, brokerA, metadata, io.EOF)
		w.tried(c, brokerA, io.EOF)
		if refusedBy(c) != "" {
			t.Errorf("refusals by %q, want none: it is a broker that ends", refusedBy(c))
		}
	})
}

func TestABrokerThatIsNoLongerTriedIsForgotten(t *testing.T) {
	inBubble(t, func(w *fixture) {
		c := w.connect(plainLogin(config.NewSecret("x")))
		w.tried(c, brokerA, errLogin)
		time.Sleep(time.Minute)
		w.tried(c, brokerB, errLogin)
		time.Sleep(time.Minute)
		if refusedBy(c) != "a:9092 b:9092" {
			t.Errorf("refusals by %q after two minutes, want both", refusedBy(c))
		}
		time.Sleep(time.Second)
		if refusedBy(c) != "b:9092" {
			t.Errorf("refusals by %q after more than two minutes, want b", refusedBy(c))
		}
		if c.Status().Refusals[ReasonLogin] != 2 {
			t.Errorf("counters %v, want both", c.Status().Refusals)
		}
	})
}

func TestALineIn30SecondsWhateverTheBrokersSay(t *testing.T) {
	inBubble(t, func(w *fixture) {
		c := w.connect(plainLogin(config.NewSecret("x")))
		for range 600 { // one that takes every other connection, and one that takes none
			w.tried(c, brokerA, errLogin)
			w.tried(c, brokerA, nil)
			w.tried(c, brokerB, errLogin)
			time.Sleep(time.Second)
		}
		refused, taken := w.logs.with(refusedLine), w.logs.with(takenLine)
		if len(refused) != 20 || len(taken) > 20 {
			t.Errorf("%d lines of refusals and %d of their ends in ten minutes, want 20 and no more", len(refused), len(taken))
		}
		if len(taken) == 0 || taken[0]["broker"] != "a:9092" || taken[0]["refused_for"] != "0s" || taken[0]["level"] != "INFO" {
			t.Errorf("line %v, want a's", taken)
		}
	})
}

// closedTCP is an error as net has them.
var closedTCP = &net.OpError{Op: "read", Err: errors.New("use of closed network connection")}

func TestWhatIsNoRefusal(t *testing.T) {
	inBubble(t, func(w *fixture) {
		c := w.connect(plainLogin(config.NewSecret("x")))
		for name, err := range map[string]error{
			"none": nil, "a client that is closed": fmt.Errorf("x: %w", kgo.ErrClientClosed), "cancelled": fmt.Errorf("x: %w", context.Canceled),
			"late": context.DeadlineExceeded, "down": closedTCP, "a pause": temporary{&pause{}},
		} {
			w.tried(c, brokerA, err)
			if s := c.Status(); len(s.Refused) > 0 || len(s.Refusals) > 0 || w.logs.text() != "" {
				t.Errorf("%s: status %+v, log %s", name, s, w.logs.text())
			}
			if err != nil && c.Explain(err) != err {
				t.Errorf("%s: explained as %v", name, c.Explain(err))
			}
		}
		if c.Explain(nil) != nil {
			t.Error("no error is explained")
		}
	})
}

func TestTheSettingOfALogin(t *testing.T) {
	endpoint := config.SASL{Mechanism: config.MechanismOAuth, OAuth: config.OAuth{TokenEndpoint: "https://host/"}}
	file := config.SASL{Mechanism: config.MechanismOAuth, OAuth: config.OAuth{Token: config.NewSecret("x")}}
	iam := config.SASL{Mechanism: config.MechanismAWS}
	user := config.SASL{Mechanism: config.MechanismScramSHA512}
	for name, want := range map[string]struct {
		sasl                 config.SASL
		err                  error
		reason, lookAt, hint string
	}{
		"a password":       {user, errLogin, ReasonLogin, "KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD", "the broker does not take the login"},
		"AWS":              {iam, errLogin, ReasonLogin, "the AWS credentials, KAFKA_SASL_AWS_REGION and the IAM policy (kafka-cluster:Connect)", "the broker does not take the login"},
		"AWS, no answer":   {iam, errors.New("empty challenge response: failed"), ReasonLogin, "the AWS credentials, KAFKA_SASL_AWS_REGION and the IAM policy (kafka-cluster:Connect)", "the broker does not take the login"},
		"a client's token": {endpoint, errors.New("unexpected data in oauth response"), ReasonLogin, "KAFKA_SASL_OAUTH_CLIENT_ID, KAFKA_SASL_OAUTH_SCOPES, KAFKA_SASL_OAUTH_AUDIENCE and KAFKA_SASL_OAUTH_EXTENSIONS", "the broker does not take the login"},
		"a file's token":   {file, errLogin, ReasonLogin, "KAFKA_SASL_OAUTH_TOKEN_FILE and KAFKA_SASL_OAUTH_EXTENSIONS", "the broker does not take the login"},
		"the mechanism":    {user, kerr.UnsupportedSaslMechanism, ReasonLogin, "KAFKA_SASL_MECHANISM", "the broker does not offer SCRAM-SHA-512 there"},
		"no login there":   {user, kerr.IllegalSaslState, ReasonProtocol, "KAFKA_SASL_MECHANISM and the port in KAFKA_BROKERS", "the broker wants no login there"},
		"credentials":      {user, fmt.Errorf("x: %w", lookAt("KAFKA_SASL_PASSWORD", "is\n not set")), ReasonCredentials, "KAFKA_SASL_PASSWORD", "x: KAFKA_SASL_PASSWORD: is not set"},
		"closed at once":   {user, io.EOF, ReasonProtocol, "KAFKA_TLS_ENABLED and the port in KAFKA_BROKERS", "the broker closes the connection at once"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				c := w.connect(config.Kafka{SASL: want.sasl, AWS: config.AWS{EC2MetadataDisabled: true}})
				w.tried(c, brokerA, want.err)
				s := c.Status()
				if len(s.Refused) != 1 || s.Refused[0].Reason != want.reason || s.Refused[0].LookAt != want.lookAt || !strings.HasPrefix(s.Refused[0].Message, want.hint) ||
					strings.Contains(s.Refused[0].Message, "\n") || s.Mechanism != want.sasl.Mechanism {
					t.Errorf("status %+v, want %s, %q, %q", s, want.reason, want.lookAt, want.hint)
				}
				if got := c.Explain(want.err); !errors.Is(got, want.err) || !strings.HasSuffix(got.Error(), "; look at "+want.lookAt) {
					t.Errorf("explained as %v", got)
				}
				if got := c.Explain(context.DeadlineExceeded).Error(); !strings.Contains(got, "a:9092 refused the connection: "+want.hint) || !strings.HasSuffix(got, "; look at "+want.lookAt) {
					t.Errorf("a time-out is explained as %s", got)
				}
			})
		})
	}
}
