package purgatory

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestHeadersRoundTrip(t *testing.T) {
	for _, h := range []header{
		{},
		{slot: 1<<32 - 1, target: 1<<30 - 1, atOnce: true, size: 1<<32 - 1, offset: 1<<63 - 1, deadlineMs: -62_167_219_200_000, timestampMs: -1},
		{target: 7, offset: 42, deadlineMs: 1, timestampMs: 2},
		{deadlineMs: math.MaxInt64, timestampMs: math.MinInt64},
		{deadlineMs: math.MinInt64, timestampMs: math.MaxInt64, size: 300},
	} {
		var b [maxHeader]byte
		if got := readHeader(h.encode(&b)); got != h {
			t.Errorf("%+v, want %+v", got, h)
		}
	}
}

func TestChunkSizesDoubleAndStartSmallAgain(t *testing.T) {
	s := newStore(64 << 10)
	most := 0
	for range 3 {
		var sizes []int
		var all []location
		for range 8000 {
			l, _ := s.alloc(3, 100)
			all = append(all, l)
			if n := cap(s.chunks[l>>locationBits].buf); len(sizes) == 0 || n != sizes[len(sizes)-1] {
				sizes = append(sizes, n)
			}
		}
		if want := "[4096 8192 16384 32768 65536]"; fmt.Sprint(sizes) != want {
			t.Errorf("chunk sizes %v, want %s", sizes, want)
		}
		for _, l := range all {
			s.release(l, 100)
		}
		s.trim()
		if s.bytes != 0 || s.live != 0 || len(s.classes) != 0 {
			t.Errorf("%d bytes, %d live, %d classes left", s.bytes, s.live, len(s.classes))
		}
		if len(s.chunks)-len(s.free) != 0 || most > 0 && len(s.chunks) != most {
			t.Errorf("chunk numbers leak: %d, and %d after a time before; %d are free", len(s.chunks), most, len(s.free))
		}
		most = len(s.chunks)
	}
}

func TestASteadyTrickleUsesOneChunkAgainAndAgain(t *testing.T) {
	s := newStore(0)
	for range 100_000 {
		l, _ := s.alloc(0, 100)
		s.release(l, 100)
	}
	if s.bytes != minChunk+chunkOverhead {
		t.Errorf("%d bytes held, want one chunk of %d", s.bytes, minChunk)
	}
}

func TestARecordLargerThanAChunkHasOneOfItsSize(t *testing.T) {
	s := newStore(0)
	small, _ := s.alloc(0, 10)
	large, b := s.alloc(0, 5<<20)
	next, _ := s.alloc(0, 10)
	if len(b) != 5<<20 || large>>locationBits == next>>locationBits || large&(1<<locationBits-1) != 0 {
		t.Errorf("large record of %d at %x, the next at %x", len(b), large, next)
	}
	if over := s.bytes - 5<<20; over > 3*(16<<10) {
		t.Errorf("%d bytes beside the large record", over)
	}
	for l, size := range map[location]int{large: 5 << 20, small: 10, next: 10} {
		s.release(l, size)
	}
	s.trim()
	if s.bytes != 0 || s.used != 0 {
		t.Errorf("%d bytes left, %d used", s.bytes, s.used)
	}
}

// TestTheStoreAgreesWithAMapOfCopies allocates and releases at random, and reads
// every live record back after each step of a hundred. A chunk that were reset or
// dropped too early would show.
func TestTheStoreAgreesWithAMapOfCopies(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	s := newStore(16 << 10)
	type copied struct {
		at    location
		bytes []byte
	}
	var live []copied
	for step := range 40_000 {
		if rng.IntN(100) < 50+30*(1-2*(step/10_000%2)) {
			size := 1 + rng.IntN(200)
			if rng.IntN(500) == 0 {
				size = 30_000
			}
			l, b := s.alloc(rng.IntN(6)*13, size)
			for i := range b {
				b[i] = byte(rng.Uint32())
			}
			live = append(live, copied{l, bytes.Clone(b)})
		} else if len(live) > 0 {
			i := rng.IntN(len(live))
			s.release(live[i].at, len(live[i].bytes))
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		if step%100 > 0 {
			continue
		}
		if step%1000 == 0 {
			s.trim()
		}
		var held int64
		for _, ch := range s.chunks {
			if ch != nil {
				held += int64(cap(ch.buf)) + chunkOverhead
			}
		}
		if held != s.bytes || s.live != int64(len(live)) {
			t.Fatalf("step %d: %d bytes and %d live counted, are %d and %d", step, s.bytes, s.live, held, len(live))
		}
		for _, c := range live {
			if !bytes.Equal(s.at(c.at)[:len(c.bytes)], c.bytes) {
				t.Fatalf("step %d: a live record was written over", step)
			}
		}
	}
}

func TestMixedDelaysDoNotPinTheChunksOfShortOnes(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 10_000; c.LargestChunk = 16 << 10 })
	r.assign(0, 1, 0)
	for o := range int64(20_000) {
		delayMs := int64(1000)
		if o%100 == 0 {
			delayMs = 600_000
		}
		r.take(0, 1, r.arrival(o, delayMs, fmt.Sprintf("0%0100d", o)))
		if o%20 == 19 {
			r.pass(1)
			r.end(Delivered, r.offer()...)
		}
	}
	r.pass(1000)
	for ds := r.offer(); len(ds) > 0; ds = r.offer() {
		r.end(Delivered, ds...)
	}
	r.Trim()
	live := 200 * sizeOf(r.arrival(20_000, 1000, fmt.Sprintf("0%0100d", 0)))
	if r.store.live != 200 || r.store.bytes > 3*live {
		t.Errorf("%d records of %d bytes pin %d", r.store.live, live, r.store.bytes)
	}
}

func TestTheQueueAgreesWithASlice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	var held room
	q := queue{memory: &held}
	var model []entry
	for step := range 30_000 {
		e := entry{loc: location(step), size: int32(rng.IntN(100))}
		switch n := rng.IntN(100); {
		case n < 30+40*(step/5000%2):
			q.pushBack(e)
			model = append(model, e)
		case n < 75:
			q.pushFront(e)
			model = append([]entry{e}, model...)
		case n == 99 && step%17 == 0:
			odd := func(e *entry) bool { return e.loc%3 == 1 }
			gone := 0
			q.remove(odd, func(entry) { gone++ })
			kept := model[:0:0]
			for _, m := range model {
				if !odd(&m) {
					kept = append(kept, m)
				}
			}
			if gone != len(model)-len(kept) {
				t.Fatalf("%d removed, want %d", gone, len(model)-len(kept))
			}
			model = kept
		case len(model) > 0 && n%2 == 0:
			if got := q.pop(); got != model[0] {
				t.Fatalf("popped %v, want %v", got, model[0])
			}
			model = model[1:]
		case len(model) > 0:
			if got := q.popBack(); got != model[len(model)-1] {
				t.Fatalf("popped %v from the back, want %v", got, model[len(model)-1])
			}
			model = model[:len(model)-1]
		}
		if len(model) > 2000 {
			for len(model) > 0 {
				q.pop()
				model = model[1:]
			}
			if len(q.buf) > keptEntries {
				t.Fatalf("an empty queue keeps room for %d", len(q.buf))
			}
		}
		if q.count != len(model) || held.overhead != int64(len(q.buf))*entrySize || (q.front() == nil) != (len(model) == 0) {
			t.Fatalf("count %d, %d bytes; want %d and %d", q.count, held.overhead, len(model), len(q.buf)*entrySize)
		}
	}
}
