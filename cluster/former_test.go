package cluster

import (
	"testing"
	"time"
)

// TestATopicThatIsMadeAgainIsToldWithWhenItsFormerIDWasSeen, in the last answer before it was deleted, however long it
// was away. One that appears has none.
func TestATopicThatIsMadeAgainIsToldWithWhenItsFormerIDWasSeen(t *testing.T) {
	for _, away := range []time.Duration{0, 300 * time.Millisecond, time.Minute} {
		inBubble(t, func(c *Config) { c.Targets = []string{"later"} }, func(w *fixture) {
			time.Sleep(9500 * time.Millisecond)
			deleted := time.Now()
			w.DeleteTopic(ingress)
			time.Sleep(away)
			w.CreateTopic(ingress, 3, nil)
			w.CreateTopic("later", 1, nil)
			time.Sleep(5 * time.Second)
			told := 0
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, changes := range w.changes {
				for _, c := range changes {
					ago := deleted.Sub(c.FormerUntil)
					switch {
					case !c.Renewed:
						continue
					case c.Topic.Name == "later" && !c.FormerUntil.IsZero():
						t.Errorf("away for %v: a topic that appears was seen %v before", away, ago)
					case c.Topic.Name == ingress && (ago <= 0 || ago > askEvery):
						t.Errorf("away for %v: last seen %v before it was deleted", away, ago)
					}
					told++
				}
			}
			if told != 2 {
				t.Errorf("away for %v: %d topics are told, want 2", away, told)
			}
		})
	}
}
