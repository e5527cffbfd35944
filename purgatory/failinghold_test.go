package purgatory

import (
	"strings"
	"testing"

	"layover/offsets"
)

// allFail answers all but letters with an error, and returns the letters, which it takes.
func (r *rig) allFail(ds []Delivery) (letters []Delivery) {
	r.Helper()
	for _, d := range ds {
		if d.DeadLettered {
			r.end(Delivered, d)
			letters = append(letters, d)
			continue
		}
		r.end(Unknown, d)
	}
	return letters
}

// TestATargetWhosePartitionsAllFailKeepsToItsShare: its only partition answers with errors. What waits is bounded by
// the share of a target, and by patience.
func TestATargetWhosePartitionsAllFailKeepsToItsShare(t *testing.T) {
	r := newRig(t, func(c *Config) { c.HeldShare = 64 << 10 })
	r.partitions = 1
	r.assign(0, 1, 0)
	body := "0" + strings.Repeat("x", 1000)
	next := int64(0)
	for range 1000 { // a megabyte within twenty seconds: well above the share, and within the patience
		r.take(0, 1, r.arrival(next, 0, body))
		next++
		r.pass(20)
		r.allFail(r.offer())
	}
	r.audit()
	tt := r.out.dir.byKey[TargetName{Name: egress}]
	if waits := tt.waiting(); waits > 2*r.cfg.HeldShare {
		t.Errorf("%d bytes wait for a target with a share of %d; view %+v; letters %v", waits, r.cfg.HeldShare, r.heldView(), r.Snapshot().DeadLettered)
	}
}

// TestThePatienceOfATargetWhosePartitionsAllFail: each record waits for a minute, not for two.
func TestThePatienceOfATargetWhosePartitionsAllFail(t *testing.T) {
	r := newRig(t, nil)
	r.partitions = 1
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "0"))
	late := map[int64]int{}
	for second := range 200 {
		if second == 1 {
			for o := int64(1); o < 4; o++ {
				r.take(0, 1, r.arrival(o, 0, "0"))
			}
		}
		r.pass(1000)
		for _, d := range r.allFail(r.offer()) {
			late[d.Offset] = second
		}
	}
	for o := int64(0); o < 4; o++ {
		if s, ok := late[o]; !ok || s > 66 {
			t.Errorf("offset %d is given up after %d s (%v), patience is a minute", o, s, ok)
		}
	}
}

// TestWhatFailedUnderAHoldIsTriedAfterNoRoom: a topic was unavailable, then its partition failed, then the client had no
// room for the trial. It is well from then on.
func TestWhatFailedUnderAHoldIsTriedAfterNoRoom(t *testing.T) {
	for name, take := range map[string]func(r *rig){
		"a letter": func(r *rig) { r.bury(0, "1") },
		"a record": func(r *rig) { r.take(0, 1, r.arrival(0, 0, "1")) },
	} {
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		take(r)
		r.pass(1)
		r.one(Unavailable)
		r.pass(holdFirstMs)
		r.one(Unknown)
		next := func() (ds []Delivery) {
			for range 50 {
				r.pass(100)
				if ds = r.offer(); len(ds) > 0 {
					break
				}
			}
			return ds
		}
		ds := next()
		r.want(ds, 0)
		r.end(NoRoom, ds...)
		if ds = next(); len(ds) != 1 || ds[0].Reason == reasonUnavailable {
			t.Fatalf("%s: offered %+v; pauses %+v, held %+v", name, ds, r.Pauses(), r.Snapshot().Held)
		}
		r.end(Delivered, ds...)
		r.audit()
	}
}

// TestAnEarlierHoldUsesUpNoPatienceBesideAPartitionThatFails: the target was missing for 55 s of a patience of a minute, and
// is back. Its records go, and are refused: a second hold begins.
func TestAnEarlierHoldUsesUpNoPatienceBesideAPartitionThatFails(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(2, 0, "1"))
	r.pass(1)
	r.sickBroker(r.offer())
	r.router[egress] = Missing
	r.take(0, 1, r.arrival(3, 0, "0"))
	r.take(0, 1, r.arrival(4, 0, "0"))
	r.pass(1)
	r.want(r.offer())
	for range 550 {
		r.pass(100)
		r.offer()
	}
	r.router[egress] = Usable
	var sent []Delivery
	for range 30 {
		r.pass(100)
		for _, d := range r.offer() {
			if d.TargetPartition == 1 {
				r.sickBroker([]Delivery{d})
			} else {
				sent = append(sent, d)
			}
		}
		if len(sent) == 2 {
			break
		}
	}
	r.want(sent, 3, 4)
	r.end(Unavailable, sent...) // a second hold begins
	began := r.at.WallMs
	for range 200 {
		r.pass(100)
		for _, d := range r.offer() {
			switch {
			case d.DeadLettered && d.Offset > 2:
				t.Fatalf("offset %d is given up %d ms after the second hold began: %s", d.Offset, r.at.WallMs-began, d.Message)
			case d.DeadLettered:
				r.end(Delivered, d)
			default:
				r.end(Unavailable, d)
			}
		}
	}
}

