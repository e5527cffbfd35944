package ids

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// Table is a multiset of slot numbers, found by a hash. It keeps 32 bits of the hash,
// so two entries may be told apart only by what the numbers stand for.
//
// The zero value is empty and ready. One goroutine owns it.
//
// It is split into shards by the low bits of the hash. With over a thousand entries for
// each, one more shard is made by splitting the shard whose turn it is. With under five
// hundred there is one less.
type Table struct {
	entries int

	// groups hold the shards; those from shards on are empty.
	groups []*[groupShards]shard
	shards int // 0 until the first Add

	places int // of all shards
}

// shard is a hash table with linear probing.
//
// An entry belongs at its home, which grows with the hash, and stands there or behind,
// beyond the end at the beginning. It never stands in front of one that is farther from
// its home (Robin Hood), so that a search for a missing hash ends early.
type shard struct {
	// places are entries: 32 bits of the hash, and the slot plus one; 0 is an empty
	// place.
	//
	// Invariant: at least one is empty, if there are any.
	places []uint64
	used   int
}

const (
	groupShards = 64

	// A shard is split at twice splitAt entries at most, as it is its turn by then.
	splitAt = 1024
	mergeAt = splitAt / 2

	// minPlaces is the smallest array, which a shard keeps when it is empty. An array
	// that comes and goes with a single entry would be an allocation for each.
	minPlaces = 32
)

// Add adds an entry. One with the same hash and slot may be there already. It panics if
// slot is the highest uint32, which Slots never gives.
func (t *Table) Add(hash uint64, slot uint32) {
	if slot == math.MaxUint32 {
		panic("ids: slot 4294967295 cannot be in a table")
	}
	if t.entries >= t.shards*splitAt {
		t.split()
	}
	h := fold(hash)
	s := t.shardOf(h)
	if s.used+1 > len(s.places)*7/8 {
		t.resize(s, s.used+1)
	}
	s.insert(entry(h, slot))
	t.entries++
}

// Find returns the first slot of the hash that match accepts, or false if it accepts
// none. Entries of other hashes may be offered to match, too. The order is undefined,
// and match must not use the table.
func (t *Table) Find(hash uint64, match func(slot uint32) bool) (uint32, bool) {
	if t.entries == 0 {
		return 0, false
	}
	h := fold(hash)
	s := t.shardOf(h)
	for i := s.first(h); i >= 0; i = s.next(i, h) {
		if slot := slotOf(s.places[i]); match(slot) {
			return slot, true
		}
	}
	return 0, false
}

// Remove removes one entry with that hash and slot, and reports whether there was one.
func (t *Table) Remove(hash uint64, slot uint32) bool {
	s, i := t.find(hash, slot)
	if i < 0 {
		return false
	}
	s.remove(i)
	t.entries--
	if len(s.places) > minPlaces && s.used < len(s.places)/2 {
		t.resize(s, s.used)
	}
	if t.entries < (t.shards-1)*mergeAt {
		t.merge()
	}
	return true
}

// Replace gives one entry with that hash and slot another slot, and reports whether
// there was one. It panics as Add does.
func (t *Table) Replace(hash uint64, old, slot uint32) bool {
	if slot == math.MaxUint32 {
		panic("ids: slot 4294967295 cannot be in a table")
	}
	s, i := t.find(hash, old)
	if i >= 0 {
		s.places[i] = entry(fold(hash), slot)
	}
	return i >= 0
}

// Len is the number of entries.
func (t *Table) Len() int { return t.entries }

// Bytes is the memory held.
func (t *Table) Bytes() int64 {
	group := int64(unsafe.Sizeof([groupShards]shard{}))
	return 8*int64(t.places) + group*int64(len(t.groups)) + 8*int64(cap(t.groups))
}

// fold is the part of the hash that entries keep. Both halves are in it.
func fold(hash uint64) uint32 { return uint32(hash>>32) ^ uint32(hash) }

func entry(h, slot uint32) uint64 { return uint64(h)<<32 | uint64(slot+1) }

func slotOf(e uint64) uint32 { return uint32(e) - 1 }

// find returns the shard and the place of an entry, or a negative place.
func (t *Table) find(hash uint64, slot uint32) (*shard, int) {
	if t.entries == 0 {
		return nil, -1
	}
	h := fold(hash)
	s := t.shardOf(h)
	i := s.first(h)
	for i >= 0 && slotOf(s.places[i]) != slot {
		i = s.next(i, h)
	}
	return s, i
}

