package daemon

import (
	"fmt"
	"testing"
	"time"

	"layover/verify/long"
)

// TestReadingIsAsEagerAsTheDelaysThatItSees: records that wait for long are read together, the
// first that does not is read a little later, and all behind it at once.
func TestReadingIsAsEagerAsTheDelaysThatItSees(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		sent := 0
		stream := func(seconds int) (polls int) {
			before := in.loopTurns()["poll"]
			for until := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
				w.send(int32(sent%2), fmt.Sprintf("far-%d", sent), header("x-delay", "10m"))
				sent++
			}
			return in.loopTurns()["poll"] - before
		}
		stream(12) // hasty at first
		if polls := stream(4); polls > 4*11 {
			t.Errorf("%d polls in 4 s of records that wait for minutes, want a rest of 100 ms behind each", polls)
		}
		stream(1)
		for i, most := range []time.Duration{210 * time.Millisecond, 5 * time.Millisecond} {
			written := time.Now()
			w.send(0, fmt.Sprintf("now-%d", i))
			got := w.arrives(egress, i+1, time.Second)
			if late := got[i].Timestamp.Sub(written); late > most {
				t.Errorf("record %d without a delay came after %v, want at most %v", i, late, most)
			}
		}
		if polls := stream(4); polls < 4*100 {
			t.Errorf("%d polls in 4 s behind a record without a delay, want one for most records", polls)
		}
		stream(8)
		if polls := stream(4); polls > 4*11 {
			t.Errorf("%d polls in 4 s, 12 s behind the last record without a delay, want a rest behind each", polls)
		}
	})
}
