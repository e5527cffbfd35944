package wheel

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"
)

// tiny is the smallest wheel in which a level is as wide as a slot of the next.
var tiny = Geometry{TickMs: 1, Slots: 4, Factor: 4, Levels: 3}

// geometries are the shapes every property has to hold for.
var geometries = map[string]Geometry{
	"tiny without overlap": tiny,
	"tiny with overlap":    {TickMs: 1, Slots: 4, Factor: 2, Levels: 3},
	"smallest":             {TickMs: 1, Slots: 2, Factor: 2, Levels: 1},
	"one level":            {TickMs: 3, Slots: 8, Factor: 2, Levels: 1},
	"coarse tick":          {TickMs: 10, Slots: 4, Factor: 4, Levels: 2},
	"many levels":          {TickMs: 1, Slots: 2, Factor: 2, Levels: 20},
	"widest narrow bucket": {TickMs: 1, Slots: 65536, Factor: 65536, Levels: 4},
	"five overlapping":     {TickMs: 1, Slots: 4, Factor: 2, Levels: 5},
	"fourfold overlap":     {TickMs: 1, Slots: 16, Factor: 4, Levels: 4},
	"default":              DefaultGeometry(),
}

// modelRecord is a record as the model knows it.
type modelRecord struct {
	tick    *big.Int // no arithmetic shared with the wheel
	handle  Handle
	payload uint64
}

// model is a sorted slice, and the wheel beside it. Each method does the same
// to both and fails the test where they differ.
type model struct {
	t       testing.TB
	w       *TimingWheel
	tickMs  int64
	parked  []modelRecord // by tick, then by age
	gone    []Handle      // handles that must not cancel anything any more
	payload uint64
	adds    int // records since the wheel was last empty for certain

	unfinished bool // the last advance left something due
	taking     modelPass
}

func newModel(t testing.TB, startMs int64, g Geometry, first uint64) *model {
	return newPacedModel(t, startMs, g, first, finestPace)
}

func newPacedModel(t testing.TB, startMs int64, g Geometry, first uint64, p pace) *model {
	w := newWithSequence(startMs, g, first)
	w.pace = p
	w.clearBuckets()
	return &model{t: t, w: w, tickMs: g.TickMs}
}

// finestPace makes a little data go through all that takes a lot otherwise.
var finestPace = pace{leadShare: 1, shareChunks: 1, cancelsPerStep: 1, minDead: 0, readsPerStep: 1, minFree: 0}

// ceil and floor divide an instant into ticks.
func (m *model) ceil(ms int64) *big.Int {
	tick, rest := m.divMod(ms)
	if rest.Sign() != 0 {
		tick.Add(tick, big.NewInt(1))
	}
	return tick
}

func (m *model) floor(ms int64) *big.Int {
	tick, _ := m.divMod(ms)
	return tick
}

func (m *model) divMod(ms int64) (tick, rest *big.Int) {
	return new(big.Int).DivMod(big.NewInt(ms), big.NewInt(m.tickMs), new(big.Int))
}

// ms is the instant of a tick, saturated.
func (m *model) ms(tick *big.Int) int64 {
	ms := new(big.Int).Mul(tick, big.NewInt(m.tickMs))
	if !ms.IsInt64() {
		return math.MaxInt64
	}
	return ms.Int64()
}

// park enters what the wheel was given. Of equal ticks the newest is last.
func (m *model) park(deadlineMs int64, h Handle, payload uint64) {
	tick := m.ceil(deadlineMs)
	if now := m.floor(m.w.NowMs()); tick.Cmp(now) < 0 {
		tick = now
	}
	i, _ := slices.BinarySearchFunc(m.parked, tick, func(r modelRecord, tick *big.Int) int {
		if c := r.tick.Cmp(tick); c != 0 {
			return c
		}
		return -1
	})
	m.parked = slices.Insert(m.parked, i, modelRecord{tick: tick, handle: h, payload: payload})
	m.adds++
}

func (m *model) add(deadlineMs int64) Handle {
	m.t.Helper()
	m.payload++
	h := m.w.Add(deadlineMs, m.payload)
	if h == 0 {
		m.t.Fatal("Add returned the zero handle")
	}
	m.park(deadlineMs, h, m.payload)
	return h
}

// cancel cancels the i-th parked record, twice.
func (m *model) cancel(i int) {
	m.t.Helper()
	h := m.parked[i].handle
	if !m.w.Cancel(h) {
		m.t.Fatalf("Cancel(%d) of a parked record is false", h)
	}
	m.parked = slices.Delete(m.parked, i, i+1)
	m.retire(h)
	m.cancelGone(len(m.gone) - 1)
}

