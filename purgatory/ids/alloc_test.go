//go:build !race

package ids

import "testing"

// Both structures in use allocate an array now and then, and nothing for an operation,
// whether few or many ids come and go. The race detector's own allocations would hide
// that.
func TestOperationsDoNotAllocate(t *testing.T) {
	for _, live := range []int{1, 10, 1000, 100_000} {
		x := newIndex()
		for len(x.live) < live {
			x.add()
		}
		round := func() {
			for range 100 {
				i := x.r.IntN(live)
				n, hash := x.live[i], x.hashes[x.live[i]]
				x.slots.Set(n, hash)
				if _, ok := x.table.Find(hash, func(slot uint32) bool { return x.slots.Get(slot) == hash }); !ok {
					t.Fatal("not found")
				}
				x.table.Remove(hash, n)
				x.slots.Remove(n)
				x.live[i] = x.slots.Add(0)
				x.table.Add(hash, x.live[i])
				x.hashes[x.live[i]] = hash
			}
		}
		for range 1000 {
			round()
		}
		if n := testing.AllocsPerRun(1000, round); n > 1 {
			t.Errorf("%d ids: %v allocations for 100 ids that leave and come", live, n)
		}
	}
}
