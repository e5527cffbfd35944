package purgatory

import (
	"fmt"
	"slices"
	"testing"
)

// TestAnAllowanceIsWhatAPartitionAnswersInItsTime, whatever the answers are counted over.
func TestAnAllowanceIsWhatAPartitionAnswersInItsTime(t *testing.T) {
	for name, test := range map[string]struct {
		answers []int // those of each millisecond in turn
		want    int
	}{
		"none yet":                        {nil, 0},
		"its time is not over":            {slices.Repeat([]int{100}, allowanceMs), 0},
		"its time":                        {slices.Repeat([]int{100}, 2*allowanceMs+1), 100 * allowanceMs},
		"in one go":                       {slices.Concat([]int{1}, make([]int, allowanceMs-1), []int{5000}, make([]int, allowanceMs-1), []int{1}), 5000},
		"a pause, and few":                {slices.Concat(slices.Repeat([]int{100}, 3*allowanceMs), make([]int, 20*allowanceMs), []int{1}), 100 * allowanceMs / 21},
		"ten times slower from a time on": {slices.Concat(slices.Repeat([]int{100}, 4*allowanceMs), slices.Repeat([]int{10}, 2*allowanceMs+1)), 10 * allowanceMs},
	} {
		var a allowance
		for ms, n := range test.answers {
			for range n {
				a.answered(int64(1_000_000 + ms))
			}
		}
		if slack := test.want / 40; a.records < test.want-slack || a.records > test.want+slack {
			t.Errorf("%s: %d records, want %d", name, a.records, test.want)
		}
	}
}

// TestOnlyAPartitionThatAnswersFastHasMoreInFlight: one answers ten records a millisecond, and
// one ten in 200 ms.
func TestOnlyAPartitionThatAnswersFastHasMoreInFlight(t *testing.T) {
	const least = 10
	r := newRig(t, func(c *Config) { c.MaxInFlight = least })
	r.assign(0, 1, 0)
	next := int64(0)
	for range 5000 {
		r.take(0, 1, r.arrival(next, 0, "0 fast"))
		r.take(0, 1, r.arrival(next+1, 0, "1 slow"))
		next += 2
	}
	var flying [2][]Delivery
	for ms := range 400 {
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
	if least := least * (allowanceMs - 5); len(flying[0]) < least {
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
