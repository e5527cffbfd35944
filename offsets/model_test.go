package offsets

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// model is the window without any idea: a map, and low found by counting.
// Offsets below low are not in the map.
type model struct {
	low      int64
	finished map[int64]bool
}

func newModel(low int64) *model { return &model{low: low, finished: map[int64]bool{}} }

func (m *model) has(offset int64) bool { return offset < m.low || m.finished[offset] }

func (m *model) finish(offset int64) bool {
	if offset == math.MaxInt64 || m.has(offset) {
		return false
	}
	m.finished[offset] = true
	for m.finished[m.low] {
		delete(m.finished, m.low)
		m.low++
	}
	return true
}

func (m *model) finishRange(from, to int64) (newly int64) {
	for offset := max(from, m.low); offset < to; offset++ {
		if m.finish(offset) {
			newly++
		}
	}
	return newly
}

func (m *model) clip(end int64) (gone int64) {
	for offset := range m.finished {
		if offset >= end {
			delete(m.finished, offset)
			gone++
		}
	}
	return gone
}

func (m *model) highest() int64 {
	highest := m.low - 1
	for offset := range m.finished {
		highest = max(highest, offset)
	}
	return highest
}

func (m *model) nextUnfinished(from int64) int64 {
	for from = max(from, m.low); m.has(from); {
		from++
	}
	return from
}

func (m *model) nextFinished(from int64) (int64, bool) {
	for highest := m.highest(); from <= highest; from++ {
		if from > m.low && m.finished[from] {
			return from, true
		}
	}
	return 0, false
}

// runs returns from, to, from, to and so on.
func (m *model) runs() (runs []int64) {
	highest := m.highest()
	for offset := m.low; offset <= highest; offset++ {
		if !m.finished[offset] {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1] == offset {
			runs[n-1]++
		} else {
			runs = append(runs, offset, offset+1)
		}
	}
	return runs
}

// add is offset+n, or the largest int64 if that is lower.
func add(offset, n int64) int64 {
	if n > 0 && offset > math.MaxInt64-n {
		return math.MaxInt64
	}
	return offset + n
}

var testIdentity = Identity{ClusterID: "Xk3Tz0bJQ1qf2nZ8yVwYzA", TopicID: TopicID{0: 0xa1, 15: 0x0f}, Partition: 3}

// lows are where the model's windows start, picked by the first byte.
var lows = []int64{0, 1, 4095, 123_456, 1 << 62, math.MaxInt64 - 9_000}

// agree runs the operations that input spells, four bytes each, on a window
// and on the model, and fails at the first difference.
func agree(t *testing.T, input []byte) {
	t.Helper()
	if len(input) == 0 {
		return
	}
	low := lows[int(input[0])%len(lows)]
	w, m := NewWindow(low), newModel(low)
	input = input[1:]
	for n := 0; len(input) >= 4 && n < 512; n++ {
		w = apply(t, w, m, input[0], binary.BigEndian.Uint16(input[1:]), int64(input[3]))
		if w.Low() != m.low || w.Above() != int64(len(m.finished)) {
			t.Fatalf("after %d operations low %d, above %d, want %d, %d", n+1, w.Low(), w.Above(), m.low, len(m.finished))
		}
		if n%32 == 0 {
			compare(t, w, m)
		}
		input = input[4:]
	}
	compare(t, w, m)
}

// apply applies one operation near low to both, compares the results, and
// returns the window to go on with.
func apply(t *testing.T, w *Window, m *model, kind byte, a uint16, b int64) *Window {
	t.Helper()
	check := func(name string, at, got, want int64) {
		t.Helper()
		if got != want {
			t.Fatalf("%s at low%+d: got %d, want %d", name, at-m.low, got, want)
		}
	}
	at := add(m.low, int64(a)%(6*pageSize)-200)
	switch kind % 16 {
	case 8:
		check("FinishRange", at, w.FinishRange(at, add(at, b)), m.finishRange(at, add(at, b)))
	case 9:
		check("FinishRange", at, w.FinishRange(at, add(at, b*64)), m.finishRange(at, add(at, b*64)))
	case 10: // Whole pages of the window's own.
		at = add(w.start((m.low-w.origin)>>pageShift), int64(a%6)*pageSize)
		to := add(at, b%3*pageSize)
		check("FinishRange", at, w.FinishRange(at, to), m.finishRange(at, to))
	case 11:
		check("Finish", m.low, btoi(w.Finish(m.low)), btoi(m.finish(m.low)))
	case 12:
		check("FinishRange", m.low, w.FinishRange(m.low, add(m.low, b)), m.finishRange(m.low, add(m.low, b)))
	case 13:
		if b < 64 {
			check("ClipAbove", at, w.ClipAbove(at), m.clip(at))
		}
	case 14:
		check("NextUnfinished", at, w.NextUnfinished(at), m.nextUnfinished(at))
	case 15: // Go on with what a restart would read.
		encoded := w.Encode(testIdentity, maxText)
		decoded, err := Decode(encoded.Metadata, testIdentity, w.Low())
		if err != nil || !encoded.Complete {
			t.Fatalf("complete %v, decoded with %v", encoded.Complete, err)
		}
		return decoded
	default:
		check("Finished", at, btoi(w.Finished(at)), btoi(m.has(at)))
		check("Finish", at, btoi(w.Finish(at)), btoi(m.finish(at)))
	}
	return w
}

