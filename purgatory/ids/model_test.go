package ids

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// slotsModel is Slots beside a map.
type slotsModel struct {
	t    testing.TB
	s    Slots
	want map[uint32]uint64
	used []uint32 // the keys of want, in any order
	next uint64   // value
}

func newSlotsModel(t testing.TB) *slotsModel {
	return &slotsModel{t: t, want: make(map[uint32]uint64)}
}

func (m *slotsModel) add() uint32 {
	m.next++
	n := m.s.Add(m.next)
	if _, ok := m.want[n]; ok {
		m.t.Fatalf("slot %d was given twice", n)
	}
	m.want[n] = m.next
	m.used = append(m.used, n)
	return n
}

// remove removes the i-th of used.
func (m *slotsModel) remove(i int) {
	n := m.used[i]
	last := len(m.used) - 1
	m.used[i] = m.used[last]
	m.used = m.used[:last]
	m.get(n)
	m.s.Remove(n)
	delete(m.want, n)
}

func (m *slotsModel) set(i int) {
	m.next++
	m.s.Set(m.used[i], m.next)
	m.want[m.used[i]] = m.next
}

func (m *slotsModel) get(n uint32) {
	if got := m.s.Get(n); got != m.want[n] {
		m.t.Fatalf("slot %d: got %d, want %d", n, got, m.want[n])
	}
}

// check compares all values, and everything that must agree within.
func (m *slotsModel) check() {
	t, s := m.t, &m.s
	t.Helper()
	for n := range m.want {
		m.get(n)
	}
	if s.Len() != len(m.want) {
		t.Fatalf("%d values, want %d", s.Len(), len(m.want))
	}
	blocks := [classes]int{}
	for i, l := range s.leaves {
		values := 0
		for p := range leafPages {
			held := 0
			if l.refs != nil && l.refs[p] != 0 {
				b := s.block(l.refs[p])
				held = bits.OnesCount64(b[presentWord])
				c := classOf(b)
				blocks[c]++
				if b[ownerWord]>>8 != uint64(i*leafPages+p) {
					t.Fatalf("page %d: its block is that of page %d", i*leafPages+p, b[ownerWord]>>8)
				}
				if held == 0 || held > capacities[c] || c > 0 && held <= shrinkAt(c)-1 {
					t.Fatalf("page %d has %d values in a block for %d", i*leafPages+p, held, capacities[c])
				}
			}
			if room := l.room[p/64]>>(p%64)&1 != 0; room != (held < pageNumbers) {
				t.Fatalf("page %d with %d values: room is %v", i*leafPages+p, held, room)
			}
			values += held
		}
		room := s.room[i/64]>>(i%64)&1 != 0
		if values != l.values || room != (values < leafNumbers) || (values == 0) != (l.refs == nil) {
			t.Fatalf("leaf %d with %d values: says %d, room %v, table %v", i, values, l.values, room, l.refs != nil)
		}
	}
	for i := len(s.leaves); i < 64*len(s.room); i++ {
		if s.room[i/64]>>(i%64)&1 != 0 {
			t.Fatalf("leaf %d does not exist and has room", i)
		}
	}
	if n := len(s.leaves); n > 0 && s.leaves[n-1].values == 0 {
		t.Fatal("the last leaf is empty")
	}
	m.checkArena(blocks)
}

// checkArena holds the stacks against the blocks that pages have.
func (m *slotsModel) checkArena(blocks [classes]int) {
	t, a := m.t, &m.s.blocks
	t.Helper()
	seen := make(map[uint32]bool)
	count := func(number uint32) (n int) {
		for ; number != 0; number = a.below[number] {
			if seen[number] {
				t.Fatalf("slab %d is in two places", number)
			}
			seen[number] = true
			n++
		}
		return n
	}
	held := 0
	for c, k := range a.classes {
		slabs := count(k.top)
		held += slabs
		got := k.used
		if slabs > 1 {
			got += (slabs - 1) * (slabWords / blockWords(c))
		}
		if got != blocks[c] || (k.top == 0) != (k.used == 0) {
			t.Fatalf("class %d: %d blocks handed out, pages have %d", c, got, blocks[c])
		}
	}
	spares := count(a.spare)
	if held += spares; spares != a.spares || held != a.holding {
		t.Fatalf("%d slabs, %d of them spare; it says %d and %d", held, spares, a.holding, a.spares)
	}
	if vacant := count(a.vacant); held+vacant != max(len(a.slabs)-1, 0) {
		t.Fatalf("%d slabs and %d released ones in a table of %d", held, vacant, len(a.slabs))
	}
}

// tableModel is Table beside a map from entries to how often they are there.
type tableModel struct {
	t       testing.TB
	table   Table
	want    map[pair]int
	entries []pair
}

type pair struct {
	hash uint64
	slot uint32
}

func newTableModel(t testing.TB) *tableModel {
	return &tableModel{t: t, want: make(map[pair]int)}
}

