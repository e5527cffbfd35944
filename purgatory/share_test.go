package purgatory

import (
	"fmt"
	"testing"
	"time"
)

// TestWhatOthersHeldOnceIsNotCountedWhenAPartitionGetsSilent: other cores held records for
// a target while this one did, and do not any more.
func TestWhatOthersHeldOnceIsNotCountedWhenAPartitionGetsSilent(t *testing.T) {
	const share = 64 << 10
	r := newRig(t, func(c *Config) { c.Patience, c.HeldShare, c.MaxInFlight = time.Hour, share, 1 })
	others := int64(share)
	r.elsewhere = func(TargetName, ShareBytes) ShareBytes { return ShareBytes{Held: others} }
	r.assign(0, 1, 0)
	r.router[egress] = Missing
	r.mustTake(0, 1, 0, 0)
	others = share / 2
	r.pass(100)
	r.want(r.offer())
	r.pass(100)
	r.router[egress] = Usable
	r.pass(holdMaxMs)
	r.one(Delivered)
	r.offer()
	others = share - 100
	r.pass(100) // tells that nothing is held here, and hears what others still hold
	others = 0
	r.pass(60_000)

	for o := range int64(10) {
		if !r.take(0, 1, r.arrival(1+o, 0, fmt.Sprintf("0%0100d", o))) {
			t.Fatal("not taken")
		}
	}
	r.pass(1)
	silent := r.offer()
	if len(silent) != 1 {
		t.Fatalf("%d in flight, want 1", len(silent))
	}
	for range stallMs/100 + 10 {
		r.pass(100)
		for _, d := range r.offer() {
			t.Fatalf("offset %d goes to %s: %s", d.Offset, d.Target, d.Message)
		}
	}
	r.audit()
}

// twoCores hear of each other what waits for the egress topic, the one target that they have.
func twoCores(t *testing.T, edit func(*Config)) (a, b *rig) {
	a, b = newRig(t, edit), newRig(t, edit)
	var ofA, ofB ShareBytes
	a.elsewhere = func(_ TargetName, own ShareBytes) ShareBytes { ofA = own; return ofB }
	b.elsewhere = func(_ TargetName, own ShareBytes) ShareBytes { ofB = own; return ofA }
	return a, b
}

// TestABacklogInOneCoreGivesUpNothingThatAnotherHolds: a target refuses one record in a hundred, and many are due at once
// in one core. Another core holds ten records behind a silent partition of the target. Those have patience left.
func TestABacklogInOneCoreGivesUpNothingThatAnotherHolds(t *testing.T) {
	const share = 64 << 10
	edit := func(c *Config) { c.Patience, c.HeldShare, c.MaxInFlight = time.Hour, share, 100 }
	busy, quiet := twoCores(t, edit)

	// The quiet core: partition 1 of the target does not answer.
	quiet.assign(1, 1, 0)
	for o := range int64(110) {
		if !quiet.take(1, 1, quiet.arrival(o, 0, "1 silent")) {
			t.Fatal("not taken")
		}
	}
	quiet.pass(1)
	silent := quiet.offer()
	for range stallMs/100 + 10 {
		quiet.pass(100)
		quiet.want(quiet.offer())
	}
	if h := quiet.Snapshot().Held; len(h) != 1 || h[0].Records != 10 {
		t.Fatalf("held %+v: this is not the situation", h)
	}

	// The busy core: of 2,000 records that are due at once for partition 0 one in a hundred is refused. All others are
	// taken in less than five seconds.
	busy.at = quiet.at
	busy.assign(0, 1, 0)
	for o := range int64(2000) {
		busy.take(0, 1, busy.arrival(o, 0, fmt.Sprintf("0%0100d", o)))
	}
	most := int64(0)
	for range 500 { // round trips of 10 ms
		busy.pass(10)
		busy.beside(busy.offer(), func(offset int64) bool { return offset%100 == 7 })
		most = max(most, busy.out.dir.targetOf(ingress, egress, egress).waiting())
		quiet.pass(10)
		for _, d := range quiet.offer() {
			t.Fatalf("offset %d goes to %s: %s", d.Offset, d.Target, d.Message)
		}
		if n := len(busy.Snapshot().Held); n > 0 {
			t.Fatalf("the busy core holds %d targets", n)
		}
	}
	if low := busy.parts.list[0].Window.Low(); low < 2000 || most < share {
		t.Fatalf("the low offset is %d, %d bytes waited at most: this is not the situation", low, most)
	}
	if n := quiet.Snapshot().Held; len(n) != 1 || n[0].Records != 10 || n[0].GivenUp != 0 {
		t.Errorf("the quiet core holds %+v, want its 10 records", n)
	}
	quiet.end(Delivered, silent...)
	quiet.audit()
}

