package purgatory

import (
	"fmt"
	"strings"
	"testing"
)

func TestARecordIsOfferedAtItsDeadlineAndFinishedWhenDelivered(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 7)
	r.mustTake(0, 1, 500, 7)
	r.pass(499)
	r.want(r.offer())
	r.pass(1)
	ds := r.offer()
	r.want(ds, 7)
	if d := ds[0]; d.Target != egress || d.TargetPartition != 0 || string(d.Body) != "0 record 7" || d.DeadlineMs != r.at.WallMs || d.Reason != "" || d.DeadLettered || d.Alone || d.Bare {
		t.Errorf("delivery %+v", d)
	}
	if low := r.commitLow(0); low != -1 {
		t.Errorf("low offset %d committed while the record is in flight", low)
	}
	r.audit()
	r.end(Delivered, ds...)
	if low := r.commitLow(0); low != 8 {
		t.Errorf("low offset %d committed, want 8", low)
	}
	r.audit()
	if r.store.live != 0 {
		t.Errorf("%d records still in the store", r.store.live)
	}
}

func TestInvalidRecordsGoWhereThePolicySays(t *testing.T) {
	for name, test := range map[string]struct {
		policy  Policy
		target  string // "": none
		dead    bool
		reads   bool
		low     int64
		counted func(*Stats) int64
	}{
		"dead letter": {DeadLetter, graves, true, true, 1, func(s *Stats) int64 { return s.DeadLettered[TopicReason{ingress, "malformed_delay"}] }},
		"deliver":     {Deliver, egress, false, true, 1, func(s *Stats) int64 { return s.Delivered[TopicTarget{ingress, egress}] }},
		"drop":        {Drop, "", false, true, 1, func(s *Stats) int64 { return s.Dropped[ingress] }},
		"halt":        {Halt, "", false, false, 0, func(s *Stats) int64 { return 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.OnInvalid = test.policy })
			r.assign(0, 1, 0)
			a := r.arrival(0, 60_000, "0 bad")
			a.Reason, a.Message, a.Outcome = "malformed_delay", "header x-delay", Parked
			if got := r.take(0, 1, a); got != test.reads {
				t.Fatalf("reading goes on: %v, want %v", got, test.reads)
			}
			if test.target != "" {
				d := r.one(Delivered)
				if d.Target != test.target || d.Reason != "malformed_delay" || d.Message != "header x-delay" || d.DeadLettered != test.dead {
					t.Errorf("delivery %+v", d)
				}
			}
			r.want(r.offer())
			if low := r.parts.list[0].Window.Low(); low != test.low {
				t.Errorf("low offset %d, want %d", low, test.low)
			}
			s := r.Snapshot()
			if got := test.counted(&s.Stats); got != 1 {
				t.Errorf("counted %d, want 1", got)
			}
			halts := r.Take().Halts
			if halted := len(halts) == 1 && halts[0].Offset == 0 && halts[0].Epoch == 1; halted == test.reads {
				t.Errorf("halts %+v", halts)
			}
			if _, ok := r.Reader(partitionOf(0), 1); ok != test.reads {
				t.Errorf("the partition takes more: %v", ok)
			}
			r.audit()
		})
	}
}

func TestAHaltedPartitionStillDeliversWhatItParked(t *testing.T) {
	r := newRig(t, func(c *Config) { c.OnInvalid = Halt })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 100, 0)
	bad := r.arrival(1, 0, "0")
	bad.Reason, bad.Message = "no_target", `header x-deliver-to "private": not allowed`
	r.take(0, 1, bad)
	r.pass(100)
	r.one(Delivered)
	if low := r.commitLow(0); low != 1 {
		t.Errorf("low offset %d, want 1, the record that halted it", low)
	}
	if why := r.Snapshot().Partitions[0].Halted; !strings.Contains(why, "no_target") || !strings.Contains(why, "offset 1") || strings.Contains(why, "private") {
		t.Errorf("halted by %q, want the reason and the offset, and nothing of the record", why)
	}
	r.audit()
}

