package producer

import (
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestWhatGoesTogetherIsWhatTheClientTakes: a client keeps to the limit of a topic that it was told first. Where that is
// raised, what is between goes alone. Where it is lowered, the limit is the new one.
func TestWhatGoesTogetherIsWhatTheClientTakes(t *testing.T) {
	inBubble(t, 100, func(w *fixture) {
		var limit atomic.Int32
		limit.Store(10_000)
		told := NewTold(func(string) int32 { return limit.Load() })
		p, err := New(Config{MaxBuffered: 100, Options: func(string) []kgo.Opt { return w.Options() }, MaxBatchBytes: told.Tell})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		w.Producer = p
		if got := told.Together("ready"); got != 10_000 {
			t.Errorf("%d before the client has asked, want 10000", got)
		}
		if err := w.deliver(record(0, 9_000), false); err != nil {
			t.Fatal(err)
		}
		for now, want := range map[int32]int32{10_000: 10_000, 50_000: 10_000, 2_000: 2_000} {
			limit.Store(now)
			if got := told.Together("ready"); got != want {
				t.Errorf("with a limit of %d now: %d, want %d", now, got, want)
			}
			err := w.deliver(record(0, 20_000), false)
			if Classify(err) != TooLarge {
				t.Errorf("with a limit of %d now the client answers %v", now, err)
			}
		}
		if err := w.deliver(record(0, 20_000), true); err != nil {
			t.Errorf("alone: %v", err)
		}
	})
}
