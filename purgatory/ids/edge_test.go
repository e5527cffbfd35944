package ids

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func panics(t *testing.T, want string, do func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	do()
}

func TestANumberThatIsNotInUsePanics(t *testing.T) {
	var empty, some Slots
	for i := range uint64(leafNumbers + 200) {
		some.Add(i)
	}
	some.Remove(5)
	for n := uint32(64); n < 128; n++ {
		some.Remove(n)
	}
	var gap Slots
	for i := range uint64(2*leafNumbers + 1) {
		gap.Add(i)
	}
	for n := range uint32(leafNumbers) {
		gap.Remove(leafNumbers + n)
	}
	for name, test := range map[string]struct {
		s *Slots
		n uint32
	}{
		"nothing was ever added":     {&empty, 0},
		"the highest number":         {&some, math.MaxUint32},
		"removed":                    {&some, 5},
		"in an empty page":           {&some, 100},
		"in a page never used":       {&some, leafNumbers + 300},
		"behind the last of a page":  {&some, leafNumbers + 200},
		"in an empty leaf":           {&gap, leafNumbers + 7},
		"in a leaf that was not yet": {&gap, 3 * leafNumbers},
	} {
		t.Run(name, func(t *testing.T) {
			want := fmt.Sprintf("ids: slot %d is not in use", test.n)
			before := test.s.Len()
			panics(t, want, func() { test.s.Get(test.n) })
			panics(t, want, func() { test.s.Set(test.n, 1) })
			panics(t, want, func() { test.s.Remove(test.n) })
			if test.s.Len() != before {
				t.Errorf("%d values, want %d", test.s.Len(), before)
			}
		})
	}
}

func TestMoreSlotsThanThereAreNumbersPanic(t *testing.T) {
	s := Slots{leaves: make([]leaf, maxLeaves), values: maxLeaves * leafNumbers}
	panics(t, "ids: all 3221225472 slots are in use", func() { s.Add(1) })
}

func TestTheHighestSlotCannotBeInATable(t *testing.T) {
	var table Table
	table.Add(1, math.MaxUint32-1)
	const want = "ids: slot 4294967295 cannot be in a table"
	panics(t, want, func() { table.Add(1, math.MaxUint32) })
	panics(t, want, func() { table.Replace(1, math.MaxUint32-1, math.MaxUint32) })
	if table.Remove(1, math.MaxUint32) || !table.Remove(1, math.MaxUint32-1) || table.Len() != 0 {
		t.Error("the entry before was not kept as it was")
	}
}

func TestTheZeroTableIsEmpty(t *testing.T) {
	var table Table
	_, ok := table.Find(7, func(uint32) bool { return true })
	if ok || table.Remove(7, 1) || table.Replace(7, 1, 2) || table.Len() != 0 || table.Bytes() != 0 {
		t.Error("it has something")
	}
}

func TestFindEndsAtTheFirstSlotThatIsAccepted(t *testing.T) {
	var table Table
	for slot := range uint32(10) {
		table.Add(99, slot)
	}
	calls := 0
	slot, ok := table.Find(99, func(uint32) bool { calls++; return calls == 4 })
	if !ok || calls != 4 {
		t.Errorf("slot %d, %v after %d calls", slot, ok, calls)
	}
}

// Hashes that differ above the 32 bits that entries keep are candidates of each other,
// and the caller tells them apart.
func TestHashesThatAreKeptAlikeAreOfferedAlike(t *testing.T) {
	const one, other = 0x00000000_00000003, 0x00000001_00000002
	var table Table
	table.Add(one, 1)
	table.Add(other, 2)
	for _, hash := range []uint64{one, other} {
		for want := uint32(1); want <= 2; want++ {
			if slot, ok := table.Find(hash, func(slot uint32) bool { return slot == want }); !ok || slot != want {
				t.Errorf("hash %x: slot %d, %v; want %d", hash, slot, ok, want)
			}
		}
	}
}

// Both halves of a hash tell entries apart: a caller's hash may vary in one alone.
func TestEachHalfOfAHashNarrows(t *testing.T) {
	for name, shift := range map[string]int{"low": 0, "high": 32} {
		var table Table
		for i := range uint32(1000) {
			table.Add(uint64(i*2654435761)<<shift, i)
		}
		calls := 0
		for i := range uint32(1000) {
			table.Find(uint64(i*2654435761)<<shift, func(uint32) bool { calls++; return false })
		}
		if calls != 1000 {
			t.Errorf("%s half: %d candidates for 1000 ids", name, calls)
		}
	}
}

