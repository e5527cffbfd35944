package purgatory

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// thinned parks n records of 200 bytes that are due within 35 to 70 minutes, which is one class of chunks. It
// moves all that are due after 38. Each fiftieth is due at one instant. thinned returns how many stay.
func thinned(t *testing.T, n int64) (w *ways, left int) {
	const minute = 60_000
	w = movable(t, 0)
	w.store.largest = 16 << 10
	dice := rand.New(rand.NewPCG(7, 7))
	for o := range n {
		delay := 35*minute + dice.Int64N(35*minute)
		if o%50 == 0 {
			delay = 36 * minute
		}
		if delay <= 38*minute {
			left++
		}
		w.take(0, 1, w.arrival(o, delay, fmt.Sprintf("0 record %d %s", o, strings.Repeat(".", 200))))
	}
	for more := true; more; {
		_, more = w.Runs().Gather(w.at.WallMs+38*minute, 1<<40, 1<<20)
	}
	w.moveAll()
	return w, left
}

// TestWhatStaysIsCarriedTogether: the chunks that moving has made thin are given back, and no record comes at
// another time or in another order for it.
func TestWhatStaysIsCarriedTogether(t *testing.T) {
	w, left := thinned(t, 6000)
	live, before := w.store.used, w.store.bytes
	if before < 4*live {
		t.Fatalf("chunks take %d bytes for %d live ones: there is nothing to carry together", before, live)
	}
	most := w.store.bytes
	for rounds := 0; w.Runs().Squeeze(32 << 10); rounds++ {
		for more := true; more; {
			more = w.Runs().SqueezeOn(100)
			most = max(most, w.store.bytes)
		}
		if w.audit(); rounds > 100 {
			t.Fatal("it does not end")
		}
	}
	if most > before+(48<<10) { // and an open chunk
		t.Errorf("chunks took %d bytes meanwhile, and %d before", most, before)
	}
	if w.store.used != live || w.store.bytes > 2*live+(48<<10) {
		t.Errorf("chunks take %d bytes for %d live ones, want at most twice as much and what is open; %d were live before", w.store.bytes, w.store.used, live)
	}
	for _, ch := range w.store.chunks {
		if ch != nil && ch.emptied {
			t.Error("a chunk is still to be emptied")
		}
	}
	seen, last, lastDue := 0, int64(-1), int64(0)
	for range 250 {
		w.pass(10_000)
		for _, d := range w.offer() {
			if d.DeadlineMs > w.at.WallMs || d.DeadlineMs < lastDue || d.DeadlineMs == lastDue && d.Offset < last {
				t.Fatalf("offset %d, due at %d, comes at %d behind %d", d.Offset, d.DeadlineMs, w.at.WallMs, last)
			}
			seen, last, lastDue = seen+1, d.Offset, d.DeadlineMs
			w.Outcomes(w.at, []Result{{ID: d.ID, Class: Delivered}})
		}
	}
	if w.audit(); seen != left {
		t.Errorf("%d records are delivered, want %d", seen, left)
	}
}

// TestWhatTheClientReadsStaysAsItIs: a copy that was given up is parked again while its bytes are on their way.
func TestWhatTheClientReadsStaysAsItIs(t *testing.T) {
	w, _ := thinned(t, 2000)
	w.mustTake(0, 1, 100_000, 5000)
	w.Runs().Gather(0, 1<<40, 1<<20)
	moves := w.Runs().Offer(nil, 100)
	w.pass(98_000)
	w.Runs().Offer(nil, 0) // gives up the one that is nearly due
	body := moves[0].Body
	text := string(body)
	if len(w.store.retained) == 0 {
		t.Fatal("nothing is given up")
	}
	for no, ch := range w.store.chunks {
		if ch != nil {
			ch.emptied = w.store.classes[ch.class].open != no
		}
	}
	for w.Runs().SqueezeOn(1 << 20) {
	}
	if w.audit(); string(body) != text {
		t.Error("bytes that are on their way have changed")
	}
	w.Runs().Moved(w.at, []Answer{{ID: moves[0].ID, Acked: true, Offset: int64(len(w.there)), Bytes: 10}})
	w.audit()
}

// TestWhatTheClientReadsIsNotMovedAgain once the clock is stepped back: then it is far off again, and a second
// copy of it would count beside the first.
func TestWhatTheClientReadsIsNotMovedAgain(t *testing.T) {
	w := movable(t, 0)
	for o := range int64(500) { // more than a chunk
		w.mustTake(0, 1, 100_000, o)
	}
	w.Runs().Gather(0, 1<<40, 1<<20)
	flying := w.Runs().Offer(nil, 1)
	w.at.WallMs += 98_000 // a step, so that its partition is not silent
	w.at.MonotonicMs += 1000
	w.pass(0)
	w.Runs().Offer(nil, 0) // gives it up
	for no, ch := range w.store.chunks {
		ch.emptied = w.store.classes[ch.class].open != no
	}
	if at := w.runs.flying[flying[0].ID].loc >> locationBits; !w.store.chunks[at].emptied {
		t.Fatal("its chunk is not to be emptied")
	}
	for w.Runs().SqueezeOn(1 << 20) {
	}
	w.at.WallMs -= 3_600_000
	w.pass(0)
	w.Runs().Gather(0, 1<<40, 1<<20)
	for _, m := range w.Runs().Offer(nil, 1000) {
		if m.Offset == flying[0].Offset {
			t.Errorf("a second copy of offset %d is made while the first is on its way", m.Offset)
		}
	}
	w.audit()
}
