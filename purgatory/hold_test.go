package purgatory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/offsets"
)

// hold makes the egress topic held with n due records of partition 0, epoch 1.
func (r *rig) hold(n int, v Verdict) {
	r.Helper()
	r.router[egress] = v
	r.assign(0, 1, 0)
	for o := range int64(n) {
		r.mustTake(0, 1, 0, o)
	}
	r.pass(1)
	r.want(r.offer())
	if s := r.Snapshot(); len(s.Held) != 1 || s.Held[0].Records != n || s.Held[0].Verdict != v || s.Held[0].Target != egress {
		r.Fatalf("held %+v, want %d records of %s", s.Held, n, egress)
	}
}

func TestAHeldTargetIsTriedAfterADelayThatDoublesToTwoSeconds(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience, c.MaxInFlight = time.Hour, 1 })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2)
	r.pass(1)
	r.one(Unavailable)
	for _, wait := range []int64{100, 200, 400, 800, 1600, 2000, 2000} {
		r.pass(wait - 1)
		r.want(r.offer())
		r.pass(1)
		ds := r.offer() // one, to see
		r.want(ds, 0)
		r.want(r.offer())
		r.end(Unavailable, ds...)
		r.audit()
	}
	r.pass(2000)
	r.Take()
	r.one(Delivered)
	if h := r.Take().Holds; len(h) != 1 || h[0].Held || h[0].Target != egress {
		t.Errorf("notices %+v, want one that the target is back", h)
	}
	for _, o := range []int64{1, 2} {
		ds := r.offer()
		r.want(ds, o)
		r.end(Delivered, ds...)
	}
	if r.Unsettled() || len(r.Snapshot().Held) != 0 {
		t.Error("the target is still held")
	}
	r.audit()
}

func TestAHeldTargetStopsOnlyItsOwnRecords(t *testing.T) {
	r := newRig(t, nil)
	r.hold(2, Forbidden)
	a := r.arrival(2, 0, "0")
	a.Target, a.Label = other, other
	r.take(0, 1, a)
	r.pass(1)
	if d := r.one(Delivered); d.Target != other {
		t.Errorf("delivered to %s", d.Target)
	}
	if h := r.Take().Holds; len(h) != 1 || !h[0].Held || h[0].Verdict != Forbidden {
		t.Errorf("notices %+v", h)
	}
}

func TestAClockSteppedBackDoesNotPostponeTheNextTryForLong(t *testing.T) {
	r := newRig(t, nil)
	r.hold(1, Missing)
	r.step(-3_600_000)
	r.router[egress] = Usable
	now := r.arrival(1, 0, "0")
	now.Outcome = Passed
	r.take(0, 1, now)
	r.pass(1)
	r.want(r.offer(), 1) // the other one is not due any more
	r.audit()
}

func TestWhatIsStillUnknownIsAskedForAgainWithoutAHold(t *testing.T) {
	r := newRig(t, nil)
	r.router[egress] = Pending
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	r.want(r.offer())
	if !r.Unsettled() || len(r.Take().Holds) != 0 {
		t.Error("want to be asked again, without a hold")
	}
	r.router[egress] = Usable
	r.want(r.offer(), 0)
	if r.Unsettled() {
		t.Error("unsettled without a reason")
	}
}

func TestPatienceUsedUpDeadLettersTheOldest(t *testing.T) {
	r := newRig(t, nil)
	r.hold(2, Missing)
	r.pass(30_000)
	r.mustTake(0, 1, 0, 2)
	r.pass(29_899)
	r.want(r.offer())
	r.pass(200)
	ds := r.offer()
	r.want(ds, 0, 1)
	for _, d := range ds {
		if !d.DeadLettered || d.Reason != "target_unavailable" || !strings.Contains(d.Message, egress) || !strings.Contains(d.Message, "missing") {
			t.Errorf("dead letter %+v", d)
		}
	}
	r.end(Delivered, ds...)
	if low := r.commitLow(0); low != 2 {
		t.Errorf("low offset %d, want 2", low)
	}
	r.audit()
}

