package lane

import (
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestARecordIsDeliveredAtItsDeadlineWithItsHeaders(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, 6*time.Hour))
		time.Sleep(6*time.Hour - time.Millisecond)
		r.want()
		time.Sleep(time.Millisecond)
		r.want("0")
		d := r.seen().deliveries[0]
		due := r.start.Add(6 * time.Hour)
		if d.at.Before(due) || d.target != "ready" || d.key != "key" || d.headers["trace"] != "t" || d.headers["layover-id"] != "delayed-0-0" || d.headers["layover-due"] != delayFormat(due) {
			t.Errorf("delivered %+v, due %v", d, due)
		}
		if _, there := d.headers["x-delay"]; there {
			t.Error("the control header was passed on")
		}
		time.Sleep(time.Second)
		if low, _ := r.lastCommit(); low != 1 {
			t.Errorf("low offset %d committed, want 1", low)
		}
	})
}

func delayFormat(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func TestTheLoopSleepsASecondAtMostAndDoesNotSpin(t *testing.T) {
	for name, of := range map[string]struct {
		turns   int // in 10 s at most
		prepare func(*rig)
	}{
		"empty":  {10, func(*rig) {}},
		"parked": {10, func(r *rig) { r.assign(0, 1); r.fetched(assignment(0, 1), r.record(0, time.Hour)) }},
		"without a lease": {250, func(r *rig) {
			r.kafka.set(func(k *kafka) { k.noLease = true; k.refuse = errors.New("no coordinator") })
			r.assign(0, 1)
			r.fetched(assignment(0, 1), r.record(0, 0))
		}},
		"many come due without a lease": {250, func(r *rig) {
			r.assign(0, 1)
			for o := range int64(4000) {
				r.fetched(assignment(0, 1), r.record(o, time.Second+time.Duration(o)*5*time.Millisecond))
			}
			r.kafka.set(func(k *kafka) { k.noLease = true; k.refuse = errors.New("no coordinator") })
		}},
		"waiting for answers": {250, func(r *rig) {
			r.kafka.set(func(k *kafka) { k.silent = true })
			r.assign(0, 1)
			r.fetched(assignment(0, 1), r.record(0, 0))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				of.prepare(r)
				time.Sleep(3500 * time.Millisecond) // until what was begun is committed, and between two wake-ups
				r.kafka.set(func(k *kafka) { k.turns = k.turns[len(k.turns)-1:] })
				time.Sleep(10 * time.Second)
				r.kafka.set(func(k *kafka) {
					if n := len(k.turns) - 1; n > of.turns {
						t.Errorf("%d turns in 10 s, want at most %d", n, of.turns)
					}
					for i := range k.turns[1:] {
						if gap := k.turns[i+1].Sub(k.turns[i]); gap > time.Second {
							t.Errorf("slept %v", gap)
						}
					}
				})
				if behind := time.Since(r.Beat()); behind > time.Second {
					t.Errorf("the last beat is %v old", behind)
				}
			})
		})
	}
}

func TestAnEarlierDeadlineWakesTheLoop(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, time.Hour))
		time.Sleep(time.Minute + 500*time.Millisecond)
		sent := time.Now()
		r.fetched(assignment(0, 1), r.record(1, 7*time.Millisecond))
		time.Sleep(7 * time.Millisecond)
		r.want("1")
		if late := r.seen().deliveries[0].at.Sub(sent); late != 7*time.Millisecond {
			t.Errorf("delivered after %v, want 7 ms", late)
		}
	})
}

func TestAnEarlierDeadlineIsHeardOfInTheMiddleOfATurn(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(1500 * time.Millisecond) // until there is nothing to publish or to commit
		r.kafka.set(func(k *kafka) {
			k.silent = true // so that no answer wakes the loop either
			k.delivering = func(n int) {
				if n == 1 {
					r.Fetched(assignment(0, 1), []*kgo.Record{r.record(1, 10*time.Millisecond)}, 0)
				}
			}
		})
		r.fetched(assignment(0, 1), r.record(0, 0))
		r.want("0")
		time.Sleep(10 * time.Millisecond)
		r.want("0", "1")
	})
}

