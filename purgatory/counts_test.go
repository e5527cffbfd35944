package purgatory

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
)

func TestWhatIsReadIsCountedByWhatItAskedFor(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	offset := int64(0)
	for _, outcome := range []Outcome{Parked, Immediate, PastDue, Passed} {
		for _, timestampMs := range []int64{0, 1, startMs - 1000} {
			for _, both := range []bool{false, true} {
				a := r.arrival(offset, 10_000, "0")
				a.Outcome, a.TimestampMs, a.Ambiguous = outcome, timestampMs, both
				before := r.Snapshot()
				r.take(0, 1, a)
				s := r.Snapshot()
				counted := int(count(s.Requested[ingress]) - count(before.Requested[ingress]))
				want := 1
				if outcome == Passed || outcome != Immediate && timestampMs <= 0 {
					want = 0
				}
				ambiguous := s.Ambiguous[ingress] - before.Ambiguous[ingress]
				if counted != want || (ambiguous == 1) != both || s.Consumed[TopicOutcome{ingress, outcome}] != before.Consumed[TopicOutcome{ingress, outcome}]+1 {
					t.Errorf("%v with timestamp %d: %d delays counted, want %d; %d ambiguous", outcome, timestampMs, counted, want, ambiguous)
				}
				offset++
			}
		}
	}
}

func count(h *Histogram) uint64 {
	if h == nil {
		return 0
	}
	return h.Count
}

// TestARefusalIsCountedByItsTargetAndKind, and a delivery by none.
func TestARefusalIsCountedByItsTargetAndKind(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = time.Hour })
	r.assign(0, 1, 0)
	for i, class := range []Class{Delivered, Unavailable, Unknown, Rejected, TooLarge} {
		name := fmt.Sprintf("t%d", i)
		a := r.arrival(int64(i), 0, "0")
		a.Target, a.Label = name, name
		r.take(0, 1, a)
		r.pass(0)
		for _, d := range r.offer() {
			if d.Target == name {
				r.end(class, d)
			} else {
				r.end(Delivered, d)
			}
		}
		fatal, retriable := r.Snapshot().ProduceErrors[TargetKind{name, "fatal"}], r.Snapshot().ProduceErrors[TargetKind{name, "retriable"}]
		isFatal := class == Rejected || class == TooLarge
		if (fatal == 1) != isFatal || (retriable == 1) != (!isFatal && class != Delivered) || fatal+retriable > 1 {
			t.Errorf("%v: %d fatal and %d retriable are counted", class, fatal, retriable)
		}
	}
}

func TestRecentLatenessIsThatOfTheLastDeliveries(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	var want []int32
	for o := range int64(recentLateness + 5) {
		r.mustTake(0, 1, 0, o)
		r.pass(0)
		ds := r.offer()
		r.at.WallMs += o % 7
		r.end(Delivered, ds...)
		if want = append(want, int32(o%7)); o >= recentLateness {
			want = want[1:]
		}
		if o%100 != 0 && o != recentLateness+4 {
			continue
		}
		got := slices.Clone(r.Snapshot().RecentMs)
		sorted := slices.Sorted(slices.Values(want))
		if slices.Sort(got); !slices.Equal(got, sorted) {
			t.Fatalf("after %d deliveries: %v, want %v", o+1, got, sorted)
		}
	}
}

// TestWhatIsJumpedOverIsCountedOnce, at each jump.
func TestWhatIsJumpedOverIsCountedOnce(t *testing.T) {
	r := newRig(t, nil)
	w := offsets.NewWindow(0)
	w.FinishRange(10, 110)
	w.FinishRange(120, 320)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: w, Committed: true})
	for o := range int64(10) {
		r.mustTake(0, 1, 1000, o)
	}
	r.take(0, 1, r.arrival(10, 1000, "0"))
	if got := r.Snapshot().Jumped; got != 100 {
		t.Errorf("jumped over %d, want 100", got)
	}
	for o := int64(110); o < 120; o++ {
		r.mustTake(0, 1, 1000, o)
	}
	r.take(0, 1, r.arrival(120, 1000, "0"))
	if got := r.Snapshot().Jumped; got != 300 {
		t.Errorf("jumped over %d, want 300", got)
	}
	if j := r.Take().Jumps; len(j) != 2 || j[0].To != 110 || j[1].To != 320 {
		t.Errorf("%+v", j)
	}
}

// TestARequestedDelayIsNeverMadeOfAnOverflow: an instant that has passed is valid whatever
// the record's timestamp is, and asked for no delay.
func TestARequestedDelayIsNeverMadeOfAnOverflow(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	a := r.arrival(0, 0, "0")
	a.Outcome, a.DeadlineMs, a.TimestampMs = PastDue, -62_167_219_200_000, math.MaxInt64 // the year 0
	r.take(0, 1, a)
	if h := r.Snapshot().Requested[ingress]; h == nil || h.Count != 1 || h.SumMs != 0 {
		t.Errorf("requested: %+v, want one delay of 0", h)
	}
}
