package far

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"layover/journal/runs"
	"layover/offsets"
	"layover/verify/long"
)

// world is a runs partition, whoever writes to it, and one assignment's index after the other.
type world struct {
	t    *testing.T
	dice *rand.Rand
	log  []*written // by offset
	// start is where the log begins.
	start int64
	nowMs int64

	x      *Index
	writer uint64
	run    uint64
	acks   []*written     // acknowledgements that are on their way, in order
	parked map[int64]bool // taken by this assignment, and not finished
	facts  *offsets.Window
	said   Said
	dir    *runs.Directory
	dirAt  int64 // its offset
	lost   int64 // copies that were deleted
	taken  int64 // copies that compaction has taken
	missed int64 // of those, the ones that this index has told of
	told   int64 // the same of all indexes
	last   int64 // deadline of the last copy of the flush
}

// written is a record of the log.
type written struct {
	Found
	copied bool // else a directory, or a stranger's
	done   bool
}

func (w *world) append(r written) *written {
	r.Offset = int64(len(w.log))
	w.log = append(w.log, &r)
	return &r
}

// flush begins a run.
func (w *world) flush() {
	w.x.Seal()
	w.run++
	w.last = w.nowMs + 100 + w.dice.Int64N(2000)
}

// move writes copies of the run in hand. Their answers come later.
func (w *world) move() {
	for range 1 + w.dice.IntN(30) {
		w.last += w.dice.Int64N(300)
		r := w.append(written{Found: Found{DeadlineMs: w.last, Bytes: 1 + w.dice.Int64N(50), Writer: w.writer, Run: w.run}, copied: true})
		w.acks = append(w.acks, r)
		if w.dice.IntN(20) == 0 {
			w.strange()
		}
	}
}

// strange appends what this assignment did not write: a zombie's copies, which ascend or not,
// or a record that is none.
func (w *world) strange() {
	if w.dice.IntN(3) == 0 {
		w.append(written{})
		return
	}
	for range 1 + w.dice.IntN(5) {
		w.append(written{Found: Found{DeadlineMs: w.nowMs + 100 + w.dice.Int64N(5000), Bytes: 5, Writer: 1 + w.dice.Uint64N(w.writer), Run: w.dice.Uint64N(3)}, copied: true})
	}
}

// answer gives some answers, in order.
func (w *world) answer(n int) {
	for n = min(n, len(w.acks)); n > 0; n-- {
		w.x.Acked(w.acks[0].Found)
		w.acks = w.acks[1:]
	}
}

// read reads offsets and parks what is given out.
func (w *world) read(from, to, untilMs, room int64) {
	from, to = max(from, w.start), min(to, int64(len(w.log)))
	if from >= to {
		return
	}
	if n := w.dice.Int64N(60) + 1; w.dice.IntN(3) == 0 {
		to = min(to, from+n) // an answer ends where it is full
	}
	var found []Found
	for _, r := range w.log[from:to] {
		if r.copied {
			found = append(found, r.Found)
		}
	}
	take := w.x.Read(from, to, found, untilMs, room, nil)
	lost := w.x.Lost()
	w.told += lost
	if w.missed += lost; w.missed > w.taken {
		w.t.Fatalf("%d copies are missed, and compaction has taken %d", w.missed, w.taken)
	}
	for _, i := range take {
		f := found[i]
		if f.DeadlineMs > untilMs {
			w.t.Fatalf("offset %d is due at %d, asked was until %d", f.Offset, f.DeadlineMs, untilMs)
		}
		if w.parked[f.Offset] {
			w.t.Fatalf("offset %d is taken twice", f.Offset)
		}
		if w.log[f.Offset].done { // an earlier assignment has not said so: a repeat
			w.x.Finish(f.Offset)
			continue
		}
		w.parked[f.Offset] = true
	}
}

// gaps reads what others wrote in between.
func (w *world) gaps() {
	for {
		from, to, ok := w.x.Gap()
		if !ok {
			break
		}
		w.read(from, to, w.nowMs, 1<<20)
	}
}

// visit visits until nothing is due within a while.
func (w *world) visit(aheadMs int64) {
	for n := 0; ; n++ {
		until := w.nowMs + aheadMs
		v, ok := w.x.Next(until)
		if !ok || v.DueMs > until {
			return
		}
		if n > 10*len(w.log)+100 {
			w.t.Fatalf("visits do not end: %+v", v)
		}
		w.read(v.From, v.To, until, 20+w.dice.Int64N(500)+50)
	}
}