func TestNothingIsOfferedBeforeItsDeadlineWhateverTheClockDoes(t *testing.T) {
	for name, steps := range map[string][]int64{
		"back by less than the wheel waits for": {-900},
		"back by more":                          {-3_600_000},
		"back twice":                            {-999, -999},
		"forwards and back a little":            {400, -450},
		"forwards and back by a day":            {900, 86_400_000 - 900, -86_400_000},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.assign(0, 1, 0)
			r.mustTake(0, 1, 1000, 0, 1)
			r.mustTake(0, 1, 1, 2)
			deadline := r.at.WallMs + 1000
			seen := 0
			look := func() {
				t.Helper()
				for _, d := range r.offer() {
					if d.DeadlineMs > r.at.WallMs {
						t.Errorf("offset %d offered %d ms early", d.Offset, d.DeadlineMs-r.at.WallMs)
					}
					seen++
					r.end(Delivered, d)
				}
				r.audit()
			}
			for _, by := range steps {
				r.step(by) // becomes due, perhaps, and may be taken back before it is offered
				if by < 0 {
					look()
				}
			}
			for r.at.WallMs < deadline+1 {
				r.pass(min(max((deadline-r.at.WallMs)/2, 1), 10_000))
				look()
			}
			if seen != 3 {
				t.Errorf("%d records delivered by their deadline, want 3", seen)
			}
		})
	}
}

func TestARecordThatWasDueWaitsAgainWhenTheClockStepsBack(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 5000, 0, 1)
	now := r.arrival(2, 0, "0")
	now.Outcome, now.DeadlineMs = Passed, r.at.WallMs+7000 // a timestamp ahead of the clock holds nothing up
	r.take(0, 1, now)
	r.step(5000)
	r.step(-5000)
	ds := r.offer()
	r.want(ds, 2)
	r.end(Delivered, ds...)
	r.audit()
	r.pass(4999)
	r.want(r.offer())
	r.pass(1)
	r.want(r.offer(), 0, 1)
	r.audit()
}

func TestAClockSteppedBackDoesNotHoldNewRecordsUp(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.pass(100_000)
	r.step(-50_000)
	r.mustTake(0, 1, 10, 0)
	r.pass(10)
	r.want(r.offer(), 0)
}

func TestEqualDeadlinesLeaveByOffsetAlsoAfterARebuild(t *testing.T) {
	for name, disturb := range map[string]func(*rig){
		"undisturbed":   func(*rig) {},
		"rebuilt":       func(r *rig) { r.step(-2000) },
		"rebuilt twice": func(r *rig) { r.step(-2000); r.step(-5000) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.MaxInFlight = 7 })
			r.assign(0, 1, 0)
			deadline := r.at.WallMs + 40_000
			for o := range int64(300) {
				a := r.arrival(o, 0, fmt.Sprintf("%d", o%3))
				a.DeadlineMs = deadline
				r.take(0, 1, a)
				if o%50 == 0 { // they come in over time, into coarse buckets and fine ones
					r.pass(5000)
				}
			}
			disturb(r)
			r.pass(60_000)
			last := [3]int64{-1, -1, -1}
			seen := 0
			for ds := r.Offer(nil, 16); len(ds) > 0; ds = r.Offer(nil, 16) {
				for _, d := range ds {
					if d.Offset <= last[d.TargetPartition] {
						t.Fatalf("offset %d offered to %d after %d", d.Offset, d.TargetPartition, last[d.TargetPartition])
					}
					last[d.TargetPartition] = d.Offset
					seen++
				}
				r.end(Delivered, ds...)
			}
			if seen != 300 {
				t.Errorf("%d delivered", seen)
			}
			r.audit()
		})
	}
}

func TestASmallRecordDoesNotPassALargeOneThatWaitsForRoom(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlightBytes = 8000 })
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "0 first"))
	r.take(0, 1, r.arrival(1, 0, "0"+string(make([]byte, 3000)))) // over a quarter of the bytes in flight
	r.take(0, 1, r.arrival(2, 0, "0 last"))
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0)
	r.end(Delivered, ds...)
	r.want(r.offer(), 1)
}

func TestTheSameEventsHaveTheSameEffects(t *testing.T) {
	run := func() (log string) {
		r := newRig(t, func(c *Config) { c.MaxInFlight = 2; c.HeldShare = 900 })
		r.assign(0, 1, 0)
		for o := range int64(200) {
			r.take(0, 1, r.arrival(o, o%7, fmt.Sprintf("%d", o%10)))
		}
		for i := range 400 {
			r.pass(20_000 * int64(i/100))
			for _, d := range r.Offer(nil, 13) {
				log += fmt.Sprintf("%s/%d@%d ", d.Target, d.TargetPartition, d.Offset)
				switch {
				case i < 100 && d.Offset%4 == 1: // never answered: its partition stalls
				case i < 200 && d.Offset%11 == 2:
					r.end(Unknown, d)
				default:
					r.end(Delivered, d)
				}
			}
			log += fmt.Sprintf("%v\n", r.Take())
		}
		return log
	}
	if first, second := run(), run(); first != second {
		t.Errorf("two runs differ:\n%s\n%s", first, second)
	}
}
