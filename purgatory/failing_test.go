package purgatory

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// sickBroker answers for target partition 1 with an error, and takes all others. It returns what it took.
func (r *rig) sickBroker(ds []Delivery) (taken []Delivery) {
	r.Helper()
	for _, d := range ds {
		if d.TargetPartition == 1 && !d.DeadLettered {
			r.Outcomes(r.at, []Result{{ID: d.ID, Class: Unknown, Detail: "UNKNOWN_SERVER_ERROR"}})
			continue
		}
		r.end(Delivered, d)
		taken = append(taken, d)
	}
	return taken
}

// TestAPartitionThatFailsHoldsItsOwnRecordsAlone: those of the other partition go at once, for ten times the patience.
func TestAPartitionThatFailsHoldsItsOwnRecordsAlone(t *testing.T) {
	r := newRig(t, nil) // a patience of a minute
	r.assign(0, 1, 0)
	next, given := int64(0), 0
	for range 600 {
		r.take(0, 1, r.arrival(next, 0, "1 fails"))
		r.take(0, 1, r.arrival(next+1, 0, "0 is healthy"))
		next += 2
		for part := range 10 {
			r.pass(100)
			healthy := 0
			for _, d := range r.sickBroker(r.offer()) {
				if !d.DeadLettered {
					healthy++
					continue
				}
				given++
				if d.Offset%2 == 1 || !strings.Contains(d.Message, "partition 1: UNKNOWN_SERVER_ERROR") {
					t.Fatalf("offset %d is given up: %s", d.Offset, d.Message)
				}
			}
			if want := map[bool]int{true: 1}[part == 0]; healthy != want {
				t.Fatalf("%d healthy records go, want %d", healthy, want)
			}
		}
		r.audit()
	}
	if h := r.heldView(); h.Verdict != Unreachable || !slices.Equal(numbersOf(h), []int32{1}) || h.Detail != "partition 1: UNKNOWN_SERVER_ERROR" || h.GivenUp != int64(given) {
		t.Errorf("%+v, and %d are given up", h, given)
	}
	if kept := 600 - given; kept < 59 || kept > 61 {
		t.Errorf("%d records are held after ten minutes with one a second, want those of a minute", kept)
	}
}

// TestAPartitionThatFailsIsTriedWithOneRecord, and with a longer pause each time. What it takes ends that.
func TestAPartitionThatFailsIsTriedWithOneRecord(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(5) {
		r.take(0, 1, r.arrival(o, 0, "1"))
	}
	r.pass(1)
	r.end(Unknown, r.offer()...)
	var tries []int64
	last := r.at.WallMs
	for range 1000 {
		r.pass(10)
		ds := r.offer()
		if len(ds) == 0 {
			continue
		}
		r.want(ds, 0)
		tries = append(tries, r.at.WallMs-last)
		last = r.at.WallMs
		r.sickBroker(ds)
	}
	if want := []int64{100, 200, 400, 800, 1600, 2000, 2000, 2000}; !slices.Equal(tries[:min(len(tries), 8)], want) {
		t.Errorf("tried after %v ms, want %v", tries, want)
	}
	r.pass(holdMaxMs)
	r.one(Delivered)
	if s := r.Snapshot(); len(s.Held) > 0 {
		t.Errorf("it took a record, and is held: %+v", s.Held)
	}
	r.want(r.offer(), 1, 2, 3, 4)
	if h := r.Take().Holds; len(h) != 2 || !h[0].Held || h[1].Held {
		t.Errorf("notices %+v", h)
	}
	r.audit()
}

