package consumer

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// groupErrors hears about the end of a group session.
type groupErrors struct{ c *Consumer }

// saying is what was said last about the group, and when.
type saying struct {
	what string
	at   time.Time
}

// OnGroupManageError implements kgo.HookGroupManageError.
func (g groupErrors) OnGroupManageError(err error) {
	text := err.Error()
	g.c.group.Store(&text)
	what := groupTrouble(err)
	if said := g.c.groupSaid.Load(); said == nil || said.what != what || time.Since(said.at) >= sayEvery {
		g.c.groupSaid.Store(&saying{what, time.Now()})
		g.c.cfg.Log.Warn(what, "group", g.c.cfg.Group, "err", err)
	}
	if errors.Is(err, kerr.FencedInstanceID) {
		g.c.fail(ErrFenced)
	}
}

// groupTrouble says what an error of the group means: a coordinator that refuses wants
// another setting or another ACL, one that is out of reach wants patience or a look at
// the brokers. What is neither, such as a certificate that does not fit, speaks for itself.
func groupTrouble(err error) string {
	var broker *kerr.Error
	switch {
	case errors.Is(err, kerr.CoordinatorNotAvailable), errors.Is(err, kerr.CoordinatorLoadInProgress), errors.Is(err, kerr.NotCoordinator):
		return "the group has no coordinator at the moment, trying again"
	case errors.As(err, &broker):
		return "the group does not take this member, trying again"
	case unreachable(err):
		return "the group's coordinator is out of reach, trying again"
	default:
		return "the group session ended, trying again"
	}
}

// unreachable says whether an error is the network's: no broker has answered.
func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || kgo.IsRetryableBrokerErr(err)
}
