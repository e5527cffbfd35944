package lane

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestRunsBecomeOneBesideAPartitionThatTakesNoCopies: partition 0 of the runs topic has too few replicas in sync. It is
// read, and takes no copy. Its small runs, which are more than there is room for, are loaded. Partition 1 is well.
func TestRunsBecomeOneBesideAPartitionThatTakesNoCopies(t *testing.T) {
	for name, sick := range map[string]bool{"well": false, "sick": true} {
		t.Run(name, func(t *testing.T) {
			plant := func(p int, s *shelf) {
				bytes := 10
				if p == 0 {
					bytes = 2500
				}
				s.plant(fewSmall+10, bytes, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return 20 * time.Hour })
				if p == 0 && sick {
					s.refuse = func(*kgo.Record) error { return errors.New("not enough replicas") }
				}
			}
			manyShelves(t, 2, 4, 8<<20, plant, func(r *rig, m *shelves) {
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				r.Logf("%d bytes used, %d loaded; %d whole visits of 0, %d of 1", r.Bytes(), r.Loaded(), m.list[0].cleans(), m.list[1].cleans())
				r.oneRun(m.list[1])
			})
		})
	}
}