func TestPatienceIsUsedUpByTimeInWhichBrokersAnswerAlone(t *testing.T) {
	for name, test := range map[string]struct {
		clock func(time.Duration) time.Duration
		dead  int // records in the dead-letter topic, an hour on
	}{
		"goes on":      {func(since time.Duration) time.Duration { return since }, 1},
		"stands still": {func(time.Duration) time.Duration { return time.Second }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			edit := func(c *Config) {
				start := time.Now()
				c.Core.DeadLetterTopic = "graves"
				c.Answered = func() time.Duration { return test.clock(time.Since(start)) }
			}
			inBubble(t, edit, func(r *rig) {
				r.kafka.set(func(k *kafka) { k.fails = "ready" })
				r.assign(0, 1)
				r.fetched(assignment(0, 1), r.record(0, 0))
				dead := func() (n int) {
					r.seen().set(func(k *kafka) {
						for _, d := range k.deliveries {
							if d.target == "graves" {
								n++
							}
						}
					})
					return n
				}
				time.Sleep(time.Minute - time.Second) // of a minute's patience
				if n := dead(); n != 0 {
					t.Errorf("%d dead-lettered before patience was used up", n)
				}
				time.Sleep(time.Hour)
				if n := dead(); n != test.dead {
					t.Errorf("%d dead-lettered in an hour, want %d", n, test.dead)
				}
			})
		})
	}
}

func TestNothingIsDeliveredBeforeACommitWasTaken(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.kafka.set(func(k *kafka) { k.refuse = errors.New("coordinator loading") })
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, 0))
		time.Sleep(5 * time.Second)
		r.want()
		r.kafka.set(func(k *kafka) { k.refuse = nil })
		time.Sleep(2 * maxRefusalPause)
		r.want("0")
	})
}

func TestWithoutALeaseNothingIsDeliveredUntilACommitWasTaken(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(time.Second)
		r.kafka.set(func(k *kafka) { k.noLease = true; k.refuse = errors.New("no coordinator") })
		time.Sleep(2 * time.Second)
		r.fetched(assignment(0, 1), r.record(0, 0))
		time.Sleep(5 * time.Second)
		r.want()
		r.kafka.set(func(k *kafka) { k.noLease = false })
		time.Sleep(5 * time.Second)
		r.want()
		r.kafka.set(func(k *kafka) { k.refuse = nil })
		time.Sleep(2 * maxRefusalPause)
		r.want("0")
	})
}

func TestADeliveryThatFailedIsSentAgain(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.kafka.set(func(k *kafka) { k.silent = true })
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, 0))
		time.Sleep(time.Second)
		r.want("0")
		r.kafka.set(func(k *kafka) { k.silent = false })
		r.seen().deliveries[0].done(errors.New("request timed out"))
		time.Sleep(300 * time.Millisecond)
		r.want("0", "0")
		if a, b := r.seen().deliveries[0], r.seen().deliveries[1]; a.key != b.key || a.headers["layover-due"] != b.headers["layover-due"] {
			t.Errorf("sent %+v, then %+v", a, b)
		}
	})
}

func TestTheBudgetOfWhatIsNeverReadIsGivenBackToo(t *testing.T) {
	inBubble(t, nil, func(r *rig) { // the account is held when the bubble ends
		r.assign(0, 1)
		bad := r.record(0, 0)
		bad.Headers[0].Value = []byte("soon")
		r.fetched(assignment(0, 1), bad, r.record(1, 0))
		r.fetched(assignment(0, 1), r.record(2, 0)) // behind the record that halts
		r.fetched(assignment(0, 7), r.record(0, 0)) // of another assignment
		r.fetched(assignment(5, 1), r.record(0, 0)) // of a partition that is not here
		r.fetched(assignment(0, 1))                 // empty
		time.Sleep(time.Second)
		r.want()
		if len(r.seen().halts) != 1 || r.seen().halts[0].Offset != 0 {
			t.Errorf("halts %+v", r.seen().halts)
		}
		if s := r.Snapshot(); s.Partitions[0].Halted == "" {
			t.Errorf("the snapshot does not say why: %+v", s.Partitions)
		}
		var many []*kgo.Record
		for o := range int64(3 * intakeBudget) {
			many = append(many, r.record(o, time.Hour))
		}
		r.assign(1, 2)
		r.fetched(assignment(1, 2), many...)
		r.Stop(time.Now().Add(time.Second)) // in the middle of it
	})
}

