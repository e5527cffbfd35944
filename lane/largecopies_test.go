package lane

import (
	"fmt"
	"testing"
	"time"
)

// TestLargeCopiesDueTogetherAreReadAsRoomReturns: a quarter of the share holds one of them, and is free again as soon
// as that one is delivered. A look for all partitions would find that after 200 ms. With two partitions one finds that
// the other has taken the room meanwhile.
func TestLargeCopiesDueTogetherAreReadAsRoomReturns(t *testing.T) {
	const each, size, share = 25, 900 << 10, 3_850_000
	for _, parts := range []int{1, 2} {
		t.Run(fmt.Sprint(parts), func(t *testing.T) {
			plant := func(_ int, s *shelf) {
				s.slow = 3 * time.Millisecond
				s.plant(each, size, func(int) uint64 { return 1 }, func(int) time.Duration { return 2 * time.Minute })
			}
			manyShelves(t, parts, parts, share, plant, func(r *rig, m *shelves) {
				most, visits := int64(0), 0
				r.kafka.set(func(k *kafka) {
					k.slow, k.turning = 5*time.Millisecond, func() { most = max(most, r.Loaded()) }
				})
				time.Sleep(3 * time.Minute)
				n, late := r.latest()
				if n != parts*each || late > time.Duration(n)*10*time.Millisecond {
					r.Errorf("%d are delivered, the latest %v late, want %d", n, late, parts*each)
				}
				for _, s := range m.list {
					visits += len(s.visits)
				}
				if visits > 2*n {
					r.Errorf("%d visits for %d copies", visits, n)
				}
				if most > share/4+size+1000 { // one that does not fit is read
					r.Errorf("copies take up to %d bytes, want %d at most", most, share/4+size+1000)
				}
			})
		})
	}
}
