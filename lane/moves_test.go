package lane

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/delay"
	"layover/journal/runs"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// full is so many records of a kilobyte that a share of a mebibyte is nearly used up.
const full = 800

// TestNothingIsMovedBesideAnOlderMember, however full memory is, and moves begin when it has left.
func TestNothingIsMovedBesideAnOlderMember(t *testing.T) {
	shelved(t, nil, func(s *shelf) { s.older = true }, func(r *rig, s *shelf) {
		r.fill(0, full, 5*time.Hour)
		time.Sleep(2 * time.Minute)
		if n := r.moved(s); n > 0 {
			r.Errorf("%d records are moved beside an older member", n)
		}
		s.set(func(s *shelf) { s.older = false })
		time.Sleep(15 * time.Second)
		n := r.moved(s)
		if n == 0 {
			r.Fatal("nothing is moved when it has left")
		}
		s.set(func(s *shelf) { s.older = true })
		time.Sleep(15 * time.Second)
		before := r.moved(s)
		r.fill(full, n, 5*time.Hour)
		if time.Sleep(time.Minute); r.moved(s) != before {
			r.Errorf("%d records are moved when it is back", r.moved(s)-before)
		}
	})
}

// TestALaneMovesAtOnceWhileOthersFillMemory: reading is paused for the whole process then, and no record comes
// that would fill the lane's own share.
func TestALaneMovesAtOnceWhileOthersFillMemory(t *testing.T) {
	shelved(t, func(c *Config) { c.Core.LargestChunk = 1 << 14 }, nil, func(r *rig, s *shelf) {
		r.fill(0, full, 5*time.Hour)
		before := r.moved(s)
		for n := int64(full); r.Bytes() < s.share*5/8; n += 10 {
			r.fetched(assignment(0, 1), r.bunch(n, 10, 5*time.Hour)...)
			time.Sleep(time.Millisecond)
		}
		if before == 0 || r.moved(s) > before {
			r.Fatalf("%d records are moved, then %d", before, r.moved(s)-before)
		}
		s.set(func(s *shelf) { s.others = s.share / 4 })
		if time.Sleep(time.Second); r.moved(s) == before {
			r.Errorf("nothing is moved within a second, with %d of %d bytes used and %d by others", r.Bytes(), s.share, s.others)
		}
	})
}

// TestNothingIsMovedWithoutALease: another member may have the partition by then.
func TestNothingIsMovedWithoutALease(t *testing.T) {
	shelved(t, nil, nil, func(r *rig, s *shelf) {
		r.kafka.set(func(k *kafka) { k.noLease = true })
		time.Sleep(2 * time.Second)
		r.fill(0, full, 5*time.Hour)
		if time.Sleep(time.Minute); r.moved(s) > 0 {
			r.Errorf("%d records are moved", r.moved(s))
		}
		r.kafka.set(func(k *kafka) { k.noLease = false })
		if time.Sleep(15 * time.Second); r.moved(s) == 0 {
			r.Error("nothing is moved when the lease is back")
		}
	})
}

// TestARecordThatWasMovedIsDeliveredAsTheOneOfIngress: with its id, headers and deadline. Its copy
// has the time of its move.
func TestARecordThatWasMovedIsDeliveredAsTheOneOfIngress(t *testing.T) {
	shelved(t, nil, nil, func(r *rig, s *shelf) {
		s.plant(3, 10, func(int) uint64 { return 1 }, func(int) time.Duration { return 50 * time.Hour }) // so that offsets differ
		r.fill(0, full, 2*time.Hour)
		if n := r.moved(s); n < full/8 { // perhaps all: a chunk counts until its last record has left
			r.Fatalf("%d records are moved", n)
		}
		s.set(func(s *shelf) {
			for _, c := range s.log[3:] {
				if age := time.Since(c.Timestamp); len(c.Headers) > 0 && (age < 0 || age > 10*time.Second) {
					r.Fatalf("a copy has the timestamp %v", c.Timestamp)
				}
			}
		})
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		if v := r.Snapshot(); v.Loaded != v.Moved {
			r.Errorf("%d records are read back, %d were moved", v.Loaded, v.Moved)
		}
		r.kafka.set(func(k *kafka) {
			seen := make(map[string]bool)
			for _, d := range k.deliveries {
				offset, _, _ := strings.Cut(d.value, " ")
				seen[offset] = true
				if _, ok := d.headers[runs.Header]; ok || d.headers["layover-id"] != "delayed-0-"+offset || d.headers["trace"] != "t" || d.key != "key" {
					r.Fatalf("%s has key %q, headers %v", offset, d.key, d.headers)
				}
				due, err := time.Parse(time.RFC3339, d.headers["layover-due"])
				if late := d.at.Sub(due); err != nil || late < 0 || late > 10*time.Millisecond {
					r.Fatalf("%s is %v late: %v", offset, late, err)
				}
			}
			if len(seen) != full || len(k.deliveries) != full {
				r.Errorf("%d deliveries of %d records, want %d", len(k.deliveries), len(seen), full)
			}
		})
	})
}

