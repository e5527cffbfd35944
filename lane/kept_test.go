package lane

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// aged makes a record of partition 0 that was written some time ago, and waits from now on.
func (r *rig) aged(offset int64, age, wait time.Duration) *kgo.Record {
	rec := r.record(offset, age+wait)
	rec.Timestamp = rec.Timestamp.Add(-age)
	return rec
}

// TestShortRetentionMovesWhatIsDueWithinTheHour: an ingress topic that keeps less than the horizon of memory
// would delete it before it is due. Each is moved once, though copies are read back within the horizon.
func TestShortRetentionMovesWhatIsDueWithinTheHour(t *testing.T) {
	for name, test := range map[string]struct {
		retention, wait time.Duration
		moved           int
	}{
		"beyond a quarter": {20 * time.Minute, 15 * time.Minute, 10},
		"within a quarter": {20 * time.Minute, 4 * time.Minute, 0},
		"of two minutes":   {2 * time.Minute, 90 * time.Second, 10},
	} {
		t.Run(name, func(t *testing.T) {
			shelved(t, nil, func(s *shelf) { s.retention = test.retention }, func(r *rig, s *shelf) {
				began := time.Now()
				r.fill(0, 10, test.wait)
				time.Sleep(test.wait + time.Minute)
				if n := r.moved(s); n != test.moved {
					r.Fatalf("%d copies are written, want %d", n, test.moved)
				}
				s.set(func(s *shelf) {
					for _, at := range s.copied {
						if age := at.Sub(began); age > test.retention/4+time.Second {
							r.Errorf("a record is moved at an age of %v", age)
						}
					}
				})
				if n := len(r.values()); n != 10 {
					r.Errorf("%d are delivered, want 10", n)
				}
			})
		})
	}
}

// TestWhatAnOutageHasMadeOldDoesNotWaitInIngress: a quarter of the retention has passed, so another outage may
// outlast the rest. Whatever memory says, it waits in runs, but for the last minute. What is young stays.
func TestWhatAnOutageHasMadeOldDoesNotWaitInIngress(t *testing.T) {
	const outage = 12 * time.Hour
	shelved(t, nil, func(s *shelf) { s.retention = 24 * time.Hour }, func(r *rig, s *shelf) {
		a := assignment(0, 1)
		r.fetched(a, r.aged(0, outage, 43*time.Minute), r.aged(1, outage, 50*time.Second), r.aged(2, 0, 43*time.Minute))
		time.Sleep(30 * time.Second)
		r.fetched(a, r.aged(3, outage, 43*time.Minute)) // behind the first flush
		time.Sleep(100 * time.Second)
		if n := r.moved(s); n != 2 {
			r.Fatalf("%d records are moved, want the two that are old and not due within a minute", n)
		}
		r.want("1")
		if low, _ := r.lastCommit(); low != 2 {
			r.Errorf("the low offset is %d, want 2: the young record's", low)
		}
		if time.Sleep(42 * time.Minute); r.moved(s) != 2 {
			r.Errorf("%d copies are written, want 2: those read back are moved again", r.moved(s))
		}
		if n := len(r.values()); n != 4 {
			r.Errorf("%d are delivered, want all", n)
		}
	})
}

// TestARecordWithoutATimestampIsNotOld: nobody knows how long ingress has kept it.
func TestARecordWithoutATimestampIsNotOld(t *testing.T) {
	shelved(t, nil, func(s *shelf) { s.retention = 24 * time.Hour }, func(r *rig, s *shelf) {
		old, none := r.aged(0, 12*time.Hour, 40*time.Minute), r.record(1, 0)
		none.Timestamp = time.UnixMilli(-1)
		none.Headers[0] = kgo.RecordHeader{Key: "x-deliver-at", Value: []byte(time.Now().Add(40 * time.Minute).Format(time.RFC3339))}
		r.fetched(assignment(0, 1), old, none)
		if time.Sleep(3 * time.Minute); r.moved(s) != 1 {
			r.Errorf("%d are moved, want the one that is known to be old", r.moved(s))
		}
	})
}

