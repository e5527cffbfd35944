package facts

import (
	"testing"

	"layover/offsets"
)

// TestAJournalThatIsNotTheOneThatWasWrittenToIsWrittenAnew: made again, or cut off at its
// end, which shows when an offset is given out once more.
func TestAJournalThatIsNotTheOneThatWasWrittenToIsWrittenAnew(t *testing.T) {
	for name, harm := range map[string]func(p *pen) offsets.TopicID{
		"made again": func(p *pen) offsets.TopicID {
			p.log.values, p.log.start = nil, 0
			p.l.Use(offsets.TopicID{2}, 1<<20)
			return offsets.TopicID{2}
		},
		"made again, and longer than it was": func(p *pen) offsets.TopicID {
			p.log.values = make([][]byte, 100) // somebody else's
			p.l.Use(offsets.TopicID{2}, 1<<20)
			return offsets.TopicID{2}
		},
		"made again while nobody could write": func(p *pen) offsets.TopicID {
			p.l.Stop(false)
			p.finish(30_001, 30_002)
			p.write(true)
			p.log.values, p.log.start = nil, 0
			p.l.Use(offsets.TopicID{2}, 1<<20)
			return offsets.TopicID{2}
		},
		"cut off": func(p *pen) offsets.TopicID {
			p.log.values = p.log.values[:len(p.log.values)-2]
			return testTopic
		},
	} {
		p := newPen(t, &log{}, Restored{}, offsets.NewWindow(0))
		for round := range int64(5) {
			for o := int64(1); o < 4000; o += 2 {
				p.finish(o+5000*round, o+5000*round+1)
			}
			p.commit(4096)
			p.write(true)
		}
		p.commit(4096)
		topic := harm(p)
		p.finish(40_000, 40_001)
		p.write(true)
		p.finish(40_002, 40_003)
		p.write(true)
		last, enc := p.commit(4096)
		if s := p.l.Status(); !enc.Complete || s.Mode != InJournal || s.Unwritten != 0 {
			t.Errorf("%s: %+v, %+v", name, enc, s)
		}
		w, ext, err := offsets.DecodeAll(last.Metadata, testID.Identity, last.Offset)
		if err != nil {
			t.Fatal(err)
		}
		u := NewReader(testID, w, 5, 1<<40, ext.Journal)
		for at := p.log.start; at < int64(len(p.log.values)); at++ {
			if err := u.Add(at, p.log.values[at], func(int32) (int64, error) { return 1 << 40, nil }); err != nil {
				t.Fatal(err)
			}
		}
		if err := u.Complain(topic, p.log.start, int64(len(p.log.values))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		same(t, w, p.w)
	}
}

// TestWhatIsTakenBackIsSaidNeitherByCommitsNorByLaterRecords.
func TestWhatIsTakenBackIsSaidNeitherByCommitsNorByLaterRecords(t *testing.T) {
	p := newPen(t, &log{}, Restored{}, offsets.NewWindow(0))
	for o := int64(1); o < 10_000; o += 2 {
		p.finish(o, o+1)
	}
	p.commit(4096)
	p.write(true)
	p.finish(20_000, 20_010)
	flying := cutAll(p.l, 5, true, p.now)
	p.finish(20_020, 20_030)
	p.w.ClipAbove(9_000)
	p.l.Lose()
	p.finish(30_000, 30_001)
	for range 3 {
		enc, _ := p.l.Encode(4096, 4096, 0, offsets.RunsState{})
		w, err := offsets.Decode(enc.Metadata, testID.Identity, p.w.Low())
		if err != nil {
			t.Fatal(err)
		}
		w.Each(func(from, to int64) bool {
			for o := from; o < to; o++ {
				if !p.w.Finished(o) {
					t.Fatalf("a commit says that %d is finished", o)
				}
			}
			return true
		})
		for _, c := range flying {
			p.l.Written(Result{Seq: c.Seq, Offset: p.log.append(c.Value)}, p.now)
		}
		later := cutAll(p.l, 6, true, p.now)
		for _, c := range later {
			r, err := Read(c.Value)
			if err != nil {
				t.Fatal(err)
			}
			r.Each(func(from, to int64) {
				if from >= 9_000 && from != 30_000 {
					t.Errorf("a later record says that %d to %d are finished", from, to)
				}
			})
		}
		flying = later
	}
}
