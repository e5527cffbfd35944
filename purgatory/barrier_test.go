package purgatory

import (
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// barredRig hands over partition 0, in whose log there are three records. The first is read
// and due.
func (r *rig) barredRig(named bool) {
	r.Helper()
	r.assigned(func(a *facts.Assigned) { a.StableEnd = 3 })
	a := r.arrival(0, 0, "0 without an id")
	if named {
		a = r.named(0, 0, "a")
	}
	r.must(a)
	r.pass(1)
}

func TestNothingWithAnIDIsOfferedBeforeItsPartitionIsRead(t *testing.T) {
	r := newIDRig(t, nil)
	r.barredRig(true)
	r.want(r.offer())
	r.must(r.cancelOf(1, "b"))
	r.pass(1)
	if ds := r.offer(); len(ds) != 1 || !ds[0].Event {
		t.Fatalf("offered %+v", ds)
	}
	if s := r.Snapshot(); s.Barred != 1 || s.Due != 1 {
		t.Errorf("%d behind the barrier, %d due", s.Barred, s.Due)
	}
	r.must(r.arrival(2, 1000, "0"))
	r.pass(1)
	r.want(r.offer(), 0)
	if r.audit(); len(r.stats.BarrierOpened) > 0 || r.replays.barred != 0 {
		t.Errorf("opened %v, %d are barred", r.stats.BarrierOpened, r.replays.barred)
	}

	r = newIDRig(t, nil)
	r.barredRig(false)
	r.want(r.offer(), 0) // only records with an id wait
}

// TestTheBarrierIsOpenWhileNothingMoreIsRead, and shut again when reading goes on.
func TestTheBarrierIsOpenWhileNothingMoreIsRead(t *testing.T) {
	for why, test := range map[string]struct {
		open func(*rig)
		shut func(*rig) // nil: it stays open
	}{
		openPaused:  {func(r *rig) { r.Replays().Reading(true) }, func(r *rig) { r.Replays().Reading(false) }},
		openStopped: {func(r *rig) { r.Replays().Stopped(partitionOf(0), 1) }, nil},
		openIdle: {func(r *rig) {
			r.pass(idleOpensMs - 300)
			r.want(r.offer())
			r.pass(300)
		}, func(r *rig) { r.take(0, 1, r.arrival(1, 60_000, "0")) }},
		openHalted: {func(r *rig) {
			a := r.arrival(1, 0, "0")
			a.Reason = "malformed_delay"
			r.take(0, 1, a)
		}, nil},
	} {
		t.Run(why, func(t *testing.T) {
			r := newIDRig(t, func(c *Config) { c.OnInvalid = Halt })
			r.barredRig(true)
			r.want(r.offer())
			test.open(r)
			r.pass(0)
			flying := r.offer()
			r.want(flying, 0)
			if n := r.stats.BarrierOpened[why]; n != 1 || len(r.stats.BarrierOpened) != 1 {
				t.Errorf("opened %v", r.stats.BarrierOpened)
			}
			if test.shut == nil {
				return
			}
			test.shut(r)
			r.end(NoRoom, flying...)
			r.pass(200)
			if r.want(r.offer()); len(r.Replays().Assignments(nil)) != 1 {
				t.Error("the barrier is not shut again")
			}
			test.open(r)
			r.pass(200)
			r.want(r.offer(), 0)
			if n := r.stats.BarrierOpened[why]; why == openPaused && n != 2 {
				t.Errorf("opened %d times", n)
			}
			r.audit()
		})
	}
}

// TestABarrierThatOpensWithoutMembershipKeepsNothing: its records go when that is confirmed.
func TestABarrierThatOpensWithoutMembershipKeepsNothing(t *testing.T) {
	r := newIDRig(t, nil)
	r.barredRig(true)
	r.Suspend()
	r.must(r.arrival(1, 60_000, "0"), r.arrival(2, 60_000, "0"))
	r.pass(1)
	r.want(r.offer())
	r.commitLow(0)
	r.pass(1)
	r.want(r.offer(), 0)
}

func TestCancelsFindWhatTheBarrierKeeps(t *testing.T) {
	r := newIDRig(t, nil)
	r.barredRig(true)
	r.must(r.cancelOf(1, "a"), r.arrival(2, 60_000, "0"))
	r.pass(1)
	if ds := r.offer(); len(ds) != 1 || !ds[0].Event {
		t.Errorf("offered %+v", ds)
	}
}

// TestAnAssignmentTakesItsBarrierAlong, and its ids: those of the next one are its own.
func TestAnAssignmentTakesItsBarrierAlong(t *testing.T) {
	r := newIDRig(t, nil)
	r.barredRig(true)
	r.must(r.named(1, 60_000, "b"))
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	if r.audit(); r.replays.barred != 0 || r.Snapshot().IDs != 0 {
		t.Errorf("%d barriers, %d ids left", r.replays.barred, r.Snapshot().IDs)
	}
	r.assign(0, 2, 0)
	for o, id := range []string{"a", "b"} {
		if !r.take(0, 2, r.cancelOf(int64(o), id)) {
			t.Fatal("not taken")
		}
	}
	if n := r.stats.Cancels[TopicResult{ingress, "miss"}]; n != 2 {
		t.Errorf("%d misses: %v", n, r.stats.Cancels)
	}
}

// TestAnIdleBarrierShutsWithTheNextRecord: what is read in the turn in which reading goes on
// may be the cancel of what waits.
func TestAnIdleBarrierShutsWithTheNextRecord(t *testing.T) {
	r := newIDRig(t, nil)
	r.barredRig(true)
	r.pass(idleOpensMs)
	r.must(r.arrival(1, 60_000, "0"))
	r.want(r.offer())
	if r.audit(); r.stats.BarrierOpened[openIdle] != 1 {
		t.Errorf("opened %v", r.stats.BarrierOpened)
	}
	r.pass(idleOpensMs)
	r.want(r.offer(), 0)
}

// TestOnlyPartitionsThatAreHereAreRead to the end that their assignment found.
func TestOnlyPartitionsThatAreHereAreRead(t *testing.T) {
	r := newRig(t, nil)
	for no := range int32(3) {
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(no), Epoch: 1}, Window: offsets.NewWindow(0), Committed: true, StableEnd: 1})
	}
	gone := offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
	r.Sweep(gone)
	r.pass(1)
	if all := r.Replays().Assignments(nil); len(all) != 2 || all[0] == gone || all[1] == gone || r.replays.barred != 2 {
		t.Errorf("%+v are read, %d counted", all, r.replays.barred)
	}
	r.take(1, 1, r.arrival(0, 60_000, "0"))
	r.pass(1)
	if all := r.Replays().Assignments(nil); len(all) != 1 || all[0].Partition != 2 {
		t.Errorf("%+v are read", all)
	}
}

// TestABarrierDoesNotOpenWhileNoBrokerAnswers: nothing can be delivered then, and the rest is
// read once they answer again.
func TestABarrierDoesNotOpenWhileNoBrokerAnswers(t *testing.T) {
	r := newIDRig(t, nil)
	r.barredRig(true)
	r.at.WallMs += 10 * idleOpensMs
	r.at.MonotonicMs += 10 * idleOpensMs
	r.pass(idleOpensMs - 300)
	r.want(r.offer())
	if len(r.stats.BarrierOpened) != 0 {
		t.Errorf("opened %v", r.stats.BarrierOpened)
	}
}
