package lane

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestOneLastCommitIsUnderwayAtATime, however often the loop turns meanwhile.
func TestOneLastCommitIsUnderwayAtATime(t *testing.T) {
	inBubble(t, func(c *Config) { c.CommitInterval = time.Hour }, func(r *rig) {
		for epoch := uint64(1); epoch <= 3; epoch++ {
			r.assign(0, epoch)
			time.Sleep(time.Second)
			r.fetched(assignment(0, epoch), r.record(0, 0))
			before := r.commits()
			r.kafka.set(func(k *kafka) { k.tardy = 2 * time.Second })
			if took := r.revoke(epoch); took < 2*time.Second || took > 2*time.Second+late {
				t.Errorf("revoke %d took %v, want 2 s", epoch, took)
			}
			r.kafka.set(func(k *kafka) { k.tardy = 0 })
			if n := r.commits() - before; n != 1 {
				t.Errorf("revoke %d: %d commits, want 1", epoch, n)
			}
		}
	})
}

// TestATopicIsGoneWhenTwoAnswersInARowSaySo: another error between them makes it none.
func TestATopicIsGoneWhenTwoAnswersInARowSaySo(t *testing.T) {
	inBubble(t, func(c *Config) { c.CommitInterval = time.Hour }, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(time.Second)
		r.fetched(assignment(0, 1), r.record(0, 0))
		before := r.commits()
		answers := []offsets.CommitResult{{Gone: true}, {}, {Gone: true}, {}, {Gone: true}}
		next := 0
		r.kafka.set(func(k *kafka) {
			k.refuse, k.answer = errors.New("refused"), answers[0]
			k.spares = func(int32) bool { // asked with each commit
				if next++; next < len(answers) {
					k.answer = answers[next]
				}
				return next > len(answers)
			}
		})
		r.revoke(1)
		if n := r.commits() - before; n != len(answers)+1 {
			t.Errorf("%d commits, want %d refused and one that is taken", n, len(answers))
		}
	})
}

// TestAStopThatDrainsCommitsOnceForAll: before that it neither commits nor spins.
func TestAStopThatDrainsCommitsOnceForAll(t *testing.T) {
	inBubble(t, func(c *Config) { c.CommitInterval = 10 * time.Second }, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(11 * time.Second)
		r.fetched(assignment(0, 1), r.record(0, 0)) // committed at once, as none was for an interval
		time.Sleep(time.Second)
		r.fetched(assignment(0, 1), r.record(1, 0))
		synctest.Wait()
		r.kafka.set(func(k *kafka) { k.slow = 2 * time.Second })
		r.fetched(assignment(0, 1), r.record(2, 0))
		time.Sleep(10 * time.Millisecond)
		r.want("0", "1", "2")
		commits, turns := r.commits(), len(r.seen().turns)
		r.Stop(time.Now().Add(20 * time.Second))
		<-r.Done()
		if low, _ := r.lastCommit(); low != 3 || r.commits()-commits != 1 {
			t.Errorf("%d commits while stopping, the last at %d; want one at 3", r.commits()-commits, low)
		}
		if n := len(r.seen().turns) - turns; n > 50 {
			t.Errorf("%d turns in 2 s", n)
		}
	})
}

// TestACommitGoesOutAnIntervalBehindTheLast also where that is less than a second.
func TestACommitGoesOutAnIntervalBehindTheLast(t *testing.T) {
	inBubble(t, func(c *Config) { c.CommitInterval = 200 * time.Millisecond }, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(5 * time.Second)
		for o := int64(0); o < 10; o += 2 {
			r.fetched(assignment(0, 1), r.record(o, 0))
			time.Sleep(10 * time.Millisecond)
			r.fetched(assignment(0, 1), r.record(o+1, 0))
			time.Sleep(190 * time.Millisecond)
			if low, at := r.lastCommit(); low != o+2 || time.Since(at) > 10*time.Millisecond {
				t.Errorf("committed %d %v ago, want %d now", low, time.Since(at), o+2)
			}
			time.Sleep(3 * time.Second)
		}
	})
}

// TestARefusedCommitIsTriedAgainAtTheIntervalWhereNoDeliveryWaitsForIt, each time.
func TestARefusedCommitIsTriedAgainAtTheIntervalWhereNoDeliveryWaitsForIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		for o := range int64(3) {
			time.Sleep(5 * time.Second)
			before := r.commits()
			r.kafka.set(func(k *kafka) { k.refuse = errors.New("coordinator loading") })
			r.fetched(assignment(0, 1), r.record(o, 0))
			time.Sleep(10 * time.Second)
			if n := r.commits() - before; n < 9 || n > 11 {
				t.Errorf("round %d: %d commits in 10 s, want one a second", o, n)
			}
			r.kafka.set(func(k *kafka) { k.refuse = nil })
			time.Sleep(1100 * time.Millisecond)
			if low, _ := r.lastCommit(); low != o+1 {
				t.Errorf("round %d: committed %d", o, low)
			}
		}
	})
}

