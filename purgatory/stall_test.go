package purgatory

import (
	"fmt"
	"testing"
	"time"

	"layover/offsets"
)

func TestPartitionsThatDoNotAnswerDoNotUseUpWhatIsInFlightForAll(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxInFlightBytes = 1000, 4000 })
	r.assign(0, 1, 0)
	offset := int64(0)
	give := func(target string, partition int) {
		a := r.arrival(offset, 0, fmt.Sprintf("%d%0200d", partition, offset))
		a.Target, a.Label = target, target
		if !r.take(0, 1, a) {
			t.Fatal("not taken")
		}
		offset++
	}
	for p := range 8 { // each takes a quarter of the bytes at most: four fill them
		for range 20 {
			give(other, p)
		}
	}
	r.pass(1)
	stuck := r.offer()
	give(egress, 0)
	r.pass(1)
	if ds := r.offer(); len(ds) != 0 {
		t.Fatalf("%d offered beyond the bound of what is in flight", len(ds))
	}
	r.pass(stallMs)
	reached := false
	for _, d := range r.offer() {
		reached = reached || d.Target == egress
	}
	if !reached {
		t.Error("a target that answers waits for partitions that do not")
	}
	r.end(Delivered, stuck...)
	if r.Occupying() != r.InFlight() {
		t.Errorf("%d in flight count, of %d", r.Occupying(), r.InFlight())
	}
}

func TestASweepEndsSeveralAssignmentsInOnePass(t *testing.T) {
	r := newRig(t, nil)
	for p := range int32(3) {
		r.assign(p, 1, 0)
		r.mustTake(p, 1, 1000, 0, 1, 2)
	}
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, offsets.Assignment{TopicPartition: partitionOf(2), Epoch: 1}, offsets.Assignment{TopicPartition: partitionOf(2), Epoch: 7})
	if got := r.Snapshot(); got.Parked != 3 || got.HandedOver != 6 || len(got.Partitions) != 1 {
		t.Errorf("%d parked, %d handed over, %d partitions", got.Parked, got.HandedOver, len(got.Partitions))
	}
	r.pass(1000)
	r.want(r.offer(), 0, 1, 2)
}

func TestAPartitionWithoutAnswerHoldsOnlyWhatWaitsBehindIt(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 2 })
	r.assign(0, 1, 0)
	for o := range int64(10) {
		r.take(0, 1, r.arrival(o, 0, "7 silent"))
	}
	r.pass(1)
	silent := r.offer()
	r.want(silent, 0, 1)
	r.pass(stallMs - 1)
	if len(r.Snapshot().Held) != 0 {
		t.Error("held before its time")
	}
	r.pass(200)
	if h := r.Snapshot().Held; len(h) != 1 || h[0].Records != 8 || h[0].Verdict != Unreachable {
		t.Fatalf("held %+v, want the 8 behind", h)
	}
	r.mustTake(0, 1, 0, 10) // to another partition of the same topic
	r.pass(1)
	r.one(Delivered)
	r.pass(60_000)
	for _, want := range [][]int64{{2, 3}, {4, 5}, {6, 7}, {8, 9}} {
		ds := r.offer()
		r.want(ds, want...)
		if !ds[0].DeadLettered || ds[0].Reason != reasonUnavailable {
			t.Errorf("patience is used up, but: %+v", ds[0])
		}
		r.end(Delivered, ds...)
		r.audit()
	}
	r.take(0, 1, r.arrival(11, 0, "7 silent"))
	r.pass(1)
	r.want(r.offer())
	r.end(Delivered, silent...) // it answers after all
	r.want(r.offer(), 11)
	r.audit()
}

func TestAPartitionThatAnswersIsNotStalledByItsBacklog(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	for o := range int64(5) {
		r.take(0, 1, r.arrival(o, 0, "0"))
	}
	for range 5 {
		r.pass(stallMs - 500)
		r.one(Delivered)
	}
	for _, h := range r.Take().Holds {
		t.Errorf("notice %+v", h)
	}
}

// TestPatienceOfASilentPartitionIsNotRenewed by short faults of the others.
func TestPatienceOfASilentPartitionIsNotRenewed(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = time.Minute })
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "1 silent"))
	r.pass(1)
	r.want(r.offer(), 0)
	r.pass(stallMs)
	r.want(r.offer())
	r.take(0, 1, r.arrival(1, 0, "1 behind it"))
	began := r.at.WallMs
	for next := int64(2); r.at.WallMs-began < 70_000; next++ {
		for range 300 {
			r.pass(100)
			for _, d := range r.offer() {
				if r.end(Delivered, d); d.DeadLettered && d.Offset == 1 {
					if ms := r.at.WallMs - began; ms < 60_000 {
						t.Errorf("it is given up after %d ms", ms)
					}
					return
				}
			}
		}
		r.mustTake(0, 1, 0, next)
		r.pass(1)
		r.end(Unavailable, r.offer()...)
	}
	t.Errorf("it waits beyond its patience: %+v", r.Snapshot().Held)
}

// TestNoRoomBehindASilentPartitionHasItsPatience: a record that the client had no room for waits from now on.
func TestNoRoomBehindASilentPartitionHasItsPatience(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.pass(500_000)
	r.assign(0, 1, 0)
	for o := range int64(3) {
		r.take(0, 1, r.arrival(o, 0, "1 silent"))
	}
	r.pass(1)
	silent := r.offer()
	r.want(silent, 0)
	r.pass(stallMs)
	r.want(r.offer())
	r.end(NoRoom, silent...)
	for range 3 {
		r.pass(100)
		for _, d := range r.offer() {
			if d.DeadLettered {
				t.Errorf("offset %d is given up: %s", d.Offset, d.Message)
			}
		}
	}
}
