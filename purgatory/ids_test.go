package purgatory

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"layover/verify/long"
)

// named is a record with an id. Its body begins with the number of the target partition
// and then has the id, as the lane writes it.
func (r *rig) named(offset, delayMs int64, id string) Arrival {
	a := r.arrival(offset, delayMs, "")
	a.ID, a.IDAt = []byte(id), 1
	a.Body = text("0" + string(binary.AppendUvarint(nil, uint64(len(id)+1))) + id + fmt.Sprintf(" at %d", offset))
	return a
}

// cancelOf is a cancel of an id.
func (r *rig) cancelOf(offset int64, id string) Arrival {
	return Arrival{Offset: offset, TimestampMs: r.at.WallMs, DeadlineMs: r.at.WallMs, Body: text("0"), ID: []byte(id), Cancel: true}
}

// must reads records.
func (r *rig) must(all ...Arrival) {
	r.Helper()
	for _, a := range all {
		if !r.take(0, 1, a) {
			r.Fatalf("offset %d was not taken", a.Offset)
		}
	}
	r.audit()
}

func TestACancelEndsWhatIsParked(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.must(r.named(0, 1000, "a"), r.named(1, 1000, "b"), r.cancelOf(2, "a"), r.cancelOf(3, "none"))
	r.pass(1000)
	if got := r.Offer(nil, 10); len(got) != 1 || got[0].Offset != 1 {
		t.Fatalf("offered %+v", got)
	}
	r.audit()
	p := r.parts.byTopic[partitionOf(0)]
	for o, want := range []bool{true, false, true, true} {
		if p.Window.Finished(int64(o)) != want {
			t.Errorf("offset %d is finished: %v", o, !want)
		}
	}
	if c := r.stats.Cancels; c[TopicResult{ingress, "cancelled"}] != 1 || c[TopicResult{ingress, "miss"}] != 1 {
		t.Errorf("%v", c)
	}
}

// TestMemoryOfCancelledRecordsComesBack, of whatever part of them is left.
func TestMemoryOfCancelledRecordsComesBack(t *testing.T) {
	long.Only(t)
	const n = 200_000
	for _, percent := range []int{50, 90, 99} {
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		for o := range int64(n) {
			if !r.take(0, 1, r.named(o, 60_000+o%1000, fmt.Sprintf("timer-%d", o))) {
				t.Fatal(o)
			}
		}
		full := r.Bytes()
		order := rand.New(rand.NewPCG(1, 2)).Perm(n)
		next := int64(n)
		for _, o := range order[:n*percent/100] {
			if !r.take(0, 1, r.cancelOf(next, fmt.Sprintf("timer-%d", o))) {
				t.Fatal(o)
			}
			next++
		}
		r.audit()
		left := int64(n - n*percent/100)
		s := r.Snapshot()
		live := s.LiveBytes + left*(24+32) // with wheel and index
		finished := r.parts.byTopic[partitionOf(0)].Window.Bytes() + r.parts.byTopic[partitionOf(0)].Facts.Bytes()
		if s.NamedBytes != s.LiveBytes {
			t.Errorf("%d bytes of records with an id, of %d bytes", s.NamedBytes, s.LiveBytes)
		}
		if int64(s.Parked) != left || s.Bytes-finished > 2*live+1<<20 {
			t.Errorf("%d%%: %d parked, %d bytes of which %d live; %d before", percent, s.Parked, s.Bytes-finished, live, full)
		}
	}
}

// TestACancelledRecordLeavesTheOrderOfTheOthers: compacting moves bytes, and no turn.
func TestACancelledRecordLeavesTheOrderOfTheOthers(t *testing.T) {
	const n = 20_000
	for name, due := range map[string]bool{"parked": false, "held": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) {
				c.LargestChunk, c.MaxInFlight, c.MaxInFlightBytes = 16<<10, n, 1<<30
				c.HeldShare = 1 << 30
			})
			r.assign(0, 1, 0)
			r.router[egress] = Forbidden
			for o := range int64(n) {
				r.take(0, 1, r.named(o, 1000, fmt.Sprintf("timer-%d", o)))
			}
			if due {
				r.pass(1000)
				r.offer()
			}
			full := r.store.bytes
			random := rand.New(rand.NewPCG(1, 2))
			cancelled := map[int64]bool{}
			for o := int64(n); len(cancelled) < n*9/10; o++ {
				victim := random.Int64N(n)
				cancelled[victim] = true
				r.take(0, 1, r.cancelOf(o, fmt.Sprintf("timer-%d", victim)))
			}
			r.audit()
			if r.store.bytes > full/4 {
				t.Errorf("%d bytes of %d are left", r.store.bytes, full)
			}
			q := &r.out.dir.byKey[TargetName{Name: egress}].queue
			if due && (q.count != n/10 || q.length > 2*q.count || len(q.buf) > n*2) {
				t.Errorf("%d entries in %d places for %d records", q.length, len(q.buf), q.count)
			}
			clear(r.router)
			r.pass(5000)
			want := []int64{}
			for o := range int64(n) {
				if !cancelled[o] {
					want = append(want, o)
				}
			}
			r.want(r.offer(), want...)
		})
	}
}

