package daemon

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const events = "events"

// timer produces a record with an id.
func (w *fixture) timer(partition int32, id, value, delay string, more ...kgo.RecordHeader) int64 {
	w.Helper()
	return w.send(partition, value, append(more, header("x-delay-id", id), header("x-delay", delay))...)
}

// cancels produces a cancel.
func (w *fixture) cancels(partition int32, id string) int64 {
	w.Helper()
	return w.send(partition, "cancel", header("x-delay-id", id), header("x-delay-cancel", "true"))
}

// said returns the events in their order, as "kind id offset by".
func (w *fixture) said() (out []string) {
	w.Helper()
	for _, r := range w.Records(events) {
		var e struct {
			Event, ID, Topic string
			Partition        int32
			Offset, By       *int64
			Due, At          *time.Time
		}
		if err := json.Unmarshal(r.Value, &e); err != nil {
			w.Fatalf("event %s: %v", r.Value, err)
		}
		number := func(n *int64) string {
			if n == nil {
				return "null"
			}
			return fmt.Sprint(*n)
		}
		if e.Topic != ingress || e.At == nil || (e.Offset == nil) != (e.Due == nil) || string(r.Key) != e.ID || len(r.Headers) > 0 {
			w.Errorf("event %s with key %q and headers %v", r.Value, r.Key, r.Headers)
		}
		out = append(out, fmt.Sprintf("%s %s %d@%s %s", e.Event, e.ID, e.Partition, number(e.Offset), number(e.By)))
	}
	return out
}

