package lane

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestBesideWhatIsTooLargeSmallOnesAreNotMovedOneByOne: it fills memory, and cannot be moved.
func TestBesideWhatIsTooLargeSmallOnesAreNotMovedOneByOne(t *testing.T) {
	for name, large := range map[string]int{"nothing is too large": 0, "much is": 225} {
		t.Run(name, func(t *testing.T) {
			shelved(t, nil, nil, func(r *rig, s *shelf) {
				s.set(func(s *shelf) { s.refuse = tooLarge(2500) })
				at := int64(0)
				for range large {
					rec := r.record(at, 15*time.Hour)
					rec.Value = make([]byte, 2500)
					r.fetched(assignment(0, 1), rec)
					at++
				}
				time.Sleep(30 * time.Second)
				before := 0
				synctest.Wait()
				s.set(func(s *shelf) { before = len(s.log) - len(s.copied) })
				const seconds = 3600
				for range seconds {
					r.fetched(assignment(0, 1), r.record(at, 20*time.Hour))
					at++
					time.Sleep(time.Second)
				}
				synctest.Wait()
				flushes, moved := 0, r.moved(s)
				s.set(func(s *shelf) { flushes = len(s.log) - len(s.copied) - before })
				if flushes > seconds/3 || moved > seconds*2 {
					r.Errorf("%d flushes in %d s, and %d copies written of %d records of some 60 bytes", flushes, seconds, moved, seconds)
				}
			})
		})
	}
}

// TestALaneWithLessThanHalfOfItsShareMakesRoomForTheProcess: records with an id in other lanes take the rest of
// memory for days, and reading pauses. Whatever can be moved is, if it is one record.
func TestALaneWithLessThanHalfOfItsShareMakesRoomForTheProcess(t *testing.T) {
	for _, records := range []int{1, 220} {
		t.Run(fmt.Sprint(records), func(t *testing.T) {
			const share, process = 1 << 20, 4 << 20
			shelved(t, nil, func(s *shelf) { s.share, s.process, s.others = share, process, process }, func(r *rig, s *shelf) {
				for at := range int64(records) {
					r.fetched(assignment(0, 1), r.record(at, 15*time.Hour))
				}
				time.Sleep(time.Minute)
				if n := r.moved(s); n == 0 {
					r.Errorf("nothing of %d records that are due in 15 h is moved: %d bytes are used of a share of %d, and the process has as many too many", records, r.Bytes(), share)
				}
			})
		})
	}
}

// TestMemoryThatIsNearlyFullOfWhatIsNotMovedIsNotFilledByTheRest: records with an id take it. A flush of two KiB
// gives more than its run takes.
func TestMemoryThatIsNearlyFullOfWhatIsNotMovedIsNotFilledByTheRest(t *testing.T) {
	const share = 1 << 20
	shelved(t, nil, func(s *shelf) { s.share, s.process = share, 8*share }, func(r *rig, s *shelf) {
		at := int64(0)
		for ; r.Bytes() < share*25/32; at++ {
			rec := r.record(at, 15*time.Hour)
			rec.Value, rec.Headers = make([]byte, 3000), append(rec.Headers, kgo.RecordHeader{Key: "x-delay-id", Value: fmt.Append(nil, at)})
			r.fetched(assignment(0, 1), rec)
			synctest.Wait() // else memory has many more before its bytes are told
		}
		time.Sleep(time.Minute)
		for range 40 {
			r.fetched(assignment(0, 1), r.record(at, 15*time.Hour))
			at++
		}
		time.Sleep(time.Minute)
		if n := r.moved(s); n != 40 {
			r.Errorf("%d of 40 records are moved with %d bytes used of a share of %d", n, r.Bytes(), share)
		}
	})
}

