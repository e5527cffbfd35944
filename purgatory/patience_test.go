package purgatory

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"layover/offsets"
)

// TestARecordThatComesBackUnderAHoldRenewsNoPatience of those that are held already. The topic was deleted, and its
// partitions answer later than metadata for what was in flight to them, each at its time.
func TestARecordThatComesBackUnderAHoldRenewsNoPatience(t *testing.T) {
	r := newRig(t, nil) // a patience of a minute
	r.assign(0, 1, 0)
	for o := range int64(3) {
		r.take(0, 1, r.arrival(o, 0, fmt.Sprint(o+1)))
	}
	r.pass(1)
	late := r.offer()
	r.want(late, 0, 1, 2)
	r.router[egress] = Missing
	r.take(0, 1, r.arrival(3, 0, "0"))
	r.pass(1)
	r.want(r.offer()) // held from now on, with offset 3 in its queue
	for second := range 62 {
		r.pass(1000)
		if second == 49 {
			r.Outcomes(r.at, []Result{{ID: late[0].ID, Class: Unavailable, Verdict: Missing}})
		}
		for _, d := range r.offer() {
			if d.DeadLettered && d.Offset == 3 {
				if second < 59 {
					t.Errorf("offset 3 is given up after %d s", second)
				}
				return
			}
			r.end(Delivered, d)
		}
	}
	t.Errorf("offset 3 is held still: %+v", r.heldView())
}

// TestAnEarlierHoldUsesUpNoPatienceOfWhatWaitedForItsMembership: the lease ran out under the first hold, and came
// back under the second.
func TestAnEarlierHoldUsesUpNoPatienceOfWhatWaitedForItsMembership(t *testing.T) {
	r := newRig(t, nil)
	r.hold(1, Missing)
	r.assign(1, 2, 0)
	r.commitLow(0)
	for _, c := range r.Commits(nil, true) {
		result := offsets.CommitResult{Commit: c}
		if c.Partition == 0 {
			result.Err, result.Fenced = errors.New("illegal generation"), true
		}
		r.Committed(result)
	}
	r.mustTake(1, 2, 0, 0)
	r.router[egress] = Usable
	r.pass(5000)
	if d := r.one(Delivered); d.Partition != 1 { // that of partition 0 waits for its membership
		t.Fatalf("%+v", d)
	}
	r.offer()
	r.pass(65_000)
	r.mustTake(1, 2, 0, 1)
	r.pass(1)
	r.one(Unavailable) // a second hold, a minute after the end of the first
	r.pass(holdFirstMs)
	r.want(r.offer(), 1) // the trial
	r.commitLow(0)
	for range 10 {
		r.pass(100)
		for _, d := range r.offer() {
			if d.DeadLettered {
				t.Fatalf("%d@%d is a dead letter 2 s after the second hold began: %s", d.Partition, d.Offset, d.Message)
			}
		}
	}
}

// TestWhatWaitsForItsMembershipIsNotHeldMeanwhile, though its target is: its patience counts from its return.
func TestWhatWaitsForItsMembershipIsNotHeldMeanwhile(t *testing.T) {
	r := newRig(t, nil) // a patience of a minute
	r.hold(1, Missing)
	r.assign(1, 2, 0)
	r.mustTake(1, 2, 0, 0) // for which the hold goes on
	r.commitLow(1)
	for _, c := range r.Commits(nil, true) {
		r.Committed(offsets.CommitResult{Commit: c, Err: errors.New("illegal generation"), Fenced: c.Partition == 0})
	}
	r.pass(holdMaxMs)
	r.want(r.offer())
	r.pass(50_000)
	r.commitLow(0)
	after := r.givenUpAfter(65, func(int) {}, func(*Delivery) Class { return Unavailable })
	if _, ok := after[0]; !ok || len(r.Snapshot().Letters) != 2 {
		t.Fatalf("given up after %v s, letters %+v", after, r.Snapshot().Letters)
	}
	if last := r.Snapshot().Letters[0]; last.Partition != 0 || after[0] < 58 || after[0] > 61 {
		t.Errorf("the last letter is %+v, %d s after its partition has a lease again, want a minute", last, after[0])
	}
}