func (m *tableModel) add(p pair) {
	m.table.Add(p.hash, p.slot)
	m.want[p]++
	m.entries = append(m.entries, p)
}

// take forgets the i-th entry and returns it.
func (m *tableModel) take(i int) pair {
	p := m.entries[i]
	m.entries = slices.Delete(m.entries, i, i+1)
	if m.want[p]--; m.want[p] == 0 {
		delete(m.want, p)
	}
	return p
}

func (m *tableModel) remove(i int) {
	if p := m.take(i); !m.table.Remove(p.hash, p.slot) {
		m.t.Fatalf("hash %x, slot %d: not removed", p.hash, p.slot)
	}
}

func (m *tableModel) replace(i int, slot uint32) {
	p := m.take(i)
	if !m.table.Replace(p.hash, p.slot, slot) {
		m.t.Fatalf("hash %x, slot %d: not replaced", p.hash, p.slot)
	}
	p.slot = slot
	m.want[p]++
	m.entries = append(m.entries, p)
}

// miss asks for an entry that is not there, if it is not.
func (m *tableModel) miss(p pair) {
	if m.want[p] == 0 && (m.find(p) || m.table.Remove(p.hash, p.slot) || m.table.Replace(p.hash, p.slot, p.slot)) {
		// An entry of another hash with the same 32 bits answers as well.
		for q := range m.want {
			if q.slot == p.slot && fold(q.hash) == fold(p.hash) {
				m.t.Fatalf("entry %v answered for %v: choose hashes that fold apart", q, p)
			}
		}
		m.t.Fatalf("hash %x, slot %d: found, and never added", p.hash, p.slot)
	}
}

func (m *tableModel) find(p pair) bool {
	got, ok := m.table.Find(p.hash, func(slot uint32) bool { return slot == p.slot })
	if ok != (got == p.slot) && p.slot != 0 {
		m.t.Fatalf("found %d, %v, looking for %d", got, ok, p.slot)
	}
	return ok
}

// check asks for all entries of each hash, and looks at everything that must agree
// within.
func (m *tableModel) check() {
	t, table := m.t, &m.table
	t.Helper()
	if table.Len() != len(m.entries) {
		t.Fatalf("%d entries, want %d", table.Len(), len(m.entries))
	}
	found := make(map[pair]int)
	asked := make(map[uint64]bool)
	for p := range m.want {
		if asked[p.hash] {
			continue
		}
		asked[p.hash] = true
		table.Find(p.hash, func(slot uint32) bool {
			found[pair{p.hash, slot}]++
			return false
		})
	}
	for p, n := range m.want {
		if found[p] != n {
			t.Fatalf("hash %x, slot %d: found %d times, want %d", p.hash, p.slot, found[p], n)
		}
	}
	m.checkShards()
}

func (m *tableModel) checkShards() {
	t, table := m.t, &m.table
	t.Helper()
	entries, places := 0, 0
	for i := range len(table.groups) * groupShards {
		s := table.at(i)
		places += len(s.places)
		used := 0
		for at, e := range s.places {
			if e == 0 {
				continue
			}
			used++
			if number := table.number(uint32(e >> 32)); number != i {
				t.Fatalf("shard %d has an entry of shard %d", i, number)
			}
			// An entry is at its home, or the place before has one that is as far away.
			before := (at + len(s.places) - 1) % len(s.places)
			if d := s.distance(at); d > 0 && (s.places[before] == 0 || s.distance(before) < d-1) {
				t.Fatalf("shard %d, place %d: %d from home, and the one before is nearer", i, at, d)
			}
		}
		if entries += used; used != s.used || used > 0 && used > len(s.places)*7/8 || i >= table.shards && used > 0 {
			t.Fatalf("shard %d has %d entries in %d places, says %d", i, used, len(s.places), s.used)
		}
		if len(s.places) > minPlaces && used < len(s.places)/2-1 {
			t.Fatalf("shard %d has %d entries in %d places", i, used, len(s.places))
		}
	}
	if entries != table.entries || places != table.places {
		t.Fatalf("%d entries in %d places, says %d in %d", entries, places, table.entries, table.places)
	}
	if s := table.shards; s > 1 && (table.entries < (s-1)*mergeAt || table.entries > s*splitAt) {
		t.Fatalf("%d shards for %d entries", s, table.entries)
	}
}

// hashes returns a source of hashes of some kind. A fold of each kind tells them apart.
func hashesOf(kind string) func(r *rand.Rand) uint64 {
	return map[string]func(r *rand.Rand) uint64{
		"random":        func(r *rand.Rand) uint64 { return r.Uint64() },
		"one":           func(*rand.Rand) uint64 { return 0x0123456789abcdef },
		"zero":          func(*rand.Rand) uint64 { return 0 },
		"highest":       func(*rand.Rand) uint64 { return 0xffffffff },
		"few":           func(r *rand.Rand) uint64 { return uint64(r.IntN(8)) * 0x20000000 },
		"around an end": func(r *rand.Rand) uint64 { return uint64(uint32(r.IntN(64) - 32)) },
		"one shard":     func(r *rand.Rand) uint64 { return uint64(r.Uint32()) << 12 & 0xffffffff },
		"one home":      func(r *rand.Rand) uint64 { return 0xabc00000 + uint64(r.IntN(1<<20)) },
	}[kind]
}

