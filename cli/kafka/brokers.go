package kafka

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cluster"
	"layover/config"
)

// Brokers asks Kafka for a verb. Any goroutine may.
type Brokers struct {
	Client *kgo.Client
	Admin  *kadm.Client // over Client
	Opts   []kgo.Opt    // of the verb's other clients
	Via    *Connection
}

// Ask makes a client for questions, which the caller closes. It asks nothing yet. The client
// id is for the brokers' logs; opts hold for the verb's other clients as well.
func Ask(k config.Kafka, clientID string, opts ...kgo.Opt) (*Brokers, error) {
	via, err := Connect(k, clientID)
	if err != nil {
		return nil, err
	}
	b := &Brokers{Via: via, Opts: append(via.Options(), opts...)}
	if b.Client, err = kgo.NewClient(append(slices.Clip(b.Opts), kgo.RequestRetries(3))...); err != nil {
		return nil, err
	}
	b.Admin = kadm.NewClient(b.Client)
	return b, nil
}

// Close closes the client for questions.
func (b *Brokers) Close() { b.Client.Close() }

// Explain names the subject and the remedy of an error: acl is the right that a refused
// request lacks. An error that no broker sent is of the connection.
func (b *Brokers) Explain(err error, what, acl string) error {
	switch {
	case err == nil:
		return nil
	case cluster.Denied(err):
		return fmt.Errorf("%s: %w", what, cluster.Allow(err, acl))
	case Answered(err), errors.Is(err, cluster.ErrNoAnswer): // or an answer without what was asked for
		return fmt.Errorf("%s: %w", what, b.Via.Explain(err))
	}
	return fmt.Errorf("%s: no answer from %s: %w; check KAFKA_BROKERS", what, b.Via.Seeds, b.Via.Explain(err))
}

// Answered reports whether a broker sent the error.
func Answered(err error) bool {
	_, answered := errors.AsType[*kerr.Error](err)
	return answered
}
