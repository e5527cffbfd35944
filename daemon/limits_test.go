package daemon

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestATargetWhoseLimitWasChangedTakesManyAtOnce: max.message.bytes of the target is another one than the client was told
// of. What is due at once goes in batches up to the new one. One by one it takes five seconds.
func TestATargetWhoseLimitWasChangedTakesManyAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		size          int
	}{"raised": {"10000", "1000000", 15_000}, "lowered": {"1000000", "20000", 1000}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.dial = slow(w.dial, 5*time.Millisecond)
				w.alter(egress, "max.message.bytes", c.before)
				in := w.start("LAYOVER_LANES=1")
				in.ready()
				w.send(0, "first", header("x-delay", "1s"))
				time.Sleep(5 * time.Second)
				w.alter(egress, "max.message.bytes", c.after)
				time.Sleep(3 * time.Minute)
				client := w.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner()))
				const n = 1000
				var took []time.Duration
				for range 3 {
					at, before := time.Now().Add(time.Minute), w.count(egress)
					for _, r := range large(0, n, c.size, "1m") {
						r.Key = []byte("k")
						client.Produce(w.Context(), r, nil)
					}
					time.Sleep(time.Until(at))
					w.Until(time.Minute, "all are delivered", func() bool { return w.count(egress) == before+n })
					took = append(took, time.Since(at))
				}
				if last := took[2]; last > time.Second { // the first are refused together, and go alone
					t.Errorf("%d that are due at once are delivered within %v", n, took)
				}
				if dead := w.count(dlq); dead > 0 {
					t.Errorf("%d dead letters", dead)
				}
				in.stop()
			})
		})
	}
}

// TestCopiesGoOnWhereTheLimitOfTheirTopicIsLowered below the size of their batches.
func TestCopiesGoOnWhereTheLimitOfTheirTopicIsLowered(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi", "LAYOVER_LANES=1")
		in.ready()
		time.Sleep(5 * time.Second) // in which the runs topic is made
		w.Produce(large(0, 8000, 1000, "5h")...)
		time.Sleep(time.Minute)
		before, _, _, _ := in.runsCount()
		w.alter(runsTopic, "max.message.bytes", "20000")
		time.Sleep(3 * time.Minute)
		const n = 8000
		w.Produce(large(0, n, 1000, "5h")...)
		time.Sleep(time.Minute)
		after, _, _, _ := in.runsCount()
		if pauses := in.daemon.Sample().Pauses; before == 0 || after-before < n/2 || len(pauses) > 0 {
			t.Errorf("%d are moved before, and %d of %d in a minute since; reading is paused for %v", before, after-before, n, pauses)
		}
		if len(in.logs.Lines("refuses a record")) > 0 {
			t.Error("a copy is refused")
		}
		in.kill()
	})
}
