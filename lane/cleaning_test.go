package lane

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestWhatWasLoadedToBeMovedAgainIsMovedAfterAPause: the log of a runs partition takes far more than three times what
// waits in it. The oldest copies are loaded to be moved again. Just then nothing may be moved for three seconds, as
// where the lease runs out, or the topic cannot be used. "Above three times the live bytes the oldest records are read
// and moved again, so a partition takes no more than that".
func TestWhatWasLoadedToBeMovedAgainIsMovedAfterAPause(t *testing.T) {
	for _, pause := range []string{"", "not allowed", "not answered"} {
		t.Run(fmt.Sprint(pause), func(t *testing.T) {
			const copies, size, others = 50, 60_000, 4000
			plant := func(s *shelf) {
				s.share, s.takes = 4<<20, time.Second
				s.plant(copies, size, func(i int) uint64 { return uint64(i / 5) }, func(i int) time.Duration { return 20*time.Hour + time.Duration(i)*time.Second })
				for range others { // what stood there is finished
					s.put(&kgo.Record{Timestamp: time.Now()})
				}
				s.copied = nil
			}
			shelved(t, func(c *Config) { c.Runs.InFlight = 2 }, plant, func(r *rig, s *shelf) {
				if pause == "not answered" {
					s.set(func(s *shelf) { s.takes = 30 * time.Second })
				}
				for n := 0; r.moved(s) < 1 && n < 1200; n++ {
					time.Sleep(100 * time.Millisecond)
				}
				s.set(func(s *shelf) { s.older, s.takes = pause == "not allowed", time.Second })
				time.Sleep(3 * time.Second)
				s.set(func(s *shelf) { s.older = false })
				time.Sleep(6 * time.Hour)
				synctest.Wait()
				snap := r.Snapshot()
				oldest := int64(-1)
				s.set(func(s *shelf) { oldest = int64(len(s.log)) })
				if got := r.moved(s); got < copies-5 { // the last run goes on
					r.Errorf("six hours later %d of %d copies are moved again, %d bytes of a share of %d are used, %d loaded by %d visits, the log ends at %d; %+v",
						got, copies, r.Bytes(), s.share, r.Loaded(), s.cleans(), oldest, snap.Outlook.Runs.Partitions)
				}
			})
		})
	}
}

// TestWhatARefusalLeavesOfTheLastRoundIsMovedAgain: all that is to be moved again was loaded, and the runs topic refuses
// it for half a minute. Nothing else is to be loaded that would begin another round.
func TestWhatARefusalLeavesOfTheLastRoundIsMovedAgain(t *testing.T) {
	const copies, size, others = 4, 60_000, 4000
	plant := func(s *shelf) {
		s.share, s.refuse = 4<<20, func(*kgo.Record) error { return errors.New("NOT_ENOUGH_REPLICAS") }
		s.plant(copies, size, func(i int) uint64 { return uint64(i) }, func(i int) time.Duration { return 20*time.Hour + time.Duration(i)*time.Second })
		for range others { // what stood there is finished
			s.put(&kgo.Record{Timestamp: time.Now()})
		}
		s.copied = nil
	}
	shelved(t, nil, plant, func(r *rig, s *shelf) {
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := r.moved(s); got > 0 || r.Loaded() < (copies-1)*size {
			r.Errorf("%d copies are moved, %d bytes are loaded", got, r.Loaded())
		}
		s.set(func(s *shelf) { s.refuse = nil })
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := r.moved(s); got < copies-1 { // the last run goes on
			r.Errorf("ten minutes later %d of %d copies are moved again, %d bytes of a share of %d are loaded by %d visits", got, copies, r.Loaded(), s.share, s.cleans())
		}
	})
}

// TestARunThatWasReadThroughIsMovedAgain: a start finds no directory of the last flush, as after a kill, so its copies are
// read through. Its log takes ten times as much as waits in it. "Above three times the live bytes the oldest records are
// read and moved again". With a directory of it the run is known to be whole, and so it is with another run behind.
func TestARunThatWasReadThroughIsMovedAgain(t *testing.T) {
	for _, last := range []uint64{2, 1} {
		t.Run(fmt.Sprint("the last copy is of run ", last), func(t *testing.T) {
			const copies, others = 20, 4000
			plant := func(s *shelf) {
				s.share = 4 << 20
				s.plant(copies, 60_000, func(i int) uint64 {
					if i == copies-1 {
						return last
					}
					return 1
				}, func(i int) time.Duration { return 20*time.Hour + time.Duration(i)*time.Second })
				for range others { // what stood there is finished
					s.put(&kgo.Record{Timestamp: time.Now()})
				}
				s.copied = nil
			}
			shelved(t, nil, plant, func(r *rig, s *shelf) {
				time.Sleep(6 * time.Hour)
				synctest.Wait()
				if got := r.moved(s); got < copies-1 {
					r.Errorf("six hours later %d of %d copies are moved again: %+v", got, copies, r.Snapshot().Outlook.Runs.Partitions)
				}
			})
		})
	}
}

// TestWhatIsDueTooSoonToBeMovedAgainMakesNoSmallRuns: a log takes far more than three times what waits in it, and all of
// that is due within the hour. So it is loaded, and stays. A record that is far off comes each minute: it is moved when
// ingress is not to keep it any more, and not with each try to move the copies.
func TestWhatIsDueTooSoonToBeMovedAgainMakesNoSmallRuns(t *testing.T) {
	const copies, others = 20, 4000
	plant := func(s *shelf) {
		s.share = 4 << 20
		s.plant(copies, 60_000, func(int) uint64 { return 1 }, func(i int) time.Duration { return 50*time.Minute + time.Duration(i)*time.Second })
		for range others { // what stood there is finished
			s.put(&kgo.Record{Timestamp: time.Now()})
		}
		s.copied = nil
	}
	shelved(t, nil, plant, func(r *rig, s *shelf) {
		for n := range int64(40) {
			r.fetched(assignment(0, 1), r.record(n, 20*time.Hour))
			time.Sleep(time.Minute)
		}
		if got := r.moved(s); s.cleans() == 0 || got > 0 {
			r.Errorf("in 40 minutes %d visits load copies, and %d records are moved; want some, and none", s.cleans(), got)
		}
	})
}
