package purgatory

import (
	"testing"
	"time"

	"layover/offsets"
)

// TestEachHoldHasItsWholePatience: a target that is back for an instant takes one record,
// and those behind it begin to wait anew with the next hold.
func TestEachHoldHasItsWholePatience(t *testing.T) {
	for name, class := range map[string]Class{"its answers": Unavailable, "its silence": Unknown} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
			r.assign(0, 1, 0)
			r.mustTake(0, 1, 0, 0, 1, 2, 3, 4)
			r.pass(1)
			for flap := range int64(4) {
				r.one(class) // it is held
				r.pass(57_000)
				d := r.one(Delivered) // the trial
				if d.DeadLettered || d.Offset != flap {
					t.Fatalf("hold %d: delivery %+v, want offset %d", flap+1, d, flap)
				}
				if s := r.Snapshot(); len(s.Held) > 0 || total(s.DeadLettered) > 0 {
					t.Fatalf("after hold %d: %+v are held, %v dead-lettered", flap+1, s.Held, s.DeadLettered)
				}
				r.audit()
			}
			r.one(class)
			since := r.at.WallMs
			r.pass(59_000)
			if s := r.Snapshot(); len(s.Held) != 1 || s.Held[0].SinceMs != since || total(s.DeadLettered) > 0 {
				t.Fatalf("the last hold: %+v, dead-lettered %v; want one since %d", s.Held, s.DeadLettered, since)
			}
			r.pass(2000)
			if d := r.one(Delivered); !d.DeadLettered || d.Offset != 4 {
				t.Errorf("after the patience: %+v", d)
			}
			r.audit()
		})
	}
}

// TestAHoldThatMetadataBeganAndEndedBeginsAnew each time: its records wait from then on.
func TestAHoldThatMetadataBeganAndEndedBeginsAnew(t *testing.T) {
	r := newRig(t, nil)
	r.hold(4, Missing)
	for round := range int64(3) {
		r.pass(56_000)
		r.router[egress] = Usable
		r.pass(2000)
		ds := r.Offer(nil, 1)
		r.want(ds, round)
		r.router[egress] = Missing
		r.end(Delivered, ds...)
		r.pass(1)
		r.want(r.offer()) // it is held again
		if s := r.Snapshot(); len(s.Held) != 1 || s.Held[0].SinceMs != r.at.WallMs || s.Held[0].Records != int(3-round) || total(s.DeadLettered) > 0 {
			t.Fatalf("round %d: held %+v, dead-lettered %v", round+1, s.Held, s.DeadLettered)
		}
		r.audit()
	}
	r.pass(59_000)
	if n := total(r.Snapshot().DeadLettered); n != 0 || len(r.offer()) != 0 {
		t.Errorf("%d dead letters before the patience of the last hold is over", n)
	}
	r.pass(2000)
	if d := r.one(Delivered); !d.DeadLettered || d.Offset != 3 {
		t.Errorf("after the patience: %+v", d)
	}
}

// TestTheBackOffOfATargetBeginsAnewWithEachHold at its first pause, however long it was.
func TestTheBackOffOfATargetBeginsAnewWithEachHold(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience, c.MaxInFlight = time.Hour, 1 })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2, 3)
	r.pass(1)
	for range 3 {
		r.one(Unavailable)
		for _, wait := range []int64{100, 200, 400, 800} {
			r.pass(wait - 1)
			r.want(r.offer())
			r.pass(1)
			r.one(Unavailable)
		}
		r.pass(1600)
		r.one(Delivered)
	}
}

// TestEachPauseOfReadingForDeadLettersHasItsHysteresis: reading goes on at half of the share.
func TestEachPauseOfReadingForDeadLettersHasItsHysteresis(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HeldShare, c.MaxInFlight = 1000, 1 })
	r.assign(0, 1, 0)
	next := int64(0)
	invalid := func() {
		a := r.arrival(next, 0, "0"+string(make([]byte, 300)))
		a.Outcome, a.Reason, a.Message = Invalid, "no_target", "no target is set"
		if !r.take(0, 1, a) {
			t.Fatalf("offset %d was not taken", next)
		}
		next++
	}
	paused := func() bool { return len(r.Snapshot().ReadingPaused) > 0 }
	for round := range 3 {
		taken := 0
		for ; !paused(); taken++ {
			if taken > 10 {
				t.Fatalf("round %d: %d letters wait and reading goes on", round+1, taken)
			}
			invalid()
			r.pass(1000)
		}
		left := taken
		for ; paused(); left-- {
			if left == 0 {
				t.Fatalf("round %d: no letter waits and reading pauses", round+1)
			}
			r.one(Delivered)
			r.pass(1000)
		}
		if left == 0 || left > taken/2 {
			t.Errorf("round %d: reading paused with %d letters, and went on with %d", round+1, taken, left)
		}
		for range left {
			r.one(Delivered)
			r.pass(1000)
		}
	}
	r.audit()
}

// TestEachLastCommitIsBuiltBesideOneThatIsUnderway, and says what has finished since.
func TestEachLastCommitIsBuiltBesideOneThatIsUnderway(t *testing.T) {
	r := newRig(t, nil)
	for epoch := uint64(1); epoch <= 3; epoch++ {
		low := int64(epoch-1) * 2
		r.assign(0, epoch, low)
		r.mustTake(0, epoch, 0, low, low+1)
		r.pass(1)
		ds := r.offer()
		r.end(Delivered, ds[0])
		underway := r.Commits(nil, true)
		r.end(Delivered, ds[1])
		r.Revoke(partitionOf(0), epoch)
		final, ok := r.Final(partitionOf(0), epoch)
		if !ok || final.Low != low+2 || len(underway) != 1 || underway[0].Low != low+1 {
			t.Fatalf("assignment %d: final commit %+v (%v) beside %+v", epoch, final, ok, underway)
		}
		r.Committed(offsets.CommitResult{Commit: underway[0]})
		r.Committed(offsets.CommitResult{Commit: final})
		if again, ok := r.Final(partitionOf(0), epoch); ok {
			t.Errorf("assignment %d: all is said, and %+v is built", epoch, again)
		}
		r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: epoch})
		r.audit()
	}
}
