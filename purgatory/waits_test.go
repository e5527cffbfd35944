package purgatory

import (
	"fmt"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// TestATargetThatIsForgottenSaysSo with the last record of a partition that went, each time.
func TestATargetThatIsForgottenSaysSo(t *testing.T) {
	r := newRig(t, nil)
	for epoch := uint64(1); epoch <= 2; epoch++ {
		r.assign(0, epoch, 0)
		a := r.arrival(0, 0, "0")
		a.Target, a.Label = "jobs.7", "jobs.*"
		r.router[a.Target] = Missing
		r.take(0, epoch, a)
		well := r.arrival(1, 60_000, "0")
		well.Target, well.Label = "jobs.8", "jobs.*" // forgotten, too, and never held
		r.take(0, epoch, well)
		r.pass(1)
		r.want(r.offer())
		r.Take()
		r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: epoch})
		want := HoldNotice{Target: "jobs.7", Label: "jobs.*", Forgotten: true}
		if h := r.Take().Holds; len(h) != 1 || h[0] != want {
			t.Errorf("notices %+v, want %+v", h, want)
		}
		r.pass(holdMaxMs)
		r.offer()
		if h := r.Take().Holds; len(h) != 0 {
			t.Errorf("said again: %+v", h)
		}
		r.audit()
	}
}

// TestPartitionsOfATargetTakeTurns where there is room for one record at a time.
func TestPartitionsOfATargetTakeTurns(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	for o := range int64(8) {
		r.take(0, 1, r.arrival(o, 0, fmt.Sprint(o%2)))
	}
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0, 1)
	r.end(Delivered, ds...)
	var last int32 = -1
	for range 6 {
		ds := r.Offer(nil, 1)
		if len(ds) != 1 || ds[0].TargetPartition == last {
			t.Fatalf("offered %+v behind one of partition %d", ds, last)
		}
		last = ds[0].TargetPartition
		r.end(Delivered, ds...)
		r.audit()
	}
}

// TestADeadLetterTopicThatRejectsIsTriedLessAndLess, as any other target.
func TestADeadLetterTopicThatRejectsIsTriedLessAndLess(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.bury(0, "0")
	r.pass(1)
	r.rejected()
	for _, wait := range []int64{100, 200, 400, 800, 1600, 2000, 2000} {
		r.pass(wait - 1)
		r.want(r.offer())
		r.pass(1)
		if d := r.one(Rejected); !d.DeadLettered || d.Reason != "no_target" {
			t.Errorf("tried with %+v", d)
		}
	}
	r.pass(2000)
	r.one(Delivered)
	r.audit()
}

// TestDeadLettersHaveNoPatience: behind a silent partition of their topic, or held for it,
// they wait as what they are.
func TestDeadLettersHaveNoPatience(t *testing.T) {
	for name, silent := range map[string]bool{"silent": true, "held": false} {
		r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
		r.assign(0, 1, 0)
		r.bury(0, "0")
		r.bury(1, "0")
		r.pass(1)
		ds := r.offer()
		r.want(ds, 0)
		if !silent {
			r.end(Unavailable, ds...)
		}
		for range 150 {
			r.pass(1000)
			if !silent {
				r.end(Unavailable, r.offer()...)
			}
		}
		if h := r.heldView(); h.Target != graves || h.GivenUp != 0 || len(r.Pauses()) != 1 {
			t.Errorf("%s: %+v, pauses %v", name, h, r.Pauses())
		}
		if silent {
			r.end(Delivered, ds...)
		}
		for o := range int64(2) {
			if silent && o == 0 {
				continue
			}
			r.pass(holdMaxMs)
			if d := r.one(Delivered); d.Offset != o || d.Reason != "no_target" {
				t.Errorf("%s: %+v", name, d)
			}
		}
		r.audit()
	}
}

// TestReadingGoesOnWhileNoDeadLetterWaits, though some are on their way.
func TestReadingGoesOnWhileNoDeadLetterWaits(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HeldShare = 10 })
	r.assign(0, 1, 0)
	r.bury(0, "0")
	r.pass(1)
	if len(r.Pauses()) != 1 {
		t.Fatalf("more than the share waits, and pauses are %v", r.Pauses())
	}
	ds := r.offer()
	if p := r.Pauses(); len(p) != 0 {
		t.Errorf("it is on its way, and pauses are %v", p)
	}
	r.pass(stallMs + 200)
	if p := r.Pauses(); len(p) != 1 {
		t.Errorf("its partition is silent, and pauses are %v", p)
	}
	r.end(NoRoom, ds...)
	r.unburden()
	if p := r.Pauses(); len(p) != 0 {
		t.Errorf("nothing is in flight to the silent partition, and pauses are %v", p)
	}
}

// unburden lets no share be exceeded any more.
func (r *rig) unburden() {
	r.cfg.HeldShare = 1 << 30
	r.out.shares.burden(&r.out.dir, r.cfg.HeldShare)
}

