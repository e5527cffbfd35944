package lane

import (
	"testing"
	"time"
)

// TestAPartitionWithoutNewsIsNotCommitted beside one that has some every second, in two
// times with a quiet one between.
func TestAPartitionWithoutNewsIsNotCommitted(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		r.assign(1, 1)
		time.Sleep(5 * time.Second) // both have committed where they begin
		count := func() (busy, quiet int) {
			r.seen()
			r.kafka.set(func(k *kafka) {
				for _, c := range k.commits {
					if c.Partition == 0 {
						busy++
					} else {
						quiet++
					}
				}
			})
			return busy, quiet
		}
		offset := int64(0)
		for range 2 {
			wasBusy, wasQuiet := count()
			for range 30 {
				r.fetched(assignment(0, 1), r.record(offset, 0))
				offset++
				time.Sleep(time.Second)
			}
			time.Sleep(2 * time.Second)
			busy, quiet := count()
			if n := busy - wasBusy; n < 29 || n > 32 {
				t.Errorf("%d commits of the busy partition in 30 s, want one a second", n)
			}
			if n := quiet - wasQuiet; n > 1 { // what was committed is repeated now and then
				t.Errorf("%d commits of the partition without news in 30 s", n)
			}
			time.Sleep(20 * time.Second)
			if after, _ := count(); after-busy > 1 {
				t.Errorf("%d commits in 20 s without news", after-busy)
			}
		}
	})
}