// TestTheCountOfGivenUpRecordsIsKeptWhileTheTargetIsHeld, though a record that was on its way before is taken.
func TestTheCountOfGivenUpRecordsIsKeptWhileTheTargetIsHeld(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "1"))
	r.take(0, 1, r.arrival(1, 0, "0"))
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0, 1)
	forbid := func(ds []Delivery) {
		for _, d := range ds {
			if d.DeadLettered {
				r.end(Delivered, d)
				continue
			}
			r.Outcomes(r.at, []Result{{ID: d.ID, Class: Unavailable, Verdict: Forbidden}})
		}
	}
	forbid(ds[1:])
	for second := range 62 {
		r.pass(1000)
		forbid(r.offer())
		if second == 58 {
			r.take(0, 1, r.arrival(2, 0, "0"))
		}
	}
	before := r.heldView()
	r.end(Delivered, ds[0])
	if after := r.heldView(); before.GivenUp != 1 || after.GivenUp != 1 {
		t.Errorf("given up %d before the late answer, and %d now that it is held still (%v)", before.GivenUp, after.GivenUp, after.Verdict)
	}
}

// TestThePatienceOfManyRecordsStopsNoOtherTarget: all came at once, and one look does not go through all of them.
func TestThePatienceOfManyRecordsStopsNoOtherTarget(t *testing.T) {
	const n = 5 * giveUpBudget / 2
	r := newRig(t, func(c *Config) { c.HeldShare = 1 << 30 })
	r.router[egress], r.router[graves] = Missing, Missing
	r.assign(0, 1, 0)
	for o := range int64(n) {
		r.mustTake(0, 1, 0, o)
	}
	r.pass(1)
	r.want(r.offer())
	r.pass(59_000)
	letters := func() int { return r.out.dir.dead.queue.count }
	for look := 0; letters() < n; look++ {
		before := letters()
		r.pass(checkEveryMs)
		if given := letters() - before; given > giveUpBudget || look > 20 {
			t.Fatalf("look %d gives up %d records, %d in all", look, given, letters())
		}
	}
	r.audit()
}

// TestAHoldThatMetadataBeganEndsByMetadata, though all that waited was given up. One record is in flight to a partition
// that never answers.
func TestAHoldThatMetadataBeganEndsByMetadata(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "1"))
	r.pass(1)
	r.want(r.offer(), 0)
	r.router[egress] = Missing
	r.take(0, 1, r.arrival(1, 0, "0"))
	r.pass(1)
	r.want(r.offer())
	for range 700 {
		r.pass(100)
		r.end(Delivered, r.offer()...) // the dead letter
	}
	if h := r.heldView(); h.Verdict != Missing || h.Records != 0 || h.GivenUp != 1 {
		t.Fatalf("%+v", h)
	}
	r.router[egress] = Usable
	r.Usable(egress)
	if h := r.heldView(); h.Verdict != Unreachable || len(h.Partitions) != 1 {
		t.Errorf("the topic is there again, and its target is held: %+v", h)
	}
	r.audit()
}

// givenUpAfter answers what is on offer, each second, and takes letters. It returns after how many seconds each record was
// given up.
func (r *rig) givenUpAfter(seconds int, each func(second int), answer func(d *Delivery) Class) map[int64]int {
	out := map[int64]int{}
	for second := range seconds {
		each(second)
		r.pass(1000)
		for _, d := range r.offer() {
			if d.DeadLettered {
				out[d.Offset] = second
				r.end(Delivered, d)
				continue
			}
			r.end(answer(&d), d)
		}
	}
	return out
}

// TestAnotherFaultRenewsNoPatience: four records wait for a partition that has a fault for fifty seconds of a patience of
// a minute, and then another one.
func TestAnotherFaultRenewsNoPatience(t *testing.T) {
	type step struct {
		verdict Verdict // of metadata
		others  int64   // records for another partition, which come then
		class   Class   // of the answers from then on
		other   Class   // of those of the other partition
	}
	for name, then := range map[string]step{
		"metadata calls the topic missing": {verdict: Missing, others: 1, class: Unknown},
		"another partition denies it":      {others: 2, class: Unknown, other: Unavailable},
		"the same partition denies it":     {class: Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.assign(0, 1, 0)
			for o := range int64(4) {
				r.take(0, 1, r.arrival(o, 0, "0"))
			}
			now, left := step{class: Unknown}, int64(0)
			after := r.givenUpAfter(125, func(second int) {
				switch second {
				case 50:
					now = then
					r.router[egress] = now.verdict
					for o := range now.others {
						r.take(0, 1, r.arrival(4+o, 0, "1"))
					}
				case 55:
					left = r.heldView().PatienceLeftMs
				}
			}, func(d *Delivery) Class {
				if d.TargetPartition == 1 {
					return now.other
				}
				return now.class
			})
			for o := range int64(4) {
				if s, ok := after[o]; !ok || s < 59 || s > 66 {
					t.Errorf("offset %d is given up after %d s (%v), want a minute", o, s, ok)
				}
			}
			if left > 6000 {
				t.Errorf("%d ms of patience are left after 55 s of 60", left)
			}
			for o := range then.others {
				if s, ok := after[4+o]; !ok || s < 109 || s > 116 {
					t.Errorf("offset %d of the other partition is given up after %d s (%v), want a minute from second 50 on", 4+o, s, ok)
				}
			}
			r.audit()
		})
	}
}

