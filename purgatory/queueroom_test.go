package purgatory

import (
	"fmt"
	"testing"
)

// TestWhatEmptyQueuesKeepHasABound: bursts for one target after the other leave no room behind for each, though a record
// stays and others are always on their way.
func TestWhatEmptyQueuesKeepHasABound(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.commitAll()
	r.mustTake(0, 1, 3_600_000, 0)
	next := int64(1)
	for burst := range 200 {
		for range keptEntries {
			a := r.arrival(next, 0, "0")
			a.Target = fmt.Sprint("wide.", burst)
			a.Label = "wide.*"
			if !r.take(0, 1, a) {
				t.Fatalf("offset %d was not taken", next)
			}
			next++
		}
		for r.pass(1); r.Snapshot().Due+r.InFlight() > 0; r.pass(1) {
			r.end(Delivered, r.offer()...)
		}
		r.audit()
	}
	if most := int64(keptInAll*entrySize + 201*(targetSize+destSize+2*fewEntries*entrySize+20)); r.out.dir.overhead > most {
		t.Errorf("%d bytes of targets and queues are left, want at most %d", r.out.dir.overhead, most)
	}
	r.Trim()
	r.audit()
	if most := int64(201 * (targetSize + destSize + 20)); r.out.dir.overhead > most {
		t.Errorf("%d bytes of targets and queues are left once nothing goes on, want at most %d", r.out.dir.overhead, most)
	}
}

// TestTrimGivesBackWhatTheWheelKeeps for the next burst, while one record stays.
func TestTrimGivesBackWhatTheWheelKeeps(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.commitAll()
	r.mustTake(0, 1, 3_600_000, 0)
	for offset := range int64(20_000) {
		r.mustTake(0, 1, 10, offset+1)
	}
	for r.pass(10); r.Snapshot().Due+r.InFlight() > 0; r.pass(1) {
		r.end(Delivered, r.offer()...)
	}
	before := r.parking.wheel.Bytes()
	r.Trim()
	r.audit()
	if got := r.parking.wheel.Bytes(); before-got < 256<<10 {
		t.Errorf("the wheel has %d of %d bytes, want a quarter of a MiB less", got, before)
	}
}
