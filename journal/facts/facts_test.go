package facts

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"layover/offsets"
	"layover/verify/long"
)

var testID = Identity{
	Identity: offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{7}, Partition: 3}, Group: "layover", Incarnation: 99,
}

var testTopic = offsets.TopicID{1}

// log is a journal partition as its broker has it.
type log struct {
	values [][]byte
	start  int64
}

func (l *log) append(value []byte) int64 {
	l.values = append(l.values, value)
	return int64(len(l.values) - 1)
}

// pen is an assignment with its window, whose writes go to a log.
type pen struct {
	t   *testing.T
	w   *offsets.Window
	l   *Writer
	log *log
	now int64
}

func newPen(t *testing.T, g *log, r Restored, w *offsets.Window) *pen {
	p := &pen{t: t, w: w, log: g, now: 1}
	p.l = NewWriter(testID, rand.Uint64()|1, r, w)
	p.l.Use(testTopic, 1<<20)
	return p
}

func (p *pen) finish(from, to int64) {
	for o := from; o < to; o++ {
		if p.w.Finish(o) {
			p.l.Note(o, o+1)
		}
	}
}

// cutAll cuts all that may be cut now.
func cutAll(l *Writer, epoch int32, all bool, nowMs int64) []Write {
	out := l.Cut(nil, epoch, all, nowMs)
	for l.WantsPart() {
		out = l.CutPart(out, epoch)
	}
	return out
}

// write cuts and acknowledges until nothing is left to cut.
func (p *pen) write(all bool) (records int) {
	for {
		cut := cutAll(p.l, 5, all, p.now)
		if len(cut) == 0 {
			return records
		}
		for _, c := range cut {
			p.l.Written(Result{Seq: c.Seq, Offset: p.log.append(c.Value)}, p.now)
			records++
		}
	}
}

// commit builds a commit that succeeds, and deletes what may be deleted.
func (p *pen) commit(limit int) (offsets.Committed, offsets.Encoded) {
	enc, named := p.l.Encode(limit, limit, 0, offsets.RunsState{})
	if below := p.l.Committed(named, math.MaxInt64, p.now); below >= 0 {
		p.log.start = below
		p.l.Deleted(below, nil, p.now)
	}
	return offsets.Committed{Offset: p.w.Low(), LeaderEpoch: 5, Metadata: enc.Metadata}, enc
}

// restore reads back what a commit and the log say.
func restore(t *testing.T, g *log, c offsets.Committed) (*offsets.Window, *Reader, Restored) {
	t.Helper()
	w, ext, err := offsets.DecodeAll(c.Metadata, testID.Identity, c.Offset)
	if err != nil {
		t.Fatal(err)
	}
	if ext.Incarnation != testID.Incarnation {
		t.Fatalf("incarnation %d", ext.Incarnation)
	}
	var tail []Run
	w.Each(func(from, to int64) bool { tail = append(tail, Run{from, to}); return true })
	u := NewReader(testID, w, c.LeaderEpoch, 1<<40, ext.Journal)
	for at := g.start; at < int64(len(g.values)); at++ {
		if err := u.Add(at, g.values[at], func(int32) (int64, error) { return 1 << 40, nil }); err != nil {
			t.Fatal(err)
		}
	}
	complaint := u.Complain(testTopic, g.start, int64(len(g.values)))
	if complaint != nil {
		t.Errorf("complaint: %v", complaint)
	}
	return w, u, u.Restored(complaint == nil, g.start, tail)
}

func same(t *testing.T, got, want *offsets.Window) {
	t.Helper()
	if got.Low() != want.Low() || got.Above() != want.Above() || got.Runs() != want.Runs() || got.Highest() != want.Highest() {
		t.Fatalf("low %d, %d above in %d runs up to %d; want low %d, %d above in %d runs up to %d",
			got.Low(), got.Above(), got.Runs(), got.Highest(), want.Low(), want.Above(), want.Runs(), want.Highest())
	}
	want.Each(func(from, to int64) bool {
		if !got.Finished(from) || got.NextUnfinished(from) != to {
			t.Fatalf("run %d to %d is missing", from, to)
		}
		return true
	})
}

// TestASetThatFitsLeavesTheJournalEmpty is the promise to everybody with few records.
func TestASetThatFitsLeavesTheJournalEmpty(t *testing.T) {
	p := newPen(t, &log{}, Restored{}, offsets.NewWindow(0))
	for o := int64(1); o < 1000; o += 2 {
		p.finish(o, o+1)
		p.write(true)
		if _, enc := p.commit(4096); !enc.Complete {
			t.Fatalf("incomplete with %d offsets", p.w.Above())
		}
	}
	if len(p.log.values) > 0 || p.l.Status().Mode != InMetadata {
		t.Errorf("%d records in the journal, mode %v", len(p.log.values), p.l.Status().Mode)
	}
}

// TestARestartFindsWhatWasSaid runs assignments over random sets: whatever was committed
// last, and with the journal as it is, the next one begins with all of it.
func TestARestartFindsWhatWasSaid(t *testing.T) {
	long.Only(t)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		g, w, r := &log{}, offsets.NewWindow(0), Restored{}
		journalled := false
		for range 6 {
			p := newPen(t, g, r, w)
			for range 1 + rng.IntN(30) {
				for range rng.IntN(2000) {
					o := w.Low() + rng.Int64N(60_000)
					p.finish(o, o+1)
				}
				if rng.IntN(4) == 0 {
					p.finish(w.Low(), w.Low()+rng.Int64N(40_000))
				}
				p.write(rng.IntN(3) > 0)
				p.commit(1024)
				p.now += 1000
			}
			p.write(true)
			last, enc := p.commit(1024)
			if !enc.Complete && p.l.Status().Mode == InJournal && p.l.Status().Unwritten > 0 {
				t.Fatalf("seed %d: %d finished offsets are nowhere: %+v", seed, enc.Left, p.l.Status())
			}
			journalled = journalled || p.l.Status().Mode == InJournal
			// The first commit that does not fit is made before there is a snapshot.
			if p.l.Status().Mode == InJournal {
				p.write(true)
				last, _ = p.commit(1024)
			}
			read, _, restored := restore(t, g, last)
			same(t, read, w)
			w, r = read, restored
		}
		if !journalled {
			t.Errorf("seed %d never needed the journal", seed)
		}
	}
}

