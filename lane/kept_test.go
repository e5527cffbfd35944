package lane

import (
	"testing"
	"time"

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