func TestTheLowestFreeNumberIsUsedFirst(t *testing.T) {
	var s Slots
	for i := range uint32(3 * leafNumbers) {
		if n := s.Add(0); n != i {
			t.Fatalf("the value %d got number %d", i, n)
		}
	}
	for _, n := range []uint32{2*leafNumbers + 1, 700, leafNumbers - 1, 3} {
		s.Remove(n)
	}
	for _, want := range []uint32{3, 700, leafNumbers - 1, 2*leafNumbers + 1, 3 * leafNumbers} {
		if n := s.Add(0); n != want {
			t.Errorf("number %d, want %d", n, want)
		}
	}
}

// The numbers of a million values are in more than 64 leaves.
func TestTheLowestFreeNumberIsUsedFirstAmongAMillion(t *testing.T) {
	var s Slots
	for range 70 * leafNumbers {
		s.Add(0)
	}
	for _, n := range []uint32{69*leafNumbers + 5, 66 * leafNumbers, 64*leafNumbers - 1} {
		s.Remove(n)
	}
	for _, want := range []uint32{64*leafNumbers - 1, 66 * leafNumbers, 69*leafNumbers + 5, 70 * leafNumbers} {
		if n := s.Add(0); n != want {
			t.Errorf("number %d, want %d", n, want)
		}
	}
}

func TestValuesKeepTheirNumberWhileOthersComeAndGo(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	m := newSlotsModel(t)
	for range 1000 {
		m.add()
	}
	kept := append([]uint32(nil), m.used[:50]...)
	for range 20_000 {
		if i := r.IntN(len(m.used)); i >= 50 {
			m.remove(i)
			m.add()
		}
	}
	for i, n := range kept {
		if got := m.s.Get(n); got != uint64(i+1) {
			t.Errorf("slot %d: got %d, want %d", n, got, i+1)
		}
	}
}

// A leaf that empties lends its table to the next one that needs any, and to no second.
func TestLeavesThatWereEmptyShareNothing(t *testing.T) {
	m := newSlotsModel(t)
	for range 5*leafNumbers + 1 {
		m.add()
	}
	for _, leaf := range []int{1, 3, 2} {
		for n := range uint32(leafNumbers) {
			m.s.Remove(uint32(leaf)*leafNumbers + n)
			delete(m.want, uint32(leaf)*leafNumbers+n)
		}
		m.check()
	}
	m.used = m.used[:0]
	for range 3*leafNumbers + 100 {
		m.add()
	}
	m.check()
}

// Ids of one hash are split from others, and from each other they cannot be.
func TestEntriesOfOneHashAreInOneShardAndOthersHoldNothing(t *testing.T) {
	var table Table
	for slot := range uint32(5000) {
		table.Add(0x12345, slot)
	}
	held := 0
	for i := range table.shards {
		if table.at(i).places != nil {
			held++
		}
	}
	if table.shards != 5 || held != 1 || table.Bytes() > 5000*14+4096 {
		t.Errorf("%d shards, %d of them with places, %d bytes", table.shards, held, table.Bytes())
	}
	for hash := range uint64(16) { // of every shard
		if slot, ok := table.Find(hash, func(uint32) bool { return true }); ok || table.Remove(hash, 1) {
			t.Errorf("hash %x: found %d", hash, slot)
		}
	}
	for slot := range uint32(5000) {
		if !table.Remove(0x12345, slot) {
			t.Fatalf("slot %d is not there", slot)
		}
	}
	if table.shards != 1 {
		t.Errorf("%d shards for nothing", table.shards)
	}
}

// A split moves what belongs to the new shard, and leaves the rest, were it a single entry.
func TestASplitLeavesASingleEntryBehind(t *testing.T) {
	var table Table
	table.Add(2, 7)
	for slot := range uint32(splitAt) {
		table.Add(uint64(slot)<<4|1, slot)
	}
	if table.shards != 2 || table.at(0).used != 1 {
		t.Fatalf("%d shards, %d entries in the first", table.shards, table.at(0).used)
	}
	if slot, ok := table.Find(2, func(uint32) bool { return true }); !ok || slot != 7 {
		t.Errorf("found %d, %v", slot, ok)
	}
}
