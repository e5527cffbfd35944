// Package kafka is shared by the verbs that talk to brokers. It has clients, timeouts,
// questions that more than one verb asks, and the reason why a connection or a question
// failed.
package kafka

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cluster/connect"
	"layover/config"
)

const (
	// AskTimeout bounds one question to the brokers, and so how long a wrong
	// address takes to be called wrong.
	AskTimeout = 6 * time.Second
	// dialTimeout leaves time for a second broker in AskTimeout.
	dialTimeout = 3 * time.Second
)

// Connection is how a verb's clients connect, and why that failed.
type Connection struct {
	*connect.Connection
	Seeds string // the brokers, as a list
	dials dialFailure
}

// Connect returns the connection of the settings. The client id is for the brokers' logs.
func Connect(k config.Kafka, clientID string) (*Connection, error) {
	c, err := connect.New(connect.Config{Kafka: k, ClientID: clientID, DialTimeout: dialTimeout})
	return &Connection{Connection: c, Seeds: strings.Join(k.Brokers, ",")}, err
}

// Options returns the options of every client of the verb.
func (c *Connection) Options() []kgo.Opt {
	return append(c.Connection.Options(), kgo.WithHooks(&c.dials))
}

// Explain adds to err why connections failed, and the setting to look at.
func (c *Connection) Explain(err error) error {
	if err == nil {
		return nil
	}
	return c.Connection.Explain(c.dials.explain(err))
}

// dialFailure remembers why the last connection could not be made: kgo goes on
// trying, and its final error is only a timeout. It is a hook of a client.
// Any goroutine may use it.
type dialFailure struct{ last atomic.Pointer[error] }

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (f *dialFailure) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil {
		f.last.Store(&err)
	}
}

// explain adds the last failure to err, unless err contains it already.
func (f *dialFailure) explain(err error) error {
	last := f.last.Load()
	if err == nil || last == nil || strings.Contains(err.Error(), (*last).Error()) {
		return err
	}
	return fmt.Errorf("%w (last failed connection: %v)", err, *last)
}
