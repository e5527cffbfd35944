package daemon

import (
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
)

const far8 = "LAYOVER_MAX_PARKED_BYTES=8Mi"

// flooded starts an instance, and sends 2,500 records that are due in 70 min and later, of which some
// are moved, and ten before them.
func (w *fixture) flooded(settings ...string) (*instance, *freight) {
	w.Helper()
	in := w.start(append(settings, far8)...)
	in.ready()
	time.Sleep(10 * time.Second)
	f := w.freight()
	f.send(10, 100, func(i int) time.Duration { return time.Duration(5+i) * time.Minute })
	f.send(2500, 1000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*100*time.Millisecond })
	time.Sleep(30 * time.Second)
	if n := len(f.copies()); n < 500 {
		w.Fatalf("%d copies are in the runs topic", n)
	}
	return in, f
}

// TestCopiesAreDeliveredOnTimeWithoutTheJournal: it was deleted while half of them were delivered, and
// nobody was there. Those come again that are due later than what the commit calls finished.
func TestCopiesAreDeliveredOnTimeWithoutTheJournal(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in, f := w.flooded()
		time.Sleep(time.Until(f.due["1200"]))
		in.kill()
		delivered := w.count(egress)
		if delivered < 500 {
			t.Fatalf("%d are delivered", delivered)
		}
		w.DeleteTopic(journalTopic)
		time.Sleep(15 * time.Second)
		in = w.start(far8)
		in.ready()
		time.Sleep(10 * time.Minute)
		a := f.all(delivered)
		a.onTime(1500, f.next, 100*time.Millisecond)
		t.Logf("%d were delivered, %d came again", delivered, a.Repeats)
		if a.Repeats > 200 {
			t.Errorf("%d of %d come again: D of the commit does not count", a.Repeats, delivered)
		}
		if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting > 0 {
			t.Errorf("%d lost, %d wait", lost, waiting)
		}
		if len(in.said("journal is incomplete: records may be delivered again")) == 0 {
			t.Error("the log does not say that records may come again")
		}
		in.stop()
	})
}

// TestCopiesAreDeliveredWhereverTheGroupsOffsetIsSetTo: by hand, to the end of the ingress log. What
// was in memory alone is passed over, as the operator has asked for.
func TestCopiesAreDeliveredWhereverTheGroupsOffsetIsSetTo(t *testing.T) {
	long.Only(t)
	for name, to := range map[string]int64{"the end": -1, "the start": 0} {
		t.Run(name, func(t *testing.T) {
			if to < 0 {
				long.WholeOnly(t)
			}
			inBubble(t, func(w *fixture) {
				in, f := w.flooded()
				in.stop()
				if n := len(in.said("may come twice")); n > 0 {
					t.Errorf("the log says %d times that records may come twice before", n)
				}
				there := f.copies()
				for p := range int32(2) {
					at := to
					if at < 0 {
						at = w.Broker.PartitionInfo(ingress, p).HighWatermark
						f.ledger.DeletedRange(ingress, p, 0, at)
					}
					w.Commit("layover-"+ingress, kadm.Offset{Topic: ingress, Partition: p, At: at, LeaderEpoch: -1})
				}
				in = w.start(far8)
				in.ready()
				time.Sleep(80 * time.Minute)
				repeats := 0
				if to == 0 {
					repeats = len(there)
				}
				a := f.all(repeats)
				for id := range there {
					if late, came := a.late[id]; !came || late > 100*time.Millisecond {
						t.Errorf("%s, which was moved: came %t, %v late", id, came, late)
						break
					}
				}
				t.Logf("%d copies, %d arrived, %d repeats", len(there), a.Came, a.Repeats)
				if to < 0 && a.Came != len(there) {
					t.Errorf("%d arrived, want the %d that were moved", a.Came, len(there))
				}
				if n := len(in.said("records that were moved from it on may come twice")); n != 2 {
					t.Errorf("the log says %d times that records may come twice, want it for each partition", n)
				}
				if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting > 0 {
					t.Errorf("%d lost, %d wait", lost, waiting)
				}
				in.stop()
			})
		})
	}
}

// TestCopiesOfAnIngressTopicThatIsGoneAreDelivered on time, also where the topic is made again.
func TestCopiesOfAnIngressTopicThatIsGoneAreDelivered(t *testing.T) {
	long.Only(t)
	for name, again := range map[string]bool{"gone": false, "made again": true} {
		t.Run(name, func(t *testing.T) {
			if !again {
				long.WholeOnly(t)
			}
			inBubble(t, func(w *fixture) {
				in, f := w.flooded()
				there := f.copies()
				f.ledger.Deleted(ingress)
				w.DeleteTopic(ingress)
				time.Sleep(time.Minute)
				if again {
					w.CreateTopic(ingress, 2, nil)
				}
				time.Sleep(80 * time.Minute)
				a := f.all(0)
				late := 0
				for id := range there {
					if d, came := a.late[id]; !came || d > 100*time.Millisecond {
						late++
					}
				}
				if late > 0 {
					t.Errorf("%d of %d copies did not come on time", late, len(there))
				}
				in.stop()
			})
		})
	}
}

// TestCopiesAreDeliveredWhenDueThoughRunsAreOff, and nothing more is moved.
func TestCopiesAreDeliveredWhenDueThoughRunsAreOff(t *testing.T) {
	long.Only(t)
	for _, setting := range []string{"LAYOVER_RUNS=off", "LAYOVER_JOURNAL=off"} {
		t.Run(setting, func(t *testing.T) {
			if setting == "LAYOVER_JOURNAL=off" {
				long.WholeOnly(t)
			}
			inBubble(t, func(w *fixture) {
				in, f := w.flooded()
				in.stop()
				ends := w.bounds(runsTopic)
				in = w.start(far8, setting)
				in.ready()
				f.send(300, 1000, func(int) time.Duration { return 75 * time.Minute })
				time.Sleep(82 * time.Minute)
				f.all(0).onTime(0, f.next, 100*time.Millisecond)
				if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting > 0 {
					t.Errorf("%d lost, %d wait", lost, waiting)
				}
				for p, b := range w.bounds(runsTopic) {
					if b[1] != ends[p][1] {
						t.Errorf("partition %d of the runs topic ends at %d, and at %d before", p, b[1], ends[p][1])
					}
				}
				in.stop()
			})
		})
	}
}
