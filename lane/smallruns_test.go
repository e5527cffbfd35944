package lane

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/long"
)

// runs returns how many runs all partitions have, as a snapshot has it, and how many copies the lane has written.
func (m *shelves) runs(r *rig) (runs, moved int) {
	synctest.Wait()
	for _, p := range r.Snapshot().Outlook.Runs.Partitions {
		runs += p.Runs
	}
	for _, s := range m.list {
		moved += r.moved(s)
	}
	return runs, moved
}

// TestRunsDoNotMakeThemselvesSmall: each of 16 partitions gets a record every two minutes that is due in 20 hours, for ten
// hours. Moved for their age, they are 13 runs of each partition. What is known of runs counts as used. Where half
// of a share is, moving records every ten seconds would make a run of each, which takes more than the record did.
func TestRunsDoNotMakeThemselvesSmall(t *testing.T) {
	long.Only(t)
	for _, share := range []int64{1 << 20, 256 << 10} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			const parts, each = 16, 300
			manyShelves(t, parts, 4, share, func(int, *shelf) {}, func(r *rig, m *shelves) {
				for i := range int64(each) {
					for p := range int32(parts) {
						rec := r.record(i, 20*time.Hour)
						rec.Partition = p
						r.fetched(assignment(p, 1), rec)
						time.Sleep(2 * time.Minute / parts)
					}
				}
				time.Sleep(20 * time.Minute)
				if runs, moved := m.runs(r); r.Bytes() > share*7/8 {
					r.Errorf("%d bytes are used of a share of %d, with %d of %d records in %d runs: reading pauses at seven eighths, until no record is in memory", r.Bytes(), share, moved, parts*each, runs)
				}
			})
		})
	}
}

// TestManyPartitionsWithSmallRunsLeaveMemoryToReading: a container of 64 MiB, of which reading has some 20 MiB, has 80
// partitions. A far record or two of each were moved every quarter of an hour, as ingress is not to keep them, for ten
// days: a thousand runs of each. All is moved, and nothing is due within an hour. "So memory has to hold those that are
// due within an hour, and those that are not moved." With other lanes there is memory left, and alone there is none.
func TestManyPartitionsWithSmallRunsLeaveMemoryToReading(t *testing.T) {
	long.Only(t)
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprint(alone), func(t *testing.T) {
			const parts, runs, share = 80, 1000, 20 << 20
			plant := func(p int, s *shelf) {
				s.plant(runs, 100, func(i int) uint64 { return uint64(i) }, func(i int) time.Duration { return 20*time.Hour + time.Duration(i)*time.Second })
			}
			manyShelves(t, parts, 4, share, plant, func(r *rig, m *shelves) {
				if alone {
					m.alone.Store(r)
				}
				for n := 0; r.Bytes() > share*7/8 && n < 20; n++ {
					time.Sleep(time.Minute)
				}
				if used := r.Bytes(); used > share*7/8 {
					left, moved := m.runs(r)
					r.Errorf("%d bytes are used of a share of %d, %d of them by copies, and nothing is parked; there are %d runs, and %d copies are moved again. Reading pauses at seven eighths, until no record is in memory",
						used, share, r.Loaded(), left, moved)
				}
			})
		})
	}
}

// TestSmallRunsOfManyPartitionsBecomeOne: so much waits in the small runs of each partition that memory holds those of one
// alone. Were one run of each loaded at a time, each would be moved as one again, and again.
func TestSmallRunsOfManyPartitionsBecomeOne(t *testing.T) {
	long.Only(t)
	const parts, runs, copies, share = 16, 40, 14, 1 << 20 // of 16 KB, which is less than a 64th of the share
	plant := func(p int, s *shelf) {
		s.plant(runs*copies, 1000, func(i int) uint64 { return uint64(i / copies) }, func(i int) time.Duration { return 20*time.Hour + time.Duration(i)*time.Second })
	}
	manyShelves(t, parts, 4, share, plant, func(r *rig, m *shelves) {
		time.Sleep(3 * time.Hour)
		left, moved := m.runs(r)
		if left > parts*leastFew/2 || moved > parts*runs*copies*3/2 {
			r.Errorf("%d runs are left of %d, and %d copies are moved again of %d", left, parts*runs, moved, parts*runs*copies)
		}
	})
}