// TestALostAssignmentCommitsNothingThatFinished: another member may have committed more.
func TestALostAssignmentCommitsNothingThatFinished(t *testing.T) {
	inBubble(t, func(c *Config) { c.CommitInterval = time.Hour }, func(r *rig) {
		for epoch := uint64(1); epoch <= 2; epoch++ {
			r.assign(0, epoch)
			time.Sleep(time.Second)
			r.fetched(assignment(0, epoch), r.record(0, 0))
			before := r.commits()
			over := make(chan struct{})
			r.Lost(assignment(0, epoch), func() { close(over) })
			<-over
			time.Sleep(10 * time.Second)
			if n := r.commits() - before; n != 0 || len(r.values()) != int(epoch) {
				t.Errorf("assignment %d: %d commits, %d delivered", epoch, n, len(r.values()))
			}
		}
	})
}

// TestOutsideItsLeaseNothingIsDeliveredThoughCommitsAreTaken: they are answers to a member
// that the group may have given up since.
func TestOutsideItsLeaseNothingIsDeliveredThoughCommitsAreTaken(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		for o := range int64(2) {
			time.Sleep(5 * time.Second)
			r.kafka.set(func(k *kafka) { k.noLease = true })
			r.Poke()
			time.Sleep(5 * time.Second)
			r.fetched(assignment(0, 1), r.record(o, 0))
			time.Sleep(5 * time.Second)
			if n := len(r.values()); n != int(o) {
				t.Errorf("round %d: %d delivered outside the lease", o, n)
			}
			r.kafka.set(func(k *kafka) { k.noLease = false })
			time.Sleep(2 * time.Second)
			if n := len(r.values()); n != int(o)+1 {
				t.Errorf("round %d: %d delivered within it again", o, n)
			}
		}
	})
}

// TestMoreThanOneOfferIsDueAtOnce: the rest follows in the same moment, whoever answers.
func TestMoreThanOneOfferIsDueAtOnce(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(2 * time.Second)
		r.kafka.set(func(k *kafka) { k.silent = true })
		var many []*kgo.Record
		for o := range int64(4 * offerBudget) {
			many = append(many, r.record(o, time.Minute))
		}
		r.fetched(assignment(0, 1), many...)
		time.Sleep(time.Minute + 10*offerEvery)
		if n := len(r.values()); n != len(many) {
			t.Errorf("%d of %d records are sent %v behind their deadline", n, len(many), 10*offerEvery)
		}
	})
}

// TestATurnThatOffersNothingDelaysNoOffer, though an answer is owed.
func TestATurnThatOffersNothingDelaysNoOffer(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(2 * time.Second)
		r.kafka.set(func(k *kafka) { k.slow = time.Second })
		r.fetched(assignment(0, 1), r.record(0, 0), r.record(1, 50*time.Millisecond))
		time.Sleep(49 * time.Millisecond)
		r.Poke()
		time.Sleep(time.Millisecond)
		r.want("0", "1")
	})
}

// TestARecordGoesToThePartitionAndTheBatchThatTheCoreChose.
func TestARecordGoesToThePartitionAndTheBatchThatTheCoreChose(t *testing.T) {
	edit := func(c *Config) {
		c.Core.Place = func(_ *purgatory.TargetState, _ offsets.TopicPartition, body []byte) purgatory.Route {
			return purgatory.Route{Partition: int32(len(Key(body, nil)))}
		}
	}
	inBubble(t, edit, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(time.Second)
		r.kafka.set(func(k *kafka) { k.class, k.fails = purgatory.TooLarge, "ready" })
		r.fetched(assignment(0, 1), r.record(0, 0))
		synctest.Wait()
		r.kafka.set(func(k *kafka) { k.fails = "" })
		time.Sleep(time.Second)
		sent := r.seen().deliveries
		if len(sent) < 2 || sent[0].alone || !sent[1].alone {
			t.Fatalf("sent %+v, want a batch first, then the record alone", sent)
		}
		for _, d := range sent {
			if d.partition != int32(len("key")) {
				t.Errorf("sent to partition %d, want %d", d.partition, len("key"))
			}
		}
	})
}

// TestAShareIsHeldWithAllOtherLanes: what they hold leaves less of it here.
func TestAShareIsHeldWithAllOtherLanes(t *testing.T) {
	for name, test := range map[string]struct {
		elsewhere int64
		dead      bool
	}{"little elsewhere": {1000, false}, "all of it elsewhere": {1 << 20, true}} {
		t.Run(name, func(t *testing.T) {
			own := make(map[string]int64)
			edit := func(c *Config) {
				c.Core.DeadLetterTopic, c.Core.Patience = "graves", time.Hour
				c.Elsewhere = func(name purgatory.TargetName, bytes purgatory.ShareBytes) purgatory.ShareBytes {
					own[name.Name] = max(own[name.Name], bytes.Held)
					return purgatory.ShareBytes{Held: test.elsewhere}
				}
			}
			inBubble(t, edit, func(r *rig) {
				r.assign(0, 1)
				r.kafka.set(func(k *kafka) { k.verdict = purgatory.Missing })
				for o := range int64(10) {
					r.fetched(assignment(0, 1), r.record(o, 0))
				}
				time.Sleep(10 * time.Second)
				r.kafka.set(func(k *kafka) { k.verdict = purgatory.Usable })
				time.Sleep(10 * time.Second)
				dead := 0
				for _, d := range r.seen().deliveries {
					if d.target == "graves" {
						dead++
					}
				}
				if (dead > 0) != test.dead || own["ready"] <= 0 {
					t.Errorf("%d dead letters, want some: %v; held %v", dead, test.dead, own)
				}
			})
		})
	}
}

