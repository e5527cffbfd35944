package purgatory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/long"
)

// TestAPartitionThatDeniesItsTopicStopsNoOther: its broker calls the topic missing, and metadata does not. For ten minutes
// each of its records waits, and each of the other partition goes.
func TestAPartitionThatDeniesItsTopicStopsNoOther(t *testing.T) {
	r := newRig(t, nil) // a patience of a minute
	r.assign(0, 1, 0)
	next, worst, given := int64(0), int64(0), 0
	for range 600 {
		r.take(0, 1, r.arrival(next, 0, "1 denied"))
		r.take(0, 1, r.arrival(next+1, 0, "0 healthy"))
		next += 2
		for range 10 {
			r.pass(100)
			for _, d := range r.offer() {
				switch {
				case d.DeadLettered:
					if given++; d.Offset%2 == 1 || !strings.Contains(d.Message, "partition 1: said the broker") {
						t.Fatalf("offset %d is given up: %s", d.Offset, d.Message)
					}
					r.end(Delivered, d)
				case d.TargetPartition == 1:
					r.end(Unavailable, d)
				default:
					worst = max(worst, r.at.WallMs-d.DeadlineMs)
					r.end(Delivered, d)
				}
			}
		}
		r.audit()
	}
	if n := total(r.Snapshot().Delivered); n != 600 || worst > 300 {
		t.Errorf("%d of 600 records are delivered, the latest %d ms late", n, worst)
	}
	if h := r.heldView(); !slices.Equal(numbersOf(h), []int32{1}) || h.Detail != "partition 1: said the broker" {
		t.Errorf("held %+v", h)
	}
	if kept := 600 - given; kept < 59 || kept > 61 {
		t.Errorf("%d records are held after ten minutes with one a second, want those of a minute", kept)
	}
	if h := r.Take().Holds; len(h) != 3 || !h[0].Held || h[1].Held || !h[2].Held {
		t.Errorf("notices %+v, want the target for a moment, and then the partition", h)
	}
}

// TestATopicThatAllPartitionsDenyIsHeldAsAWhole: it is named, its partitions are not. They are tried by one record in two
// seconds, however many there are, and all go on when one takes its record.
func TestATopicThatAllPartitionsDenyIsHeldAsAWhole(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	const partitions = 8
	next := int64(0)
	write := func() {
		for p := range byte(partitions) {
			r.take(0, 1, r.arrival(next, 0, string('0'+p)))
			next++
		}
	}
	write()
	r.pass(1)
	r.refuse(Forbidden, r.offer()...)
	write()
	tries := 0
	for second := range 40 {
		for range 10 {
			r.pass(100)
			ds := r.offer()
			if second >= 10 {
				tries += len(ds)
			}
			r.refuse(Forbidden, ds...)
		}
		if h := r.heldView(); h.Verdict != Forbidden || len(h.Partitions) > 0 || h.Records != 2*partitions {
			t.Fatalf("held %+v", h)
		}
	}
	if tries != 15 {
		t.Errorf("tried %d times in half a minute, want once in two seconds", tries)
	}
	began := r.at.WallMs
	for total(r.Snapshot().Delivered) < 2*partitions {
		r.pass(10)
		r.end(Delivered, r.offer()...)
		if r.at.WallMs-began > 2100 {
			t.Fatalf("%d of %d records are delivered %d ms after the right is there", total(r.Snapshot().Delivered), 2*partitions, r.at.WallMs-began)
		}
	}
	if h := r.Snapshot().Held; len(h) > 0 {
		t.Errorf("held %+v", h)
	}
	r.audit()
}

// TestAPartitionThatTookARecordMayDenyItsTopicAnew: the whole target is held for that, as the topic may be gone.
func TestAPartitionThatTookARecordMayDenyItsTopicAnew(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "1"))
	r.take(0, 1, r.arrival(1, 0, "0"))
	r.pass(1)
	ds := r.offer()
	r.end(Unavailable, ds[0])
	r.take(0, 1, r.arrival(2, 0, "0"))
	r.end(Delivered, ds[1])
	r.pass(100)
	r.one(Delivered) // the other partition takes a record: the first fails alone
	r.one(Unavailable)
	if h := r.heldView(); !slices.Equal(numbersOf(h), []int32{1}) {
		t.Fatalf("held %+v, want partition 1", h)
	}
	r.pass(holdMaxMs)
	r.one(Delivered)
	r.take(0, 1, r.arrival(3, 0, "1"))
	r.pass(1)
	r.one(Unavailable)
	if h := r.heldView(); h.Verdict != Missing || len(h.Partitions) > 0 {
		t.Errorf("held %+v, want the target", h)
	}
	r.audit()
}

