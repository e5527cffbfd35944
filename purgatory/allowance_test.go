package purgatory

import (
	"fmt"
	"slices"
	"testing"
)

// TestAnAllowanceGrowsToWhatAPartitionAnswersInItsTime, whatever the answers are counted over.
func TestAnAllowanceGrowsToWhatAPartitionAnswersInItsTime(t *testing.T) {
	const most = 1000
	for name, test := range map[string]struct {
		answers []int // those of each millisecond in turn
		want    int
	}{
		"none yet":                        {nil, most},
		"its time is not over":            {slices.Repeat([]int{100}, allowanceMs), most},
		"its time":                        {slices.Repeat([]int{100}, allowanceMs+1), most * 9 / 8},
		"a while":                         {slices.Repeat([]int{100}, 40*allowanceMs), 100 * allowanceMs},
		"a pause, and few":                {slices.Concat(slices.Repeat([]int{100}, 40*allowanceMs), make([]int, 2*allowanceMs), []int{1}), 100 * allowanceMs / 3},
		"few":                             {slices.Repeat([]int{1}, 40*allowanceMs), most},
		"ten times slower from a time on": {slices.Concat(slices.Repeat([]int{1000}, 60*allowanceMs), slices.Repeat([]int{100}, 2*allowanceMs+1)), 100 * allowanceMs},
	} {
		var a allowance
		for ms, n := range test.answers {
			for range n {
				a.answered(int64(1_000_000+ms), 1, true, most)
			}
		}
		if got := a.bound(most, true); got < test.want*39/40 || got > test.want*41/40 {
			t.Errorf("%s: %d records, want %d", name, got, test.want)
		}
	}
}

// TestAFullPipeIsKeptShort by a bound of as many as are answered in the time that is right, which ends step by step.
func TestAFullPipeIsKeptShort(t *testing.T) {
	const most = 1000
	for name, test := range map[string]struct {
		alone, took  int64 // ms: of a record that nothing else delays, and of all others
		each         int   // answers a millisecond
		least, limit int   // bounds after a while
	}{
		"as quick as can be":                     {1, 1, 100, most * 5 / 4, 2 * most},
		"as long as is right":                    {1, 12, 100, most * 5 / 4, 2 * most},
		"the pipe makes all take longer":         {1, 44, 30, 30 * 12, 30 * 12},
		"it answers more than most in that time": {1, 44, 200, 200 * 12, 200 * 12},
		"few answers, and all take long":         {1, 44, 2, most / leastShare, most / leastShare},
		"it is far away":                         {100, 200, 10, most, most},
		"it is far away, and has a long queue":   {100, 400, 4, 4 * 210, 4 * 210},
	} {
		a := allowance{}
		now := int64(20) // of a process that has just started
		a.answered(now, test.alone, true, most)
		for range 4 * allowanceMs {
			now++
			for range test.each {
				a.answered(now, test.took, false, most)
			}
		}
		if got := a.bound(most, true); got < test.least*95/100 || got > test.limit*105/100 {
			t.Errorf("%s: %d may be in flight, want %d to %d", name, got, test.least, test.limit)
		}
		if got := a.bound(most, false); got > most {
			t.Errorf("%s: %d may be in flight without room for more, want %d at most", name, got, most)
		}
	}

	a := allowance{}
	now := int64(1_000_000)
	spans := func(n int, took int64) {
		for range n * allowanceMs {
			now++
			a.answered(now, took, false, most)
		}
	}
	a.answered(now, 1, true, most)
	spans(3, 44)
	low := a.bound(most, true)
	spans(2, 2)
	if some := a.bound(most, true); low != most/leastShare || some <= low || some > 2*low {
		t.Errorf("%d may be in flight, and %d soon after answers are quick again: want %d, and up to twice that", low, some, most/leastShare)
	}
	spans(20, 2)
	if got := a.bound(most, true); got != most {
		t.Errorf("a second later %d may be in flight, want %d", got, most)
	}

	spans(3, 44)
	a.answered(now+quickForMs, 30, true, most) // its leader is farther away since then
	now += quickForMs
	spans(20, 44)
	if got := a.bound(most, true); got != most {
		t.Errorf("%d may be in flight to a partition that came to be far away, want %d", got, most)
	}
}