// TestTheBudgetIsGivenBackOnceTheBytesAreTold: reading would go on beyond the memory bound
// if records were neither on their way nor in the lane for a moment.
func TestTheBudgetIsGivenBackOnceTheBytesAreTold(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		synctest.Wait()
		before := r.Bytes()
		told, rests := int64(-1), int64(0)
		r.kafka.set(func(k *kafka) { k.consuming = func() { told, rests = r.Bytes(), r.Resting() } })
		parked := r.record(0, time.Hour)
		parked.Value = make([]byte, 1<<20)
		r.fetched(assignment(0, 1), parked)
		if r.seen(); told < before+1<<20 || rests < 1<<20 {
			t.Errorf("%d bytes told when the budget is given back, of which %d rest; %d before a record of a MiB", told, rests, before)
		}
	})
}

func TestALongReplayDelaysNobody(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		var many []*kgo.Record
		for o := range int64(20_000) {
			many = append(many, r.record(o, time.Hour))
		}
		r.fetched(assignment(0, 1), r.record(0, 5*time.Millisecond))
		time.Sleep(5 * time.Millisecond)
		r.fetched(assignment(0, 1), many[1:]...)
		r.want("0")
		var parked int64
		time.Sleep(time.Second)
		for _, n := range r.Snapshot().Consumed {
			parked += n
		}
		if parked != 20_000 || r.Bytes() < 20_000*30 {
			t.Errorf("%d records, %d bytes", parked, r.Bytes())
		}
	})
}

func TestAJumpIsPassedOn(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		a := facts.Assigned{Assignment: assignment(0, 1), Window: windowFinished(0, 10, 500)}
		r.Assign(a)
		r.fetched(assignment(0, 1), r.record(9, 0), r.record(10, 0))
		time.Sleep(time.Second)
		if len(r.seen().jumps) != 1 || r.seen().jumps[0].To != 500 {
			t.Errorf("jumps %+v", r.seen().jumps)
		}
	})
}

// TestABatchThatIsNotReadHasALetterInItsPlace: without anything of a record.
func TestABatchThatIsNotReadHasALetterInItsPlace(t *testing.T) {
	inBubble(t, func(c *Config) { c.Core.OnInvalid, c.Core.DeadLetterTopic = purgatory.DeadLetter, "graves" }, func(r *rig) {
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, 0))
		r.Unread(assignment(0, 1), offsets.UnreadBatch{First: 1, Last: 7, Records: 5, Message: "takes too much"})
		r.Unread(assignment(0, 9), offsets.UnreadBatch{First: 8, Last: 9, Records: 2, Message: "of another assignment"})
		time.Sleep(3 * time.Second)
		r.want("", "0") // the record goes through the wheel
		d := r.seen().deliveries[0]
		want := map[string]string{
			"layover.errors.topic": "delayed", "layover.errors.partition": "0", "layover.errors.offset": "1", "layover.errors.last_offset": "7",
			"layover.errors.records": "5", "layover.errors.reason": "too_large_to_read", "layover.errors.message": "takes too much",
			"layover.errors.group": "g", "layover.errors.timestamp": delayFormat(d.at),
		}
		if d.target != "graves" || d.key != "" || !maps.Equal(d.headers, want) {
			t.Errorf("the letter is %+v", d)
		}
		if len(r.seen().jumps) != 1 || r.seen().jumps[0].To != 8 || !r.seen().jumps[0].Beyond {
			t.Errorf("jumps %+v", r.seen().jumps)
		}
		if low, _ := r.lastCommit(); low != 8 {
			t.Errorf("committed %d", low)
		}
	})
}
