package wheel

import (
	"math/rand/v2"
	"testing"
)

// TestThePreviousMemberOfABitset agrees with a look at each.
func TestThePreviousMemberOfABitset(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for _, size := range []int{64, 4096, 4160, 65536} {
		for _, members := range []int{0, 1, 3, 100} {
			var b bitset
			b.grow(size)
			for range members {
				b.set(r.IntN(size))
			}
			want := -1
			for i := range size {
				if b.has(i) {
					want = i
				}
				if got := b.prev(i); got != want {
					t.Fatalf("%d members of %d: the last up to %d is %d, want %d", members, size, i, got, want)
				}
			}
		}
	}
}
