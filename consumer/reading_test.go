package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/cluster/batches"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// pausedParts returns the partitions that the client is told not to fetch.
func (m *one) pausedParts() []int32 { return m.client.PauseFetchPartitions(nil)["t"] }

// notRead returns the batches that the handler got in place of records.
func (n *notes) notRead() []offsets.UnreadBatch {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.unread)
}

// reads waits, and says whether a partition is read up to an offset.
func (m *one) reads(partition int32, end int64) bool {
	time.Sleep(5 * time.Second)
	v := m.view(partition)
	return v.Next == end && v.Stopped == ""
}

// TestAJumpWithoutAnAnswerIsGivenUp after a while, and one that reading needs is not, as long
// as its assignment lasts.
func TestAJumpWithoutAnAnswerIsGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		ask   func(m *one, a offsets.Assignment, to int64)
		until time.Duration
	}{
		"one that may be left out":      {func(m *one, a offsets.Assignment, to int64) { m.Jump(a, to, 0) }, askFor},
		"one that reading waits for":    {func(m *one, a offsets.Assignment, to int64) { m.JumpBeyond(a, to, 0) }, time.Hour},
		"one of an assignment that was": {func(m *one, a offsets.Assignment, to int64) { a.Epoch += 7; m.JumpBeyond(a, to, 0) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				m := g.join(nil)
				g.owns(m, 3)
				end := g.produce(0, 3)
				time.Sleep(3 * time.Second)
				sick := g.Refuse(kmsg.OffsetForLeaderEpoch, kfake.Fault{Topic: "t", Err: kerr.FencedLeaderEpoch})
				asks := func(d time.Duration) int {
					before := sick.Hits()
					time.Sleep(d)
					return sick.Hits() - before
				}
				test.ask(m, m.assignment(0), end+5)
				if n := asks(5 * time.Second); (n > 0) != (test.until > 0) || n > 60 {
					t.Errorf("%d questions in 5 s", n)
				}
				time.Sleep(askFor)
				if n := asks(10 * time.Second); (n > 0) != (test.until > time.Minute) {
					t.Errorf("%d questions 35 s later", n)
				}
				m.leave()
				if n := asks(10 * time.Second); n != 0 {
					t.Errorf("%d questions of an assignment that is over", n)
				}
			})
		})
	}
}

// TestALogThatEndsAtItsBeginningIsShorterThanAJump, as any other is.
func TestALogThatEndsAtItsBeginningIsShorterThanAJump(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		time.Sleep(2 * time.Second)
		m.Jump(m.assignment(1), 5, g.Broker.PartitionInfo("t", 1).Epoch)
		time.Sleep(2 * time.Second)
		if v := m.view(1); v.Reason != Truncated || !strings.Contains(v.Stopped, "truncated at 0, and all up to 5") {
			t.Errorf("%+v", v)
		}
	})
}

// TestAFetchThatFindsATruncatedLogStopsItsPartition where it stands, and no other.
func TestAFetchThatFindsATruncatedLogStopsItsPartition(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		end := g.produce(0, 3)
		time.Sleep(2 * time.Second)
		m.faults.handle(m.assignment(0), &kgo.ErrDataLoss{Topic: "t", Partition: 0, ConsumedTo: end, ResetTo: 1})
		g.produce(0, 3)
		if v := m.view(0); m.reads(0, end) || v.Reason != Truncated || v.Next != end || v.Trying || !strings.Contains(v.Stopped, "truncated below the read position") {
			t.Errorf("%+v", v)
		}
		if !slices.Equal(m.pausedParts(), []int32{0}) || !m.reads(1, 0) || len(m.offsetsOf(0)) != 3 {
			t.Errorf("not fetched are %v, read %v", m.pausedParts(), m.offsetsOf(0))
		}
	})
}

