package journal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAPartitionWithoutLeaderHoldsNoOther: it is given up for 3 s where no commit names
// its journal, and for 30 s where one does.
func TestAPartitionWithoutLeaderHoldsNoOther(t *testing.T) {
	for what, c := range map[string]struct {
		named bool
		took  time.Duration
	}{"named": {true, 30 * time.Second}, "not named": {false, 3 * time.Second}} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				id := w.makeJournal(3)
				one, two := w.assignment(1, id), w.assignment(2, id)
				for _, e := range []*assignment{one, two} {
					e.finish(1, 9000)
					e.store()
				}
				asks := []facts.Ask{one.blank(), two.ask()}
				if c.named {
					asks[0] = one.ask()
				}
				defer w.Refuse(kmsg.Metadata, kfake.Fault{Topic: name, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable}).Remove()
				began := time.Now()
				a := w.restore(asks...)
				if took := time.Since(began); took < c.took || took > c.took+time.Second {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if a[0].Complaint == nil || !strings.Contains(a[0].Complaint.Error(), "does not answer") || a[0].Restored.Whole {
					t.Errorf("%+v", a[0])
				}
				w.content(a[1])
				two.same(asks[1].Window)
				if a[1].Took > time.Second {
					t.Errorf("the other took %v", a[1].Took)
				}
			})
		})
	}
}

// TestABrokerThatIsGoneHoldsNoOtherAndMayComeBack within the 30 s.
func TestABrokerThatIsGoneHoldsNoOtherAndMayComeBack(t *testing.T) {
	inBubble(t, func(w *fixture) {
		id := w.makeJournal(3)
		one, two := w.assignment(1, id), w.assignment(2, id)
		for i, e := range []*assignment{one, two} {
			if err := w.Broker.MoveTopicPartition(name, e.tp.Partition, int32(i)); err != nil {
				t.Fatal(err)
			}
			e.finish(1, 9000)
			e.store()
		}
		asks := []facts.Ask{one.ask(), two.ask()}
		fresh := w.kafka()
		defer fresh.Close()
		if err := fresh.Ping(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.cfg.Client = fresh
		w.j = New(w.cfg)
		w.mu.Lock()
		w.dead[w.Broker.ListenAddrs()[1]] = true
		w.mu.Unlock()
		go func() {
			time.Sleep(15 * time.Second)
			w.mu.Lock()
			defer w.mu.Unlock()
			clear(w.dead)
		}()
		a := w.restore(asks...)
		w.content(a[0])
		w.content(a[1])
		one.same(asks[0].Window)
		two.same(asks[1].Window)
		if a[0].Took > 6*time.Second || a[1].Took < 15*time.Second {
			t.Errorf("took %v and %v", a[0].Took, a[1].Took)
		}
	})
}

// TestAPartitionWhoseReadingStallsIsLookedForAnew: it has another leader meanwhile.
func TestAPartitionWhoseReadingStallsIsLookedForAnew(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		if err := w.Broker.MoveTopicPartition(name, 1, 1); err != nil {
			t.Fatal(err)
		}
		e.finish(1, 9000)
		e.store()
		ask := e.ask()
		w.mu.Lock()
		w.dead[w.Broker.ListenAddrs()[1]] = true // connections that are there live on
		w.mu.Unlock()
		w.cfg.Options = func() []kgo.Opt { return append(w.options(), kgo.SeedBrokers(w.Broker.ListenAddrs()[0])) }
		w.j = New(w.cfg)
		go func() {
			time.Sleep(time.Second)
			w.Broker.MoveTopicPartition(name, 1, 0)
		}()
		a := w.restore(ask)[0]
		w.content(a)
		e.same(ask.Window)
		if a.Took < 5*time.Second || a.Took > 6*time.Second {
			t.Errorf("took %v", a.Took)
		}
	})
}

// TestTheEndOfALeaderEpochIsAskedForOnceAndAgainAfterAnError: what is cut off there does
// not count.
func TestTheEndOfALeaderEpochIsAskedForOnceAndAgainAfterAnError(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		for n := range int64(10) {
			e.finish(1+n*3000, 3000+n*3000)
			e.store()
		}
		ask := e.ask()
		asked := 0
		ask.EndOf = func(_ context.Context, epoch int32) (int64, error) {
			if asked++; asked < 4 {
				return 0, errors.New("no leader")
			}
			return 15_000, nil
		}
		ask.LeaderEpoch = -1
		ask.Window = offsets.NewWindow(0)
		a := w.restore(ask)[0]
		w.content(a)
		if ask.Window.Highest() >= 15_000 || ask.Window.Highest() < 14_990 || asked != 4 {
			t.Errorf("highest %d after %d questions", ask.Window.Highest(), asked)
		}
		ask.EndOf = func(context.Context, int32) (int64, error) { return 0, errors.New("no leader") }
		began := time.Now()
		a = w.restore(ask)[0]
		if a.Complaint == nil || !strings.Contains(a.Complaint.Error(), "leader epoch 5") || a.Err != nil {
			t.Errorf("%+v", a)
		}
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestALogThatWasTruncatedBelowTheCommitStopsThePartition as its facts tell.
func TestALogThatWasTruncatedBelowTheCommitStopsThePartition(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.window.FinishRange(0, 500)
		e.finish(501, 9000)
		e.store()
		ask := e.ask()
		ask.LeaderEpoch = 4
		ask.EndOf = func(_ context.Context, epoch int32) (int64, error) {
			return map[int32]int64{4: 100, 5: 1 << 40}[epoch], nil
		}
		if a := w.restore(ask)[0]; !errors.Is(a.Err, facts.ErrTruncated) {
			t.Errorf("%+v", a)
		}
	})
}

// TestAStopEndsARestoreAtOnce with the context's error for what was not read.
func TestAStopEndsARestoreAtOnce(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		e.store()
		ask := e.ask()
		defer w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: name, Err: kerr.LeaderNotAvailable}).Remove()
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		defer cancel()
		began := time.Now()
		a := w.answers(ctx, []facts.Ask{ask})[0]
		if took := time.Since(began); took > 4100*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if !errors.Is(a.Complaint, context.DeadlineExceeded) || a.Restored.Whole {
			t.Errorf("%+v", a)
		}
	})
}

// TestTransactionsOfOthersDoNotHoldUpTheEnd: aborted records, markers, and one that is
// open, beyond which nothing counts.
func TestTransactionsOfOthersDoNotHoldUpTheEnd(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		e.store()
		other := w.kafka(kgo.TransactionalID("other"))
		defer other.Close()
		ctx := context.Background()
		for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
			if err := kafkatest.Transaction(ctx, other, &kgo.Record{Topic: name, Partition: 1, Value: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			if err := other.EndTransaction(ctx, end); err != nil {
				t.Fatal(err)
			}
		}
		ask := e.ask()
		began := time.Now()
		a := w.restore(ask)[0]
		w.content(a)
		e.same(ask.Window)
		if took := time.Since(began); took > time.Second || a.Others != 1 {
			t.Errorf("took %v, %d of others", took, a.Others)
		}
		if err := kafkatest.Transaction(ctx, other, &kgo.Record{Topic: name, Partition: 1, Value: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		if a := w.restore(e.ask())[0]; a.Complaint != nil || time.Since(began) > time.Second {
			t.Errorf("%+v in %v", a, time.Since(began))
		}
		other.EndTransaction(ctx, kgo.TryAbort)
	})
}
