package facts

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"layover/offsets"
)

// bed is one assignment in the order in which a lane does things, with a journal that
// answers only when a commit waits for it. Clock and journal are its own.
type bed struct {
	w *offsets.Window
	l *Writer

	next, start int64    // of the journal: its end, and where it begins
	log         [][]byte // its records from start on, if they are kept
	keep        bool
	owed        []Write
	since       int // finished since the last cut
	nowMs       int64

	before  func()            // a commit's answers come
	last    offsets.Committed // the last commit
	said    int64             // characters of all commits
	live    int64             // most bytes that the journal had to keep
	busy    time.Duration     // in Cut and Encode
	longest time.Duration     // Cut or Encode, at once
}

func newBed(w *offsets.Window) *bed {
	b := &bed{w: w, l: NewWriter(testID, 1, Restored{}, w), nowMs: 1}
	b.l.Use(testTopic, 1<<20)
	return b
}

// turn is how many outcomes a lane takes in before it looks whether a record is full.
const turn = 256

func (b *bed) finish(offset int64) {
	if b.w.Finish(offset) {
		b.note(offset)
	}
}

// note tells the writer alone.
func (b *bed) note(offset int64) {
	b.l.Note(offset, offset+1)
	if b.since++; b.since == turn {
		b.since = 0
		b.cut(false)
	}
}

func (b *bed) cut(all bool) {
	b.timed(func() { b.owed = b.l.Cut(b.owed, 5, all, b.nowMs) })
	for b.l.WantsPart() {
		b.timed(func() { b.owed = b.l.CutPart(b.owed, 5) })
	}
}

func (b *bed) timed(f func()) {
	began := time.Now()
	f()
	took := time.Since(began)
	b.busy += took
	b.longest = max(b.longest, took)
}

// answer acknowledges what is in flight, which may make room for more.
func (b *bed) answer() {
	for len(b.owed) > 0 {
		w := b.owed[0]
		b.owed = b.owed[1:]
		if b.keep {
			b.log = append(b.log, w.Value)
		}
		b.l.Written(Result{Seq: w.Seq, Offset: b.next}, b.nowMs)
		b.next++
		b.cut(false)
	}
	b.owed = nil
}

// commit is one a second.
func (b *bed) commit() {
	b.cut(true)
	if b.before != nil {
		b.before()
	}
	b.answer()
	var enc offsets.Encoded
	var named offsets.JournalRange
	b.timed(func() { enc, named = b.l.Encode(offsets.MaxMetadata, offsets.MaxMetadata, 0, offsets.RunsState{}) })
	b.last = offsets.Committed{Offset: b.w.Low(), LeaderEpoch: 5, Metadata: enc.Metadata}
	b.said += int64(len(enc.Metadata))
	b.live = max(b.live, b.l.Status().Live)
	if below := b.l.Committed(named, math.MaxInt64, b.nowMs); below >= 0 {
		if b.keep {
			b.log = b.log[below-b.start:]
		}
		b.start = below
		b.l.Deleted(below, nil, b.nowMs)
	}
	b.nowMs += 1000
}

// settle commits until the journal has a snapshot and nothing waits.
func (b *bed) settle() {
	for range 3 {
		b.commit()
	}
}

// shuffled calls f with the numbers from 0 to n, which is below 1<<24. Their order
// looks like chance, and takes no memory.
func shuffled(n int64, f func(int64)) {
	const mask = 1<<24 - 1
	for i := range uint32(mask + 1) {
		x := i * 0x9e3779b1 & mask
		x ^= x >> 11
		x = x * 0x85ebca6b & mask
		x ^= x >> 13
		x = x * 0xc2b2ae35 & mask
		if o := int64(x ^ x>>12); o < n {
			f(o)
		}
	}
}

func TestShuffledGivesEachNumberOnce(t *testing.T) {
	const n = 10_000_000
	seen, count := make([]bool, n), 0
	shuffled(n, func(o int64) {
		if seen[o] {
			t.Fatalf("%d twice", o)
		}
		seen[o] = true
		count++
	})
	if count != n {
		t.Errorf("%d numbers, want %d", count, n)
	}
}

// steady is a flow of records, one a step, each of which is finished 1 to reach steps
// later, all equally likely. At any time reach offsets lie between the low offset and
// the head, but for those at the low end that are through already.
type steady struct {
	reach, head int64
	due         []int32 // for each step to come: what finishes then, and one; 0: nothing
	after       []int32 // for each offset in reach: what finishes with it
	rng         *rand.Rand
}

func newSteady(reach int64) *steady {
	return &steady{reach: reach, due: make([]int32, reach+1), after: make([]int32, reach+1), rng: rand.New(rand.NewPCG(3, 1))}
}

// step calls f with what finishes in the next step.
func (s *steady) step(f func(offset int64)) {
	size := s.reach + 1
	at := (s.head + 1 + s.rng.Int64N(s.reach)) % size
	slot := s.head % size
	s.after[slot], s.due[at] = s.due[at], int32(slot)+1
	now := s.head % size
	next := s.due[now]
	s.due[now] = 0
	for next != 0 {
		slot := int64(next - 1)
		f(s.head - (s.head-slot+size)%size)
		next = s.after[slot]
	}
	s.head++
}

// heap is what lives, in bytes, by the account of the runtime.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