func (m *model) retire(h Handle) {
	if len(m.gone) == 1000 {
		m.gone = slices.Delete(m.gone, 0, 500)
	}
	m.gone = append(m.gone, h)
}

// cancelGone cancels the i-th of the handles that are void.
func (m *model) cancelGone(i int) {
	m.t.Helper()
	if h := m.gone[i]; m.w.Cancel(h) {
		m.t.Fatalf("Cancel(%d) of a record that is gone is true", h)
	}
}

// advance calls AdvanceClock once: what comes out must be a beginning of what
// the model has, and all that is due unless more is true.
func (m *model) advance(nowMs int64, budget int) (more bool) {
	m.t.Helper()
	before := m.w.NowMs()
	kept := []uint64{777}
	out, more := m.w.AdvanceClock(nowMs, budget, kept)
	if nowMs >= before {
		m.unfinished = more
	}
	if out[0] != 777 {
		m.t.Fatal("AdvanceClock did not append")
	}
	out = out[1:]
	if nowMs < before {
		if len(out) > 0 || more || m.w.NowMs() != before {
			m.t.Fatalf("AdvanceClock(%d) with the clock at %d: %d payloads, more %v, clock %d", nowMs, before, len(out), more, m.w.NowMs())
		}
		return false
	}
	if len(out) > max(budget, 0) || len(out) > len(m.parked) {
		m.t.Fatalf("AdvanceClock handed out %d of %d records with a budget of %d", len(out), len(m.parked), budget)
	}
	now := m.floor(nowMs)
	for i, payload := range out {
		r := m.parked[i]
		if r.payload != payload {
			m.t.Fatalf("AdvanceClock(%d): payload %d, want %d of tick %s", nowMs, payload, r.payload, r.tick)
		}
		if r.tick.Cmp(now) > 0 || r.tick.Cmp(m.floor(m.w.NowMs())) > 0 {
			m.t.Fatalf("AdvanceClock(%d) with the clock at %d: payload of tick %s is early", nowMs, m.w.NowMs(), r.tick)
		}
		m.retire(r.handle)
	}
	m.parked = slices.Delete(m.parked, 0, len(out))
	m.checkClock(before, nowMs, more)
	return more
}

// checkClock checks where AdvanceClock left the clock.
func (m *model) checkClock(before, nowMs int64, more bool) {
	m.t.Helper()
	at := m.w.NowMs()
	if at < before || at > nowMs || !more && at != nowMs {
		m.t.Fatalf("AdvanceClock(%d) from %d, more %v: the clock is at %d", nowMs, before, more, at)
	}
	if len(m.parked) == 0 {
		return
	}
	first := m.parked[0].tick
	if !more && first.Cmp(m.floor(nowMs)) <= 0 {
		m.t.Fatalf("AdvanceClock(%d) finished, but left a record of tick %s", nowMs, first)
	}
	if more && first.Cmp(m.floor(at)) < 0 {
		m.t.Fatalf("AdvanceClock(%d) passed tick %s and is at %d", nowMs, first, at)
	}
}

// advanceAll advances until nothing due is left. A record is read once a level,
// and beyond the top level once for each pass that lets at least one other in.
func (m *model) advanceAll(nowMs int64, budget int) {
	m.t.Helper()
	bound := m.adds * (m.adds + m.w.geometry.Levels + 1)
	for calls := 0; m.advance(nowMs, budget); calls++ {
		if calls > bound {
			m.t.Fatalf("AdvanceClock(%d, %d) came back with more %d times for %d records", nowMs, budget, calls, m.adds)
		}
	}
}

// drain compares what Drain hands back with what is parked.
func (m *model) drain() {
	m.t.Helper()
	want := map[uint64]int64{}
	for _, r := range m.parked {
		want[r.payload] = m.ms(r.tick)
		m.retire(r.handle)
	}
	m.w.Drain(func(deadlineMs int64, payload uint64) {
		if ms, ok := want[payload]; !ok || ms != deadlineMs {
			m.t.Fatalf("Drain handed back payload %d for %d, want %d (parked %v)", payload, deadlineMs, ms, ok)
		}
		delete(want, payload)
	})
	m.parked, m.adds, m.unfinished, m.taking = nil, 0, false, modelPass{}
	if len(want) > 0 {
		m.t.Fatalf("Drain left out %d records", len(want))
	}
	if ms, ok := m.w.NextDeadline(); ok {
		m.t.Fatalf("NextDeadline of a drained wheel is %d", ms)
	}
}

func (m *model) sweep(match func(payload uint64) bool) {
	m.t.Helper()
	before := len(m.parked)
	m.parked = slices.DeleteFunc(m.parked, func(r modelRecord) bool {
		if match(r.payload) {
			m.retire(r.handle)
			return true
		}
		return false
	})
	if got, want := m.w.Sweep(match), before-len(m.parked); got != want {
		m.t.Fatalf("Sweep removed %d records, want %d", got, want)
	}
}