// TestARecordThatTheRulesRefuseWhenItIsReadBackIsADeadLetter.
func TestARecordThatTheRulesRefuseWhenItIsReadBackIsADeadLetter(t *testing.T) {
	var rules atomic.Pointer[delay.Rules]
	with := func(allowed ...string) {
		targets, err := delay.NewTargets("ready", allowed, []string{"delayed"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rules.Store(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets})
	}
	with("other")
	shelved(t, func(c *Config) { c.Rules = func(string) *delay.Rules { return rules.Load() } }, nil, func(r *rig, s *shelf) {
		r.fill(0, full, 2*time.Hour, kgo.RecordHeader{Key: delay.HeaderDeliverTo, Value: []byte("other")})
		if r.moved(s) == 0 {
			r.Fatal("nothing is moved")
		}
		with()
		time.Sleep(2*time.Hour + time.Minute)
		synctest.Wait()
		letters := 0
		r.seen().set(func(k *kafka) {
			for _, d := range k.deliveries {
				if d.target == "graves" && d.headers[delay.HeaderErrorReason] == string(delay.ReasonTargetNotAllowed) {
					letters++
				}
			}
			if loaded := r.Snapshot().Loaded; letters != int(loaded) || len(k.deliveries) != full {
				r.Errorf("%d dead letters of %d deliveries, want %d of %d", letters, len(k.deliveries), loaded, full)
			}
		})
	})
}

// TestARefusedDirectoryIsWrittenAgain: a restart would read through all that was moved.
func TestARefusedDirectoryIsWrittenAgain(t *testing.T) {
	shelved(t, nil, nil, func(r *rig, s *shelf) {
		refused := 0
		s.set(func(s *shelf) {
			s.refuse = func(rec *kgo.Record) error {
				if len(rec.Headers) > 0 {
					return nil
				}
				refused++
				return errors.New("not enough replicas")
			}
		})
		r.fill(0, full, 5*time.Hour)
		time.Sleep(time.Minute)
		s.set(func(s *shelf) {
			if refused < 2 || refused > 60 {
				r.Errorf("it was tried %d times in a minute", refused)
			}
			s.refuse = nil
		})
		time.Sleep(15 * time.Second)
		s.set(func(s *shelf) {
			if last := s.log[len(s.log)-1]; len(last.Headers) > 0 {
				r.Error("no directory stands behind the copies")
			}
			at := slices.IndexFunc(s.log, func(c *kgo.Record) bool { return len(c.Headers) == 0 })
			if at != len(s.log)-1 {
				r.Errorf("a directory stands at %d of %d", at, len(s.log))
			}
		})
		r.kafka.set(func(k *kafka) {
			if end := k.commits[len(k.commits)-1].Runs.DirectoryEnd; end != int64(len(s.log)) {
				r.Errorf("the last commit names a directory at %d, want %d", end-1, len(s.log)-1)
			}
		})
	})
}

// TestACopyThatIsRefusedIsParkedAgain and delivered, and nothing is finished by it.
func TestACopyThatIsRefusedIsParkedAgain(t *testing.T) {
	shelved(t, nil, nil, func(r *rig, s *shelf) {
		s.set(func(s *shelf) { s.refuse = func(*kgo.Record) error { return errors.New("not enough replicas") } })
		r.fill(0, full, 10*time.Minute)
		time.Sleep(time.Minute)
		if low, _ := r.lastCommit(); low != 0 || r.Snapshot().Moved != 0 {
			r.Errorf("%d count as moved, low offset %d", r.Snapshot().Moved, low)
		}
		time.Sleep(10 * time.Minute)
		if n := len(r.values()); n != full {
			r.Errorf("%d are delivered, want %d", n, full)
		}
	})
}

// TestATopicThatIsMadeAgainIsBegunWithAtOnce, whether a visit is due or not.
func TestATopicThatIsMadeAgainIsBegunWithAtOnce(t *testing.T) {
	shelved(t, nil, nil, func(r *rig, s *shelf) {
		r.fill(0, full, 5*time.Hour)
		n := r.moved(s)
		if n == 0 {
			r.Fatal("nothing is moved")
		}
		visits := 0
		s.set(func(s *shelf) {
			s.topic, s.log = offsets.TopicID{10}, nil
			visits = len(s.visits)
		})
		r.RunsChanged("delayed", RunsTopic{TopicID: offsets.TopicID{10}, Usable: true})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		s.set(func(s *shelf) {
			if len(s.openings) != 2 || s.openings[1].Left == nil || len(s.visits) != visits {
				r.Errorf("%d openings, %d visits meanwhile", len(s.openings), len(s.visits)-visits)
			}
		})
		if v := r.Snapshot(); v.LostFromRuns != int64(n) || v.Outlook.Runs.Copies != 0 {
			r.Errorf("%d count as lost, %d as waiting, want %d and none", v.LostFromRuns, v.Outlook.Runs.Copies, n)
		}
	})
}

// TestAnOpeningEndsWithItsAssignment: nobody asks on for one that is over.
func TestAnOpeningEndsWithItsAssignment(t *testing.T) {
	shelved(t, nil, func(s *shelf) { s.silent = true }, func(r *rig, s *shelf) {
		for epoch := uint64(2); epoch < 5; epoch++ {
			over := make(chan struct{})
			r.Lost(assignment(0, epoch-1), func() { close(over) })
			<-over
			r.assign(0, epoch)
			time.Sleep(time.Second)
			synctest.Wait()
			s.set(func(s *shelf) {
				if s.waiting != 1 || len(s.openings) != int(epoch) {
					r.Errorf("assignment %d: %d of %d openings are waiting, want 1", epoch, s.waiting, len(s.openings))
				}
			})
		}
		over := make(chan struct{})
		r.Lost(assignment(0, 4), func() { close(over) })
		<-over
		synctest.Wait()
		s.set(func(s *shelf) {
			if s.waiting != 0 {
				r.Errorf("%d openings go on", s.waiting)
			}
		})
	})
}

// TestRecordsAreMovedForTheirAge, though memory is empty: before ingress has to keep them for an
// hour, or for a quarter of its retention.
func TestRecordsAreMovedForTheirAge(t *testing.T) {
	for name, test := range map[string]struct{ retention, least, most time.Duration }{
		"as long as it likes": {0, 30 * time.Minute, time.Hour},
		"for an hour":         {time.Hour, 5 * time.Minute, 15 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			shelved(t, nil, func(s *shelf) { s.retention = test.retention }, func(r *rig, s *shelf) {
				began := time.Now()
				r.fill(0, 10, 23*time.Hour)
				time.Sleep(2 * time.Hour)
				if n := r.moved(s); n != 10 {
					r.Fatalf("%d records are moved, want all", n)
				}
				s.set(func(s *shelf) {
					if age := s.copied[0].Sub(began); age < test.least || age > test.most {
						r.Errorf("they are moved at an age of %v, want %v to %v", age, test.least, test.most)
					}
				})
				if low, _ := r.lastCommit(); low != 10 {
					r.Errorf("the low offset is %d, want 10", low)
				}
			})
		})
	}
}