func TestPatienceDoesNotCountWhileNoBrokerAnswers(t *testing.T) {
	r := newRig(t, nil)
	r.hold(1, Missing)
	for range 100 {
		r.at.WallMs += 60_000
		r.Tick(r.at, 100)
		r.want(r.offer())
	}
}

func TestAnEarlierHoldDoesNotUseUpThePatienceOfALaterOne(t *testing.T) {
	r := newRig(t, nil)
	r.hold(1, Missing)
	r.assign(1, 2, 0)
	r.mustTake(1, 2, 0, 0)
	fenced := r.Commits(nil, true)[0]
	r.Committed(offsets.CommitResult{Commit: fenced, Err: errors.New("illegal generation"), Fenced: true})
	r.router[egress] = Usable
	r.pass(1000)                                 // the held record goes back to its partition,
	if d := r.one(Delivered); d.Partition != 1 { // and the target comes back meanwhile
		t.Fatalf("delivered %+v", d)
	}
	r.pass(70_000)
	r.commitLow(0)
	r.router[egress] = Missing // again, before that record is on its way
	r.want(r.offer())
	r.pass(50_000)
	for _, d := range r.offer() {
		if d.DeadLettered {
			t.Errorf("%d@%d dead-lettered after 50 s of a minute's patience", d.Partition, d.Offset)
		}
	}
	if h := r.Snapshot().Held; len(h) != 1 || h[0].Records != 1 {
		t.Errorf("held %+v, want the one record", h)
	}
	r.audit()
}

func TestAShareThatIsFullDeadLettersTheOldest(t *testing.T) {
	bytes := waitsWith(newRig(t, nil).arrival(0, 0, "0 record 0"))
	r := newRig(t, func(c *Config) { c.HeldShare = 3 * bytes })
	r.hold(5, Missing)
	r.pass(100)
	ds := r.offer()
	r.want(ds, 0, 1)
	if !strings.Contains(ds[0].Message, "share") {
		t.Errorf("message %q does not say that the share is full", ds[0].Message)
	}
	r.audit()
}

func TestWithoutADeadLetterTopicReadingPausesAndNothingIsDropped(t *testing.T) {
	for name, edit := range map[string]func(*Config){
		"patience": func(c *Config) { c.Patience = time.Second },
		"share":    func(c *Config) { c.HeldShare = 10 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.DeadLetterTopic = ""; c.OnInvalid = Drop; edit(c) })
			r.hold(3, Missing)
			r.pass(1000)
			if p := r.Pauses(); len(p) != 1 || p[0] != (Pause{"target", egress, egress}) {
				t.Errorf("pauses %v, want one for %s", p, egress)
			}
			r.router[egress] = Usable
			r.pass(100)
			r.want(r.offer(), 0, 1, 2)
			r.pass(100)
			if p := r.Pauses(); len(p) != 0 {
				t.Errorf("pauses %v after the target came back", p)
			}
			if total(r.stats.Dropped) != 0 {
				t.Error("records were dropped")
			}
			r.audit()
		})
	}
}

func TestATargetThatIsHeldWithNothingLeftDoesNotPauseReading(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DeadLetterTopic = ""; c.OnInvalid = Drop; c.HeldShare = 10 })
	r.hold(3, Missing)
	r.pass(100)
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	r.offer()
	if p := r.Pauses(); len(p) != 0 {
		t.Errorf("pauses %v without a record that is held", p)
	}
}

func TestAHoldEndsWithTheLastRecordOfAPartitionThatIsGone(t *testing.T) {
	for name, class := range map[string]Class{"refused": Unavailable, "not sent": NoRoom, "taken": Delivered} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.assign(0, 1, 0)
			r.mustTake(0, 1, 0, 0, 1)
			r.pass(1)
			ds := r.offer()
			r.end(Unavailable, ds[1])
			r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
			r.offer() // nothing is left but the record in flight
			if held := r.Snapshot().Held; len(held) != 1 {
				t.Fatalf("held %+v, want the target while an answer is owed", held)
			}
			r.end(class, ds[0])
			if held := r.Snapshot().Held; len(held) != 0 {
				t.Errorf("held %+v with nothing there for it", held)
			}
			if n := r.Take().Holds; len(n) != 2 || !n[1].Forgotten && class != Delivered {
				t.Errorf("notices %+v, want a second one that the hold is over", n)
			}
			r.audit()
		})
	}
}

