package purgatory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"layover/delay"
	"layover/offsets"
)

func TestTheCoresReasonsAreStableCodes(t *testing.T) {
	for _, reason := range []string{reasonTooLarge, reasonRejected, reasonUnavailable} {
		if !slices.Contains(delay.Reasons(), delay.Reason(reason)) {
			t.Errorf("%q is not among the documented reasons", reason)
		}
	}
}

func TestATooLargeRecordIsTriedAloneThenBareThenDeadLettered(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	for i, want := range []Delivery{
		{Target: egress},
		{Target: egress, Alone: true},
		{Target: egress, Alone: true, Bare: true},
		{Target: graves, DeadLettered: true, Reason: "too_large"},
		{Target: graves, DeadLettered: true, Reason: "too_large", Alone: true},
		{Target: graves, DeadLettered: true, Reason: "too_large", Alone: true, Bare: true}, // without its value
	} {
		d := r.one(TooLarge)
		if d.Reason != "" && !strings.Contains(d.Message, egress) {
			t.Errorf("message %q does not name the target", d.Message)
		}
		got := Delivery{Target: d.Target, DeadLettered: d.DeadLettered, Reason: d.Reason, Alone: d.Alone, Bare: d.Bare}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("try %d: %+v, want %+v", i, got, want)
		}
		r.audit()
	}
	r.want(r.offer()) // refused even so: an operator has to act
	if p := r.Pauses(); len(p) != 1 || r.parts.list[0].Window.Low() != 0 {
		t.Errorf("pauses %v, low offset %d: want a pause, and nothing finished", p, r.parts.list[0].Window.Low())
	}
	r.pass(2000)
	r.one(Delivered)
	if r.parts.list[0].Window.Low() != 1 || len(r.Pauses()) != 0 {
		t.Error("the dead letter was taken, but is not finished")
	}
	r.audit()
}

func TestABatchThatIsTooLargeIsTakenApartInOrder(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2)
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0, 1, 2)
	r.mustTake(0, 1, 0, 3)
	r.end(TooLarge, ds...)
	for want := range int64(3) { // one at a time, so that the answer is about that record
		d := r.one(Delivered)
		if d.Offset != want || !d.Alone || d.Bare {
			t.Errorf("offered %+v, want offset %d alone", d, want)
		}
		r.audit()
	}
	r.pass(1)
	if d := r.one(Delivered); d.Alone {
		t.Error("the next record goes alone for no reason")
	}
}

func TestARefusedRecordEndsAsThePolicySays(t *testing.T) {
	for name, test := range map[string]struct {
		dead       string
		policy     Policy
		unfinished bool
	}{
		"with a dead-letter topic":     {graves, Drop, false},
		"dropped without one":          {"", Drop, false},
		"halting without one":          {"", Halt, true},
		"delivering counts as halting": {"", Deliver, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.DeadLetterTopic, c.OnInvalid = test.dead, test.policy })
			r.assign(0, 1, 0)
			r.mustTake(0, 1, 0, 0)
			r.mustTake(0, 1, 50, 1)
			r.pass(1)
			r.rejected()
			r.audit()
			if test.dead != "" {
				if d := r.one(Delivered); d.Reason != "rejected" || !d.DeadLettered || !strings.Contains(d.Message, "said the broker") {
					t.Errorf("dead letter %+v", d)
				}
			}
			halts := r.Take().Halts
			if test.unfinished != (len(halts) == 1) || test.unfinished == r.parts.list[0].Window.Finished(0) {
				t.Errorf("halts %+v, finished %v", halts, r.parts.list[0].Window.Finished(0))
			}
			r.pass(50)
			r.one(Delivered) // what is parked goes on
			if v := r.Snapshot().Partitions[0]; test.unfinished && (v.Low != 0 || v.Finished != 1 || v.HaltedAt != 0 || !strings.Contains(v.Halted, "rejected")) {
				t.Errorf("view %+v", v)
			}
			if r.store.live != 0 {
				t.Errorf("%d records kept", r.store.live)
			}
			r.audit()
		})
	}
}

