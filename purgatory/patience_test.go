package purgatory

import (
	"errors"
	"fmt"
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