var kinds = []string{"random", "one", "zero", "highest", "few", "around an end", "one shard", "one home"}

func TestATableAnswersAsAMapDoes(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 7))
			hash := hashesOf(kind)
			m := newTableModel(t)
			for step := range 12_000 {
				grow := 3 // of 4: in turn it grows and shrinks
				if step/3000%2 == 1 {
					grow = 1
				}
				switch n := len(m.entries); {
				case n == 0 || r.IntN(4) < grow:
					m.add(pair{hash(r), r.Uint32N(1 << 31)})
				case r.IntN(4) == 0:
					m.replace(r.IntN(n), r.Uint32N(1<<31))
				case r.IntN(16) == 0:
					m.add(m.entries[r.IntN(n)]) // twice the same
				default:
					m.remove(r.IntN(n))
				}
				m.miss(pair{hash(r), 1<<31 + 5})
				if step%500 == 0 {
					m.check()
				}
			}
			for len(m.entries) > 0 {
				m.remove(r.IntN(len(m.entries)))
			}
			m.check()
		})
	}
}

// A shard is split and merged while it has entries of every kind.
func TestATableGrowsAndShrinksByShards(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	m := newTableModel(t)
	for slot := range uint32(70_000) {
		m.add(pair{r.Uint64(), slot})
	}
	if m.table.shards < 64 {
		t.Fatalf("%d shards for 70,000 entries", m.table.shards)
	}
	m.check()
	r.Shuffle(len(m.entries), func(i, j int) { m.entries[i], m.entries[j] = m.entries[j], m.entries[i] })
	for len(m.entries) > 0 {
		m.remove(len(m.entries) - 1)
		if len(m.entries)%10_000 == 0 {
			m.check()
		}
	}
	if m.table.shards != 1 || len(m.table.groups) != 1 {
		t.Errorf("an empty table has %d shards in %d groups", m.table.shards, len(m.table.groups))
	}
}

func TestSlotsAnswerAsAMapDoes(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 7))
		m := newSlotsModel(t)
		for step := range 60_000 {
			grow := 7
			if step/10_000%2 == 1 {
				grow = 1 // in turn it grows and shrinks
			}
			switch n := len(m.used); {
			case n == 0 || r.IntN(8) < grow:
				m.add()
			case r.IntN(4) == 0:
				m.set(r.IntN(n))
			default:
				m.remove(r.IntN(n))
			}
			if step%4000 == 0 {
				m.check()
			}
		}
		for len(m.used) > 0 {
			m.remove(r.IntN(len(m.used)))
		}
		m.check()
	}
}

// Each byte is an operation on one of few pages, or on many at once.
func FuzzSlots(f *testing.F) {
	f.Add([]byte("aaaaAAAzzzZZZ\x00\x10\xff\xf0\x41"))
	f.Add([]byte{0xff, 0xff, 0x80, 0x81, 0xc0, 0xff, 0xc1, 0xfe, 0, 1, 2, 0xc5})
	f.Fuzz(func(t *testing.T, ops []byte) {
		m := newSlotsModel(t)
		for _, op := range ops[:min(len(ops), 200)] {
			at := int(op & 0x3f)
			switch {
			case op < 0x40:
				m.add()
			case op < 0x80:
				for range at * 40 {
					m.add()
				}
			case op < 0xc0:
				if n := len(m.used); n > 0 {
					m.set(at % n)
					m.remove(at % n)
				}
			default:
				for i := range at * 40 {
					if n := len(m.used); n > 0 {
						m.remove(i * (at + 1) % n)
					}
				}
			}
		}
		m.check()
	})
}

// Two bytes are an operation: what and on which of a few hashes.
func FuzzTable(f *testing.F) {
	f.Add([]byte("0102030405060708"), uint8(3))
	f.Add([]byte{0x3f, 1, 0x3f, 2, 0x7f, 3, 0xff, 1, 0xbf, 9, 0xc0, 4}, uint8(31))
	f.Fuzz(func(t *testing.T, ops []byte, shift uint8) {
		m := newTableModel(t)
		for ; len(ops) > 1 && len(m.entries) < 5000; ops = ops[2:] {
			op, what := ops[0]>>6, int(ops[0]&0x3f)
			p := pair{uint64(ops[1]) << (shift % 32) & 0xffffffff, uint32(what)}
			switch n := len(m.entries); {
			case op == 0 || n == 0:
				for i := range what {
					p.slot += uint32(i)
					m.add(p)
				}
			case op == 1:
				m.replace(what%n, p.slot)
			case op == 2:
				for i := range min(n, what) {
					m.remove((i * 7) % len(m.entries))
				}
			default:
				m.miss(p)
			}
		}
		m.check()
	})
}
