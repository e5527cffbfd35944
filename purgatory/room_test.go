package purgatory

import (
	"slices"
	"testing"

	"layover/offsets"
)

// TestATargetPartitionTakesARecordUpToItsBounds, each of them by one.
func TestATargetPartitionTakesARecordUpToItsBounds(t *testing.T) {
	const records, buffered, bytes = 10, 400, 1000 // in flight to a partition; in all; in bytes
	for name, test := range map[string]struct {
		change func(f *flights, d *dest, e *entry)
		want   bool
	}{
		"as it is":                              {func(*flights, *dest, *entry) {}, true},
		"one below the records":                 {func(_ *flights, d *dest, _ *entry) { d.inFlight = records - 1 }, true},
		"as many as it may have":                {func(_ *flights, d *dest, _ *entry) { d.inFlight = records }, false},
		"as it answers more":                    {func(_ *flights, d *dest, _ *entry) { d.inFlight, d.allowance.records = 2*records-1, 2*records }, true},
		"as many as it answers":                 {func(_ *flights, d *dest, _ *entry) { d.inFlight, d.allowance.records = 2*records, 2*records }, false},
		"more, and nearly half is occupied":     {func(f *flights, d *dest, _ *entry) { d.inFlight, d.allowance.records, f.count = records, 90, 49 }, true},
		"more, and half is occupied":            {func(f *flights, d *dest, _ *entry) { d.inFlight, d.allowance.records, f.count = records, 90, 50 }, false},
		"the records, and half is occupied":     {func(f *flights, d *dest, _ *entry) { d.inFlight, f.count = records-1, 60 }, true},
		"up to its bytes":                       {func(_ *flights, d *dest, _ *entry) { d.bytes = bytes/4 - 10 }, true},
		"one byte more":                         {func(_ *flights, d *dest, _ *entry) { d.bytes = bytes/4 - 9 }, false},
		"one byte is left of all":               {func(f *flights, _ *dest, _ *entry) { f.bytes = bytes - 1 }, true},
		"none is left":                          {func(f *flights, _ *dest, _ *entry) { f.bytes = bytes }, false},
		"none is left, and nothing has it":      {func(f *flights, _ *dest, _ *entry) { f.bytes, f.count = bytes, 0 }, true},
		"none is left, and one record has it":   {func(f *flights, _ *dest, _ *entry) { f.bytes, f.count = bytes, 1 }, false},
		"it is stuck, and nothing is there":     {func(f *flights, d *dest, _ *entry) { d.stuck, f.count = true, 0 }, false},
		"its first, over all its bounds":        {func(f *flights, d *dest, e *entry) { d.inFlight, d.bytes, e.size = 0, bytes, bytes }, true},
		"unproven, and little is stuck":         {func(f *flights, d *dest, _ *entry) { d.proven, f.stuck = false, buffered/roomShare-1 }, true},
		"unproven, and many are stuck":          {func(f *flights, d *dest, _ *entry) { d.proven, f.stuck, f.count = false, buffered/roomShare, 200 }, false},
		"unproven, and many bytes are":          {func(f *flights, d *dest, _ *entry) { d.proven, f.stuckBytes = false, bytes }, false},
		"unproven, and a byte less":             {func(f *flights, d *dest, _ *entry) { d.proven, f.stuckBytes = false, bytes-1 }, true},
		"proven, and much is stuck":             {func(f *flights, _ *dest, _ *entry) { f.stuck, f.count = buffered/roomShare, 200 }, true},
		"unproven, its first, and much is":      {func(f *flights, d *dest, _ *entry) { d.proven, d.inFlight, f.stuckBytes = false, 0, bytes }, true},
		"one that must be alone":                {func(_ *flights, _ *dest, e *entry) { e.try = alone }, true},
		"a second that must be alone":           {func(_ *flights, d *dest, e *entry) { e.try, d.alone = bare, 1 }, false},
		"one that must be alone, over bounds":   {func(_ *flights, d *dest, e *entry) { e.try, d.inFlight = alone, records }, true},
		"another, while one is there by itself": {func(_ *flights, d *dest, _ *entry) { d.alone = 1 }, true},
	} {
		f := &flights{cfg: &Config{MaxInFlight: records, MaxBuffered: buffered, MaxInFlightBytes: bytes}, count: 5}
		d, e := &dest{target: &target{}, inFlight: 2, proven: true}, &entry{size: 10}
		test.change(f, d, e)
		if got := f.takes(d, e); got != test.want {
			t.Errorf("%s: takes one more is %v", name, got)
		}
	}
}

// TestAShareOfTheRoomIsUsedUpToItsBounds, in records and in bytes.
func TestAShareOfTheRoomIsUsedUpToItsBounds(t *testing.T) {
	for name, test := range map[string]struct {
		count          int
		bytes          int64
		occupying      int
		occupyingBytes int64
		want           bool
	}{
		"nothing":                 {0, 0, 0, 0, true},
		"one below the records":   {9, 0, 9, 0, true},
		"the records":             {10, 0, 10, 0, false},
		"a byte below the bytes":  {9, 500, 5, 99, true},
		"the bytes":               {9, 500, 5, 100, false},
		"a byte is left of all":   {9, 999, 5, 50, true},
		"none is left":            {9, 1000, 5, 50, false},
		"one record has them all": {1, 1000, 0, 0, false},
	} {
		f := &flights{cfg: &Config{MaxInFlight: 100, MaxBuffered: 400, MaxInFlightBytes: 1000}, fairRecords: 10, fairBytes: 100, count: test.count, bytes: test.bytes}
		if got := f.fair(&target{occupying: test.occupying, occupyingBytes: test.occupyingBytes}); got != test.want {
			t.Errorf("%s: one more is fair is %v", name, got)
		}
	}
}