// TestTheJournalIsLeftWhenTheSetFitsHalf: with hysteresis, and with next to nothing left
// behind.
func TestTheJournalIsLeftWhenTheSetFitsHalf(t *testing.T) {
	g := &log{}
	p := newPen(t, g, Restored{}, offsets.NewWindow(0))
	for o := int64(1); o < 20_000; o += 2 {
		p.finish(o, o+1)
	}
	p.commit(4096)
	p.write(true)
	if _, enc := p.commit(4096); !enc.Complete || p.l.Status().Mode != InJournal {
		t.Fatalf("%+v, %v", enc, p.l.Status().Mode)
	}
	for p.w.Runs() > 1000 {
		p.finish(p.w.Low(), p.w.Low()+1)
	}
	for range 3 {
		p.write(true)
		p.commit(4096)
	}
	if m := p.l.Status().Mode; m != InJournal {
		t.Fatalf("mode is %v with %d runs", m, p.w.Runs())
	}
	p.finish(p.w.Low(), 19_000)
	for range 3 {
		p.write(true)
		p.commit(4096)
	}
	left := 0
	for _, v := range g.values[g.start:] {
		left += len(v)
	}
	if m := p.l.Status().Mode; m != InMetadata || left > 4096 {
		t.Errorf("mode is %v, and %d bytes are left", m, left)
	}
	last, _ := p.commit(4096)
	read, _, _ := restore(t, g, last)
	same(t, read, p.w)
}

func TestTheLiveJournalStaysInProportionToTheSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	g := &log{}
	p := newPen(t, g, Restored{}, offsets.NewWindow(0))
	most := 0
	for round := range 300 {
		for range 2000 { // a window of a million, of which a tenth waits
			o := p.w.Low() + rng.Int64N(1_000_000)
			p.finish(o, o+1)
		}
		p.finish(p.w.Low(), p.w.Low()+1+rng.Int64N(3000))
		p.write(true)
		p.commit(4096)
		live := 0
		for _, v := range g.values[g.start:] {
			live += len(v)
		}
		if round > 20 {
			most = max(most, live)
		}
	}
	snapshot := 0
	set, _, _ := offsets.AppendRuns(nil, p.w.Low(), 1<<30, p.w.Each)
	snapshot = len(set)
	if s := p.l.Status(); s.Stats.Snapshots < 3 || most > 3*snapshot+3*maxRecord || s.Live > int64(most) {
		t.Errorf("at most %d bytes were live, status says %d; the set takes %d; %+v", most, s.Live, snapshot, s)
	}
	last, _ := p.commit(4096)
	read, _, _ := restore(t, g, last)
	same(t, read, p.w)
}

// TestWhatWasRefusedIsWrittenAnew: a failed record, or any of a snapshot, costs a
// snapshot and nothing else.
func TestWhatWasRefusedIsWrittenAnew(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	g := &log{}
	p := newPen(t, g, Restored{}, offsets.NewWindow(0))
	for range 200 {
		for range 500 {
			o := p.w.Low() + rng.Int64N(100_000)
			p.finish(o, o+1)
		}
		for _, c := range cutAll(p.l, 5, true, p.now) {
			r := Result{Seq: c.Seq}
			switch n := rng.IntN(60); {
			case n < 10:
				r.Err = errors.New("refused")
			case n == 10:
				r.Err, r.TooLarge = errors.New("too large"), true
				p.log.append(c.Value) // and yet it was written
			default:
				r.Offset = p.log.append(c.Value)
			}
			p.l.Written(r, p.now)
		}
		p.commit(1024)
		p.now += 1001
		p.l.Use(testTopic, 1<<20)
	}
	if p.l.Status().Stats.Failures < 20 {
		t.Fatal("hardly anything was refused")
	}
	p.write(true)
	last, enc := p.commit(1024)
	if !enc.Complete {
		t.Fatalf("%+v, %+v", enc, p.l.Status())
	}
	read, _, _ := restore(t, g, last)
	same(t, read, p.w)
}

// TestMemoryIsBoundedWhileNothingIsAnswered: the journal may be away for ever.
func TestMemoryIsBoundedWhileNothingIsAnswered(t *testing.T) {
	g := &log{}
	p := newPen(t, g, Restored{}, offsets.NewWindow(0))
	rng := rand.New(rand.NewPCG(3, 3))
	for range 400 {
		for range 5000 {
			o := p.w.Low() + rng.Int64N(4_000_000)
			p.finish(o, o+1)
		}
		cutAll(p.l, 5, true, p.now)
		_, enc := p.l.Encode(4096, 4096, 0, offsets.RunsState{})
		_ = enc
		if b := p.l.Bytes(); b > 900<<10 {
			t.Fatalf("%d bytes", b)
		}
		p.now += 1000
	}
	if n := p.l.notAcknowledged(); n < p.w.Above() || n > p.w.Above()+p.w.Low() {
		t.Errorf("%d are said to be unwritten, of %d", n, p.w.Above())
	}
}
