package facts

import (
	"errors"
	"math"
	"testing"

	"layover/offsets"
)

// round writes, commits and deletes until all is in the journal, and returns the offset
// below which a deletion was asked for, -1 for none.
func (p *pen) round() (below int64) {
	p.t.Helper()
	below = -1
	for range 3 {
		p.write(true)
		_, named := p.l.Encode(offsets.MaxMetadata, 1, 0, offsets.RunsState{})
		if b := p.l.Committed(named, math.MaxInt64, p.now); b >= 0 {
			below = b
		}
	}
	if s := p.l.Status(); s.Unwritten != 0 || s.InFlight != 0 || s.Mode != InJournal {
		p.t.Fatalf("not all is in the journal: %+v", s)
	}
	return below
}

// scatter finishes every other offset of a hundred, so that the set stays large.
func (p *pen) scatter(from int64) {
	for o := from; o < from+200; o += 2 {
		p.finish(o, o+1)
	}
}

// TestAJournalThatIsMadeAgainIsWrittenAnewEachTime, though records were on their way to
// the one before. With small records what is forgotten of them would soon fill the room.
func TestAJournalThatIsMadeAgainIsWrittenAnewEachTime(t *testing.T) {
	p := newPen(t, new(log), Restored{}, offsets.NewWindow(0))
	p.l.Use(testTopic, 300)
	p.scatter(1)
	p.l.Encode(offsets.MaxMetadata, 1, 0, offsets.RunsState{}) // the set is too large from here on
	p.round()
	idle := p.l.Bytes()
	for life := range 100 {
		p.scatter(1 + 200*int64(life+1))
		if flying := cutAll(p.l, 5, true, p.now); len(flying) == 0 {
			t.Fatalf("life %d: nothing is on its way", life)
		}
		p.l.Use(offsets.TopicID{2, byte(life)}, 300) // and nobody answers any more
		if s := p.l.Status(); s.InFlight != 0 || s.Live != 0 || p.l.flights.memory() != 0 {
			t.Fatalf("life %d begins with %+v, %d bytes on their way", life, s, p.l.flights.memory())
		}
		if !p.l.TakeRewrite() || p.l.TakeRewrite() {
			t.Fatalf("life %d: that the journal is empty is said once", life)
		}
		*p.log = log{}
		p.round()
		if s := p.l.Status(); s.Stats.Snapshots != int64(life)+2 {
			t.Fatalf("life %d: %+v", life, s)
		}
		if held := p.l.Bytes(); held > idle+4096 {
			t.Fatalf("life %d: the writer holds %d bytes, and held %d", life, held, idle)
		}
	}
}

// TestADeletionThatIsRefusedIsAskedForAgain after its pause, each time, and the next one
// after a success at once.
func TestADeletionThatIsRefusedIsAskedForAgain(t *testing.T) {
	p := newPen(t, new(log), Restored{}, offsets.NewWindow(0))
	p.l.Use(testTopic, 300)
	p.scatter(1)
	p.l.Encode(offsets.MaxMetadata, 1, 0, offsets.RunsState{})
	p.round()
	next := int64(1000)
	snapshot := func() int64 { // whose records replace all before it
		for before := p.l.Status().Stats.Snapshots; p.l.Status().Stats.Snapshots == before; next += 200 {
			p.scatter(next)
			p.write(true)
		}
		_, named := p.l.Encode(offsets.MaxMetadata, 1, 0, offsets.RunsState{})
		return p.l.Committed(named, math.MaxInt64, p.now)
	}
	again := func() int64 {
		_, named := p.l.Encode(offsets.MaxMetadata, 1, 0, offsets.RunsState{})
		return p.l.Committed(named, math.MaxInt64, p.now)
	}
	deletions := p.l.Status().Stats.Deletions
	for round := range 3 {
		below := snapshot()
		if below <= 0 || again() >= 0 {
			t.Fatalf("round %d: a deletion below %d, and a second one beside it", round, below)
		}
		for refusal := range 3 {
			p.l.Deleted(below, errors.New("refused"), p.now)
			if p.now += deleteRetryMs - 1; again() >= 0 {
				t.Fatalf("round %d, refusal %d: asked for again without its pause", round, refusal)
			}
			if p.now++; again() != below {
				t.Fatalf("round %d, refusal %d: not asked for again", round, refusal)
			}
		}
		p.l.Deleted(below, nil, p.now)
		if deletions++; p.l.Status().Stats.Deletions != deletions || again() >= 0 {
			t.Fatalf("round %d: %+v", round, p.l.Status())
		}
	}
}

// TestADeletionOfAFormerTopicIsNoneOfThisOne: its answer may come when the next topic's own
// deletion runs, or before there was one.
func TestADeletionOfAFormerTopicIsNoneOfThisOne(t *testing.T) {
	for name, err := range map[string]error{"it succeeded": nil, "it was refused": errors.New("refused")} {
		t.Run(name, func(t *testing.T) {
			d := deletion{}
			if !d.begin(1000, 1) {
				t.Fatal("not asked for")
			}
			d = deletion{} // another topic
			if d.ended(1000, err, 1) || !d.begin(10, 1) {
				t.Error("the answer to the former topic's deletion counts before this one's")
			}
			if d.ended(1000, err, 1) || d.begin(10, 1) {
				t.Error("the answer to the former topic's deletion ends this one's")
			}
			if !d.ended(10, nil, 1) || !d.begin(20, 1) {
				t.Error("its own answer does not count")
			}
		})
	}
}