// TestMovesDoNotWaitForTheNextCommit: one comes sooner for them.
func TestMovesDoNotWaitForTheNextCommit(t *testing.T) {
	shelved(t, func(c *Config) { c.CommitInterval = 10 * time.Minute }, nil, func(r *rig, s *shelf) {
		const many = 25_000
		records := make([]*kgo.Record, many)
		for i := range records {
			records[i] = r.record(int64(i), 5*time.Hour)
		}
		r.fetched(assignment(0, 1), records...)
		s.set(func(s *shelf) { s.share = 1 << 17 })
		time.Sleep(20 * time.Second)
		if n := r.moved(s); n < 20_000 {
			r.Errorf("%d are moved in 20 s, want most of %d", n, many)
		}
	})
}

// TestRecordsThatAreTooLargeForTheRunsTopicKeepNoOthersFromBeingMoved: one in four is refused for its size, as where
// max.message.bytes was raised on the ingress topic alone. They stay in memory, and are tried again now and then.
func TestRecordsThatAreTooLargeForTheRunsTopicKeepNoOthersFromBeingMoved(t *testing.T) {
	const size, all, large = 3000, 2000, 500
	shelved(t, nil, nil, func(r *rig, s *shelf) {
		refused := 0
		s.set(func(s *shelf) {
			s.refuse = func(rec *kgo.Record) error {
				if len(rec.Value) < size {
					return nil
				}
				refused++
				return fmt.Errorf("%w: MESSAGE_TOO_LARGE", runs.ErrTooLarge)
			}
		})
		for i, rec := range r.bunch(0, all, 5*time.Hour) {
			if i%(all/large) == 0 {
				rec.Value = append(rec.Value, make([]byte, size)...)
			}
			r.fetched(assignment(0, 1), rec)
		}
		time.Sleep(5 * time.Second)
		if n := r.moved(s); n < all-large {
			r.Errorf("%d of the %d others are moved", n, all-large)
		}
		time.Sleep(9 * time.Minute)
		s.set(func(s *shelf) {
			if refused > large {
				r.Errorf("%d copies are refused of %d records", refused, large)
			}
			s.refuse = nil
		})
		time.Sleep(2 * time.Minute)
		if n := r.moved(s); n < all-large/2 {
			r.Errorf("%d of all %d are moved once the topic takes them", n, all)
		}
	})
}
