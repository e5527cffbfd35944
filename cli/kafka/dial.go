// Package kafka is shared by the verbs that talk to brokers: timeouts, and the
// reason why a connection could not be made.
package kafka

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// AskTimeout bounds one question to the brokers, and so how long a wrong
	// address takes to be called wrong.
	AskTimeout = 6 * time.Second
	// dialTimeout leaves time for a second broker in AskTimeout.
	dialTimeout = 3 * time.Second
)

// Options returns the options of every verb's client. The client id
// is for the brokers' logs, and dials learns why connections fail.
func Options(seeds []string, clientID string, dials *DialFailure) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.ClientID(clientID),
		kgo.DialTimeout(dialTimeout),
		kgo.WithHooks(dials),
	}
}

// DialFailure remembers why the last connection could not be made: kgo goes on
// trying, and its final error is only a timeout. It is a hook of a client.
// Any goroutine may use it.
type DialFailure struct{ last atomic.Pointer[error] }

// OnBrokerConnect implements kgo.HookBrokerConnect.
func (f *DialFailure) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil {
		f.last.Store(&err)
	}
}

// Explain adds the last failure to err, unless err contains it already.
func (f *DialFailure) Explain(err error) error {
	last := f.last.Load()
	if err == nil || last == nil || strings.Contains(err.Error(), (*last).Error()) {
		return err
	}
	return fmt.Errorf("%w (last failed connection: %v)", err, *last)
}
