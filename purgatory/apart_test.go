package purgatory

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory/far"
	"layover/verify/reach"
)

// TestASnapshotSharesNothingWithItsCore, nor with the next one: a scrape reads it while the
// lane goes on. Everything that a snapshot can have is in it.
func TestASnapshotSharesNothingWithItsCore(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DeadLetterTopic, c.HeldShare, c.MaxInFlight = "", 1<<20, 2 })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2, 3) // of egress: one of its partitions will not answer
	r.pass(1)
	silent := r.offer()
	next := int64(4)
	for n := range mostViews + 10 { // more than a snapshot describes
		a := r.arrival(next, 0, "0"+string(make([]byte, 20_000)))
		a.Target, a.Label = fmt.Sprintf("retry-%d", n), "retry-*"
		r.router[a.Target] = Missing
		r.take(0, 1, a)
		next++
	}
	r.pass(1)
	r.want(r.offer())
	for range 15 {
		r.pass(1000)
	}
	r.offer()
	r.end(Delivered, silent[0]) // and then nothing again
	for range 15 {
		r.pass(1000)
	}
	r.NoteError("a subject", "an error")
	parked := r.arrival(next, 3_600_000, "0")
	parked.Target, parked.Label = "well", "well"
	r.take(0, 1, parked)
	r.Core.parking.catching.enter("well", r.at.WallMs+1000, &header{deadlineMs: r.at.WallMs})
	fill(&r.Core.stats)
	r.Core.stats.letters.n = 1
	for _, t := range r.Core.out.dir.list {
		t.givenUp = 1
	}
	r.Runs().Begin(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, offsets.TopicID{}, far.New(far.Beginning{Window: offsets.NewWindow(0)}), 1)
	look := func() Snapshot {
		s := r.Snapshot()
		s.Outlook = r.Outlook()
		return s
	}
	s := look()
	if empty := slices.DeleteFunc(reach.Empty(&s), func(path string) bool { return holdsNone(&s, path) }); len(empty) > 0 {
		t.Errorf("nothing is in %q: what they would share is not seen", empty)
	}
	if shared := reach.Shared(&s, r.Core); len(shared) > 0 {
		t.Errorf("the snapshot has memory of the core at %q", shared)
	}
	second := look()
	if shared := reach.Shared(&s, &second); len(shared) > 0 {
		t.Errorf("two snapshots have the same memory at %q", shared)
	}
}

// fill gives an entry to each map of the counters that has none.
func fill(s *Stats) {
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() != reflect.Map || f.Len() > 0 {
			continue
		}
		entry := reflect.New(f.Type().Elem()).Elem()
		if entry.Kind() == reflect.Pointer {
			entry.Set(reflect.New(entry.Type().Elem()))
		}
		f.SetMapIndex(reflect.New(f.Type().Key()).Elem(), entry)
	}
}

// holdsNone says whether an empty place of a snapshot is one of several, others of which
// hold something.
func holdsNone(s *Snapshot, path string) bool {
	some := slices.ContainsFunc(s.Held, func(h HeldView) bool { return len(h.Partitions) > 0 })
	for i := range s.Held {
		if path == fmt.Sprintf(".Held[%d].Partitions", i) {
			return some
		}
	}
	return false
}

// TestOneTargetHasOneShareWhateverIngressTopicsItsRecordsAreOf: with LAYOVER_PARTITION=same, too.
func TestOneTargetHasOneShareWhateverIngressTopicsItsRecordsAreOf(t *testing.T) {
	const topics, records = 8, 100
	for _, apart := range []bool{false, true} {
		share := sizeOf(newRig(t, nil).arrival(0, 0, "0 record 0")) * records // what one ingress topic has
		r := newRig(t, func(c *Config) {
			c.ApartByIngress, c.HeldShare, c.Patience, c.MaxInFlight = apart, share, time.Hour, 1000
			c.Place = func(s *TargetState, _ offsets.TopicPartition, _ []byte) Route { return Route{Verdict: s.Verdict} }
		})
		r.router[egress] = Missing
		for n := range topics {
			tp := offsets.TopicPartition{Topic: fmt.Sprintf("delayed-%d", n)}
			r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: tp, Epoch: uint64(n + 1)}, Window: offsets.NewWindow(0), Committed: true})
			reader, _ := r.Reader(tp, uint64(n+1))
			for o := range int64(records) {
				a := r.arrival(o, 0, "0 record 0")
				if reader.Wants(o, 0) != Whole || !reader.Read(&a) {
					t.Fatal("not taken")
				}
			}
		}
		for range 50 {
			r.pass(100)
			r.end(Delivered, r.offer()...) // dead letters
		}
		var held int64
		for _, h := range r.Snapshot().Held {
			held += h.Bytes
		}
		if held > share+share/10 {
			t.Errorf("apart %v: %d bytes are held for one target, and its share is %d: %d records of a missing target may fill all memory", apart, held, share, topics*records)
		}
	}
}