func TestADeadLetterThatIsRejectedIsKept(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	r.rejected()
	r.rejected()
	if len(r.Pauses()) != 1 || r.parts.list[0].Window.Low() != 0 {
		t.Error("want a pause, and nothing finished")
	}
	if h := r.heldView(); h.Target != graves || h.Verdict != Rejecting || h.Verdict.String() != "rejecting" {
		t.Errorf("held %+v, want the dead-letter topic, which is rejecting", h)
	}
	r.pass(2000)
	if d := r.one(Delivered); d.Reason != "rejected" {
		t.Errorf("delivered %+v", d)
	}
}

func TestAnUnknownOutcomeIsSentAgainInOrder(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2, 3)
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0, 1, 2, 3)
	r.end(Unknown, ds...)
	if h := r.Snapshot().Held; len(h) != 1 || h[0].Verdict != Unreachable {
		t.Errorf("held %+v", h)
	}
	r.pass(100)
	r.one(Delivered)
	r.want(r.offer(), 1, 2, 3)
	r.audit()
}

func TestADeliveryThatEndsTwiceIsABug(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	d := r.one(Delivered)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	r.end(Delivered, d)
}

func TestWhatIsInFlightIsBounded(t *testing.T) {
	big := "0" + strings.Repeat("x", 980) // less than a thousand bytes with its header
	for name, test := range map[string]struct {
		edit   func(*Config)
		bodies []string
		atOnce int
	}{
		"records of a target partition":          {func(c *Config) { c.MaxInFlight = 3 }, []string{"0", "0", "0", "0", "0"}, 3},
		"but each partition has its own":         {func(c *Config) { c.MaxInFlight = 2 }, []string{"0", "0", "0", "1", "1", "1"}, 4},
		"bytes of a target partition":            {func(c *Config) { c.MaxInFlightBytes = 8000 }, []string{big, big, big}, 2},
		"bytes of all":                           {func(c *Config) { c.MaxInFlightBytes = 3900 }, []string{big, "1" + big[1:], "2" + big[1:], "3" + big[1:], "4" + big[1:]}, 4},
		"at least one record of any size":        {func(c *Config) { c.MaxInFlightBytes = 10 }, []string{big, big}, 1},
		"one over a quarter, and nothing beside": {func(c *Config) { c.MaxInFlightBytes = 3000 }, []string{big, big, "0"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, test.edit)
			r.assign(0, 1, 0)
			for o, body := range test.bodies {
				r.take(0, 1, r.arrival(int64(o), 0, body))
			}
			r.pass(1)
			ds := r.offer()
			if len(ds) != test.atOnce {
				t.Fatalf("%d in flight, want %d", len(ds), test.atOnce)
			}
			r.audit()
			more := r.offer()
			if len(more) != 0 {
				t.Errorf("%d more on the next offer", len(more))
			}
			seen := len(ds)
			for ; len(ds) > 0; r.audit() {
				r.end(Delivered, ds[0])
				next := r.offer()
				if seen += len(next); len(next) > 1 {
					t.Errorf("%d followed one that ended", len(next))
				}
				ds = append(ds[1:], next...)
			}
			if seen != len(test.bodies) {
				t.Errorf("%d delivered of %d", seen, len(test.bodies))
			}
		})
	}
}

func TestEveryPartitionGetsItsTurnWhenBytesAreShort(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlightBytes = 400; c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	for o := range int64(90) {
		r.take(0, 1, r.arrival(o, 0, fmt.Sprintf("%d%0150d", o%9, 0)))
	}
	r.pass(1)
	got := map[int32]int{}
	ds := r.offer()
	for range 45 {
		got[ds[0].TargetPartition]++
		r.end(Delivered, ds[0])
		ds = append(ds[1:], r.offer()...)
	}
	for no := range int32(9) {
		if got[no] < 3 {
			t.Errorf("partition %d had %d turns of 45: %v", no, got[no], got)
		}
	}
	r.audit()
}

