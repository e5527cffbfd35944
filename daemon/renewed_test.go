package daemon

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A client that forgets a topic counts its batches from the beginning again. It has written
// batches to the topic before, under the same epoch. So the broker takes the next batch for
// one that it has.
func TestATargetMadeAgainWithinASecondLosesNothing(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.CreateTopic("other", 1, nil)
		in := w.start("LAYOVER_TARGETS_ALLOWED=other", "LAYOVER_LANES=1")
		in.ready()
		send := func(i int) {
			w.sendMany(0, i, 1, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-deliver-to", "other")} })
		}
		send(0)
		w.arrives("other", 1, 10*time.Second)
		w.DeleteTopic("other")
		w.CreateTopic("other", 1, nil)
		const n = 10
		for i := range n {
			send(1 + i)
			time.Sleep(400 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		got := w.values("other")
		for i := range n {
			if got[fmt.Sprintf("0/%d", 1+i)] != 1 {
				t.Errorf("record %d is there %d times", 1+i, got[fmt.Sprintf("0/%d", 1+i)])
			}
		}
		in.stop()
		w.committed(0, 1+n)
	})
}