// TestAPartitionThatIsGoneHoldsNoRecordForItself: a topic was made again with fewer partitions while one of it failed
// alone. What waits for that one is routed anew.
func TestAPartitionThatIsGoneHoldsNoRecordForItself(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Place = func(s *TargetState, _ offsets.TopicPartition, body []byte) Route {
			return Route{Partition: int32(body[0]-'0') % s.Partitions}
		}
	})
	r.partitions = 2
	r.assign(0, 1, 0)
	for o, body := range []string{"1", "1", "1", "0"} {
		r.take(0, 1, r.arrival(int64(o), 0, body))
	}
	r.pass(1)
	answer := func() {
		for _, d := range r.offer() {
			if d.TargetPartition == 1 {
				r.end(Unavailable, d)
			} else {
				r.end(Delivered, d)
			}
		}
	}
	for range 100 {
		r.take(0, 1, r.arrival(r.parts.list[0].next, 0, "0"))
		r.pass(100)
		answer()
	}
	if h := r.heldView(); !slices.Equal(numbersOf(h), []int32{1}) || h.Records != 3 {
		t.Fatalf("held %+v, want three records of partition 1", h)
	}
	r.partitions = 1
	for range 50 {
		r.pass(100)
		answer()
	}
	if s := r.Snapshot(); len(s.Held) > 0 || s.Due > 0 || total(s.DeadLettered) > 0 {
		t.Errorf("held %+v, %d due, dead letters %v", s.Held, s.Due, s.DeadLettered)
	}
	r.audit()
}

// TestACancelEndsARecordThatAPartitionAloneDenies: it was certainly not written.
func TestACancelEndsARecordThatAPartitionAloneDenies(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.must(r.named(0, 0, "a")) // for partition 0
	next, denied := int64(1), Delivery{}
	for r.at.WallMs < startMs+5000 {
		r.take(0, 1, r.arrival(next, 0, "1"))
		next++
		r.pass(100)
		for _, d := range r.offer() {
			switch {
			case d.TargetPartition == 1:
				r.end(Delivered, d)
			case r.at.WallMs > startMs+3000:
				denied = d
			default:
				r.end(Unavailable, d)
			}
		}
	}
	if h := r.heldView(); !slices.Equal(numbersOf(h), []int32{0}) || denied.Target == "" {
		t.Fatalf("held %+v, in flight %+v: this is not the situation", h, denied)
	}
	r.must(r.cancelOf(next, "a"))
	r.end(Unavailable, denied)
	r.pass(holdMaxMs)
	r.want(r.offer())
	if s := r.Snapshot(); s.Due > 0 || len(s.Held) > 0 {
		t.Errorf("%d due, held %+v", s.Due, s.Held)
	}
	r.audit()
}

// TestAHealthyPartitionIsFoundBehindManyRecordsOfOneThatFails, and those of one that denies its topic by turns.
func TestAHealthyPartitionIsFoundBehindManyRecordsOfOneThatFails(t *testing.T) {
	for _, many := range []int64{500, 5_000, 50_000, 600_000} {
		r := newRig(t, func(c *Config) { c.HeldShare, c.Patience = 1<<40, 15*time.Minute })
		if many > 50_000 && !long.Asked() {
			break
		}
		r.assign(0, 1, 0)
		for o := range many {
			r.take(0, 1, r.arrival(o, 0, "1"))
		}
		r.pass(1)
		r.end(Unavailable, r.offer()...)
		r.take(0, 1, r.arrival(many, 0, "0"))
		for began, found := r.at.WallMs, false; !found; {
			r.pass(100)
			for _, d := range r.offer() {
				if found = d.TargetPartition == 0 && !d.DeadLettered; found {
					r.end(Delivered, d)
					continue
				}
				r.end(Unknown, d)
			}
			if r.at.WallMs-began > 2100 {
				t.Fatalf("%d records in front: the healthy partition has no record after two seconds", many)
			}
		}
	}
}