// TestABatchOfOneRecordThatIsNotReadIsCountedInItsLetter like a larger one.
func TestABatchOfOneRecordThatIsNotReadIsCountedInItsLetter(t *testing.T) {
	inBubble(t, func(c *Config) { c.Core.OnInvalid, c.Core.DeadLetterTopic = purgatory.DeadLetter, "graves" }, func(r *rig) {
		r.assign(0, 1)
		r.Unread(assignment(0, 1), offsets.UnreadBatch{First: 0, Last: 0, Records: 1, Message: "takes too much"})
		time.Sleep(time.Second)
		d := r.seen().deliveries
		if len(d) != 1 || d[0].headers["layover.errors.records"] != "1" || d[0].headers["layover.errors.last_offset"] != "0" {
			t.Errorf("letters %+v", d)
		}
	})
}

// TestAFetchOfAWholeBudgetLeavesTheNextOneToBeRead, whatever comes behind.
func TestAFetchOfAWholeBudgetLeavesTheNextOneToBeRead(t *testing.T) {
	for _, first := range []int64{intakeBudget - 1, intakeBudget, intakeBudget + 1} {
		inBubble(t, nil, func(r *rig) {
			r.assign(0, 1)
			time.Sleep(time.Second)
			var many []*kgo.Record
			for o := range first {
				many = append(many, r.record(o, time.Hour))
			}
			var once bool
			r.kafka.set(func(k *kafka) { // both come in one mail
				k.turning = func() {
					if !once {
						once = true
						r.fetched(assignment(0, 1), many...)
						r.fetched(assignment(0, 1), r.record(first, time.Hour))
					}
				}
			})
			r.Poke()
			time.Sleep(3 * time.Second)
			if n := r.Snapshot().Parked; n != int(first)+1 {
				t.Errorf("%d parked of %d records and one behind them", n, first)
			}
		})
	}
}

// TestAQuietLaneGivesTheMemoryOfABurstBack, each time.
func TestAQuietLaneGivesTheMemoryOfABurstBack(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		var least int64
		for round := range int64(3) {
			for n := range int64(64) {
				large := r.record(round*64+n, 10*time.Millisecond)
				large.Value = make([]byte, 64<<10)
				r.fetched(assignment(0, 1), large)
			}
			time.Sleep(5 * time.Millisecond)
			if b := r.Bytes(); b < 64*64<<10 {
				t.Fatalf("%d bytes while 4 MiB are parked", b)
			}
			time.Sleep(10 * time.Second)
			if b := r.Bytes(); round == 0 {
				least = b
			} else if b > least+100_000 {
				t.Errorf("%d bytes after burst %d, %d after the first", b, round+1, least)
			}
		}
		if least > 1<<20 {
			t.Errorf("%d bytes are kept after a burst of 4 MiB", least)
		}
	})
}

// TestASlotLetsGoOfARecordThatIsAnswered: it would pin the chunks of the store.
func TestASlotLetsGoOfARecordThatIsAnswered(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, 0), r.record(1, 0))
		time.Sleep(time.Second)
		r.want("0", "1")
		r.Stop(time.Now().Add(time.Second))
		<-r.Done()
		for i, s := range r.out.slots {
			for _, h := range s.headers[:cap(s.headers)] {
				if h.Key != "" || h.Value != nil {
					t.Errorf("slot %d has header %q", i, h.Key)
				}
			}
			if s.record.Key != nil || s.record.Value != nil || s.record.Headers != nil {
				t.Errorf("slot %d has %+v", i, s.record)
			}
		}
	})
}

// TestARefusedDeletionIsAskedForAgainUntilItIsDone: the journal would grow for ever.
func TestARefusedDeletionIsAskedForAgainUntilItIsDone(t *testing.T) {
	journalled(t, func(r *rig, p *paper) {
		r.Journalled("delayed", purgatory.JournalState{Usable: true, TopicID: offsets.TopicID{1}, MaxBytes: 256})
		offset := int64(2)
		deletions := func(answer error, seconds int) (n int) {
			p.set(func(p *paper) { p.deleted, p.undeleted = nil, answer })
			for range seconds {
				r.fetched(assignment(0, 1), r.record(offset, time.Duration(offset%2)*3*time.Hour))
				offset++
				time.Sleep(time.Second)
			}
			p.set(func(p *paper) { n = len(p.deleted) })
			return n
		}
		for range 2 {
			if n := deletions(errors.New("not now"), 300); n < 3 || n > 6 {
				t.Errorf("%d deletions are asked for in 5 min in which they are refused, want one a minute", n)
			}
			if n := deletions(nil, 70); n < 1 {
				t.Error("no deletion is asked for behind that")
			}
		}
	})
}
