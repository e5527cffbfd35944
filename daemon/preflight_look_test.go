package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"layover/admin"
	"layover/cluster/doctor"
	"layover/config"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kmsg"
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

// TestAFindingThatIsMendedBeforeTheWatcherHasReadTheConfigurationGoes within a minute of the
// reading, and not at the next look of ten minutes. Brokers that are busy answer the checks and
// not the watcher.
func TestAFindingThatIsMendedBeforeTheWatcherHasReadTheConfigurationGoes(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.shorten()
		var slow atomic.Bool
		w.Broker.ControlKey(int16(kmsg.DescribeConfigs), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.Broker.KeepControl()
			watcher := len(r.(*kmsg.DescribeConfigsRequest).Resources[0].ConfigNames) == 4 // the checks ask for more
			if watcher && !slow.Swap(true) {
				w.Broker.SleepControl(func() { time.Sleep(3 * time.Second) })
			}
			return nil, nil, false
		})
		in := w.start(checks("warn"))
		in.ready()
		in.finds(7*time.Second, "retention fail")
		w.alter(ingress, "retention.ms", "-1")
		in.finds(2 * time.Minute)
		in.stop()
	})
}