// TestARecordThatComesBackToAPartitionThatFailsRenewsNoPatience of those that are held for it already.
func TestARecordThatComesBackToAPartitionThatFailsRenewsNoPatience(t *testing.T) {
	r := newRig(t, nil) // a patience of a minute
	r.assign(0, 1, 0)
	for o := range int64(2) {
		r.take(0, 1, r.arrival(o, 0, "1"))
	}
	r.pass(1)
	late := r.offer()
	r.want(late, 0, 1)
	r.end(Unknown, late[0])
	for second := range 62 {
		r.pass(1000)
		if second == 49 {
			r.end(Unknown, late[1])
		}
		for _, d := range r.allFail(r.offer()) {
			if second < 59 {
				t.Fatalf("offset %d is given up after %d s", d.Offset, second)
			}
			if d.Offset == 0 {
				return
			}
		}
	}
	t.Errorf("offset 0 is held still after 62 s: %+v", r.heldView())
}

// TestAHoldThatBeginsRenewsNoPatienceOfAPartitionThatFails: what waits for a partition that was well comes behind.
func TestAHoldThatBeginsRenewsNoPatienceOfAPartitionThatFails(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 }) // a patience of a minute
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "0"))
	r.pass(1)
	r.allFail(r.offer())
	for second := range 63 {
		switch second {
		case 50: // the first is in flight, the second waits for it
			r.take(0, 1, r.arrival(1, 0, "1"))
			r.take(0, 1, r.arrival(2, 0, "1"))
		case 51:
			r.router[egress] = Missing
			r.take(0, 1, r.arrival(3, 0, "2"))
		}
		r.pass(1000)
		for _, d := range r.offer() {
			switch {
			case d.DeadLettered:
				if d.Offset != 0 || second < 59 {
					t.Fatalf("offset %d is given up after %d s", d.Offset, second)
				}
				return
			case d.TargetPartition == 0:
				r.end(Unknown, d)
			}
		}
	}
	t.Errorf("offset 0 is held still after 62 s: %+v", r.heldView())
}

// TestASilentPartitionWhoseOwnerIsGoneIsForgotten: its only record is of an ingress partition that another member has now,
// and is answered with an error. The target's other partition has a flow.
func TestASilentPartitionWhoseOwnerIsGoneIsForgotten(t *testing.T) {
	for _, class := range []Class{Unknown, NoRoom} {
		for name, reason := range map[string]string{"a record": "", "a letter": "malformed_delay"} {
			r := newRig(t, nil)
			r.assign(0, 1, 0)
			r.assign(1, 2, 0)
			take := func(no int32, epoch uint64, offset int64, partition string) {
				a := r.arrival(offset, 0, partition)
				a.Reason = reason
				r.take(no, epoch, a)
			}
			take(0, 1, 0, "1")
			r.pass(1)
			silent := r.offer()
			r.want(silent, 0)
			next, slow := int64(0), []Delivery(nil)
			flow := func() {
				take(1, 2, next, "0")
				next++
				r.pass(100)
				more := r.offer()
				r.end(Delivered, slow...) // one is always on its way
				slow = more
			}
			for range 120 {
				flow()
			}
			if h := r.heldView(); len(h.Partitions) != 1 {
				t.Fatalf("%s: %+v", name, h)
			}
			r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
			r.end(class, silent...)
			for range 20 {
				flow()
			}
			if h := r.Snapshot().Held; len(h)+len(r.Pauses()) > 0 {
				t.Errorf("%s, class %d: held %+v, pauses %+v", name, class, h, r.Pauses())
			}
			r.audit()
		}
	}
}

// TestARecordThatHadNoRoomIsNotGivenUpForAnEarlierHold: the target was missing for 55 s, beside a partition that fails.
// Then the client had no room for one of its records, and the partition fails.
func TestARecordThatHadNoRoomIsNotGivenUpForAnEarlierHold(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 2 }) // a patience of a minute
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "1"))
	r.pass(1)
	r.end(Unknown, r.offer()...)
	r.router[egress] = Missing
	for o := int64(1); o < 4; o++ {
		r.take(0, 1, r.arrival(o, 0, "0"))
	}
	r.pass(1)
	r.want(r.offer())
	r.pass(55_000)
	r.router[egress] = Usable
	var sent []Delivery
	for range 30 {
		r.pass(100)
		for _, d := range r.offer() {
			if d.TargetPartition == 0 {
				sent = append(sent, d)
			} else {
				r.end(Unknown, d)
			}
		}
		if len(sent) > 0 {
			break
		}
	}
	r.want(sent, 1, 2)
	r.end(Unknown, sent[1])
	r.end(NoRoom, sent[0])
	began := r.at.WallMs
	for range 200 {
		r.pass(100)
		for _, d := range r.offer() {
			if d.DeadLettered && d.Offset > 0 {
				t.Fatalf("offset %d is given up %d ms after its partition began to fail: %s", d.Offset, r.at.WallMs-began, d.Message)
			}
			if d.DeadLettered {
				r.end(Delivered, d)
			} else {
				r.end(Unknown, d)
			}
		}
	}
}