func TestADeadLetterTopicThatFailsPausesReadingUntilItIsBack(t *testing.T) {
	r := newRig(t, nil)
	r.router[graves] = Missing
	r.assign(0, 1, 0)
	bad := r.arrival(0, 0, "0")
	bad.Reason = "no_target"
	r.take(0, 1, bad)
	r.want(r.offer())
	if p := r.Pauses(); len(p) != 1 || p[0] != (Pause{"dead_letter", graves, graves}) {
		t.Errorf("pauses %v", p)
	}
	r.pass(600_000) // patience is not for dead letters: they have nowhere else to go
	r.want(r.offer())
	r.router[graves] = Usable
	r.pass(2000)
	d := r.offer()
	r.want(d, 0)
	if len(r.Pauses()) != 1 {
		t.Error("reading goes on before the dead letter is there")
	}
	r.end(Delivered, d...)
	if len(r.Pauses()) != 0 {
		t.Errorf("pauses %v after it is back", r.Pauses())
	}
	r.audit()
}

func TestReadingGoesOnWhenTheLastDeadLetterLeftWithItsPartition(t *testing.T) {
	for name, inFlight := range map[string]bool{"waiting": false, "in flight": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.router[graves] = Missing
			r.assign(0, 1, 0)
			bad := r.arrival(0, 0, "0")
			bad.Reason = "no_target"
			r.take(0, 1, bad)
			r.offer()
			var ds []Delivery
			if inFlight {
				r.router[graves] = Usable
				r.pass(2000)
				ds = r.offer()
				r.want(ds, 0)
			}
			r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
			r.end(Unavailable, ds...)
			if p := r.Pauses(); len(p) != 0 { // nothing is left that would ever try the topic again
				t.Errorf("pauses %v for ever", p)
			}
			r.audit()
		})
	}
}

func TestHeldRecordsPinNoChunkOfAnotherTarget(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = time.Hour })
	r.assign(0, 1, 0)
	size := int64(0)
	for o := range int64(400) { // every 20th for the target that will be held, all in the same chunks
		a := r.arrival(o, 1000, fmt.Sprintf("0 %0100d", o))
		if o%20 == 0 {
			a.Target, a.Label = other, other
			size += sizeOf(a)
		}
		r.take(0, 1, a)
	}
	r.router[other] = Missing
	r.pass(1000)
	for ds := r.offer(); len(ds) > 0; ds = r.offer() {
		r.end(Delivered, ds...)
	}
	r.Trim()
	if n := r.store.live; n != 20 {
		t.Fatalf("%d records kept, want 20", n)
	}
	if r.store.bytes > 2*size+2*minChunk {
		t.Errorf("20 held records of %d bytes pin %d", size, r.store.bytes)
	}
	if h := r.Snapshot().Held[0]; h.Bytes != size+20*entrySize {
		t.Errorf("held %d bytes, want %d and 20 entries", h.Bytes, size)
	}
	for _, c := range r.store.chunks {
		if c != nil && c.class < heldClass {
			t.Errorf("a chunk of class %d is pinned", c.class)
		}
	}
	r.audit()
}

func TestAHoldKeepsTheOldestInFront(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2)
	r.pass(1)
	flying := r.offer() // 1 and 2 are routed, and wait behind it
	r.mustTake(0, 1, 0, 3, 4)
	r.pass(1)
	r.end(Unavailable, flying...)
	r.pass(100)
	for want := range int64(5) {
		ds := r.offer()
		r.want(ds, want)
		r.end(Delivered, ds...)
	}
	r.audit()
}