// TestARestartReadsABoundedStretchAgain: a record that is due within the hour is moved before it is too many
// offsets back. The bound is one of the process, which its partitions share.
func TestARestartReadsABoundedStretchAgain(t *testing.T) {
	for name, test := range map[string]struct {
		partitions   int
		within, over int64 // three quarters of what there is for a partition begin a flush
	}{
		"one partition": {1, 3_749_000, 3_751_000},
		"eight":         {8, 468_000, 469_500},
		"a thousand":    {1000, 37_000, 38_000},
		"none so far":   {0, 3_749_000, 3_751_000},
	} {
		t.Run(name, func(t *testing.T) {
			shelved(t, nil, func(s *shelf) { s.partitions = test.partitions }, func(r *rig, s *shelf) {
				a := assignment(0, 1)
				r.fetched(a, r.record(0, 40*time.Minute), r.record(1, 10*time.Minute), r.record(2, 40*time.Second), r.record(test.within, 40*time.Minute))
				if time.Sleep(20 * time.Second); r.moved(s) > 0 {
					r.Fatalf("%d records are moved within the bound", r.moved(s))
				}
				r.fetched(a, r.record(test.over, 40*time.Minute))
				if time.Sleep(5 * time.Second); r.moved(s) != 2 {
					r.Errorf("%d records are moved, want the two that are far back and not due within a minute", r.moved(s))
				}
				time.Sleep(30 * time.Second)
				if low, _ := r.lastCommit(); low != test.within {
					r.Errorf("the low offset is %d, want %d", low, test.within)
				}
				if time.Sleep(40 * time.Minute); r.moved(s) != 2 {
					r.Errorf("%d copies are written, want 2", r.moved(s))
				}
				if n := len(r.values()); n != 5 {
					r.Errorf("%d are delivered, want 5", n)
				}
			})
		})
	}
}

// TestWhatNothingMovesCausesNoFlushEachSecond: a record with an id makes a stretch too long for as long as it
// waits. What has come since is moved a quarter of the bound at a time, each record once.
func TestWhatNothingMovesCausesNoFlushEachSecond(t *testing.T) {
	shelved(t, nil, func(s *shelf) { s.partitions = 1000 }, func(r *rig, s *shelf) {
		pin := r.record(0, 50*time.Minute)
		pin.Headers = append(pin.Headers, kgo.RecordHeader{Key: "x-delay-id", Value: []byte("a")})
		r.fetched(assignment(0, 1), pin)
		for i := range int64(200) {
			r.fetched(assignment(0, 1), r.record(1000*(1+i), 40*time.Minute))
			time.Sleep(time.Second)
		}
		moved, flushes := r.moved(s), 0
		s.set(func(s *shelf) { flushes = len(s.log) - len(s.copied) }) // a directory each
		if moved < 150 || moved > 200 || flushes < 8 || flushes > 20 {
			r.Errorf("%d copies are written in %d flushes", moved, flushes)
		}
	})
}

// TestAFloodDoesNotKeepWhatIsFarBack: memory is full all the time, and copies of what is due last are on their
// way all the time. What is due within the hour leaves ingress all the same.
func TestAFloodDoesNotKeepWhatIsFarBack(t *testing.T) {
	const seconds, each = 60, 100
	s := &slowRuns{answers: make(chan func(), 2*seconds*each)}
	inBubble(t, func(c *Config) {
		c.Core.LargestChunk = 4 << 10
		c.Runs = RunsConfig{Runs: s, Beside: 1, InFlight: 1 << 16, Share: func() int64 { return 4 << 20 }, Left: func() int64 { return -1 << 40 }, Retention: func(string) time.Duration { return 0 },
			Partitions: func() int { return 1000 }, Uniform: func() bool { return true }}
	}, func(r *rig) {
		r.RunsChanged("delayed", RunsTopic{TopicID: offsets.TopicID{1}, Usable: true})
		r.assign(0, 1)
		synctest.Wait()
		r.fetched(assignment(0, 1), r.record(0, 30*time.Minute))
		for i := range int64(seconds) {
			var flood []*kgo.Record
			for n := range int64(each) {
				rec := r.record(1+i*2000+n, 20*time.Hour)
				rec.Value = make([]byte, 10_000)
				flood = append(flood, rec)
			}
			r.fetched(assignment(0, 1), flood...)
			time.Sleep(time.Second)
			s.answer(each / 2)
		}
		if low, _ := r.lastCommit(); low == 0 {
			r.Error("the first record is kept in ingress")
		}
		for range 30 { // the rest, so that nothing is owed in the end
			s.answer(len(s.answers))
			time.Sleep(time.Second)
		}
	})
}

// answer gives at most n answers that are owed.
func (s *slowRuns) answer(n int) {
	for range min(n, len(s.answers)) {
		(<-s.answers)()
	}
}