func btoi(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// compare holds everything that can be asked of the window against the model.
func compare(t *testing.T, w *Window, m *model) {
	t.Helper()
	var runs []int64
	w.Each(func(from, to int64) bool {
		runs = append(runs, from, to)
		return true
	})
	want := m.runs()
	if len(runs) != len(want) {
		t.Fatalf("%d runs, want %d", len(runs)/2, len(want)/2)
	}
	for i := range want {
		if runs[i] != want[i] {
			t.Fatalf("run %d is %d, want %d", i/2, runs[i/2*2:i/2*2+2], want[i/2*2:i/2*2+2])
		}
	}
	if w.Runs() != len(want)/2 || w.Above() != int64(len(m.finished)) || w.Low() != m.low || w.Highest() != m.highest() {
		t.Fatalf("runs %d above %d low %d highest %d, want %d %d %d %d", w.Runs(), w.Above(), w.Low(), w.Highest(),
			len(want)/2, len(m.finished), m.low, m.highest())
	}
	checkInvariants(t, w)
}

// checkInvariants checks what the fields of Window say of each other.
func checkInvariants(t *testing.T, w *Window) {
	t.Helper()
	pages, end, endFull := int64(0), int64(0), false
	lowPage, lowBit := w.locate(w.low)
	for i, s := range w.spans {
		if s.count < 1 || s.first < end || s.first < lowPage {
			t.Fatalf("span %d at page %d, %d pages; the one before ends at %d, low is in %d", i, s.first, s.count, end, lowPage)
		}
		if s.page == nil && endFull && s.first == end {
			t.Fatalf("full span %d touches the one before", i)
		}
		end, endFull = s.first+s.count, s.page == nil
		if s.page == nil {
			continue
		}
		pages++
		if s.count != 1 || s.page.full() || s.page.highest() < 0 {
			t.Fatalf("page %d of %d, full %v, highest bit %d", s.first, s.count, s.page.full(), s.page.highest())
		}
		if s.first == lowPage && s.page.next(0, math.MaxUint64) != lowBit {
			t.Fatalf("first clear bit in the page of low is %d, want %d", s.page.next(0, math.MaxUint64), lowBit)
		}
	}
	if pages != w.pages {
		t.Fatalf("%d pages counted, %d held", w.pages, pages)
	}
	if w.dead > len(w.spans)+deadSpans {
		t.Fatalf("%d dead spans beside %d", w.dead, len(w.spans))
	}
}

func TestWindowAgreesWithModel(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 1))
		input := make([]byte, 1+4*256)
		for i := range input {
			input[i] = byte(rng.Uint32())
		}
		agree(t, input)
	}
}

func FuzzWindowAgreesWithModel(f *testing.F) {
	f.Add([]byte{0, 0, 0, 201, 0, 11, 0, 0, 0})                              // One above low, then low.
	f.Add([]byte{1, 10, 0, 1, 2, 13, 12, 200, 0, 12, 0, 0, 255})             // Whole pages, clipped inside.
	f.Add([]byte{4, 9, 0, 250, 255, 0, 0, 245, 0, 15, 0, 0, 0, 11, 0, 0, 0}) // A restart in the middle.
	f.Add([]byte{5, 9, 30, 0, 255, 0, 255, 255, 0, 10, 0, 2, 2, 14, 9, 9, 9})
	f.Add([]byte{0, 0, 0, 250, 0, 8, 0, 0, 9}) // A range that starts below zero.
	f.Add([]byte{2, 8, 0, 201, 9, 8, 0, 211, 9, 0, 0, 210, 0, 13, 0, 205, 0})
	f.Fuzz(agree)
}
