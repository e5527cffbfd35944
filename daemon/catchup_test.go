package daemon

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// outage writes records of both partitions that are due in a minute, and lets an hour go by.
func (w *fixture) outage(n int) {
	w.Helper()
	for p := range int32(2) {
		w.sendMany(p, 0, n/2, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "1m")} })
	}
	time.Sleep(time.Hour)
}

// catchingUp is what /status says of the egress topic.
func (in *instance) catchingUp() (records int, until time.Time) {
	in.w.Helper()
	all := in.status()["catching_up"].([]any)
	if len(all) == 0 {
		return 0, time.Time{}
	}
	c := all[0].(map[string]any)
	until, err := time.Parse(time.RFC3339, c["until"].(string))
	if err != nil || len(all) > 1 || c["target"] != egress {
		in.w.Fatalf("%v catch up: %v", all, err)
	}
	return int(c["records"].(float64)), until
}

// perSecond counts records by the second in which they were delivered, from an instant on,
// and fails the test for one that came twice.
func (w *fixture) perSecond(from time.Time) (late map[int]int, prompt map[string]time.Duration) {
	w.Helper()
	late, prompt = make(map[int]int), make(map[string]time.Duration)
	seen := make(map[string]bool)
	records := w.Records(egress)
	w.notEarly(records)
	for _, r := range records {
		if seen[string(r.Value)] {
			w.Errorf("%s came twice", r.Value)
		}
		seen[string(r.Value)] = true
		due, _ := time.Parse(time.RFC3339, get(r, "layover-due"))
		if over := r.Timestamp.Sub(due); over <= 10*time.Second {
			prompt[string(r.Value)] = over
		} else {
			late[int(r.Timestamp.Sub(from)/time.Second)]++
		}
	}
	return late, prompt
}

// TestAfterAnOutageLateRecordsLeaveAtTheRateAndOthersOnTime: of an hour, 100,000 records, of
// two lanes.
func TestAfterAnOutageLateRecordsLeaveAtTheRateAndOthersOnTime(t *testing.T) {
	long.Only(t)
	const all, rate = 100_000, 1000
	inBubble(t, func(w *fixture) {
		w.outage(all)
		began := time.Now()
		in := w.start(fmt.Sprintf("LAYOVER_CATCHUP_RATE=%d", rate))
		in.ready()
		time.Sleep(20 * time.Second)
		n, until := in.catchingUp()
		if left := time.Until(until); n < all-25*rate || n > all-15*rate || left < 75*time.Second || left > 85*time.Second {
			t.Errorf("after 20 s %d records catch up for %v more", n, left)
		}
		for i := range 4 {
			w.send(int32(i%2), fmt.Sprint("now ", i), header("x-delay", "5s"))
		}
		time.Sleep(100 * time.Second)
		if n, _ := in.catchingUp(); n != 0 {
			t.Errorf("%d records still catch up", n)
		}
		in.stop()
		late, prompt := w.perSecond(began)
		sum := 0
		for s, n := range late {
			if sum += n; n > rate+rate/50 {
				t.Errorf("%d late records left in second %d, want %d", n, s, rate)
			}
		}
		if sum != all || len(late) > all/rate+3 {
			t.Errorf("%d late records of %d left within %d s", sum, all, len(late))
		}
		if len(prompt) != 4 {
			t.Errorf("on time are %v", prompt)
		}
		for value, over := range prompt {
			if over > 100*time.Millisecond {
				t.Errorf("%s left %v after its deadline", value, over)
			}
		}
	})
}

// TestCatchingUpGoesOnAcrossKillsHandOversAndSteps of the clock: an instance that is killed
// forgets who had which turn, and whoever is next begins anew.
func TestCatchingUpGoesOnAcrossKillsHandOversAndSteps(t *testing.T) {
	long.Only(t)
	const all, rate = 3000, 100
	inBubble(t, func(w *fixture) {
		var step atomic.Int64
		w.wall = func(now time.Time) time.Time { return now.Add(time.Duration(step.Load())) }
		w.outage(all)
		one := w.start(fmt.Sprintf("LAYOVER_CATCHUP_RATE=%d", rate))
		one.ready()
		time.Sleep(5 * time.Second)
		one.kill()
		time.Sleep(15 * time.Second)
		one = w.start(fmt.Sprintf("LAYOVER_CATCHUP_RATE=%d", rate))
		one.ready()
		time.Sleep(3 * time.Second)
		two := w.start(fmt.Sprintf("LAYOVER_CATCHUP_RATE=%d", rate))
		two.ready()
		time.Sleep(5 * time.Second)
		before := len(w.Records(egress))
		step.Store(int64(-30 * time.Minute))
		time.Sleep(2 * time.Second)
		if n := len(w.Records(egress)) - before; n < rate {
			t.Errorf("in 2 s after a step back of half an hour %d records were delivered", n)
		}
		two.stop()
		w.Until(time.Minute, "all are delivered", func() bool { return len(w.values(egress)) == all })
		w.Until(time.Minute, "nothing that comes again catches up", func() bool {
			n, _ := one.catchingUp()
			return n == 0
		})
		one.stop()
	})
}

// TestWithMemoryAtItsBoundTheRateWins, and reading goes on as records leave.
func TestWithMemoryAtItsBoundTheRateWins(t *testing.T) {
	long.WholeOnly(t)
	const all, rate = 8000, 500
	inBubble(t, func(w *fixture) {
		filler := make([]byte, 1000)
		for p := range int32(2) {
			records := make([]*kgo.Record, all/2)
			for i := range records {
				records[i] = &kgo.Record{Topic: ingress, Partition: p, Key: fmt.Appendf(nil, "%d/%d", p, i), Value: fmt.Appendf(nil, "%d/%d %s", p, i, filler), Headers: []kgo.RecordHeader{header("x-delay", "1m")}, Timestamp: time.Now()}
			}
			w.Produce(records...)
		}
		time.Sleep(time.Hour)
		began := time.Now()
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi", fmt.Sprintf("LAYOVER_CATCHUP_RATE=%d", rate))
		time.Sleep(3 * time.Second)
		s := in.status()
		n, until := in.catchingUp()
		if pauses := s["pauses"].([]any); len(pauses) != 1 || n == 0 || n > all-2*rate || !until.After(time.Now()) {
			t.Errorf("after 3 s reading pauses for %v, %d catch up until %v", pauses, n, until)
		}
		w.Until(time.Minute, "all are delivered", func() bool { return len(w.values(egress)) == all })
		in.stop()
		late, _ := w.perSecond(began)
		for s, n := range late {
			if n > rate+rate/50 {
				t.Errorf("%d late records left in second %d, want %d", n, s, rate)
			}
		}
	})
}
