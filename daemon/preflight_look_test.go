package daemon

import (
	"context"
	"layover/admin"
	"layover/cluster/doctor"
	"layover/config"
	"log/slog"
	"testing"
	"time"
)

// The watcher may hear a second later than the checks that the brokers are gone.
func TestALookThatReachedNoBrokerDoesNotCount(t *testing.T) {
	for _, id := range []string{"broker-names", "broker-answers"} {
		yes, none := func() bool { return true }, func() map[string]string { return nil }
		p := &preflight{
			mode: config.PreflightFail, found: make(map[string]*found), verdict: make(chan error, 1), log: slog.New(slog.DiscardHandler),
			look: func(context.Context) []doctor.Finding {
				return []doctor.Finding{{ID: id, Status: doctor.Fail}, {ID: "retention", Status: doctor.Skipped}}
			},
			answering: yes, refused: yes, warnings: none, sick: func(time.Time) []string { return nil },
		}
		p.shown.Store(new(admin.Preflight))
		p.turn(t.Context())
		if len(p.verdict) > 0 || !p.sample().Checked.IsZero() || p.due(time.Now()) || !p.due(time.Now().Add(preflightSoon)) {
			t.Errorf("%s: %d verdicts, checked at %v, due now: %t", id, len(p.verdict), p.sample().Checked, p.due(time.Now()))
		}
	}
}