// TestWhatAnotherCoreHoldsEndsNothingBesideARefusedRecord: a partition of a target is silent, and what one core holds for it
// takes the target's share of memory. In another core records for another partition of it are due at once, of which one in a
// hundred is refused. They take an eighth of the share.
func TestWhatAnotherCoreHoldsEndsNothingBesideARefusedRecord(t *testing.T) {
	for _, silent := range []bool{false, true} {
		edit := func(c *Config) { c.Patience, c.HeldShare = time.Hour, 3<<20 }
		healthy, holding := twoCores(t, edit)
		healthy.assign(0, 1, 0)
		holding.assign(1, 1, 0)
		held := int64(0)
		hold := func() { // 10 records in 100 ms, until the share is used up; then the oldest are given up
			for range 10 {
				holding.take(1, 1, holding.arrival(held, 0, fmt.Sprintf("1%05000d", held)))
				held++
			}
			holding.pass(100)
			for _, d := range holding.offer() {
				if d.DeadLettered || !silent {
					holding.end(Delivered, d)
				}
			}
		}
		for range 400 {
			hold()
		}
		healthy.at = holding.at
		const n = 6000
		for o := range int64(n) {
			healthy.mustTake(0, 1, 0, o)
		}
		most := int64(0)
		for round := 0; healthy.parts.list[0].Window.Low() < n; round++ {
			healthy.pass(20) // a round trip
			most = max(most, healthy.out.dir.targetOf(ingress, egress, egress).waiting())
			healthy.beside(healthy.offer(), func(offset int64) bool { return offset%100 == 7 })
			if round%5 == 0 {
				hold()
			}
		}
		if dead := healthy.stats.DeadLettered[TopicReason{ingress, reasonRejected}]; dead != n/100 || most > healthy.cfg.HeldShare/4 {
			t.Errorf("silent %t: %d dead letters, want %d; %d bytes waited at most in this core", silent, dead, n/100, most)
		}
	}
}

// TestWhatWaitsBehindRefusalsInOtherCoresCounts: for the target, and for all that its glob allows. What is held there does not.
func TestWhatWaitsBehindRefusalsInOtherCoresCounts(t *testing.T) {
	const share = 10_000
	for name, test := range map[string]struct {
		others map[string]ShareBytes
		want   bool
	}{
		"nothing":                        {nil, false},
		"of the target, held":            {map[string]ShareBytes{"jobs.7": {Held: 2 * share}}, false},
		"of the target, up to the share": {map[string]ShareBytes{"jobs.7": {Rejected: share - 1000}}, false},
		"of the target":                  {map[string]ShareBytes{"jobs.7": {Rejected: share}}, true},
		"of its glob, held":              {map[string]ShareBytes{"jobs.*": {Held: 2 * share}}, false},
		"of its glob, up to the share":   {map[string]ShareBytes{"jobs.*": {Rejected: share - 1000}}, false},
		"of its glob":                    {map[string]ShareBytes{"jobs.*": {Rejected: share}}, true},
		"of another":                     {map[string]ShareBytes{"jobs.8": {Rejected: 2 * share}, "works.*": {Rejected: 2 * share}}, false},
	} {
		r := newRig(t, nil)
		r.elsewhere = func(of TargetName, _ ShareBytes) ShareBytes { return test.others[of.Name] }
		r.assign(0, 1, 0)
		a := r.arrival(0, 0, "0 a record")
		a.Target, a.Label = "jobs.7", "jobs.*"
		r.take(0, 1, a)
		r.pass(1)
		r.end(Rejected, r.offer()...)
		r.pass(checkEveryMs)
		r.pass(checkEveryMs)
		if got := r.out.shares.full(r.out.dir.targetOf(ingress, "jobs.7", "jobs.*"), share, r.at.MonotonicMs); got != test.want {
			t.Errorf("%s: full is %t", name, got)
		}
	}
}

// TestWhatIsHeldIsNotToldAsBehindRefusalsToo: of a target, and of a partition that has stopped answering.
func TestWhatIsHeldIsNotToldAsBehindRefusalsToo(t *testing.T) {
	const n = 10
	for name, hold := range map[string]func(*rig){
		"the target is missing": func(r *rig) { r.router[egress] = Missing },
		"its partition is silent": func(r *rig) {
			r.offer()
			r.pass(stallMs)
		},
	} {
		r := newRig(t, nil)
		told := ShareBytes{}
		r.elsewhere = func(_ TargetName, own ShareBytes) ShareBytes {
			told = own
			return ShareBytes{}
		}
		r.assign(0, 1, 0)
		for o := range int64(n) {
			r.mustTake(0, 1, 0, o)
		}
		r.pass(1)
		r.end(Rejected, r.offer()...)
		hold(r)
		for range 3 {
			r.pass(checkEveryMs)
			r.want(r.offer())
		}
		if want := r.out.dir.targetOf(ingress, egress, egress).waiting(); want == 0 || told != (ShareBytes{Held: want}) {
			t.Errorf("%s: told %+v, and %d bytes wait, held all of them", name, told, want)
		}
		r.audit()
	}
}

// TestABurstInOneCoreLeavesAnotherWhatFits: the two give up the excess in proportion.
func TestABurstInOneCoreLeavesAnotherWhatFits(t *testing.T) {
	const share = 200_000
	edit := func(c *Config) { c.Patience, c.HeldShare = time.Hour, share }
	a, b := twoCores(t, edit)
	cores := []*rig{a, b}
	for i, r := range cores {
		r.router[egress] = Missing
		r.assign(int32(i), 1, 0)
	}
	give := func(no int32, from, to int64) {
		for o := from; o < to; o++ {
			cores[no].take(no, 1, cores[no].arrival(o, 0, fmt.Sprintf("0%0980d", o)))
		}
	}
	run := func(turns int) (held int64) {
		for range turns {
			for _, r := range cores {
				r.pass(10)
				r.end(Delivered, r.offer()...)
			}
		}
		for _, r := range cores {
			held += r.heldView().Bytes
		}
		return held
	}
	give(0, 0, 90)
	give(1, 0, 90)
	if held := run(205); held < share*8/10 || held > share { // half way between two looks
		t.Fatalf("%d bytes are held: this is not the situation", held)
	}
	give(0, 90, 240)
	if held := run(200); held < share*8/10 || held > share {
		t.Errorf("%d bytes are held, of a share of %d", held, share)
	}
}