// check compares what can be seen between two operations.
func (m *model) check() {
	m.t.Helper()
	if m.w.Len() != len(m.parked) {
		m.t.Fatalf("Len is %d, want %d", m.w.Len(), len(m.parked))
	}
	ms, ok := m.w.NextDeadline()
	if !ok {
		if len(m.parked) > 0 {
			m.t.Fatalf("NextDeadline has nothing, but %d records are parked", len(m.parked))
		}
		return
	}
	now := m.w.NowMs()
	if ms < now {
		m.t.Fatalf("NextDeadline is %d, before the clock at %d", ms, now)
	}
	if len(m.parked) > 0 && ms > max(m.ms(m.parked[0].tick), now) {
		m.t.Fatalf("NextDeadline is %d, after tick %s", ms, m.parked[0].tick)
	}
}

// checkMemory walks every chunk and page, and checks the invariants of the
// fields and that Bytes is the sum of what there is.
func checkMemory(t testing.TB, w *TimingWheel) {
	t.Helper()
	chunks := map[uint32]bool{}
	walk := func(ref, last uint32) (places int) {
		for ref != 0 {
			if chunks[ref] {
				t.Fatalf("chunk %d is in two logs", ref)
			}
			chunks[ref] = true
			if ref == last {
				break
			}
			places += int(w.store.chunks.at(ref).seq)
			ref = w.store.chunks.at(ref).tick
		}
		return places
	}
	stored := 0
	for _, lv := range append(slices.Clone(w.levels), w.far) {
		chunksBefore := len(chunks)
		places := walk(lv.open.rest.ref, 0) - int(lv.open.rest.read)
		stored += places / int(lv.places())
		if int64(len(chunks)-chunksBefore) != lv.open.chunks {
			t.Fatalf("level of shift %d: %d chunks of the open bucket, counted %d", lv.shift, len(chunks)-chunksBefore, lv.open.chunks)
		}
		for bucket := range len(lv.queue.words) * 64 {
			filled := false
			for _, logs := range lv.logs {
				if bucket < len(logs) && logs[bucket].head != 0 {
					l := logs[bucket]
					before := len(chunks)
					places := walk(l.head, l.tail()) + int(l.next-1-l.tail())
					stored += places / int(lv.places())
					if n := w.store.chunks.count(&l); n != int64(len(chunks)-before) {
						t.Fatalf("a log of %d chunks counts %d", len(chunks)-before, n)
					}
					filled = true
				}
			}
			if queued := lv.queue.next(bucket) == bucket; queued != filled {
				t.Fatalf("level of shift %d, bucket %d: queued %v, filled %v", lv.shift, bucket, queued, filled)
			}
		}
	}
	used, slabs := 0, int64(0)
	for i, s := range w.store.chunks.slabs {
		if s != nil {
			slabs++
			used += int(w.store.chunks.state[i].used)
		}
	}
	if used != len(chunks) || slabs != int64(w.store.chunks.held) || len(w.store.chunks.spare) > maxSpareSlabs {
		t.Fatalf("%d chunks handed out, %d in logs; %d slabs, %d counted, %d spare", used, len(chunks), slabs, w.store.chunks.held, len(w.store.chunks.spare))
	}
	if stored != w.Len()+w.store.dead {
		t.Fatalf("%d records are stored, but %d are live and %d dead", stored, w.Len(), w.store.dead)
	}
	checkLiveBits(t, &w.store.live)
	if got, want := w.Bytes(), footprint(w); got != want {
		t.Fatalf("Bytes is %d, and all that the wheel leads to takes %d", got, want)
	}
}

func checkLiveBits(t testing.TB, s *liveSet) {
	t.Helper()
	live, pages, dirs := 0, 0, 0
	for _, d := range s.dirs {
		if d == nil {
			continue
		}
		dirs++
		for i, p := range d.pages {
			if p == nil {
				continue
			}
			pages++
			n := 0
			for _, word := range p {
				n += bits.OnesCount64(word)
			}
			if n != int(d.count[i]) {
				t.Fatalf("a page of %d live bits counts %d", n, d.count[i])
			}
			live += n
		}
	}
	if live != s.live || pages != s.pages || dirs != s.held || pages > live+1 {
		t.Fatalf("%d live bits in %d pages and %d directories, counted %d, %d and %d", live, pages, dirs, s.live, s.pages, s.held)
	}
	if s.dirs[0] == nil || s.base+uint64(len(s.dirs))-1 != s.next>>dirBits {
		t.Fatalf("%d directories from %d for %d", len(s.dirs), s.base, s.next)
	}
}
