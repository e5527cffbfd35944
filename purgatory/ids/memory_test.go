package ids

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"layover/verify/long"
)

// index is both structures as an owner uses them.
type index struct {
	slots  Slots
	table  Table
	live   []uint32
	hashes []uint64 // by slot
	r      *rand.Rand
}

func newIndex() *index { return &index{r: rand.New(rand.NewPCG(4, 4))} }

func (x *index) add() {
	n := x.slots.Add(0)
	hash := x.r.Uint64()
	x.table.Add(hash, n)
	if int(n) == len(x.hashes) {
		x.hashes = append(x.hashes, 0)
	}
	x.hashes[n] = hash
	x.live = append(x.live, n)
}

// removeRandom leaves that many.
func (x *index) removeRandom(t *testing.T, leave int) {
	x.r.Shuffle(len(x.live), func(i, j int) { x.live[i], x.live[j] = x.live[j], x.live[i] })
	for _, n := range x.live[leave:] {
		x.slots.Remove(n)
		if !x.table.Remove(x.hashes[n], n) {
			t.Fatalf("slot %d is not in the table", n)
		}
	}
	x.live = x.live[:leave]
}

func (x *index) bytes() int64 { return x.slots.Bytes() + x.table.Bytes() }

// largest is a million ids, and ten million among the long tests.
func largest() int {
	switch {
	case testing.Short():
		return 300_000
	case long.Whole():
		return 10_000_000
	}
	return 1_000_000
}

func TestAnIdTakesAtMost23Bytes(t *testing.T) {
	x := newIndex()
	worst, at := 0.0, 0
	for next := 10_000; next <= largest(); next += max(next/200, 1) {
		for len(x.live) < next {
			x.add()
		}
		if each := float64(x.bytes()) / float64(next); each > worst {
			worst, at = each, next
		}
	}
	t.Logf("at worst %.2f bytes an id, of %d; at the end slots %.2f and table %.2f", worst, at,
		float64(x.slots.Bytes())/float64(len(x.live)), float64(x.table.Bytes())/float64(len(x.live)))
	if worst > 23 {
		t.Errorf("%.2f bytes an id, of %d", worst, at)
	}
}

func TestMemoryComesBackWhenIdsLeaveAtRandom(t *testing.T) {
	long.Only(t)
	for _, full := range []int{10_000, 47_000, 250_000, 1_000_000, 10_000_000} {
		if full > largest() {
			continue
		}
		x := newIndex()
		for len(x.live) < full {
			x.add()
		}
		before := float64(x.bytes()) / float64(full)
		for _, percent := range []float64{50, 90, 99, 99.9, 100} {
			leave := int(math.Round(float64(full) * (1 - percent/100)))
			x.removeRandom(t, leave)
			most := int64(2*before*float64(leave)) + 1<<20
			t.Logf("%d of %d left: slots %d, table %d bytes; bound %d", leave, full, x.slots.Bytes(), x.table.Bytes(), most)
			if x.bytes() > most {
				t.Errorf("%d of %d left: %d bytes, want at most %d", leave, full, x.bytes(), most)
			}
		}
		if x.bytes() > 64<<10 {
			t.Errorf("nothing of %d left: %d bytes", full, x.bytes())
		}
	}
}

// Ids that leave in the order in which they came are those of timers that fire.
func TestMemoryStaysInProportionWhileIdsComeAndGo(t *testing.T) {
	const live = 20_000
	x := newIndex()
	for len(x.live) < live {
		x.add()
	}
	full := x.bytes()
	for round := range 20 {
		for range live / 2 {
			x.add()
		}
		for _, n := range x.live[:live/2] {
			x.slots.Remove(n)
			x.table.Remove(x.hashes[n], n)
		}
		x.live = append(x.live[:0], x.live[live/2:]...)
		if x.bytes() > 2*full {
			t.Fatalf("round %d: %d bytes for %d ids, first %d", round, x.bytes(), live, full)
		}
	}
}

// What tides of values took is given back whole, and used by the next one.
func TestValuesThatComeAndGoInTidesTakeNoMoreEachTime(t *testing.T) {
	var s Slots
	var first int64
	for tide := range 40 {
		for s.Len() < 30_000 {
			s.Add(0)
		}
		if tide == 1 {
			first = s.Bytes()
		}
		if tide > 1 && s.Bytes() > first {
			t.Fatalf("tide %d: %d bytes, first %d", tide, s.Bytes(), first)
		}
		for n := uint32(s.Len()); n > 500; n-- {
			s.Remove(n - 1)
		}
	}
}

// The last of many ids leave an index that is small, though their numbers are high.
func TestAFewHighNumbersHoldLittle(t *testing.T) {
	var s Slots
	for range 1_000_000 {
		s.Add(0)
	}
	for n := range uint32(999_990) {
		s.Remove(n)
	}
	if s.Bytes() > 128<<10 {
		t.Errorf("10 values hold %d bytes", s.Bytes())
	}
	for n := uint32(999_990); n < 1_000_000; n++ {
		s.Remove(n)
	}
	if s.Bytes() > 0 {
		t.Errorf("no values hold %d bytes", s.Bytes())
	}
}

// TestBytesIsWhatTheHeapHolds, by the account of the runtime.
func TestBytesIsWhatTheHeapHolds(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what the first one only took out of pools
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	hash := func(n uint32) uint64 { return uint64(n) * 0x9e3779b97f4a7c15 }
	before := heap()
	slots, table := new(Slots), new(Table)
	const full = 400_000
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"empty", func() {}},
		{"with ids", func() {
			for n := range uint32(full) {
				slots.Add(0)
				table.Add(hash(n), n)
			}
		}},
		{"once nine of ten have left", func() {
			for n := range uint32(full) {
				if n%10 != 3 {
					slots.Remove(n)
					table.Remove(hash(n), n)
				}
			}
		}},
		{"once all have left", func() {
			for n := uint32(3); n < full; n += 10 {
				slots.Remove(n)
				table.Remove(hash(n), n)
			}
		}},
	} {
		step.do()
		took, says := heap()-before, slots.Bytes()+table.Bytes()
		t.Logf("%s: the heap holds %d bytes, says %d", step.what, took, says)
		if math.Abs(float64(took-says)) > 0.01*float64(took)+48<<10 {
			t.Errorf("%s: the heap holds %d bytes, and the structures say %d", step.what, took, says)
		}
	}
	runtime.KeepAlive(slots)
	runtime.KeepAlive(table)
}

// A shard is the most that an operation rebuilds, and it is small at any size.
func TestAShardStaysSmall(t *testing.T) {
	var table Table
	r := rand.New(rand.NewPCG(5, 5))
	most := 0
	for n := range uint32(largest()) {
		table.Add(r.Uint64(), n)
		if n%100_000 != 0 {
			continue
		}
		for i := range table.shards {
			most = max(most, table.at(i).used)
		}
	}
	if most > 2400 {
		t.Errorf("a shard has %d entries", most)
	}
}
