package ids

import (
	"math/rand/v2"
	"testing"
)

// benchIds are too many for the caches, and few enough to be added anew for each run.
const benchIds = 1 << 20

// place is what the baseline keeps for an id. It is a map from the hash to the value,
// which has no room for a second id of the same hash.
type place map[uint64]uint64

func benchHashes() []uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	hashes := make([]uint64, 2*benchIds) // the second half is of ids that are not there
	for i := range hashes {
		hashes[i] = r.Uint64()
	}
	return hashes
}

func filled(hashes []uint64) (*Slots, *Table) {
	s, table := new(Slots), new(Table)
	for i := range benchIds {
		table.Add(hashes[i], s.Add(uint64(i)))
	}
	return s, table
}

func filledMap(hashes []uint64) place {
	m := make(place)
	for i := range benchIds {
		m[hashes[i]] = uint64(i)
	}
	return m
}

// What does adding an id cost, from none to a million?
func BenchmarkAdd(b *testing.B) {
	hashes := benchHashes()
	b.Run("slots and table", func(b *testing.B) {
		b.ReportAllocs()
		var s *Slots
		var table *Table
		for i := range b.N {
			if i%benchIds == 0 {
				s, table = new(Slots), new(Table)
			}
			table.Add(hashes[i%benchIds], s.Add(uint64(i)))
		}
		b.ReportMetric(float64(s.Bytes()+table.Bytes())/float64(s.Len()), "B/id")
	})
	b.Run("map", func(b *testing.B) {
		b.ReportAllocs()
		var m place
		for i := range b.N {
			if i%benchIds == 0 {
				m = make(place)
			}
			m[hashes[i%benchIds]] = uint64(i)
		}
	})
}

// What does it cost to follow the number of one of a million, in random order? A wheel
// gives it, so the baseline is a map from numbers. A due record pays it once.
func BenchmarkGet(b *testing.B) {
	hashes := benchHashes()
	order := rand.New(rand.NewPCG(3, 4)).Perm(benchIds)
	sum := uint64(0)
	b.Run("slots", func(b *testing.B) {
		s, _ := filled(hashes)
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			sum += s.Get(uint32(order[i%benchIds]))
		}
	})
	b.Run("slots/in order", func(b *testing.B) {
		s, _ := filled(hashes)
		b.ResetTimer()
		for i := range b.N {
			sum += s.Get(uint32(i % benchIds))
		}
	})
	b.Run("map", func(b *testing.B) {
		m := make(map[uint32]uint64)
		for i := range uint32(benchIds) {
			m[i] = uint64(i)
		}
		b.ResetTimer()
		for i := range b.N {
			sum += m[uint32(order[i%benchIds])]
		}
	})
	_ = sum
}

// What does it cost to find one of a million by its hash and look at its value, and to
// find that there is none?
func BenchmarkFind(b *testing.B) {
	hashes := benchHashes()
	order := rand.New(rand.NewPCG(3, 4)).Perm(benchIds)
	for name, off := range map[string]int{"hit": 0, "miss": benchIds} {
		b.Run("slots and table/"+name, func(b *testing.B) {
			s, table := filled(hashes)
			b.ReportAllocs()
			b.ResetTimer()
			found := 0
			for i := range b.N {
				at := order[i%benchIds]
				if _, ok := table.Find(hashes[at+off], func(slot uint32) bool {
					return s.Get(slot) == uint64(at+off)
				}); ok {
					found++
				}
			}
			if found != b.N && off == 0 || found != 0 && off > 0 {
				b.Fatalf("%d found of %d", found, b.N)
			}
		})
		b.Run("map/"+name, func(b *testing.B) {
			m := filledMap(hashes)
			b.ResetTimer()
			found := 0
			for i := range b.N {
				if _, ok := m[hashes[order[i%benchIds]+off]]; ok {
					found++
				}
			}
			if found != b.N && off == 0 || found != 0 && off > 0 {
				b.Fatalf("%d found of %d", found, b.N)
			}
		})
	}
}

// What does removing one of a million cost, in random order, down to none?
func BenchmarkRemove(b *testing.B) {
	hashes := benchHashes()
	order := rand.New(rand.NewPCG(3, 4)).Perm(benchIds)
	b.Run("slots and table", func(b *testing.B) {
		b.ReportAllocs()
		var s *Slots
		var table *Table
		for i := range b.N {
			if i%benchIds == 0 {
				b.StopTimer()
				s, table = filled(hashes)
				b.StartTimer()
			}
			n := uint32(order[i%benchIds])
			s.Remove(n)
			if !table.Remove(hashes[n], n) {
				b.Fatal("not there")
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		b.ReportAllocs()
		var m place
		for i := range b.N {
			if i%benchIds == 0 {
				b.StopTimer()
				m = filledMap(hashes)
				b.StartTimer()
			}
			delete(m, hashes[order[i%benchIds]])
		}
	})
}