// shardOf returns the shard of a hash. There must be one.
func (t *Table) shardOf(h uint32) *shard { return t.at(t.number(h)) }

func (t *Table) at(number int) *shard {
	return &t.groups[number/groupShards][number%groupShards]
}

// number is that of the shard of a hash: as many low bits as name all shards. Where
// that shard is not made yet, its entries are in the shard that it will be split from.
func (t *Table) number(h uint32) int {
	top := 1 << bits.Len(uint(t.shards-1))
	number := int(h) & (top - 1)
	if number >= t.shards {
		number -= top / 2
	}
	return number
}

// parent is the shard that the last one was split from.
func (t *Table) parent() *shard {
	last := t.shards - 1
	return t.at(last - 1<<(bits.Len(uint(last))-1))
}

// split adds a shard, and moves to it what belongs there.
func (t *Table) split() {
	number := t.shards
	if number%groupShards == 0 {
		t.groups = append(t.groups, new([groupShards]shard))
	}
	t.shards++
	if number == 0 {
		return
	}
	from, to := t.parent(), t.at(number)
	all := from.places
	moved := 0
	for _, e := range all {
		if e != 0 && t.number(uint32(e>>32)) == number {
			moved++
		}
	}
	if moved == 0 {
		return
	}
	stay := from.used - moved
	t.places -= len(all)
	*from = shard{}
	if stay > 0 {
		t.resize(from, stay)
	}
	t.resize(to, moved)
	for _, e := range all {
		if e != 0 {
			t.shardOf(uint32(e >> 32)).insert(e)
		}
	}
}

// merge takes the last shard away, and moves its entries to where they came from.
func (t *Table) merge() {
	from, to := t.at(t.shards-1), t.parent()
	if from.used+to.used > len(to.places)*7/8 {
		t.resize(to, from.used+to.used)
	}
	for _, e := range from.places {
		if e != 0 {
			to.insert(e)
		}
	}
	t.places -= len(from.places)
	*from = shard{}
	t.shards--
	if t.shards%groupShards == 0 {
		t.groups[len(t.groups)-1] = nil
		t.groups = t.groups[:len(t.groups)-1]
	}
}

// resize gives a shard places anew, two thirds of which n entries will fill. Go's
// allocator rounds arrays up; the places beyond are used as well.
func (t *Table) resize(s *shard, n int) {
	all := s.places
	places := slices.Grow([]uint64(nil), max(n+n/2, minPlaces))
	*s = shard{places: places[:cap(places)]}
	clear(s.places)
	t.places += len(s.places) - len(all)
	for _, e := range all {
		if e != 0 {
			s.insert(e)
		}
	}
}

// home is the place where the search for a hash begins.
func (s *shard) home(h uint32) int {
	return int(uint64(h) * uint64(len(s.places)) >> 32)
}

// distance is how far the entry at a place is from its home.
func (s *shard) distance(i int) int {
	d := i - s.home(uint32(s.places[i]>>32))
	if d < 0 {
		d += len(s.places)
	}
	return d
}

// after is the next place, the first one after the last.
func (s *shard) after(i int) int {
	if i++; i < len(s.places) {
		return i
	}
	return 0
}

// first returns the first place with the hash, or a negative number.
func (s *shard) first(h uint32) int {
	if s.used == 0 {
		return -1
	}
	return s.seek(s.home(h), 0, h)
}

// next returns the place with the same hash that follows place i, or a negative number.
func (s *shard) next(i int, h uint32) int {
	return s.seek(s.after(i), s.distance(i)+1, h)
}

// seek looks for a hash from place i on, which is far from the hash's home.
func (s *shard) seek(i, far int, h uint32) int {
	for s.places[i] != 0 {
		if uint32(s.places[i]>>32) == h {
			return i
		}
		if s.distance(i) < far {
			return -1
		}
		i = s.after(i)
		far++
	}
	return -1
}

// insert adds an entry. There must be two empty places.
func (s *shard) insert(e uint64) {
	i, far := s.home(uint32(e>>32)), 0
	for s.places[i] != 0 {
		if d := s.distance(i); d < far {
			e, s.places[i] = s.places[i], e
			far = d
		}
		i = s.after(i)
		far++
	}
	s.places[i] = e
	s.used++
}

// remove empties a place, and closes the gap by moving what follows one place nearer
// to its home.
func (s *shard) remove(i int) {
	for {
		next := s.after(i)
		if s.places[next] == 0 || s.distance(next) == 0 {
			break
		}
		s.places[i] = s.places[next]
		i = next
	}
	s.places[i] = 0
	s.used--
}