// TestOnlyAPartitionThatAnswersFastHasMoreInFlight: one answers twenty records a millisecond, which is ten times
// its bound in the time that is right, and one twenty in 200 ms.
func TestOnlyAPartitionThatAnswersFastHasMoreInFlight(t *testing.T) {
	const least = 20
	r := newRig(t, func(c *Config) { c.MaxInFlight = least })
	r.assign(0, 1, 0)
	next := int64(0)
	for range 30_000 {
		r.take(0, 1, r.arrival(next, 0, "0 fast"))
		r.take(0, 1, r.arrival(next+1, 0, "1 slow"))
		next += 2
	}
	var flying [2][]Delivery
	for ms := range 1400 {
		r.pass(1)
		for _, d := range r.offer() {
			flying[d.TargetPartition] = append(flying[d.TargetPartition], d)
		}
		n := min(least, len(flying[0]))
		r.end(Delivered, flying[0][:n]...)
		flying[0] = flying[0][n:]
		if ms%200 == 199 {
			r.end(Delivered, flying[1]...)
			flying[1] = nil
		}
		if len(flying[1]) > least {
			t.Fatalf("%d records in flight to a slow partition after %d ms, want %d at most", len(flying[1]), ms, least)
		}
		if most := least * allowanceMs; len(flying[0]) > most {
			t.Fatalf("%d records in flight after %d ms, and %d are answered in %d ms", len(flying[0]), ms, most, allowanceMs)
		}
	}
	if least := least * (queueMs - 2); len(flying[0]) < least {
		t.Errorf("%d records in flight to a fast partition, want %d at least", len(flying[0]), least)
	}
	r.audit()
}

// TestRecordsAreNotRoutedWhileAllPartitionsAreFull: those in the queue stay there, and leave in
// their order. Where a partition is silent they are routed past it.
func TestRecordsAreNotRoutedWhileAllPartitionsAreFull(t *testing.T) {
	const fill, records = 3, 200
	r := newRig(t, func(c *Config) { c.MaxInFlight = fill })
	r.partitions = 2
	r.assign(0, 1, 0)
	for o := range int64(records) {
		r.take(0, 1, r.arrival(o, 0, fmt.Sprint(o%2)))
	}
	r.pass(1)
	ready := r.out.dir.byKey[TargetName{Name: egress}]
	ds := r.offer()
	left := slices.Clone(ds)
	for ; len(ds) > 0; ds = ds[1:] {
		if ready.overflow > 2 {
			t.Fatalf("%d records are routed to full partitions, want one for each", ready.overflow)
		}
		r.end(Delivered, ds[0])
		more := r.offer()
		left, ds = append(left, more...), append(ds, more...)
	}
	for _, p := range []int32{0, 1} {
		next := int64(p)
		for _, d := range left {
			if d.TargetPartition == p {
				if d.Offset != next {
					t.Fatalf("partition %d has offset %d, want %d", p, d.Offset, next)
				}
				next += 2
			}
		}
		if next != records+int64(p) {
			t.Errorf("partition %d has offsets up to %d, want all", p, next-2)
		}
	}
	r.audit()

	for o := int64(records); o < 2*records; o++ {
		r.take(0, 1, r.arrival(o, 0, fmt.Sprint(o%2)))
	}
	silent := 0
	for range records {
		r.pass(stuckMs / 8)
		for _, d := range r.offer() {
			if d.TargetPartition == 0 {
				silent++
				continue
			}
			r.end(Delivered, d)
		}
	}
	if got := r.Snapshot().Stats.Delivered[TopicTarget{Topic: ingress, Target: egress}]; silent > fill || got != records+records/2 {
		t.Errorf("%d in flight to a silent partition and %d delivered, want %d and all of the other", silent, got, fill)
	}
	r.audit()
}

// TestAllThatWaitsForASilentTargetIsHeld, though none of its partitions takes any of it.
func TestAllThatWaitsForASilentTargetIsHeld(t *testing.T) {
	const fill, records = 3, 50
	r := newRig(t, func(c *Config) { c.MaxInFlight = fill })
	r.partitions = 1
	r.assign(0, 1, 0)
	for o := range int64(records) {
		r.mustTake(0, 1, 0, o)
	}
	for r.at.WallMs <= startMs+stallMs+100 {
		r.pass(100)
		r.offer()
	}
	if h := r.Snapshot().Held; len(h) != 1 || h[0].Records != records-fill {
		t.Errorf("held %+v, want %d records of one target", h, records-fill)
	}
	r.audit()
}