// TestAPartitionThatDeniedItsTopicFirstRenewsNoPatience as it answers with another error from then on.
func TestAPartitionThatDeniedItsTopicFirstRenewsNoPatience(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(4) {
		r.take(0, 1, r.arrival(o, 0, "0"))
	}
	class := Unavailable
	after := r.givenUpAfter(125, func(second int) {
		if second == 50 {
			class = Unknown
		}
	}, func(*Delivery) Class { return class })
	for o := range int64(4) {
		if s, ok := after[o]; !ok || s < 59 || s > 66 {
			t.Errorf("offset %d is given up after %d s (%v), want a minute", o, s, ok)
		}
	}
}

// TestATrialOfAnEarlierHoldIsHeldByTheOneThatItComesBackTo: it was held for fifty seconds by the first, and is answered
// under the second.
func TestATrialOfAnEarlierHoldIsHeldByTheOneThatItComesBackTo(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 }) // a patience of a minute
	r.assign(0, 1, 0)
	for o, body := range []string{"1", "1", "2"} {
		r.take(0, 1, r.arrival(int64(o), 0, body))
	}
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0, 2)
	slow := ds[0]
	r.end(Unavailable, ds[1])
	for r.at.WallMs < startMs+50_000 { // refused each time
		r.pass(100)
		r.end(Unavailable, r.offer()...)
	}
	r.end(Delivered, slow)
	r.pass(holdMaxMs)
	trial := r.offer()
	r.want(trial, 1)
	r.pass(stuckMs + 200)
	r.one(Delivered) // of the other partition: the hold is over
	if h := r.Snapshot().Held; len(h) > 0 {
		t.Fatalf("held %+v", h)
	}
	r.take(0, 1, r.arrival(3, 0, "2"))
	r.pass(100)
	r.one(Unavailable)
	r.pass(100)
	r.end(Unavailable, trial...)
	after := r.givenUpAfter(70, func(int) {}, func(*Delivery) Class { return Unavailable })
	if s, ok := after[1]; !ok || s < 58 || s > 61 {
		t.Errorf("it is given up %d s after the second hold began (%v), want a minute", s, ok)
	}
}

// TestWhatWaitedUnderAnEarlierHoldIsHeldByTheNextOne: the first took 55 s of a patience of a minute, beside a silent
// partition. Metadata begins the second before any record goes.
func TestWhatWaitedUnderAnEarlierHoldIsHeldByTheNextOne(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "2"))
	r.pass(1)
	r.want(r.offer(), 0) // never answered
	r.pass(stallMs)
	for o := int64(1); o < 4; o++ {
		r.take(0, 1, r.arrival(o, 0, "1"))
	}
	for r.at.WallMs < startMs+stallMs+55_000 {
		r.pass(100)
		r.end(Unavailable, r.offer()...)
	}
	r.pass(holdMaxMs)
	r.one(Delivered) // the trial: the hold is over
	r.router[egress] = Missing
	r.pass(1)
	after := r.givenUpAfter(70, func(int) {}, func(d *Delivery) Class { return Unavailable })
	for o := int64(2); o < 4; o++ {
		if s, ok := after[o]; !ok || s < 58 || s > 61 {
			t.Errorf("offset %d is given up %d s after the second hold began (%v), want a minute", o, s, ok)
		}
	}
}

// TestACancelledRecordThatWasHeldForLongerComesToNoFront: one came back in front of it just before, and goes behind it.
func TestACancelledRecordThatWasHeldForLongerComesToNoFront(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "0"))
	r.must(r.named(1, 0, "a"), r.named(2, 0, "b")) // for the same partition
	r.pass(1)
	r.want(r.offer(), 0) // never answered
	r.pass(stallMs)
	r.take(0, 1, r.arrival(3, 0, "1"))
	r.pass(50)
	ds := r.offer()
	r.want(ds, 3)
	r.router[egress] = Missing
	r.take(0, 1, r.arrival(4, 0, "2"))
	r.pass(1)
	r.want(r.offer()) // held, and two of them for longer
	r.end(Unavailable, ds...)
	r.must(r.cancelOf(5, "a"))
	for range 2 {
		r.audit()
		r.pass(checkEveryMs)
	}
	var order []int64
	r.out.dir.byKey[TargetName{Name: egress}].queue.each(func(e *entry) { order = append(order, readHeader(r.store.at(e.loc)).offset) })
	if want := []int64{2, 3, 4}; !slices.Equal(order, want) {
		t.Errorf("held are %v, in that order; want %v", order, want)
	}
}