// TestAClientWithoutRoomIsAskedAgain: no event announces that it has some.
func TestAClientWithoutRoomIsAskedAgain(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	for range 2 {
		r.pass(fullPauseMs)
		if r.Unsettled() {
			t.Error("something is waited for while there is room")
		}
		if r.one(NoRoom); !r.Unsettled() {
			t.Error("nothing is waited for, and the client had no room")
		}
	}
}

// TestBarriersOfAllPartitionsOpenInOneTurn.
func TestBarriersOfAllPartitionsOpenInOneTurn(t *testing.T) {
	r := newRig(t, nil)
	for no := range int32(3) {
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(no), Epoch: 1}, Window: offsets.NewWindow(0), Committed: true, StableEnd: 1})
	}
	r.pass(1)
	for no := range int32(3) {
		r.take(no, 1, r.named(0, 0, "a"))
	}
	r.Core.Tick(r.at, 100)
	if ds := r.offer(); len(ds) != 3 {
		t.Errorf("offered %+v, want one of each partition", ds)
	}
	r.audit()
}

// TestABarrierIsIdleSinceItsAssignment, and not since the process began.
func TestABarrierIsIdleSinceItsAssignment(t *testing.T) {
	r := newIDRig(t, nil)
	r.pass(5 * idleOpensMs)
	r.assigned(func(a *facts.Assigned) { a.StableEnd = 3 })
	r.pass(idleOpensMs - 1)
	if n := len(r.stats.BarrierOpened); n != 0 {
		t.Errorf("opened %v before its time", r.stats.BarrierOpened)
	}
	if r.pass(1); r.stats.BarrierOpened[openIdle] != 1 {
		t.Errorf("opened %v", r.stats.BarrierOpened)
	}
}

// TestARecordForASilentPartitionHasTheWholeOfItsPatience from its own arrival on.
func TestARecordForASilentPartitionHasTheWholeOfItsPatience(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.pass(200_000)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	r.want(r.offer(), 0)
	r.pass(stallMs + 200)
	r.mustTake(0, 1, 0, 1)
	r.pass(1)
	r.want(r.offer())
	if h := r.heldView(); h.Records != 1 || h.PatienceLeftMs != 60_000 {
		t.Errorf("%+v", h)
	}
	r.pass(59_000)
	r.want(r.offer())
	r.pass(1200)
	if d := r.one(Delivered); !d.DeadLettered || d.Offset != 1 {
		t.Errorf("after its patience %+v", d)
	}
}

// TestPatienceGoesOnThoughTheClockIsSteppedBack.
func TestPatienceGoesOnThoughTheClockIsSteppedBack(t *testing.T) {
	r := newRig(t, nil)
	r.hold(1, Missing)
	r.pass(30_000)
	r.step(-3_600_000)
	r.pass(30_200)
	r.step(3_600_000 - 60_000) // the record is due by the clock again
	for range 3 {
		r.pass(100)
	}
	if n := r.Snapshot().Held; len(n) != 0 && n[0].Records != 0 {
		t.Errorf("held %+v after the patience", n)
	}
}

// TestATargetThatNobodyHasToldOfGetsNothing.
func TestATargetThatNobodyHasToldOfGetsNothing(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	if ds := r.Core.Offer(nil, 10); len(ds) != 0 || !r.Unsettled() || len(r.Take().Holds) != 0 {
		t.Errorf("offered %+v", ds)
	}
	if names := r.Wanted(nil); len(names) != 1 || names[0].Name != egress {
		t.Errorf("wanted are %v", names)
	}
	r.Targets([]TargetState{{TargetName: TargetName{Name: egress}}, {TargetName: TargetName{Name: "nobody's"}}})
	r.want(r.Core.Offer(nil, 10), 0)
}

// TestATargetIsNotAskedAboutForWhatIsRouted: those records wait for their partition.
func TestATargetIsNotAskedAboutForWhatIsRouted(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1)
	r.pass(1)
	r.want(r.offer(), 0)
	if names := r.Wanted(nil); len(names) != 0 || !r.Unsettled() {
		t.Errorf("wanted are %v", names)
	}
}

