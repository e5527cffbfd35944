package connect

import (
	"context"
	"errors"
	"net"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Waiting is the option of a group member, behind Options: a broker whose host refuses connections is waited for like
// one that does not answer. Otherwise the client ends the membership with the first heartbeat that reaches no broker,
// and gives up all partitions. Heartbeats that time out are tried again until the session timeout is over, and a broker
// that restarts is back before that.
//
// Other clients do without: with it a client tells a wrong address that much later.
func (c *Connection) Waiting() kgo.Opt { return kgo.Dialer(c.dialWaiting) }

// dialWaiting is dial, whose failures to reach a host are time-outs.
func (c *Connection) dialWaiting(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := c.dial(ctx, network, addr)
	if failed, ok := errors.AsType[*net.OpError](err); ok && failed.Op == "dial" && ctx.Err() == nil {
		late := *failed
		late.Err = timedOut{failed.Err}
		return nil, &late
	}
	return conn, err
}

// timedOut is an error that kgo takes for a time-out. It has no Unwrap: kgo gives up where it finds that a name is not
// known, and that of a container is not while it restarts.
type timedOut struct{ error }

// Timeout is what net.OpError says of itself.
func (timedOut) Timeout() bool { return true }

// Temporary is the same.
func (timedOut) Temporary() bool { return true }