// TestAPartitionThatFailsIsForgottenWithItsLastRecord, while its target has others.
func TestAPartitionThatFailsIsForgottenWithItsLastRecord(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "1"))
	r.pass(1)
	r.sickBroker(r.offer())
	slow := []Delivery(nil)
	for o := int64(1); o < 66; o++ {
		r.take(0, 1, r.arrival(o, 0, "0"))
		r.take(0, 1, r.arrival(o+65, 0, "0"))
		r.pass(1000)
		r.end(Delivered, slow...) // one is always on its way, and one waits
		slow = slices.DeleteFunc(r.offer(), func(d Delivery) bool {
			if d.TargetPartition == 1 || d.DeadLettered {
				r.sickBroker([]Delivery{d})
			}
			return d.TargetPartition == 1 || d.DeadLettered
		})
	}
	s := r.Snapshot()
	if len(s.Held) > 0 || s.DeadLettered[TopicReason{ingress, reasonUnavailable}] != 1 {
		t.Errorf("held %+v, dead letters %v", s.Held, s.DeadLettered)
	}
	if h := r.Take().Holds; len(h) != 2 || !h[1].Forgotten {
		t.Errorf("notices %+v", h)
	}
	r.audit()
}

// TestATargetIsNotTriedWithAPartitionThatFails: it was missing, and is back. A partition of it has a fault, of which the
// records are in front.
func TestATargetIsNotTriedWithAPartitionThatFails(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	const sick = 20
	for o := range int64(sick) {
		r.take(0, 1, r.arrival(o, 0, "1"))
	}
	r.take(0, 1, r.arrival(sick, 0, "0"))
	r.pass(1)
	r.end(Unavailable, r.offer()...)
	for passed := int64(0); ; passed += 100 {
		if passed > 5000 {
			t.Fatalf("the healthy partition got nothing: %+v", r.heldView())
		}
		r.pass(100)
		if taken := r.sickBroker(r.offer()); len(taken) > 0 {
			r.want(taken, sick)
			break
		}
	}
	if h := r.heldView(); !slices.Equal(numbersOf(h), []int32{1}) {
		t.Errorf("held %+v, want partition 1 alone", h)
	}
	r.audit()
}

// TestALetterPartitionThatFailsPausesReading: letters for another partition go.
func TestALetterPartitionThatFailsPausesReading(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = time.Second })
	r.assign(0, 1, 0)
	r.bury(0, "1")
	r.bury(1, "0")
	r.pass(1)
	for range 20 {
		for _, d := range r.offer() {
			if d.TargetPartition == 1 {
				r.end(Unknown, d)
			} else {
				r.end(Delivered, d)
			}
		}
		if p := r.Pauses(); len(p) != 1 || p[0].Reason != "dead_letter" {
			t.Fatalf("pauses %+v", p)
		}
		r.pass(100)
	}
	if n := total(r.Snapshot().DeadLettered); n != 1 {
		t.Errorf("%d letters are written, want that of the healthy partition", n)
	}
	r.pass(holdMaxMs)
	r.one(Delivered)
	if p := r.Pauses(); len(p) > 0 {
		t.Errorf("pauses %+v after an answer", p)
	}
	r.audit()
}

// TestAPartitionThatFailsIsNotForgottenWhileItsTopicIsLookedUp: a hold of the target has ended, and the record that waits
// for the partition is not routed again yet.
func TestAPartitionThatFailsIsNotForgottenWhileItsTopicIsLookedUp(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "1"))
	r.pass(1)
	r.one(Unavailable)
	r.take(0, 1, r.arrival(1, 0, "0"))
	r.pass(holdFirstMs)
	r.Take()
	if d := r.one(Delivered); d.Offset != 1 {
		t.Fatalf("tried with %+v: this is not the situation", d)
	}
	r.router[egress] = Pending
	for range 5 {
		r.pass(checkEveryMs)
		r.want(r.offer())
	}
	if h := r.Take().Holds; len(h) != 2 || h[0].Held || !h[1].Held {
		t.Errorf("notices %+v, want that the target is back, and that partition 1 is held", h)
	}
	if h := r.heldView(); !slices.Equal(numbersOf(h), []int32{1}) {
		t.Errorf("held %+v, want partition 1", h)
	}
	r.audit()
}