// TestBesideAPartitionThatTakesNoCopiesOthersAreNotMovedOneByOne: it has filled memory, and reading does not pause
// yet.
func TestBesideAPartitionThatTakesNoCopiesOthersAreNotMovedOneByOne(t *testing.T) {
	for name, large := range map[string]int{"nothing stays": 0, "much stays": 205} {
		t.Run(name, func(t *testing.T) {
			const share, seconds = 1 << 20, 3600
			plant := func(p int, s *shelf) {
				if p == 0 {
					s.refuse = func(*kgo.Record) error { return fmt.Errorf("not enough replicas") }
				}
			}
			manyShelves(t, 2, 4, share, plant, func(r *rig, m *shelves) {
				m.alone.Store(r)
				for i := range int64(large) {
					rec := r.record(i, 15*time.Hour)
					rec.Value = make([]byte, 2500)
					r.fetched(assignment(0, 1), rec)
				}
				time.Sleep(30 * time.Second)
				for i := range int64(seconds) {
					rec := r.record(i, 20*time.Hour)
					rec.Partition = 1
					r.fetched(assignment(1, 1), rec)
					time.Sleep(time.Second)
				}
				moved, flushes, s := r.moved(m.list[1]), 0, m.list[1]
				s.set(func(s *shelf) { flushes = len(s.log) - len(s.copied) })
				if flushes > seconds/3 || moved > seconds*2 {
					r.Errorf("%d flushes in %d s, and %d copies written of %d records of some 60 bytes", flushes, seconds, moved, seconds)
				}
			})
		})
	}
}

// TestABurstBehindASmallFlushIsMovedAtOnce: three quarters of the share are due within a minute, a few records are
// far off, and are moved. Then a burst comes that is far off. "where the lane, or the process, has used three
// quarters, at once".
func TestABurstBehindASmallFlushIsMovedAtOnce(t *testing.T) {
	const share, parts = 8 << 20, 64
	for name, few := range map[string]int{"burst alone": 0, "behind a few": 40} {
		t.Run(name, func(t *testing.T) {
			manyShelves(t, parts, 4, share, func(int, *shelf) {}, func(r *rig, m *shelves) {
				m.alone.Store(r)
				var at [parts]int64
				next := 0
				put := func(wait time.Duration) {
					p := int32(next % parts)
					next++
					rec := r.record(at[p], wait)
					rec.Partition, rec.Value = p, make([]byte, 1000)
					r.fetched(assignment(p, 1), rec)
					at[p]++
				}
				for synctest.Wait(); r.Bytes() < share*13/16; synctest.Wait() {
					put(55 * time.Second)
				}
				time.Sleep(2 * time.Second)
				for range few {
					put(20 * time.Hour)
				}
				time.Sleep(1500 * time.Millisecond)
				for synctest.Wait(); r.Bytes() < share*29/32; synctest.Wait() {
					put(20 * time.Hour)
				}
				paused := 0
				for ; r.Bytes() > share*7/8; paused++ {
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
				}
				if paused > 40 { // a flush each second, and a burst may be cut into three; without them it is 91
					t.Errorf("reading pauses for %d tenths of a second, and what has filled memory can all be moved", paused)
				}
			})
		})
	}
}

// TestWhatIsReadAheadIsNotMovedAgain: other lanes have filled memory. This one uses less than half of its share:
// copies that it reads ahead, and a record now and then that is far off.
func TestWhatIsReadAheadIsNotMovedAgain(t *testing.T) {
	const share, process, copies, far = 1 << 20, 4 << 20, 1500, 120
	for name, others := range map[string]int64{"memory is free": 0, "others fill memory": process - share/16} {
		t.Run(name, func(t *testing.T) {
			plant := func(s *shelf) {
				s.share, s.process, s.others = share, process, others
				s.plant(copies, 300, func(i int) uint64 { return uint64(i / 100) }, func(i int) time.Duration { return time.Minute + time.Duration(i)*time.Second })
			}
			shelved(t, nil, plant, func(r *rig, s *shelf) {
				for at := range int64(far) {
					rec := r.record(at, 20*time.Hour)
					rec.Value = make([]byte, 300)
					r.fetched(assignment(0, 1), rec)
					time.Sleep(10 * time.Second)
				}
				v := r.Snapshot()
				if v.Cleaned > 0 {
					t.Errorf("%d of %d copies that were read ahead are moved again", v.Cleaned, copies)
				}
			})
		})
	}
}
