package consumer

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestALineAboutTheGroupTellsARefusalFromSilence(t *testing.T) {
	read := &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	tests := map[string]struct {
		err  error
		want string
	}{
		"read timed out":      {read, "the group's coordinator is out of reach, trying again"},
		"wrapped":             {fmt.Errorf("unable to join: %w", read), "the group's coordinator is out of reach, trying again"},
		"connection refused":  {dial, "the group's coordinator is out of reach, trying again"},
		"closed by the other": {io.EOF, "the group's coordinator is out of reach, trying again"},
		"no answer in time":   {context.DeadlineExceeded, "the group's coordinator is out of reach, trying again"},
		"coordinator moves":   {kerr.NotCoordinator, "the group has no coordinator at the moment, trying again"},
		"no coordinator":      {kerr.CoordinatorNotAvailable, "the group has no coordinator at the moment, trying again"},
		"not allowed":         {kerr.GroupAuthorizationFailed, "the group does not take this member, trying again"},
		"session timeout":     {fmt.Errorf("join: %w", kerr.InvalidSessionTimeout), "the group does not take this member, trying again"},
		"certificate":         {x509.UnknownAuthorityError{}, "the group session ended, trying again"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			g := &groupErrors{group: "g", log: slog.New(slog.NewTextHandler(&out, nil))}
			g.OnGroupManageError(test.err)
			if want := fmt.Sprintf("level=WARN msg=%q group=g err=", test.want); !strings.Contains(out.String(), want) {
				t.Errorf("said %s, want %s", &out, want)
			}
		})
	}
}

// TestARefusedSessionTimeoutIsToldWithItsSetting: the brokers' error names only theirs.
func TestARefusedSessionTimeoutIsToldWithItsSetting(t *testing.T) {
	var out bytes.Buffer
	g := &groupErrors{group: "g", log: slog.New(slog.NewTextHandler(&out, nil))}
	g.OnGroupManageError(fmt.Errorf("join: %w", kerr.InvalidSessionTimeout))
	for _, said := range []string{g.lastError(), out.String()} {
		if !strings.Contains(said, "group.min.session.timeout.ms") || !strings.Contains(said, "; set LAYOVER_SESSION_TIMEOUT within that range") {
			t.Errorf("said %s", said)
		}
	}
	if g.OnGroupManageError(kerr.UnknownMemberID); strings.Contains(g.lastError(), "LAYOVER_") {
		t.Errorf("another error is told as %s", g.lastError())
	}
}

func TestWhileAConnectionIsRefusedOnlyTheGroupsOwnAnswersAreSaid(t *testing.T) {
	var out bytes.Buffer
	g := &groupErrors{group: "g", log: slog.New(slog.NewTextHandler(&out, nil)), refused: func() bool { return true }}
	for _, err := range []error{io.EOF, kerr.SaslAuthenticationFailed, x509.UnknownAuthorityError{}, kerr.GroupAuthorizationFailed} {
		g.OnGroupManageError(err)
	}
	if said := out.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "does not take this member") {
		t.Errorf("said %s", said)
	}
}

func TestWhatTheGroupSaysIsSaidAgainWhenItChangesOrLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		g := &groupErrors{group: "g", log: slog.New(slog.NewTextHandler(&out, nil))}
		for _, err := range []error{io.EOF, io.EOF, kerr.GroupAuthorizationFailed, kerr.GroupAuthorizationFailed} {
			g.OnGroupManageError(err)
			time.Sleep(time.Second)
		}
		time.Sleep(30 * time.Second)
		g.OnGroupManageError(kerr.GroupAuthorizationFailed)
		want := []string{"out of reach", "does not take", "does not take"}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), &out)
		}
		for i := range want {
			if !strings.Contains(lines[i], want[i]) {
				t.Errorf("line %d is %s, want %q in it", i+1, lines[i], want[i])
			}
		}
	})
}

// TestALineAboutTheGroupIsRepeatedAfterItsTimeToTheInstant.
func TestALineAboutTheGroupIsRepeatedAfterItsTimeToTheInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log kafkatest.Log
		g := &groupErrors{group: "g", log: slog.New(slog.NewTextHandler(&log, nil)), refused: func() bool { return false }}
		for _, step := range []struct {
			wait  time.Duration
			lines int
		}{{0, 1}, {sayEvery - 1, 1}, {1, 2}, {sayEvery - 1, 2}} {
			time.Sleep(step.wait)
			if g.OnGroupManageError(io.EOF); len(log.Lines("out of reach")) != step.lines {
				t.Errorf("%v later it is said %d times, want %d", step.wait, len(log.Lines("out of reach")), step.lines)
			}
		}
		if g.lastError() == "" {
			t.Error("it is not told")
		}
		if g.joined(); g.lastError() != "" {
			t.Error("it is told after a join")
		}
	})
}
