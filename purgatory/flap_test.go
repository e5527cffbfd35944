package purgatory

import (
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
)

// TestATargetThatFlapsHasTheWholeOfItsPatienceEachTime: the end of a hold ends what was
// waited for, whether an answer ends it or metadata.
func TestATargetThatFlapsHasTheWholeOfItsPatienceEachTime(t *testing.T) {
	for name, by := range map[string]Verdict{"by metadata": Missing, "by an answer": Unreachable} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Patience, c.MaxInFlight = time.Minute, 1 })
			r.pass(500_000)
			r.assign(0, 1, 0)
			for o := range int64(9) {
				a := r.arrival(o, 0, "0")
				a.Target, a.Label = "jobs.1", "jobs.*"
				r.take(0, 1, a)
			}
			r.pass(1)
			r.Take()
			for round := range 4 {
				fail := func() {
					for _, d := range r.offer() {
						if d.Target != "jobs.1" {
							t.Fatalf("round %d: offset %d goes to %s: %s", round, d.Offset, d.Target, d.Message)
						}
						r.end(Unknown, d)
					}
				}
				if by == Missing {
					r.router["jobs.1"] = Missing
				}
				for range 45 { // below the patience, and above it together
					fail()
					r.pass(1000)
				}
				r.router["jobs.1"] = Usable
				r.pass(holdMaxMs)
				for range 2 { // one ends the hold, and the others stay behind
					if ds := r.offer(); len(ds) > 0 {
						r.end(Delivered, ds[0])
					}
				}
				h := r.Take().Holds
				if len(h) < 2 || !h[0].Held || h[0].Label != "jobs.*" || h[len(h)-1] != (HoldNotice{Target: "jobs.1", Label: "jobs.*"}) {
					t.Fatalf("round %d: notices %+v", round, h)
				}
			}
			if s := r.Snapshot(); total(s.DeadLettered) != 0 || total(s.Delivered) < 4 {
				t.Errorf("%d dead letters, %d delivered", total(s.DeadLettered), total(s.Delivered))
			}
		})
	}
}

// TestReadingGoesOnOnceAnExhaustedTargetIsBack, each time.
func TestReadingGoesOnOnceAnExhaustedTargetIsBack(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DeadLetterTopic, c.OnInvalid, c.Patience = "", Halt, time.Minute })
	r.assign(0, 1, 0)
	offset := int64(0)
	for range 2 {
		r.router[egress] = Missing
		for range 3 {
			r.mustTake(0, 1, 0, offset)
			offset++
		}
		r.pass(1)
		r.offer()
		r.pass(30_000)
		if p := r.Pauses(); len(p) > 0 {
			t.Errorf("pauses %v within the patience", p)
		}
		r.pass(40_000)
		if p := r.Pauses(); !slices.Equal(p, []Pause{{"target", egress, egress}}) {
			t.Errorf("pauses %v, want one of the target", p)
		}
		r.router[egress] = Usable
		r.end(Delivered, r.offer()...)
		r.mustTake(0, 1, 0, offset) // one that waits behind
		offset++
		r.pass(200)
		if p := r.Pauses(); len(p) > 0 {
			t.Errorf("pauses %v, and the target is back", p)
		}
		r.end(Delivered, r.offer()...)
	}
}

// TestCountsOfTheJournalGoOnAfterAnAssignment: a counter that goes back is a new process.
func TestCountsOfTheJournalGoOnAfterAnAssignment(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, journalTopic)
	last := facts.Stats{}
	for epoch := range uint64(3) {
		r.scattered(0, 1+epoch, 8000)
		r.Commits(nil, true)
		for r.Cut(true) {
		}
		for i, w := range r.Take().Writes {
			r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: int64(i)})
		}
		s := r.Snapshot().Journal
		if s.Records <= last.Records || s.Bytes <= last.Bytes || s.Snapshots != last.Snapshots+1 {
			t.Errorf("assignment %d: %+v after %+v", epoch, s, last)
		}
		r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1 + epoch})
		if after := r.Snapshot().Journal; after != s {
			t.Errorf("the end of assignment %d changed %+v to %+v", epoch, s, after)
		}
		last = s
	}
}

// TestALogThatBeginsLaterIsAReasonToCommit, also where nothing else happens.
func TestALogThatBeginsLaterIsAReasonToCommit(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.commitAll()
	for _, start := range []int64{10, 25} {
		if r.Dirty() {
			t.Error("there is something to commit before")
		}
		r.LogStart(partitionOf(0), 1, start)
		if !r.Dirty() || r.commitLow(0) != start {
			t.Errorf("the log begins at %d, and no commit says so", start)
		}
		r.LogStart(partitionOf(0), 1, start)
	}
	if lost := r.Snapshot().LostToRetention; lost != 25 {
		t.Errorf("%d are counted as lost, want 25", lost)
	}
}
