//go:build !race

package wheel

import "testing"

// A wheel in use allocates a slab now and then, and nothing for an operation:
// the race detector's own allocations would hide that.
func TestOperationsDoNotAllocate(t *testing.T) {
	w := New(0, DefaultGeometry())
	due := make([]uint64, 0, 4096)
	round := func() {
		nowMs := w.NowMs() + 1
		for i := range int64(10) {
			w.Add(nowMs+i*i*i*17, 1)
			w.Cancel(w.Add(nowMs+i*7, 2))
		}
		for i := range int64(16) {
			w.Add(nowMs+i*1001, 0)
		}
		w.NextDeadline()
		due, _ = w.AdvanceClock(nowMs, 1000, due[:0])
	}
	for range 40_000 {
		round()
	}
	if n := testing.AllocsPerRun(20_000, round); n != 0 {
		t.Errorf("%v allocations for a round of 36 records, want 0", n)
	}
}

// Taking the farthest records writes to the caller's slice alone.
func TestTakingTheFarthestDoesNotAllocate(t *testing.T) {
	w, out := New(0, DefaultGeometry()), make([]uint64, 0, 100)
	for i := range int64(1_000_000) {
		w.Add(1+i*i%2_592_000_000, uint64(i))
	}
	taken := 0
	if n := testing.AllocsPerRun(4000, func() {
		out, _ = w.TakeFarthest(0, 100, everything, out[:0])
		taken += len(out)
	}); n != 0 || taken < 400_000 {
		t.Errorf("%v allocations for a call, want 0; %d records were taken", n, taken)
	}
}

// A burst takes its slabs and pages from those that the burst before has left.
func TestABurstOfTheSizeBeforeAllocatesNothing(t *testing.T) {
	w := New(0, DefaultGeometry())
	const records = smallChunk - 1 + (maxSpareSlabs-1)*slabPlaces/largeChunk*(largeChunk-1) // all slabs that are kept, to the last place
	due := make([]uint64, 0, records)
	burst := func() {
		deadlineMs := w.NowMs() + 1
		for i := range uint64(records) {
			w.Add(deadlineMs, i)
		}
		if held := w.store.chunks.held; held != maxSpareSlabs {
			t.Fatalf("a burst takes %d slabs, want %d", held, maxSpareSlabs)
		}
		due, _ = w.AdvanceClock(deadlineMs, records, due[:0])
		if len(due) != records || w.store.chunks.held != maxSpareSlabs {
			t.Fatalf("%d records came out, and %d slabs are kept", len(due), w.store.chunks.held)
		}
	}
	for range 3 {
		burst()
	}
	if n := testing.AllocsPerRun(10, burst); n != 0 {
		t.Errorf("%v allocations for a burst, want 0", n)
	}
}

// TestATrimmedWheelKeepsNothingOfABurst, and takes the next one.
func TestATrimmedWheelKeepsNothingOfABurst(t *testing.T) {
	w := New(0, DefaultGeometry())
	w.Add(3_600_000, 0)
	const records = 20_000
	var few int64
	for round := range 3 {
		deadlineMs := w.NowMs() + 1
		for i := range uint64(records) {
			w.Add(deadlineMs, i)
		}
		due, _ := w.AdvanceClock(deadlineMs, records, nil)
		if len(due) != records {
			t.Fatalf("%d records came out", len(due))
		}
		before := w.Bytes()
		w.Trim()
		got := w.Bytes()
		if before-got < maxSpareSlabs*slabPlaces*16 || len(w.store.chunks.spare)+len(w.store.live.spare) > 0 {
			t.Errorf("round %d: %d of %d bytes are left", round, got, before)
		}
		if round == 0 {
			few = got
		} else if got > few+1024 {
			t.Errorf("round %d: %d bytes are left, %d after the first", round, got, few)
		}
	}
	if due, _ := w.AdvanceClock(3_600_000, 10, nil); len(due) != 1 {
		t.Errorf("%d records are left", len(due))
	}
}