func TestEveryTargetGetsItsTurnWhenOffersAreShort(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(300) {
		a := r.arrival(o, 0, "0")
		a.Target = fmt.Sprintf("audit-%d", o%3)
		r.take(0, 1, a)
	}
	r.pass(1)
	got := map[string]int{}
	for range 30 {
		ds := r.Offer(nil, 2)
		for _, d := range ds {
			got[d.Target]++
		}
		r.end(Delivered, ds...)
	}
	for name, n := range got {
		if n != 20 {
			t.Errorf("%s had %d of 60", name, n)
		}
	}
}

func TestOfferKeepsToItsLimit(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(10) {
		r.mustTake(0, 1, 0, o)
	}
	r.pass(1)
	for _, n := range []int{0, 1, 4} {
		if ds := r.Offer(nil, n); len(ds) != n {
			t.Errorf("%d offered, limit %d", len(ds), n)
		}
	}
}

func TestTargetsThatNoRecordNamesAnyMoreAreForgotten(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	const names = 5000
	for o := range int64(names) {
		a := r.arrival(o, o%50, "0")
		a.Target, a.Label = fmt.Sprintf("audit-%d", o), "audit-*"
		r.take(0, 1, a)
	}
	if len(r.out.dir.byKey) != names+1 {
		t.Errorf("%d targets known, want %d", len(r.out.dir.byKey), names+1)
	}
	if r.Bytes() < names*targetSize {
		t.Errorf("%d bytes accounted, less than the targets take", r.Bytes())
	}
	r.pass(50)
	r.audit()
	for ds := r.offer(); len(ds) > 0; ds = r.offer() {
		r.end(Delivered, ds...)
	}
	if len(r.out.dir.byKey) > forgetAbove || len(r.out.busy) != 0 {
		t.Errorf("%d targets known, %d busy, want at most %d and none", len(r.out.dir.byKey), len(r.out.busy), forgetAbove)
	}
	s := r.Snapshot()
	if got := s.Delivered[TopicTarget{ingress, "audit-*"}]; got != names || len(s.Delivered) != 1 {
		t.Errorf("%d delivered under %d labels", got, len(s.Delivered))
	}
	r.audit()
	r.mustTake(0, 1, 1000, names) // an index is used again, and finds its target
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	if len(r.out.dir.byKey) != 1 {
		t.Errorf("%d targets known after the last partition left, want the dead-letter topic alone", len(r.out.dir.byKey))
	}
	r.audit()
}

func TestLatenessIsCountedFromTheDeadline(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 10, 0, 1)
	r.pass(13)
	r.end(Delivered, r.offer()...)
	early := r.arrival(2, 5000, "0") // due at once, with a timestamp ahead of our clock
	early.Outcome = Immediate
	r.take(0, 1, early)
	r.pass(1)
	r.one(Delivered)
	past := r.arrival(3, 1000, "0") // for an instant that had passed when it was written
	past.Outcome, past.DeadlineMs = PastDue, past.TimestampMs-60_000
	r.take(0, 1, past)
	r.at.WallMs = past.TimestampMs
	r.pass(7)
	r.one(Delivered)
	s := r.Snapshot()
	l := s.Late[egress]
	if l == nil || l.Count != 4 || l.SumMs != 13 || l.Buckets[2] != 2 || l.Buckets[0] != 1 || l.Buckets[3] != 1 || len(s.RecentMs) != 4 {
		t.Errorf("lateness %+v, recent %v", l, s.RecentMs)
	}
	if s.LastDeliveryMs != r.at.WallMs {
		t.Errorf("last delivery at %d", s.LastDeliveryMs)
	}
}

func TestOnlyTheLastFewErrorsAreKept(t *testing.T) {
	var s Stats
	for i := range 20 {
		s.noteError("t", fmt.Sprint(i))
		s.noteError("t", fmt.Sprint(i))
	}
	if len(s.errors) != 8 || s.errors[7].Detail != "19" || s.errors[0].Detail != "12" {
		t.Errorf("errors %v", s.errors)
	}
}
