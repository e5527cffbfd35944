package ids

import (
	"math/bits"
	"slices"
	"testing"
	"unsafe"
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
				if held == 0 || held > capacities[c] || c > 0 && held <= shrinkAt(c) {
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
	m.checkBytes()
}

// checkBytes holds the account against the arrays, each counted once.
func (m *slotsModel) checkBytes() {
	t, s := m.t, &m.s
	t.Helper()
	tables := make(map[*[leafPages]uint32]bool)
	refs := 0
	for _, table := range append([]*[leafPages]uint32{s.spareRefs}, refsOf(s.leaves)...) {
		if table != nil {
			tables[table] = true
			refs++
		}
	}
	if len(tables) != refs {
		t.Fatalf("%d leaves share %d tables", refs, len(tables))
	}
	slabs := 0
	for _, b := range s.blocks.slabs {
		if b != nil {
			slabs++
		}
	}
	want := cap(s.leaves)*int(unsafe.Sizeof(leaf{})) + cap(s.room)*8 + refs*int(unsafe.Sizeof([leafPages]uint32{})) +
		slabs*int(unsafe.Sizeof(slab{})) + cap(s.blocks.slabs)*int(unsafe.Sizeof(uintptr(0))) + cap(s.blocks.below)*4
	if s.Bytes() != int64(want) {
		t.Fatalf("%d bytes, want %d", s.Bytes(), want)
	}
}

func refsOf(leaves []leaf) (tables []*[leafPages]uint32) {
	for _, l := range leaves {
		tables = append(tables, l.refs)
	}
	return tables
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

// miss asks for an entry that is not there, if it is not. Its hash must not fold to that
// of an entry with the same slot.
func (m *tableModel) miss(p pair) {
	if m.want[p] == 0 && (m.find(p) || m.table.Remove(p.hash, p.slot) || m.table.Replace(p.hash, p.slot, p.slot)) {
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
	want := 8*places + len(table.groups)*int(unsafe.Sizeof([groupShards]shard{})) + 8*cap(table.groups)
	if table.Bytes() != int64(want) {
		t.Fatalf("%d bytes, want %d", table.Bytes(), want)
	}
	if s := table.shards; s > 1 && (table.entries < (s-1)*mergeAt || table.entries > s*splitAt) {
		t.Fatalf("%d shards for %d entries", s, table.entries)
	}
}
