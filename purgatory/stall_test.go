package purgatory

import (
	"fmt"
	"testing"

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
