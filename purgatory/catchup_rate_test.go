package purgatory

import (
	"slices"
	"testing"

	"layover/journal/facts"
)

// common is a CatchUp that several rigs have.
type common struct{ *CatchUp }

func TestAllCoresOfAProcessShareTheRate(t *testing.T) {
	rate := common{NewCatchUp(10)}
	var rigs []*rig
	for i := range 2 {
		r := newRig(t, func(c *Config) { c.CatchUp = rate })
		rigs = append(rigs, r)
		r.assign(0, 1, 0)
		r.late(0, 1, 0, 1, 2)
		r.pass(0)
		r.end(Delivered, r.offer()...)
		r.wantCatchingUp(2+i, int64(200+300*i))
	}
	rigs[0].wantLeft(600, []int64{1, 2}, []int64{100, 200})
	rigs[1].wantLeft(600, []int64{0, 1, 2}, []int64{300, 400, 500})
}

// TestEachTargetHasItsOwnRate, and all of one glob have one together.
func TestEachTargetHasItsOwnRate(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	for o, target := range []string{egress, egress, other, other, "audit-1", "audit-2"} {
		a := r.overdue(int64(o), 3_600_000)
		if a.Target, a.Label = target, target; o > 3 {
			a.Label = "audit-*"
		}
		r.take(0, 1, a)
	}
	r.pass(0)
	offsets, at := r.left(300)
	slices.Sort(offsets)
	if !slices.Equal(offsets, []int64{0, 1, 2, 3, 4, 5}) || !slices.Equal(at, []int64{0, 0, 0, 100, 100, 100}) {
		t.Errorf("offsets %v left after %v", offsets, at)
	}
}

// TestTheRateIsNeverPassed, and is reached where there is enough to do.
func TestTheRateIsNeverPassed(t *testing.T) {
	for _, rate := range []int{1, 3, 7, 999, 1000, 1001, 1500, 300_000, 999_999, 1_000_000} {
		c := NewCatchUp(rate)
		counts := map[int64]int{} // by second
		const seconds = 5
		for i := 0; i <= seconds*rate; i++ {
			ms, ok := c.Admit(egress, 0, 1<<62)
			if !ok {
				t.Fatalf("rate %d: no instant for record %d", rate, i)
			}
			counts[ms/1000]++
		}
		for s := range int64(seconds) {
			if n := counts[s]; n > rate+1 || float64(n) < 0.999*float64(rate)-1 {
				t.Errorf("rate %d: %d records in second %d", rate, n, s)
			}
		}
	}
}

// TestTimeThatNobodyUsedIsNotSavedUp.
func TestTimeThatNobodyUsedIsNotSavedUp(t *testing.T) {
	c := NewCatchUp(10)
	for i, want := range []int64{0, 100, 200} {
		if got, _ := c.Admit(egress, 3_600_000, 1<<62); got != want {
			t.Errorf("record %d goes in %d ms, want %d", i, got, want)
		}
	}
}

// TestALongQueueOfLateRecordsIsPutBackInParts, each of which has a bound.
func TestALongQueueOfLateRecordsIsPutBackInParts(t *testing.T) {
	r := paced(t, 1000, nil)
	r.assign(0, 1, 0)
	for o := range int64(10_000) {
		r.late(0, 1, o)
	}
	r.pass(0)
	offers := 1
	for ; offers == 1 || r.Unoffered(); offers++ {
		r.end(Delivered, r.offer()...)
		r.audit()
	}
	if offers != 4 || r.Snapshot().Parked != 9999 {
		t.Errorf("%d parked after %d offers, want 9999 after 3", r.Snapshot().Parked, offers-1)
	}
	r.wantCatchingUp(9999, 9999)
	if n := cap(r.out.returned); n > keptEntries {
		t.Errorf("a list of %d entries is kept", n)
	}
}

// TestAPartThatWasTheWholeQueueIsNotTheFirstOfMore: the loop would turn without end.
func TestAPartThatWasTheWholeQueueIsNotTheFirstOfMore(t *testing.T) {
	r := paced(t, 1000, nil)
	r.assign(0, 1, 0)
	for o := range int64(putBackBudget + 1) {
		r.late(0, 1, o)
	}
	r.pass(0)
	r.one(Delivered)
	if !r.Unoffered() {
		t.Error("a whole part was put back, and nothing more is looked for")
	}
	for range 2 {
		r.want(r.offer())
	}
	if r.Unoffered() {
		t.Error("nothing waits, and more is looked for")
	}
}

// TestLateRecordsPinNoChunksOfOthers: those without a delay, which leave at once, would take
// many times their bytes. A record is late whether it asked for a delay or for an instant.
func TestLateRecordsPinNoChunksOfOthers(t *testing.T) {
	for _, outcome := range []Outcome{Parked, PastDue} {
		t.Run(outcome.String(), func(t *testing.T) { pinsNoChunks(t, outcome) })
	}
}