// pass lets time pass: all that was parked and is due is delivered.
func (w *world) pass() {
	w.nowMs += w.dice.Int64N(400)
	w.visit(w.dice.Int64N(200))
	if n := w.x.Overdue(w.nowMs); n > 0 {
		w.t.Fatalf("%d copies are overdue, and all have been visited", n)
	}
	for _, r := range w.log[:w.x.Known()] {
		if r.copied && !r.done && r.DeadlineMs <= w.nowMs {
			if !w.parked[r.Offset] {
				w.t.Fatalf("offset %d was due at %d, and at %d nobody has it", r.Offset, r.DeadlineMs, w.nowMs)
			}
			w.end(r)
		}
	}
}

// end delivers a copy, or has moved it again.
func (w *world) end(r *written) {
	r.done = true
	delete(w.parked, r.Offset)
	if !w.x.Finish(r.Offset) || w.x.Finish(r.Offset) {
		w.t.Fatalf("offset %d does not end once", r.Offset)
	}
}

// remove deletes records: at most what is finished, or more by accident.
func (w *world) remove() {
	to := w.x.Low()
	if w.dice.IntN(8) == 0 {
		to = min(to+w.dice.Int64N(40), w.x.Known())
	}
	if to <= w.start {
		return
	}
	gone := int64(0)
	for _, r := range w.log[w.start:to] {
		if r.copied && !r.done && !w.parked[r.Offset] {
			gone++
			r.done = true
		}
	}
	w.start = to
	if lost := w.x.Start(to); lost < gone {
		w.t.Fatalf("%d copies are gone, %d were said", gone, lost)
	}
	w.lost += gone
}

// save keeps what a commit and the journal keep, and perhaps a directory.
func (w *world) save() {
	w.gaps()
	w.facts = clone(w.x.window)
	w.said = Said{w.x.Known(), w.x.DueMs()}
	if w.dice.IntN(2) == 0 {
		return
	}
	d, err := w.x.Directory()
	if err != nil {
		w.t.Fatal(err)
	}
	w.lists(&d)
	value, err := runs.AppendDirectory(nil, runs.Identity{}, &d)
	if err != nil {
		w.t.Fatal(err)
	}
	if d, err = runs.ReadDirectory(runs.Identity{}, nil, value, nil); err != nil {
		w.t.Fatal(err)
	}
	w.dir = &d
	r := w.append(written{})
	w.dirAt = r.Offset
	if len(w.acks) == 0 {
		w.x.Listed(w.x.epoch, r.Offset)
	}
}

// assign begins another assignment with what was saved.
func (w *world) assign() {
	w.writer++
	for offset := range w.parked {
		w.log[offset].done = offset < w.start // in memory alone
	}
	w.acks, w.parked, w.missed = nil, make(map[int64]bool), 0
	window := clone(w.facts)
	if w.dice.IntN(4) == 0 { // the journal is gone
		window = offsets.NewWindow(w.start)
	}
	w.x = New(Beginning{Writer: w.writer, Window: window, Said: w.said})
	if w.dir != nil && w.dice.IntN(3) > 0 {
		w.x.Adopt(w.dir, w.dirAt)
	}
	end := int64(len(w.log))
	w.x.Log(offsets.Bounds{Start: w.start, End: end})
	w.gaps()
	if w.x.Known() < end {
		w.t.Fatalf("offsets from %d on were not read, the log ended at %d", w.x.Known(), end)
	}
	w.x.Seal()
	w.flush()
}

func clone(w *offsets.Window) *offsets.Window {
	out := offsets.NewWindow(w.Low())
	w.Each(func(from, to int64) bool { out.FinishRange(from, to); return true })
	return out
}

// check compares the index with the world.
func (w *world) check() {
	for offset, r := range w.log {
		offset := int64(offset)
		switch {
		case r.copied && !r.done && w.x.Finished(offset):
			w.t.Fatalf("offset %d is finished and has no outcome", offset)
		case offset < w.said.Known && r.copied && !r.done && r.DeadlineMs <= w.said.DueMs:
			w.t.Fatalf("offset %d, due at %d, is none that %+v calls finished", offset, r.DeadlineMs, w.said)
		}
	}
	due, known := w.x.DueMs(), w.x.Known()
	for _, r := range w.log[w.start:known] {
		if r.copied && !r.done && r.DeadlineMs <= due {
			w.t.Fatalf("offset %d below %d is not finished, due at %d, by %d", r.Offset, known, r.DeadlineMs, due)
		}
	}
	w.seen()
}