// TestAnAnswerAboutARecordEndsAHold: a topic was missing, is there again, and refuses each record for its content.
func TestAnAnswerAboutARecordEndsAHold(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(20) {
		r.take(0, 1, r.arrival(o, 0, "0"))
	}
	r.pass(1)
	r.end(Unavailable, r.offer()...)
	r.pass(100)
	r.one(Rejected)
	if h := r.Snapshot().Held; len(h) > 0 {
		t.Errorf("it has refused a record for its content, and is held as %+v", h)
	}
	waves := r.broker(func(int64) bool { return true })
	if n := r.Snapshot().DeadLettered[TopicReason{ingress, reasonRejected}]; n != 20 || waves > 60 {
		t.Errorf("%d of 20 letters, in %d waves", n, waves)
	}
}

// flood gives records for partition 1, has time for one look, and returns what is offered.
func (r *rig) flood(n int) []Delivery {
	for next := r.parts.list[0].next; n > 0; n-- {
		r.take(0, 1, r.arrival(next, 0, "1"))
		next++
	}
	r.pass(holdFirstMs)
	return r.offer()
}

// TestAPartitionThatIsWellAgainIsFoundBesideAFloodForAnother: both denied their topic, and one of them still does. More
// come for that one than a look looks at.
func TestAPartitionThatIsWellAgainIsFoundBesideAFloodForAnother(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HeldShare, c.Patience = 1<<40, time.Hour })
	r.assign(0, 1, 0)
	for o := range int64(40) {
		r.take(0, 1, r.arrival(o, 0, string('0'+byte(o%2))))
	}
	r.pass(1)
	r.end(Unavailable, r.offer()...)
	for range 100 {
		r.end(Unavailable, r.flood(3*trialLook/2)...)
	}
	for range 2 * holdMaxMs / holdFirstMs {
		for _, d := range r.flood(3 * trialLook / 2) {
			if d.TargetPartition == 0 {
				return
			}
			r.end(Unavailable, d)
		}
	}
	t.Errorf("of 20 records in front of the flood none is tried within %d ms", 2*holdMaxMs)
}

// TestARecordIsTriedBesideAFloodOnceItsPartitionHasRoom: looks have passed it. They have to come back, though as many come
// for a partition that denies its topic as a look looks at, or more.
func TestARecordIsTriedBesideAFloodOnceItsPartitionHasRoom(t *testing.T) {
	for _, more := range []int{trialLook, 3 * trialLook / 2} {
		r := newRig(t, func(c *Config) { c.HeldShare, c.Patience = 1<<40, time.Hour })
		r.assign(0, 1, 0)
		r.take(0, 1, r.arrival(0, 0, "0"))
		r.take(0, 1, r.arrival(1, 0, "1"))
		r.pass(1)
		ds := r.offer()
		r.want(ds, 0, 1)
		r.end(Unavailable, ds[1])
		r.end(Unavailable, r.flood(3*trialLook)...)
		waits := r.parts.list[0].next
		r.take(0, 1, r.arrival(waits, 0, "0"))
		for range 15 {
			r.end(Unavailable, r.flood(more)...)
		}
		r.end(Delivered, ds[0])
		found := false
		for look := 0; !found; look++ {
			if look > 30 {
				t.Errorf("with %d more in each look, the record is not tried within three seconds", more)
				break
			}
			for _, d := range r.flood(more) {
				if found = d.Offset == waits; !found {
					r.end(Unavailable, d)
				}
			}
		}
	}
}

// TestALookSeesNewRecordsBesideAFlood: one comes for a partition that is well, among more than a look looks at for one that
// denies its topic.
func TestALookSeesNewRecordsBesideAFlood(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HeldShare, c.Patience = 1<<40, time.Hour })
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "1"))
	r.pass(1)
	r.one(Unavailable)
	for range 50 { // it is far ahead of what looks have seen
		r.end(Unavailable, r.flood(2*trialLook)...)
	}
	for range 10 {
		r.end(Unavailable, r.flood(2*trialLook)...)
		r.take(0, 1, r.arrival(r.parts.list[0].next, 0, "0"))
		r.pass(holdFirstMs)
		for _, d := range r.offer() {
			if d.TargetPartition == 0 {
				return
			}
			r.end(Unavailable, d)
		}
	}
	t.Error("of ten records for a partition that is well none is tried")
}
