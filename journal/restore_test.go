package journal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (w *fixture) restore(asks ...facts.Ask) []facts.Answer {
	w.Helper()
	began := time.Now()
	out := w.answers(context.Background(), asks)
	w.Logf("restore took %v", time.Since(began))
	return out
}

// answers are those of a restore, by the index of their asks. Each comes once.
func (w *fixture) answers(ctx context.Context, asks []facts.Ask) []facts.Answer {
	w.Helper()
	out, came := make([]facts.Answer, len(asks)), make([]bool, len(asks))
	w.j.Restore(ctx, asks, func(i int, a facts.Answer) {
		if came[i] {
			w.Errorf("ask %d was answered twice", i)
		}
		out[i], came[i] = a, true
	})
	if slices.Contains(came, false) {
		w.Errorf("not every ask was answered: %v", came)
	}
	return out
}

// content fails the test unless an answer is all that was asked for.
func (w *fixture) content(a facts.Answer) {
	w.Helper()
	if a.Err != nil || a.Complaint != nil || a.Damaged > 0 {
		w.Errorf("err %v, complaint %v, %d damaged", a.Err, a.Complaint, a.Damaged)
	}
}

// TestWhatWasWrittenIsRestored goes through a keeper, a producer, a commit, a deletion
// and a second assignment.
func TestWhatWasWrittenIsRestored(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		var asks []facts.Ask
		var all []*assignment
		for p := range int32(3) {
			e := w.assignment(p, w.last().TopicID)
			e.finish(1, 60_000*int64(p)) // partition 0 has nothing in the journal
			e.write()
			e.finish(2, 30*int64(p)) // some of it is in the commit alone
			all, asks = append(all, e), append(asks, e.ask())
		}
		for i, a := range w.restore(asks...) {
			w.content(a)
			all[i].same(asks[i].Window)
			if a.LeaderEpoch != 5 || !a.Restored.Whole || len(a.Restored.Tail) == 0 && i > 0 || (a.Records > 0) != (i > 0) {
				t.Errorf("partition %d: %+v", i, a)
			}
		}
		if v := w.j.View(); v.Restores != 1 || v.RestoredRecords == 0 || v.RestoredBytes == 0 {
			t.Errorf("view %+v", v)
		}
		w.sayOnce("INFO", "journal was read")
	})
}

// TestFactsThatNoCommitNamesAreFound is the late older commit.
func TestFactsThatNoCommitNamesAreFound(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		e.store()
		ask := e.blank()
		a := w.restore(ask)[0]
		w.content(a)
		e.same(ask.Window)
	})
}

// TestAnEmptyJournalCostsOneRoundOfQuestions: no client is made to read it.
func TestAnEmptyJournalCostsOneRoundOfQuestions(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.makeJournal(3)
		w.cfg.Options = func() []kgo.Opt { return []kgo.Opt{kgo.SeedBrokers("nowhere:1")} }
		w.j = New(w.cfg)
		began := time.Now()
		e := w.assignment(1, offsets.TopicID{})
		w.content(w.restore(e.blank())[0])
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("took %v", took)
		}
		w.DeleteTopic(name)
		w.content(w.restore(e.blank())[0]) // nor does one that is missing
	})
}

// TestWithoutAutoOnlyWhatACommitNamesIsRead: it was on before.
func TestWithoutAutoOnlyWhatACommitNamesIsRead(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.cfg.Auto = false
		w.j = New(w.cfg)
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		e.store()
		ask := e.blank()
		if a := w.restore(ask)[0]; a.Complaint != nil || a.Records > 0 || ask.Window.Above() > 0 {
			t.Errorf("not named: %+v", a)
		}
		ask = e.ask()
		w.content(w.restore(ask)[0])
		e.same(ask.Window)
	})
}

// TestWithoutTheRightToReadNothingIsComplainedOfButWhatIsNamed: whoever never had a
// journal hears of it from the keeper.
func TestWithoutTheRightToReadNothingIsComplainedOfButWhatIsNamed(t *testing.T) {
	inBubble(t, func(w *fixture) {
		id := w.makeJournal(3)
		one, two := w.assignment(1, id), w.assignment(2, id)
		one.finish(1, 9000)
		one.store()
		defer w.Refuse(kmsg.Metadata, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed}).Remove()
		a := w.restore(one.ask(), two.blank())
		if !errors.Is(a[0].Complaint, kerr.TopicAuthorizationFailed) || a[0].Restored.Whole {
			t.Errorf("%+v", a[0])
		}
		w.content(a[1])
	})
}

// TestANamedRecordThatIsReadableLaterIsWaitedFor is a follower that has just become the
// leader, or a commit that was faster than the high watermark.
func TestANamedRecordThatIsReadableLaterIsWaitedFor(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		cut := e.values()
		for i, c := range cut { // the last is not written yet
			e.ledger.Written(facts.Result{Seq: c.Seq, Offset: int64(i)}, 1)
		}
		for _, c := range cut[:len(cut)-1] {
			w.append(1, c.Value)
		}
		ask := e.ask()
		var late sync.WaitGroup
		late.Go(func() {
			time.Sleep(2 * time.Second)
			w.append(1, cut[len(cut)-1].Value)
		})
		began := time.Now()
		a := w.restore(ask)[0]
		late.Wait() // it can be read before its writer hears of it
		w.content(a)
		e.same(ask.Window)
		if took := time.Since(began); took < 2*time.Second || took > 3*time.Second {
			t.Errorf("took %v, want a little over 2 s", took)
		}
	})
}