// seen compares what is told of the copies that wait with those that do.
func (w *world) seen() {
	next, some := w.x.NextMs()
	furthest, overdue := w.x.FurthestMs(), false
	for _, r := range w.log[w.start:w.x.Known()] {
		if !r.copied || r.done || w.x.taken.Finished(r.Offset) {
			continue
		}
		overdue = overdue || r.DeadlineMs <= w.nowMs
		if !some || next > r.DeadlineMs || furthest < r.DeadlineMs {
			w.t.Fatalf("offset %d is due at %d, the next at %d (%v), the last at %d", r.Offset, r.DeadlineMs, next, some, furthest)
		}
	}
	if n := w.x.Overdue(w.nowMs); overdue && n == 0 && len(w.x.growing) == 0 {
		w.t.Fatal("a copy is overdue, and none is said to be")
	}
	w.counted(w.nowMs, w.nowMs+300, w.nowMs+3000)
}

// counted compares what is told of several instants at once with what is told of each, and with the copies that wait.
func (w *world) counted(ms ...int64) {
	told := make([]int64, len(ms))
	w.x.Count(ms, told)
	for i := range ms {
		n := int64(0)
		for _, r := range w.log[w.start:w.x.Known()] {
			if r.copied && !r.done && !w.x.taken.Finished(r.Offset) && r.DeadlineMs <= ms[i] {
				n++
			}
		}
		if by := w.x.DueBy(ms[i]).Copies; told[i] < n || told[i] != by {
			w.t.Fatalf("%d copies are due by %d, %d at most is told with others, and %d alone", n, ms[i], told[i], by)
		}
	}
}

// lists checks that a directory leaves no copy out.
func (w *world) lists(d *runs.Directory) {
	for _, r := range w.log[w.start:d.End] {
		if r.copied && !r.done && !slices.ContainsFunc(d.Runs, func(n runs.Run) bool { return n.Position <= r.Offset && r.Offset <= n.Last }) {
			w.t.Fatalf("offset %d is in no run", r.Offset)
		}
	}
}

func TestIndexAgainstAModel(t *testing.T) {
	seeds := uint64(long.Of(400, 100))
	if testing.Short() {
		seeds = 40
	}
	did := make(map[string]int)
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { simulate(t, seed, did) })
	}
	t.Log(did)
	for _, kind := range []string{"flush", "move", "strange", "answer", "gaps", "pass", "remove", "save", "assign", "compact", "taken", "lost", "missed"} {
		if did[kind] == 0 {
			t.Errorf("nothing of the kind: %s, among %v", kind, slices.Sorted(maps.Keys(did)))
		}
	}
}

func simulate(t *testing.T, seed uint64, did map[string]int) {
	w := &world{t: t, dice: rand.New(rand.NewPCG(seed, 7)), nowMs: 1000, facts: offsets.NewWindow(0)}
	w.assign()
	steps := []struct {
		name  string
		often int
		do    func()
	}{
		{"flush", 3, w.flush}, {"move", 10, w.move}, {"strange", 2, w.strange}, {"answer", 8, func() { w.answer(w.dice.IntN(30)) }},
		{"gaps", 6, w.gaps}, {"pass", 8, w.pass}, {"remove", 2, w.remove}, {"save", 4, w.save}, {"assign", 1, w.assign}, {"compact", 1, w.compact},
	}
	for range 150 {
		at := w.dice.IntN(45)
		for _, s := range steps {
			if at -= s.often; at < 0 {
				s.do()
				did[s.name]++
				break
			}
		}
		did["taken"] += len(w.parked)
		w.check()
	}
	w.drain()
	did["lost"] += int(w.lost)
	did["missed"] += int(w.told)
}

// drain ends the run: all that counts is delivered in the end.
func (w *world) drain() {
	w.answer(len(w.acks))
	w.assign()
	last := int64(0)
	for _, r := range w.log {
		last = max(last, r.DeadlineMs)
	}
	for n := 0; n < 100 || w.nowMs < last; n++ {
		w.nowMs += 500
		w.pass()
	}
	for _, r := range w.log[w.start:] {
		if r.copied && !r.done {
			w.t.Fatalf("offset %d, due at %d, was never delivered by %d", r.Offset, r.DeadlineMs, w.nowMs)
		}
	}
	if n, count := w.x.Waiting(); n.Copies != 0 || count != 0 {
		w.t.Errorf("%d copies wait in %d runs", n.Copies, count)
	}
}
