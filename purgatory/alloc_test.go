//go:build !race

package purgatory

import "testing"

// TestAllocations holds what is called for each record to the memory it needs: its
// bytes in a chunk, of which a hundred share one. The race detector allocates too.
func TestAllocations(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 << 20 })
	r.assign(0, 1, 0)
	reader, _ := r.Reader(partitionOf(0), 1)
	offset, delayMs := int64(0), int64(0)
	body := Body(text("0 a record of some length")) // once, as the lane has one
	a := new(Arrival)
	park := func() {
		*a = Arrival{Offset: offset, TimestampMs: startMs, DeadlineMs: r.at.WallMs + delayMs, Target: egress, Label: egress, Body: body}
		if reader.Wants(offset, 0) != Whole || !reader.Read(a) {
			t.Fatalf("offset %d was not taken", offset)
		}
		offset++
	}
	var out []Delivery
	results := make([]Result, 1)
	deliver := func() {
		r.at.WallMs++
		r.Tick(r.at, 10)
		out = r.Offer(out[:0], 10)
		results[0] = Result{ID: out[0].ID}
		r.Outcomes(r.at, results)
	}
	for range 2000 { // what is kept for reuse is there
		park()
		deliver()
	}
	t.Run("a record that passes through", func(t *testing.T) {
		if got := testing.AllocsPerRun(2000, func() { park(); deliver() }); got > 0 {
			t.Errorf("%v allocations, want none", got)
		}
	})
	t.Run("a record with an id that is parked, and its cancel", func(t *testing.T) {
		delayMs = 3_600_000
		id := newTimer()
		cancel := func() {
			id.park(t, r, offset, r.at.WallMs+delayMs)
			id.cancel(t, r, offset+1)
			offset += 2
		}
		for range 20_000 {
			cancel()
		}
		if got := testing.AllocsPerRun(20_000, cancel); got > 0 {
			t.Errorf("%v allocations, want less than one", got)
		}
	})
	t.Run("a record that is parked", func(t *testing.T) {
		delayMs = 3_600_000
		if got := testing.AllocsPerRun(20_000, park); got > 0 { // rounded down: chunks are shared
			t.Errorf("%v allocations, want less than one", got)
		}
	})
}
