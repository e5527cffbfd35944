package purgatory

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// named is a record with an id, whose body begins with the number of the target partition
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
	p := r.byTopic[partitionOf(0)]
	for o, want := range []bool{true, false, true, true} {
		if p.Window.Finished(int64(o)) != want {
			t.Errorf("offset %d is finished: %v", o, !want)
		}
	}
	if c := r.stats.Cancels; c[TopicResult{ingress, "cancelled"}] != 1 || c[TopicResult{ingress, "miss"}] != 1 {
		t.Errorf("%v", c)
	}
}

// TestAMillionTimersAreCancelledAtRandom and their memory comes back.
func TestMemoryOfCancelledRecordsComesBack(t *testing.T) {
	const n = 50_000
	r := newRig(t, func(c *Config) { c.LargestChunk = 64 << 10 })
	r.assign(0, 1, 0)
	for o := range int64(n) {
		if !r.take(0, 1, r.named(o, 60_000+o%1000, fmt.Sprintf("timer-%d", o))) {
			t.Fatal(o)
		}
	}
	full := r.Bytes()
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	next := int64(n)
	for _, o := range order[:n*99/100] {
		if !r.take(0, 1, r.cancelOf(next, fmt.Sprintf("timer-%d", o))) {
			t.Fatal(o)
		}
		next++
	}
	r.audit()
	s := r.Snapshot()
	t.Logf("%d bytes of %d records, then %d of %d: chunks %d, live %d, ids %d (%d)", full, n, r.Bytes(), s.Parked, s.ChunkBytes, s.LiveBytes, s.IDBytes, s.IDs)
	if s.Parked != n/100 || s.ChunkBytes > 2*s.LiveBytes+256<<10 {
		t.Errorf("%d parked, chunks %d, live %d", s.Parked, s.ChunkBytes, s.LiveBytes)
	}
	r.pass(61_000)
	if got := r.Offer(nil, 1<<20); len(got) != 100 {
		t.Fatalf("%d offered", len(got))
	}
}
