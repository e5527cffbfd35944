package daemon

import (
	"sync/atomic"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ofRuns reports whether a request to fetch is about the runs topic.
func (w *fixture) ofRuns() func(kmsg.Request) bool {
	id := w.Broker.TopicInfo(runsTopic).TopicID
	return func(r kmsg.Request) bool {
		for _, t := range r.(*kmsg.FetchRequest).Topics {
			if t.Topic == runsTopic || t.TopicID == id {
				return true
			}
		}
		return false
	}
}

// holds has a broker keep requests that match until release is called. It says how many it keeps.
func (w *fixture) holds(key kmsg.Key, match func(kmsg.Request) bool) (kept *atomic.Int64, release func()) {
	kept = new(atomic.Int64)
	over := make(chan struct{})
	w.Broker.ControlKey(int16(key), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.Broker.KeepControl()
		if match(r) {
			w.Broker.SleepControl(func() {
				kept.Add(1)
				<-over
			})
		}
		return nil, nil, false
	})
	return kept, func() { close(over) }
}

// TestAHandOverInMidFlushLosesNothing: copies of the partition are on their way when another member
// joins. They are in the log and nobody has heard so, or they come there once somebody else has it.
func TestAHandOverInMidFlushLosesNothing(t *testing.T) {
	long.Only(t)
	for name, answer := range map[string]*kerr.Error{"they are there": kerr.RequestTimedOut, "they come late": kerr.NotEnoughReplicas} {
		t.Run(name, func(t *testing.T) {
			if answer == kerr.NotEnoughReplicas {
				long.WholeOnly(t)
			}
			inBubble(t, func(w *fixture) {
				in := w.start(far8)
				in.ready()
				time.Sleep(10 * time.Second)
				f := w.freight()
				unheard := w.Refuse(kmsg.Produce, kfake.Fault{Topic: runsTopic, Err: answer})
				f.send(10, 100, func(i int) time.Duration { return time.Duration(5+i) * time.Minute })
				f.send(2500, 1000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*100*time.Millisecond })
				moving := 0
				w.Until(20*time.Second, "copies are on their way", func() bool {
					moving = int(in.at("runs", "moving").(float64))
					return moving > 100
				})
				next := w.start(far8)
				time.Sleep(30 * time.Second)
				if n := w.members(); n != 2 {
					t.Fatalf("%d members", n)
				}
				unheard.Remove()
				time.Sleep(80 * time.Minute)
				a := f.all(moving)
				a.onTime(0, f.next, 100*time.Millisecond)
				t.Logf("%d were on their way, %d came again", moving, a.Repeats)
				for _, i := range []*instance{in, next} {
					if _, _, lost, waiting := i.runsCount(); lost > 0 || waiting > 0 {
						t.Errorf("%d lost, %d wait", lost, waiting)
					}
					i.stop()
				}
			})
		})
	}
}

// TestAHandOverInMidVisitLosesNothing: the broker has not answered the fetch of copies when another
// member joins, and answers afterwards.
func TestAHandOverInMidVisitLosesNothing(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in, f := w.flooded()
		time.Sleep(time.Until(f.due["10"].Add(-12 * time.Minute)))
		kept, release := w.holds(kmsg.Fetch, w.ofRuns())
		w.Until(12*time.Minute, "a visit waits", func() bool { return kept.Load() > 0 })
		next := w.start(far8)
		time.Sleep(20 * time.Second)
		if n := w.members(); n != 2 {
			t.Fatalf("%d members", n)
		}
		release()
		time.Sleep(25 * time.Minute)
		f.all(0).onTime(0, f.next, 100*time.Millisecond)
		for _, i := range []*instance{in, next} {
			if _, _, lost, waiting := i.runsCount(); lost > 0 || waiting > 0 {
				t.Errorf("%d lost, %d wait", lost, waiting)
			}
			i.stop()
		}
	})
}