// TestWhatIsOutOfRangeIsAskedAboutUntilThereIsAnAnswer, each time. One about another log of
// the topic's name says nothing.
func TestWhatIsOutOfRangeIsAskedAboutUntilThereIsAnAnswer(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		g.produce(0, 5)
		time.Sleep(3 * time.Second)
		for round := range 2 {
			m.fetching.pause(m.assignment(0))
			sick := g.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: "t", Partitions: []int32{0}, Err: kerr.UnknownServerError})
			end := g.produce(0, 5)
			g.DeleteRecords("t", 0, end-2)
			asked := g.counts(kmsg.ListOffsets, func() {
				go m.faults.outOfRange(m.assignment(0))
				time.Sleep(5 * time.Second)
			})
			if asked < 5 || asked > 120 || !slices.Equal(m.pausedParts(), []int32{0}) {
				t.Errorf("round %d: %d questions in 5 s, not fetched are %v", round, asked, m.pausedParts())
			}
			sick.Remove()
			if !m.reads(0, end) || len(m.pausedParts()) != 0 {
				t.Errorf("round %d: at %+v, not fetched are %v", round, m.view(0), m.pausedParts())
			}
			m.notes.mu.Lock()
			if len(m.starts) != round+1 || m.starts[round] != end-2 {
				t.Errorf("round %d: told of %v", round, m.starts)
			}
			m.notes.mu.Unlock()
		}
		m.fetching.pause(m.assignment(0))
		m.SetPaused(true) // no fetch finds out the same meanwhile
		time.Sleep(10 * time.Second)
		g.DeleteRecords("t", 0, g.produce(0, 5)-1)
		m.table.while(m.assignment(0), func(o *owned) { o.topicID = offsets.TopicID{9} })
		m.faults.outOfRange(m.assignment(0))
		m.notes.mu.Lock()
		if len(m.starts) != 2 {
			t.Errorf("another log: told of %v", m.starts)
		}
		m.notes.mu.Unlock()
		if paused := m.pausedParts(); len(paused) != 0 {
			t.Errorf("another log: not fetched are %v", paused)
		}
		over := m.assignment(0)
		over.Epoch += 7
		if n := g.counts(kmsg.ListOffsets, func() { m.faults.outOfRange(over) }); n != 0 {
			t.Errorf("%d questions about an assignment that is over", n)
		}
	})
}

// TestABatchThatIsAnotherOneNowIsRead: it was compacted, left out, or damaged on its way, or the error is none of a batch.
func TestABatchThatIsAnotherOneNowIsRead(t *testing.T) {
	unread := func(err error) func(f *fetchFaults, a offsets.Assignment) {
		return func(f *fetchFaults, a offsets.Assignment) { f.unreadable(a, err) }
	}
	for name, look := range map[string]func(f *fetchFaults, a offsets.Assignment){
		"too large":  unread(&batches.TooLarge{Compressed: 7}),
		"it is gone": unread(&batches.TooLarge{Compressed: 7}),
		"broken":     unread(errors.New("its checksum is wrong")),
		"of the client alone": func(f *fetchFaults, a offsets.Assignment) {
			f.handle(a, errors.New("broker repeatedly omitted a requested partition"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				m := g.join(nil)
				g.owns(m, 3)
				end := g.produce(0, 5)
				time.Sleep(3 * time.Second)
				for round := range 2 {
					m.fetching.pause(m.assignment(0))
					if name != "it is gone" {
						time.Sleep(2 * time.Second)
						end = g.produce(0, 5)
					}
					look(m.faults, m.assignment(0))
					if !m.reads(0, end) || len(m.pausedParts()) != 0 || len(m.notRead()) != 0 {
						t.Errorf("round %d: at %+v, not fetched are %v, not read are %+v", round, m.view(0), m.pausedParts(), m.notRead())
					}
				}
			})
		})
	}
}

// TestABatchOutsideTheLogIsWhatThePositionIs: below it, or above.
func TestABatchOutsideTheLogIsWhatThePositionIs(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		end := g.produce(0, 5)
		time.Sleep(3 * time.Second)
		m.table.while(m.assignment(0), func(o *owned) { o.next = end + 90 })
		m.faults.unreadable(m.assignment(0), errors.New("its checksum is wrong"))
		if v := m.view(0); v.Reason != Truncated || len(m.notRead()) != 0 || !strings.Contains(v.Stopped, fmt.Sprintf("position %d lies above the end of the log, %d", end+90, end)) {
			t.Errorf("%+v, not read are %+v", v, m.notRead())
		}
		over := m.assignment(1)
		over.Epoch += 7
		if n := g.counts(kmsg.Metadata, func() { m.faults.unreadable(over, errors.New("x")) }); n != 0 || len(m.notRead()) != 0 {
			t.Errorf("%d questions about an assignment that is over", n)
		}
	})
}

