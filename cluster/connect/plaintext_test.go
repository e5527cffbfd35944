package connect

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"layover/config"
)

// A broker on this host may name others: nobody asked for a login in plaintext there.
func TestALoginIsNotSentInPlaintextToBrokersThatOthersName(t *testing.T) {
	errDialled := errors.New("dialled")
	for addr, want := range map[string]string{"127.0.0.1:9092": "dialled", "kafka.example.com:9092": "KAFKA_TLS_ENABLED: kafka.example.com:9092 is not on this host"} {
		for name, test := range map[string]struct {
			k    config.Kafka
			want string
		}{
			"PLAIN":              {config.Kafka{SASL: config.SASL{Mechanism: config.MechanismPlain}}, want},
			"OAUTHBEARER":        {config.Kafka{SASL: config.SASL{Mechanism: config.MechanismOAuth}}, want},
			"no login":           {config.Kafka{}, "dialled"},
			"SCRAM":              {config.Kafka{SASL: config.SASL{Mechanism: config.MechanismScramSHA256}}, "dialled"},
			"PLAIN over TLS":     {config.Kafka{TLS: config.TLS{Enabled: config.ToggleTrue}, SASL: config.SASL{Mechanism: config.MechanismPlain}}, "dialled"},
			"PLAIN, and told so": {config.Kafka{SASL: config.SASL{Mechanism: config.MechanismPlain, AllowPlaintext: true}}, "dialled"},
		} {
			c, err := New(Config{Kafka: test.k, DialTimeout: time.Second, Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errDialled }})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.dial(t.Context(), "tcp", addr)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%s to %s: %v, want %s", name, addr, err, test.want)
			}
		}
	}
}