func pinsNoChunks(t *testing.T, outcome Outcome) {
	r := paced(t, 100, func(c *Config) { c.MaxInFlight, c.MaxInFlightBytes = 1<<20, 1<<30 })
	r.assign(0, 1, 0)
	body := string(make([]byte, 1000))
	for o := range int64(50_000) {
		a := r.overdue(o, 3_600_000)
		if a.Body, a.Outcome = text("0"+body), outcome; o%50 > 0 {
			a.Outcome = Passed
		}
		r.take(0, 1, a)
		if o%500 == 0 {
			r.pass(0)
			r.end(Delivered, r.offer()...)
		}
	}
	if s := r.Snapshot(); s.Parked < 900 || s.ChunkBytes > 2*s.LiveBytes+2<<20 {
		t.Errorf("%d are parked: %d bytes are needed, and chunks take %d", s.Parked, s.LiveBytes, s.ChunkBytes)
	}
	r.audit()
}

// TestThePartitionOfALateRecordNeedsItsLog: with a kill it is read again, for as long as it
// waits for its instant. What it waits for is no deadline, and not the furthest one.
func TestThePartitionOfALateRecordNeedsItsLog(t *testing.T) {
	r := paced(t, 1, nil)
	r.assign(0, 1, 0)
	for o := range int64(3) {
		a := r.overdue(o, 3_600_000-o)
		a.Outcome = Parked
		r.take(0, 1, a)
	}
	r.pass(0)
	r.one(Delivered)
	due := r.at.WallMs - 3_600_000
	for i, want := range []int64{due + 1, due + 2} {
		p := r.Snapshot().Partitions[0]
		if p.OldestNeededMs > want-1000 || p.OldestNeededMs < due-1000 {
			t.Errorf("after %d s the log is needed from %d on, want %d", i, p.OldestNeededMs, want-1000)
		}
		if p.FurthestMs != due+2 {
			t.Errorf("after %d s the furthest deadline is %d, want %d", i, p.FurthestMs, due+2)
		}
		r.pass(1000)
		r.one(Delivered)
	}
	if p := r.Snapshot().Partitions[0]; p.OldestNeededMs != 0 || p.FurthestMs != 0 {
		t.Errorf("nothing waits, and the log is needed from %d on; the furthest deadline is %d", p.OldestNeededMs, p.FurthestMs)
	}
}

// TestARecordThatWasPutBackIsOverdueByItsDeadline and due at its instant.
func TestARecordThatWasPutBackIsOverdueByItsDeadline(t *testing.T) {
	r := paced(t, 1, nil)
	r.assign(0, 1, 0)
	for o, agoMs := range []int64{5_000_000, 4_000_000, 3_000_000, 2_000_000} {
		r.take(0, 1, r.overdue(int64(o), agoMs))
	}
	r.pass(0)
	r.one(Delivered)
	base := r.at.WallMs
	for i, agoMs := range []int64{4_000_000, 3_000_000, 2_000_000} {
		o := r.Outlook()
		if over := base - o.OldestOverdueMs - agoMs; over < 0 || over > 1_000_000 { // a sample is of two records here
			t.Errorf("after %d s the oldest is overdue since %d ms, want %d", i, base-o.OldestOverdueMs, agoMs)
		}
		if want := [...]int64{1, 3, 3, 3, 3, 3, 3}; i == 0 && o.DueWithin != want {
			t.Errorf("due within the horizons are %v, want %v", o.DueWithin, want)
		}
		if next := r.Snapshot().NextDueMs; next != base+1000*int64(i+1) {
			t.Errorf("after %d s the next is due %d ms after the first, want %d", i, next-base, 1000*(i+1))
		}
		r.pass(1000)
		r.one(Delivered)
	}
	if o := r.Outlook(); o.OldestOverdueMs != 0 {
		t.Errorf("nothing is left, and the oldest is overdue since %d", o.OldestOverdueMs)
	}
	r.audit()
}

// TestTheNextThatIsDueMayBeOneThatExpires before its instant, or before it is cancelled.
func TestTheNextThatIsDueMayBeOneThatExpires(t *testing.T) {
	r := paced(t, 1, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 3_600_000, 0)
	far := r.at.WallMs + 3_600_000
	next := func(want int64) {
		t.Helper()
		if got := r.Snapshot().NextDueMs; got != want {
			t.Errorf("the next is due %d ms later, want %d", got-r.at.WallMs, want-r.at.WallMs)
		}
	}
	next(far)
	r.late(0, 1, 1)
	a := r.named(2, -3_600_000, "a")
	a.TimestampMs, a.Expires, a.ExpireMs = a.DeadlineMs-1000, true, r.at.WallMs+500
	r.must(a)
	r.pass(0)
	r.one(Delivered)
	next(r.at.WallMs + 500)
	r.must(r.cancelOf(3, "a"))
	next(far)
	r.audit()
}

// TestWhatWaitsBehindItsBarrierComesBackAtTheRate: neither waits for the other.
func TestWhatWaitsBehindItsBarrierComesBackAtTheRate(t *testing.T) {
	r := newIDRig(t, func(c *Config) { c.CatchUp = NewCatchUp(10) })
	r.assigned(func(a *facts.Assigned) { a.StableEnd = 4 })
	for o := range int64(3) {
		a := r.named(o, -3_600_000, string(rune('a'+o)))
		a.TimestampMs, a.Outcome = a.DeadlineMs-1000, PastDue
		r.must(a)
	}
	r.pass(5000)
	r.want(r.offer())
	r.wantCatchingUp(0, 0)
	r.late(0, 1, 3)
	r.pass(0)
	r.wantLeft(300, []int64{3, 0, 1, 2}, []int64{0, 100, 200, 300})
}
