package consumer

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// groupErrors hears about the end of a group session.
type groupErrors struct {
	group  string
	log    *slog.Logger
	fenced func() // another process uses the same group instance id
	// refused is Config.Refused.
	refused func() bool

	last   atomic.Pointer[string] // nil after a join
	logged atomic.Pointer[groupLine]
}

// groupLine is the last line about the group.
type groupLine struct {
	text string
	at   time.Time
}

// sayEvery is the time between two lines about an error that lasts.
const sayEvery = 30 * time.Second

// OnGroupManageError implements kgo.HookGroupManageError.
func (g *groupErrors) OnGroupManageError(err error) {
	text := allow(err, g.group, "").Error()
	if errors.Is(err, kerr.InvalidSessionTimeout) { // the setting stays as it is until a restart
		text += "; set LAYOVER_SESSION_TIMEOUT within that range, and restart"
	}
	g.last.Store(&text)
	line := groupTrouble(err)
	if (line == outOfReach || line == sessionEnded) && g.refused != nil && g.refused() {
		return
	}
	if was := g.logged.Load(); was == nil || was.text != line || time.Since(was.at) >= sayEvery {
		g.logged.Store(&groupLine{line, time.Now()})
		g.log.Warn(line, "group", g.group, "err", text)
	}
	if errors.Is(err, kerr.FencedInstanceID) {
		g.fenced()
	}
}

// joined forgets the last error.
func (g *groupErrors) joined() { g.last.Store(nil) }

// lastError returns the last error, "" after a join.
func (g *groupErrors) lastError() string {
	if e := g.last.Load(); e != nil {
		return *e
	}
	return ""
}

// Lines about errors that are not of the group itself.
const (
	outOfReach   = "the group's coordinator is out of reach, trying again"
	sessionEnded = "the group session ended, trying again"
)

// groupTrouble returns an error of the group in words. A coordinator that refuses wants
// another setting or another ACL; one that is out of reach wants patience, or a look at
// the brokers. Any other error, such as a wrong certificate, speaks for itself. An error
// that a rejoin or time mends is no refusal.
func groupTrouble(err error) string {
	switch {
	case isAny(err, noCoordinator):
		return "the group has no coordinator at the moment, trying again"
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return outOfReach
	case isAny(err, rejoining), kerr.IsRetriable(err):
		return sessionEnded
	case is[*kerr.Error](err):
		return "the group does not take this member, trying again"
	case unreachable(err):
		return outOfReach
	default:
		return sessionEnded
	}
}

// Errors of the group that pass by themselves: with another coordinator, or with the next
// join.
var (
	noCoordinator = []error{kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator}
	rejoining     = []error{kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.RebalanceInProgress, kerr.MemberIDRequired, kerr.GroupIDNotFound,
		kerr.StaleMemberEpoch, kerr.FencedMemberEpoch, kerr.UnreleasedInstanceID, kerr.UnknownServerError}
)

// unreachable says whether an error is the network's: no broker has answered.
func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || kgo.IsRetryableBrokerErr(err)
}