// saysOnly waits until the events are those, in any order.
func (w *fixture) saysOnly(want ...string) {
	w.Helper()
	slices.Sort(want)
	var got []string
	w.Until(time.Minute, fmt.Sprintf("the events are %q", want), func() bool {
		got = slices.Sorted(slices.Values(w.said()))
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		w.Errorf("events %q, want %q", got, want)
	}
}

// commits waits for a commit.
func (w *fixture) commits(partition int32, at int64) {
	w.Helper()
	w.Until(2*time.Minute, fmt.Sprintf("partition %d is committed up to %d", partition, at), func() bool { return w.commitOf(partition).At == at })
}

// withEvents runs f in a bubble that has a topic for events.
func withEvents(t *testing.T, f func(w *fixture)) {
	t.Helper()
	inBubble(t, func(w *fixture) {
		w.CreateTopic(events, 1, nil)
		f(w)
	})
}

func TestACancelEndsItsRecordAndNoOther(t *testing.T) {
	withEvents(t, func(w *fixture) {
		in := w.start("LAYOVER_EVENTS_TOPIC=" + events)
		in.ready()
		w.timer(0, "a", "a", "10s")
		w.timer(0, "b", "b", "10s")
		w.timer(1, "a", "a elsewhere", "10s")
		w.send(0, "without", header("x-delay", "10s"))
		w.cancels(0, "a")
		w.cancels(0, "a")
		w.saysOnly("cancelled a 0@0 3", "cancel_miss a 0@null 4")
		got := w.arrives(egress, 3, time.Minute)
		time.Sleep(time.Minute)
		if all := w.values(egress); len(all) != 3 || all["a"] != 0 {
			t.Errorf("delivered %v", all)
		}
		for _, r := range got {
			if get(r, "x-delay-id") != "" {
				t.Errorf("%s has its id still: %v", r.Value, r.Headers)
			}
		}
		w.commits(0, 5)
		if n := in.metric(`layover_cancels_total{result="cancelled"`); n != 1 || in.at("counters", "unaccounted") != 0.0 {
			t.Errorf("%v cancelled, unaccounted %v", n, in.at("counters", "unaccounted"))
		}
		in.stop()
	})
}

// TestACancelAMillisecondBeforeADeadlineOfSixHours is in time, and one behind it is not.
func TestACancelAMillisecondBeforeADeadlineOfSixHours(t *testing.T) {
	long.Only(t)
	withEvents(t, func(w *fixture) {
		in := w.start("LAYOVER_EVENTS_TOPIC=" + events)
		in.ready()
		began := time.Now()
		w.timer(0, "in time", "never", "6h")
		w.timer(0, "too late", "delivered", "6h")
		time.Sleep(time.Until(began.Add(6*time.Hour - time.Millisecond)))
		w.cancels(0, "in time")
		w.arrives(egress, 1, time.Minute)
		w.cancels(0, "too late")
		w.saysOnly("cancelled in time 0@0 2", "cancel_miss too late 0@null 3")
		if all := w.values(egress); all["never"] != 0 || all["delivered"] != 1 {
			t.Errorf("delivered %v", all)
		}
		in.stop()
	})
}

func TestANewerRecordReplacesTheOneOfItsId(t *testing.T) {
	withEvents(t, func(w *fixture) {
		w.CreateTopic("other", 1, nil)
		in := w.start("LAYOVER_EVENTS_TOPIC="+events, "LAYOVER_TARGETS_ALLOWED=other")
		in.ready()
		began := time.Now()
		w.timer(0, "a", "first", "10s")
		w.timer(0, "a", "later", "20s")
		w.timer(0, "a", "earlier and elsewhere", "5s", header("x-deliver-to", "other"))
		r := w.arrives("other", 1, time.Minute)[0]
		if string(r.Value) != "earlier and elsewhere" || r.Timestamp.Sub(began) > 6*time.Second {
			t.Errorf("%s after %v", r.Value, r.Timestamp.Sub(began))
		}
		w.timer(0, "a", "again", "1s")
		w.arrives(egress, 1, time.Minute)
		time.Sleep(time.Minute)
		w.saysOnly("replaced a 0@0 1", "replaced a 0@1 2")
		if all := w.values(egress); len(all) != 1 || all["again"] != 1 {
			t.Errorf("delivered %v", all)
		}
		in.stop()
	})
}

// TestACancelThatWasReadInTimeHoldsAcrossKills: between any two seconds of a life with
// timers, cancels and replacements.
func TestACancelThatWasReadInTimeHoldsAcrossKills(t *testing.T) {
	withEvents(t, func(w *fixture) {
		for step := range 12 {
			name := func(kind string) string { return fmt.Sprintf("%s %d", kind, step) }
			in := w.start("LAYOVER_EVENTS_TOPIC="+events, "LAYOVER_COMMIT_INTERVAL=3s")
			in.ready()
			w.timer(0, name("cancelled"), name("cancelled"), "30s")
			w.timer(0, name("replaced"), name("replaced"), "30s")
			w.timer(0, name("kept"), name("kept"), "30s")
			time.Sleep(2 * time.Second)
			w.cancels(0, name("cancelled"))
			w.timer(0, name("replaced"), name("newer"), "40s")
			time.Sleep(time.Duration(step) * 400 * time.Millisecond)
			in.kill()
			time.Sleep(2 * time.Minute) // all is overdue when the next one begins
		}
		in := w.start("LAYOVER_EVENTS_TOPIC=" + events)
		in.ready()
		w.Until(2*time.Minute, "all others are delivered", func() bool {
			all := w.values(egress)
			for step := range 12 {
				if all[fmt.Sprintf("kept %d", step)] == 0 || all[fmt.Sprintf("newer %d", step)] == 0 {
					return false
				}
			}
			return true
		})
		for value := range w.values(egress) {
			if strings.HasPrefix(value, "cancel") || strings.HasPrefix(value, "replaced") {
				t.Errorf("%s was delivered", value)
			}
		}
		in.stop()
	})
}

// TestWhatFallsDueAndIsCancelledWhileNothingRunsIsNotDelivered: all is read before anything
// of it is offered.
func TestWhatFallsDueAndIsCancelledWhileNothingRunsIsNotDelivered(t *testing.T) {
	withEvents(t, func(w *fixture) {
		in := w.start()
		in.ready()
		const n = 3000
		w.sendMany(0, 0, n, func(i int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-delay-id", fmt.Sprint(i)), header("x-delay", "1m")}
		})
		time.Sleep(5 * time.Second)
		in.kill()
		time.Sleep(10 * time.Minute)
		w.sendMany(0, n, n-1, func(i int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-delay-id", fmt.Sprint(i-n)), header("x-delay-cancel", "true")}
		})
		in = w.start()
		in.ready()
		w.arrives(egress, 1, time.Minute)
		time.Sleep(time.Minute)
		if all := w.values(egress); len(all) != 1 || all[fmt.Sprintf("0/%d", n-1)] != 1 {
			t.Errorf("%d delivered, want the last one alone", len(all))
		}
		if in.at("counters", "unaccounted") != 0.0 || in.at("ids", "cancels", "cancelled") != float64(n-1) {
			t.Errorf("%v", in.at("ids"))
		}
		in.stop()
	})
}

// TestACancelledRecordIsNotDeliveredByTheNextOwner across a rebalance, and after a
// membership that was lost.
func TestACancelledRecordIsNotDeliveredByTheNextOwner(t *testing.T) {
	withEvents(t, func(w *fixture) {
		a := w.start()
		a.ready()
		for p := range int32(2) {
			w.timer(p, "a", "never", "1m")
			w.timer(p, "b", "kept", "1m")
			w.cancels(p, "a")
		}
		time.Sleep(3 * time.Second)
		b := w.start()
		b.ready()
		w.arrives(egress, 2, 2*time.Minute)
		b.kill()
		for p := range int32(2) {
			w.timer(p, "c", "never", "2m")
			w.cancels(p, "c")
		}
		time.Sleep(5 * time.Minute)
		if all := w.values(egress); all["never"] != 0 || all["kept"] != 2 {
			t.Errorf("delivered %v", all)
		}
		a.stop()
	})
}

// TestACancelEndsWhatIsHeldForAForbiddenTarget at once.
func TestACancelEndsWhatIsHeldForAForbiddenTarget(t *testing.T) {
	withEvents(t, func(w *fixture) {
		in := w.start("LAYOVER_EVENTS_TOPIC="+events, "LAYOVER_TARGETS_ALLOWED=absent")
		in.ready()
		w.timer(0, "a", "a", "1s", header("x-deliver-to", "absent"))
		w.timer(0, "b", "b", "1s", header("x-deliver-to", "absent"))
		w.Until(time.Minute, "both are held", func() bool { return in.metric(`layover_held_records{target="absent"}`) == 2 })
		w.cancels(0, "a")
		w.saysOnly("cancelled a 0@0 2")
		w.CreateTopic("absent", 1, nil)
		w.arrives("absent", 1, time.Minute)
		time.Sleep(time.Minute)
		if all := w.values("absent"); len(all) != 1 || all["b"] != 1 {
			t.Errorf("delivered %v", all)
		}
		in.stop()
	})
}

// TestACancelOfWhatIsInFlightWaitsForItsAnswer, which says whether it was too late.
func TestACancelOfWhatIsInFlightWaitsForItsAnswer(t *testing.T) {
	withEvents(t, func(w *fixture) {
		w.CreateTopic("slow", 1, nil)
		in := w.start("LAYOVER_EVENTS_TOPIC="+events, "LAYOVER_TARGETS_ALLOWED=slow")
		in.ready()
		silent := w.silence("slow", 0)
		w.timer(0, "a", "a", "1s", header("x-deliver-to", "slow"))
		time.Sleep(3 * time.Second)
		w.cancels(0, "a")
		w.Until(time.Minute, "the cancel waits", func() bool { return in.at("ids", "waiting_cancels") == 1.0 })
		silent.Remove()
		w.saysOnly("too_late a 0@0 1")
		w.arrives("slow", 1, time.Minute)
		w.commits(0, 2)
		in.stop()
	})
}

// TestTheBarrierOpensWhileReadingIsPaused: memory that only delivering frees would never
// come back.
func TestTheBarrierOpensWhileReadingIsPaused(t *testing.T) {
	withEvents(t, func(w *fixture) {
		in := w.start()
		in.ready()
		const n = 6000
		big := strings.Repeat("x", 1000)
		for i := range n / 1000 {
			w.sendMany(0, i*1000, 1000, func(i int) []kgo.RecordHeader {
				return []kgo.RecordHeader{header("x-delay-id", fmt.Sprint(i)), header("x-delay", "1m"), header("padding", big)}
			})
		}
		in.kill()
		time.Sleep(10 * time.Minute)
		in = w.start("LAYOVER_MAX_PARKED_BYTES=4Mi")
		w.Until(10*time.Minute, "all is delivered", func() bool { return w.count(egress) >= n })
		if in.metric(`layover_barrier_opened_total{reason="paused"}`) == 0 {
			t.Error("the barrier never opened")
		}
		in.stop()
	})
}

// TestEventsThatNobodyTakesAreGivenUp, and what they are about is finished.
func TestEventsThatNobodyTakesAreGivenUp(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_EVENTS_TOPIC="+events, "LAYOVER_TARGET_PATIENCE=1m")
		in.ready()
		w.timer(0, "a", "never", "10m")
		w.cancels(0, "a")
		w.send(0, "beside", header("x-delay", "1s"))
		w.arrives(egress, 1, time.Minute)
		time.Sleep(5 * time.Second)
		if commit := w.commitOf(0); commit.At != 0 {
			t.Errorf("committed %d while the event waits", commit.At)
		}
		if sick := in.sick(); !slices.Contains(sick, "events events missing") {
			t.Errorf("sick: %q", sick)
		}
		w.commits(0, 3)
		if in.metric(`layover_events_total{result="given_up"}`) != 1 || in.at("counters", "unaccounted") != 0.0 {
			t.Errorf("%v", in.at("ids"))
		}
		in.stop()
	})
}

// TestARecordThatIsRefusedForCertainWhileACancelWaitsIsCancelled.
func TestARecordThatIsRefusedForCertainWhileACancelWaitsIsCancelled(t *testing.T) {
	withEvents(t, func(w *fixture) {
		w.CreateTopic("late", 1, nil)
		in := w.start("LAYOVER_EVENTS_TOPIC="+events, "LAYOVER_TARGETS_ALLOWED=late")
		in.ready()
		silent := w.silence("late")
		w.timer(0, "a", "a", "1s", header("x-deliver-to", "late"))
		time.Sleep(3 * time.Second)
		w.cancels(0, "a")
		w.Until(time.Minute, "the cancel waits", func() bool { return in.at("ids", "waiting_cancels") == 1.0 })
		w.Refuse(kmsg.Produce, kfake.Fault{Topic: "late", Err: kerr.InvalidRecord, Count: 1})
		silent.Remove()
		w.saysOnly("cancelled a 0@0 1")
		w.commits(0, 2)
		if w.count(dlq) != 0 || w.count("late") != 0 {
			t.Errorf("%d dead letters, %d delivered", w.count(dlq), w.count("late"))
		}
		in.stop()
	})
}