// TestANamedRecordThatNeverComesIsComplainedOfAfter10Seconds: the journal was truncated.
func TestANamedRecordThatNeverComesIsComplainedOfAfter10Seconds(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		for i, c := range e.values() {
			if i == 0 {
				w.append(1, c.Value)
			}
			e.ledger.Written(facts.Result{Seq: c.Seq, Offset: int64(i) + 7}, 1)
		}
		began := time.Now()
		a := w.restore(e.ask())[0]
		if a.Complaint == nil || !strings.Contains(a.Complaint.Error(), "truncated") || a.Restored.Whole || a.Records != 1 {
			t.Errorf("%+v", a)
		}
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("took %v, want a little over 10 s", took)
		}
		w.sayOnce("ERROR", "journal is incomplete: records may be delivered again", "truncated")
	})
}

// TestAJournalMadeAgainIsComplainedOfAtOnce because of its id.
func TestAJournalMadeAgainIsComplainedOfAtOnce(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		e.store()
		ask := e.ask()
		w.DeleteTopic(name)
		w.makeJournal(3)
		began := time.Now()
		a := w.restore(ask)[0]
		if a.Complaint == nil || !strings.Contains(a.Complaint.Error(), "made again") || a.Restored.Whole {
			t.Errorf("%+v", a)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
		w.DeleteTopic(name)
		a = w.restore(ask)[0]
		if a.Complaint == nil || !strings.Contains(a.Complaint.Error(), "does not exist") || a.Restored.Whole {
			t.Errorf("of one that is gone: %+v", a)
		}
	})
}

// TestRecordsDeletedUnderTheReadingAreGoneOver: the reading goes on at the new log start.
func TestRecordsDeletedUnderTheReadingAreGoneOver(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		for n := range int64(8) {
			e.finish(1+n*30_000, 30_000+n*30_000)
			e.store()
		}
		from := e.ask().Committed.From
		if from == 0 {
			t.Fatal("no second snapshot")
		}
		ask := e.ask()
		deleted := false
		w.Broker.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
			if !deleted {
				deleted = true
				w.Broker.DeleteRecords(name, 1, from)
			}
			return nil, nil, false
		})
		a := w.restore(ask)[0]
		w.content(a)
		e.same(ask.Window)
		if !deleted || a.Restored.Named.From != from || !a.Restored.Whole {
			t.Errorf("deleted %v, %+v", deleted, a.Restored)
		}
	})
}

// TestDamagedRecordsAreCountedAndForeignOnesPassedOver: all others are taken in.
func TestDamagedRecordsAreCountedAndForeignOnesPassedOver(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		e.store()
		other := w.assignment(1, e.topic)
		other.id.Group = "another"
		other.ledger = facts.NewWriter(other.id, 8, facts.Restored{}, other.window)
		other.ledger.Use(e.topic, 1<<20)
		other.finish(100_001, 109_000)
		other.store()
		w.append(1, []byte("not ours"), nil)
		a := w.restore(e.ask())[0]
		if a.Complaint != nil || a.Others < 3 || a.Group != "another" {
			t.Errorf("%+v", a)
		}
		e.finish(10_001, 19_000)
		for _, c := range e.values() {
			c.Value[len(c.Value)-1]++
			e.ledger.Written(facts.Result{Seq: c.Seq, Offset: w.append(1, c.Value)}, 1)
		}
		a = w.restore(e.ask())[0]
		if a.Damaged != 1 || a.Complaint == nil || !strings.Contains(a.Complaint.Error(), "1 records of the journal are damaged") || a.Restored.Whole {
			t.Errorf("%+v", a)
		}
	})
}

// TestARecordOfANewerReleaseStopsItsPartitionAlone: what it says must not be missed.
func TestARecordOfANewerReleaseStopsItsPartitionAlone(t *testing.T) {
	inBubble(t, func(w *fixture) {
		id := w.makeJournal(3)
		one, two := w.assignment(1, id), w.assignment(2, id)
		for _, e := range []*assignment{one, two} {
			e.finish(1, 9000)
			e.store()
		}
		asks := []facts.Ask{one.ask(), two.ask()}
		one.finish(9001, 9010)
		newer := one.values()[0].Value
		newer[2], newer[3] = 9, 9
		w.append(1, newer)
		w.append(2, []byte{'L', 'J', 9, 9, 0, 0}) // whose it is cannot be told
		a := w.restore(asks...)
		if !errors.Is(a[0].Err, facts.ErrNewer) {
			t.Errorf("%+v", a[0])
		}
		w.sayOnce("ERROR", "journal cannot be read", "partition=1")
		if a[1].Err != nil || a[1].Damaged != 1 {
			t.Errorf("%+v", a[1])
		}
		two.same(asks[1].Window)
	})
}