// TestTheRoomIsDividedAmongTheTargetsThatAreNotHeld, and each has room for one record.
func TestTheRoomIsDividedAmongTheTargetsThatAreNotHeld(t *testing.T) {
	held, well := &target{hold: hold{held: true}}, &target{}
	for name, test := range map[string]struct {
		busy    []*target
		records int
		bytes   int64
	}{
		"none":              {nil, 100, 1000},
		"one":               {[]*target{well}, 100, 1000},
		"three":             {[]*target{well, well, well}, 33, 333},
		"held ones as well": {[]*target{held, well, held, well, held}, 50, 500},
		"only held ones":    {[]*target{held, held}, 100, 1000},
		"more than records": {slices.Repeat([]*target{well}, 300), 1, 3},
		"more than bytes":   {slices.Repeat([]*target{well}, 3000), 1, 1},
	} {
		f := &flights{cfg: &Config{MaxInFlight: 100, MaxBuffered: 400, MaxInFlightBytes: 1000}, count: 7, bytes: 70}
		if f.divide(test.busy); f.fairRecords != test.records || f.fairBytes != test.bytes {
			t.Errorf("%s: %d records and %d bytes each, want %d and %d", name, f.fairRecords, f.fairBytes, test.records, test.bytes)
		}
	}
}

// TestWhileARecordTakesAllBytesNothingHasToBePolled: its answer makes the room. It holds
// where the target's state was not known at first.
func TestWhileARecordTakesAllBytesNothingHasToBePolled(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlightBytes = 1000 })
	r.assign(0, 1, 0)
	for round := range int64(2) {
		large := r.arrival(2*round, 0, "0"+string(make([]byte, 3000)))
		r.take(0, 1, large)
		r.mustTake(0, 1, 0, 2*round+1)
		r.pass(1)
		r.router[egress] = Pending
		if r.want(r.offer()); !r.Unsettled() {
			t.Error("a target that is being looked up is not asked about again")
		}
		r.router[egress] = Usable
		ds := r.offer()
		r.want(ds, 2*round)
		r.want(r.offer())
		if r.Unsettled() {
			t.Error("the large record is in flight, and the other one is polled for")
		}
		if r.out.dir.byKey[TargetName{Name: egress}].overflow != 0 {
			t.Error("the other one is routed before there is room")
		}
		r.end(Delivered, ds...)
		r.one(Delivered)
		r.audit()
	}
}

// TestAHeldTargetIsPolledFor: no event ends a hold.
func TestAHeldTargetIsPolledFor(t *testing.T) {
	r := newRig(t, nil)
	for round := range int64(2) {
		if round == 0 {
			r.hold(1, Missing)
		} else {
			r.router[egress] = Missing
			r.mustTake(0, 1, 0, round)
			r.pass(1)
			r.want(r.offer())
		}
		if !r.Unsettled() {
			t.Error("nothing would try the target again")
		}
		r.router[egress] = Usable
		r.pass(holdMaxMs)
		r.one(Delivered)
		if r.offer(); r.Unsettled() {
			t.Error("all is delivered, and something is polled for")
		}
	}
}

// TestTargetsAreWantedOnlyWhileThereIsRoom, and not right after the client had none.
func TestTargetsAreWantedOnlyWhileThereIsRoom(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxBuffered = 8 }) // two in flight
	r.assign(0, 1, 0)
	wants := func(when string, want int) {
		t.Helper()
		if got := r.Wanted(nil); len(got) != want {
			t.Errorf("%s: %v are wanted, want %d", when, got, want)
		}
	}
	next := int64(0)
	for range 2 {
		wants("nothing waits", 0)
		r.mustTake(0, 1, 0, next, next+1, next+2)
		r.pass(1)
		wants("three wait", 1)
		ds := r.offer()
		r.want(ds, next, next+1)
		wants("no room is left", 0)
		r.end(Delivered, ds[0])
		wants("there is room for one", 1)
		r.end(NoRoom, ds[1])
		wants("the client had no room", 0)
		r.pass(fullPauseMs - 1)
		wants("before the pause is over", 0)
		r.pass(1)
		wants("after the pause", 1)
		r.end(Delivered, r.offer()...)
		r.offer()
		r.audit()
		next += 3
	}
}

// TestWithoutAChoiceOfPartitionsTheFirstIsTaken.
func TestWithoutAChoiceOfPartitionsTheFirstIsTaken(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Place = nil })
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "3"))
	r.pass(1)
	if d := r.one(Delivered); d.TargetPartition != 0 || d.Target != egress {
		t.Errorf("%+v", d)
	}
}

// TestNothingIsInFlightOfAnAssignmentThatIsNotHere.
func TestNothingIsInFlightOfAnAssignmentThatIsNotHere(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	ds := r.offer()
	r.Revoke(partitionOf(0), 1)
	for _, at := range []offsets.Assignment{{TopicPartition: partitionOf(0), Epoch: 2}, {TopicPartition: partitionOf(7), Epoch: 1}} {
		if n := r.Draining(at.TopicPartition, at.Epoch); n != 0 {
			t.Errorf("%d records of %+v are in flight", n, at)
		}
	}
	if n := r.Draining(partitionOf(0), 1); n != 1 {
		t.Errorf("%d records are in flight, want one", n)
	}
	r.end(Delivered, ds...)
	if n := r.Draining(partitionOf(0), 1); n != 0 {
		t.Errorf("%d records are in flight after the answer", n)
	}
}