// TestEntriesOfCancelledRecordsAreAtMostHalfOfAQueue, also as the others leave it.
func TestEntriesOfCancelledRecordsAreAtMostHalfOfAQueue(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxBuffered = 1, 4 })
	r.assign(0, 1, 0)
	for o := range int64(100) {
		r.must(r.named(o, 0, fmt.Sprint(o)))
	}
	r.router[egress] = Pending
	r.pass(1)
	r.offer()
	for o := int64(50); o < 99; o++ {
		r.must(r.cancelOf(50+o, fmt.Sprint(o)))
	}
	clear(r.router)
	for range 51 {
		r.one(Delivered)
		r.audit() // counts them
	}
	if r.want(r.offer()); r.store.slots.Len() != 0 {
		t.Errorf("%d names are left", r.store.slots.Len())
	}
}

// TestACancelHitsItsRecordAfterTheWheelWasRebuilt: handles of the old wheel are others.
func TestACancelHitsItsRecordAfterTheWheelWasRebuilt(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(10) {
		r.must(r.named(o, 60_000-1000*o, fmt.Sprint(o)))
	}
	r.step(-5000)
	r.must(r.cancelOf(10, "2"), r.named(11, 90_000, "3"), r.cancelOf(12, "4"))
	r.pass(66_000)
	r.want(r.offer(), 9, 8, 7, 6, 5, 1, 0)
}

// TestARecordInFlightIsNotMoved: the Kafka client reads its bytes where they are.
func TestARecordInFlightIsNotMoved(t *testing.T) {
	r := newRig(t, func(c *Config) { c.LargestChunk = minChunk })
	r.assign(0, 1, 0)
	const n = 1000
	for o := range int64(n) {
		delayMs := int64(60_000)
		if o%100 == 7 {
			delayMs = 0
		}
		r.take(0, 1, r.named(o, delayMs, fmt.Sprint(o)))
	}
	r.pass(1)
	ds := r.offer()
	next := int64(n)
	for o := range int64(n) {
		if o%100 == 7 {
			r.take(0, 1, r.named(next, 60_000, fmt.Sprint(o))) // the index knows the newer one
		} else {
			r.take(0, 1, r.cancelOf(next, fmt.Sprint(o)))
		}
		next++
	}
	r.audit()
	if len(ds) != n/100 {
		t.Fatalf("%d in flight", len(ds))
	}
	for _, d := range ds {
		_, body := r.store.read(r.out.flights.list[d.ID].entry.loc)
		if &body[0] != &d.Body[0] {
			t.Errorf("%d was moved", d.Offset)
		}
	}
	before := r.store.bytes
	r.end(Delivered, ds...)
	if r.audit(); r.store.bytes > before/2 {
		t.Errorf("%d bytes in chunks, %d before the records had landed", r.store.bytes, before)
	}
}

// TestARecordThatLeavesItsChunkLeavesNothingToCompact: what it leaves behind is no record.
func TestARecordThatLeavesItsChunkLeavesNothingToCompact(t *testing.T) {
	r := newRig(t, func(c *Config) { c.LargestChunk = minChunk })
	r.assign(0, 1, 0)
	r.must(r.named(0, 0, "a"))
	r.pass(1)
	r.one(Unknown)
	r.must(r.named(1, 60_000, "a")) // the first one is sent again, and found by no id
	for o := int64(2); o < 1000; o++ {
		r.take(0, 1, r.named(o, 60_000, "b"))
	}
	r.audit()
	r.pass(5000)
	r.want(r.offer(), 0)
}