// TestTargetsOfTwoIngressTopicsAreApart where the configuration says so: one is held for its
// own records alone.
func TestTargetsOfTwoIngressTopicsAreApart(t *testing.T) {
	for _, apart := range []bool{false, true} {
		r := newRig(t, func(c *Config) {
			c.ApartByIngress = apart
			c.Place = func(s *TargetState, from offsets.TopicPartition, _ []byte) Route {
				if from.Topic == "second" {
					return Route{Verdict: Mismatched}
				}
				return Route{}
			}
		})
		r.assign(0, 1, 0)
		second := offsets.TopicPartition{Topic: "second"}
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: second, Epoch: 2}, Window: offsets.NewWindow(0), Committed: true})
		reader, _ := r.Reader(second, 2)
		if a := r.arrival(0, 0, "0"); reader.Wants(0, 0) != Whole || !reader.Read(&a) {
			t.Fatal("not taken")
		}
		r.mustTake(0, 1, 1, 0)
		r.pass(5)
		var states []TargetState
		for _, name := range r.Wanted(nil) {
			if (name.Ingress != "") != apart {
				t.Errorf("apart %v: wanted is %+v", apart, name)
			}
			states = append(states, TargetState{TargetName: name})
		}
		r.Targets(states)
		if ds := r.Core.Offer(nil, 10); len(ds) != map[bool]int{true: 1, false: 0}[apart] {
			t.Errorf("apart %v: offered %+v", apart, ds)
		}
		if h := r.heldView(); h.Verdict != Mismatched || h.Records != map[bool]int{true: 1, false: 2}[apart] {
			t.Errorf("apart %v: held %+v", apart, h)
		}
		r.audit()
	}
}

// TestAHoldOutlastsARecordThatWasOnItsWayBefore: only a trial tells, where the target answers.
func TestAHoldOutlastsARecordThatWasOnItsWayBefore(t *testing.T) {
	for class, held := range map[Class]int{Unavailable: 1, Unknown: 0} { // silence is over with any answer
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		r.mustTake(0, 1, 0, 0, 1)
		r.pass(1)
		ds := r.offer()
		r.end(class, ds[0])
		r.end(Delivered, ds[1])
		if s := r.Snapshot(); len(s.Held) != held {
			t.Errorf("class %d: held %+v", class, s.Held)
		}
		r.pass(holdMaxMs)
		r.one(Delivered)
		r.audit()
	}
}

// TestWhatIsNotMovedYetIsNotEarly: the clock steps back a little between two turns.
func TestWhatIsNotMovedYetIsNotEarly(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 1000, 0, 1, 2)
	r.at.WallMs += 1000
	if more := r.Core.Tick(r.at, 1); !more {
		t.Fatal("nothing is left to move")
	}
	r.at.WallMs -= 400
	for range 5 {
		r.Core.Tick(r.at, 1)
	}
	r.want(r.offer())
	r.audit()
	r.pass(400)
	if ds := r.offer(); len(ds) != 3 {
		t.Errorf("offered %+v, want all three", ds)
	}
}

// TestAStuckPartitionComesBackWhereItsRecordsFit beside the others', in records and in bytes.
func TestAStuckPartitionComesBackWhereItsRecordsFit(t *testing.T) {
	const buffered, bytes = 400, 1000 // a quarter of the buffer is for those that answer
	for name, test := range map[string]struct {
		records   int   // of the partition
		size      int64 // of those
		occupying int   // of others
		busy      int64 // bytes of others
		want      bool
	}{
		"nothing is in flight":     {0, 0, 100, bytes, true},
		"it fits":                  {10, 100, 50, 100, true},
		"up to the records":        {100, 100, 0, 0, true},
		"one record more":          {101, 100, 0, 0, false},
		"beside as many as fit":    {10, 100, 89, 0, true},
		"beside one more":          {10, 100, 90, 0, false},
		"up to the bytes":          {1, 100, 1, bytes - 100, true},
		"one byte more":            {1, 100, 1, bytes - 99, false},
		"all bytes, and alone":     {1, bytes, 0, 0, true},
		"more than all, and alone": {1, bytes + 1, 0, 0, false},
	} {
		f := &flights{cfg: &Config{MaxInFlight: 1000, MaxBuffered: buffered, MaxInFlightBytes: bytes}, count: test.occupying + test.records, bytes: test.busy, stuck: test.records, stuckBytes: test.size}
		d := &dest{target: &target{}, stuck: true, inFlight: test.records, bytes: test.size}
		f.unstick(d)
		if d.stuck == test.want || test.want && (f.stuck != 0 || f.stuckBytes != 0 || f.bytes != test.busy+test.size || d.target.occupying != test.records) {
			t.Errorf("%s: stuck is %v, with %d records of %d bytes stuck in all and %d beside", name, d.stuck, f.stuck, f.stuckBytes, f.bytes)
		}
	}
}

// TestMissedAreOfOneDowntime: two are a quarter of an hour apart.
func TestMissedAreOfOneDowntime(t *testing.T) {
	one := Missed{1, 100, 200, 300, 400, 5_000_000}
	for apart, want := range map[int64]int64{0: 3, missedApartMs - 1: 3, missedApartMs: 2, -missedApartMs + 1: 3, -missedApartMs: 1} {
		m, other := one, Missed{2, 100, 200, 300, 400, one.LastMs + apart}
		if m.Add(&other); m.Records != want {
			t.Errorf("%d ms apart: %d records, want %d", apart, m.Records, want)
		}
	}
}