// TestTheAgeOfWhatIsUnreadPassesOverWhatNobodyReads, a few batches at a look.
func TestTheAgeOfWhatIsUnreadPassesOverWhatNobodyReads(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		m.SetPaused(true)
		tx := g.NewClient(kgo.TransactionalID("aborts"))
		first := g.produce(0, 1)
		for range 2 {
			if err := kafkatest.Transaction(context.Background(), tx, &kgo.Record{Topic: "t", Value: []byte("aborted")}); err != nil {
				t.Fatal(err)
			}
			if err := tx.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		written := time.Now().Truncate(time.Millisecond)
		end := g.produce(0, 1)
		for _, test := range []struct {
			from   int64
			oldest time.Time
			next   int64
			err    error
		}{
			{first + 2, written, first + 4, nil}, // an aborted batch, its marker, and the record
			{first, time.Time{}, first + 3, batches.ErrNone},
			{first + 3, written, first + 4, nil},
			{end, time.Time{}, end, batches.ErrNone},
		} {
			oldest, next, err := m.oldestFrom(context.Background(), partitionOf(0), test.from)
			if !oldest.Equal(test.oldest) || next != test.next || !errors.Is(err, test.err) {
				t.Errorf("from %d: of %v, next %d, %v; want %v, %d, %v", test.from, oldest, next, err, test.oldest, test.next, test.err)
			}
		}
		m.table.while(m.assignment(0), func(o *owned) { o.next, o.end = first, end })
		for look := range 2 { // the second goes on where the first has ended
			m.askOldest(context.Background())
			if v := m.view(0); v.OldestUnread.Equal(written) != (look == 1) {
				t.Errorf("look %d: the oldest is of %v, want %v", look, v.OldestUnread, written)
			}
		}
		m.table.while(m.assignment(0), func(o *owned) { o.next, o.end = end+50, end+60 })
		m.askOldest(context.Background())
		if v := m.view(0); !v.OldestUnread.IsZero() {
			t.Errorf("beyond the log: %+v", v)
		}
	})
}

// TestTheTurnsOfEachLoopAreCounted.
func TestTheTurnsOfEachLoopAreCounted(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		before := m.Turns()
		time.Sleep(4*endsEvery + time.Millisecond)
		m.finish(0, 0)
		after := m.Turns()
		if n := after.Ends - before.Ends; n != 4 {
			t.Errorf("the ends were asked for %d times, want 4", n)
		}
		if n := after.Poll - before.Poll; n < 15 || n > 30 {
			t.Errorf("the poll loop turned %d times in 20 s", n)
		}
		if after.Committer == before.Committer || before.Loading == 0 || after.Loading != before.Loading {
			t.Errorf("before %+v, after %+v", before, after)
		}
	})
}

// TestAPositionOutOfRangeIsReadAgainHoweverLateItsBoundsAreTold: nobody else would resume it.
func TestAPositionOutOfRangeIsReadAgainHoweverLateItsBoundsAreTold(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		g.produce(0, 5)
		time.Sleep(3 * time.Second)
		for round := range 2 {
			denied := g.Refuse(kmsg.Fetch, kfake.Fault{Topic: "t", Partitions: []int32{0}, Err: kerr.OffsetOutOfRange})
			silent := g.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: "t", Partitions: []int32{0}, Err: kerr.LeaderNotAvailable})
			g.produce(0, 1)
			time.Sleep(100 * time.Second)
			if n := denied.Hits(); n == 0 || n > 20 {
				t.Errorf("round %d: %d fetches in 100 s", round, n)
			}
			denied.Remove()
			silent.Remove()
			end := g.produce(0, 5)
			time.Sleep(askFor)
			if !m.reads(0, end) || len(m.pausedParts()) != 0 {
				t.Errorf("round %d: at %+v of %d, not fetched are %v", round, m.view(0), end, m.pausedParts())
			}
		}
	})
}

// TestABatchIsLookedForPastWhatNobodyReads: aborted ones and markers stand in front of it.
func TestABatchIsLookedForPastWhatNobodyReads(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		m.SetPaused(true)
		time.Sleep(2 * time.Second)
		tx := g.NewClient(kgo.TransactionalID("aborts"))
		abort := func() {
			if err := kafkatest.Transaction(context.Background(), tx, &kgo.Record{Topic: "t", Value: []byte("aborted")}); err != nil {
				t.Fatal(err)
			}
			if err := tx.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
				t.Fatal(err)
			}
		}
		abort()                                                          // 0 and 1
		g.bomb(2)                                                        // 2 and 3
		abort()                                                          // 4 and 5
		g.ProduceBatch("t", kafkatest.Batch(func(*kmsg.RecordBatch) {})) // 6 to 8
		found, err := batches.At(context.Background(), m.cfg.Asking, partitionOf(0), 2)
		if err != nil || found.First != 2 {
			t.Fatalf("found %+v, %v", found, err)
		}
		for _, from := range []int64{0, 4} {
			m.table.while(m.assignment(0), func(o *owned) { o.next = from })
			m.faults.unreadable(m.assignment(0), errors.New("x"))
		}
		all := m.notRead()
		if len(all) != 2 || all[0].First != 2 || all[0].Last != 3 || all[0].Records != 2 || all[0].Aborted || all[0].Broken || all[0].LeaderEpoch != found.LeaderEpoch {
			t.Fatalf("not read are %+v, want the batch at 2", all)
		}
		if b := all[1]; b.First != 6 || b.Last != 8 || !b.Broken || !strings.Contains(b.Message, "offset 6 cannot be read: ") || strings.HasSuffix(b.Message, "x") {
			t.Errorf("not read is %+v, want the batch at 6", b)
		}
	})
}
