package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
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

// TestAScanGoesOnWhereItStoodAfterAFault, as often as one comes, and repeats no record.
func TestAScanGoesOnWhereItStoodAfterAFault(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.makeJournal(3)
		pad := make([]byte, 300_000)
		for n := range 20 {
			w.append(0, fmt.Appendf(nil, "%d %s", n, pad))
		}
		for round, err := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.UnknownServerError} {
			var got []int64
			scanErr := Scan(context.Background(), w.options(), name, map[int32][2]int64{0: {2, 20}}, func(_ int32, r *kgo.Record) error {
				if got = append(got, r.Offset); len(got) == 3 || len(got) == 10 {
					w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: name, Err: err, Count: 1})
				}
				return nil
			})
			if want := int64(2); scanErr != nil || len(got) != 18 || got[0] != want || !slices.IsSorted(got) || got[17] != 19 {
				t.Errorf("round %d: %v, read %v", round, scanErr, got)
			}
		}
	})
}

// TestAScanEndsForWantOfRecordsAndNotForTheTimeThatTheyTake.
func TestAScanEndsForWantOfRecordsAndNotForTheTimeThatTheyTake(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.makeJournal(3)
		pad := make([]byte, 200_000)
		for range 40 {
			w.append(0, pad)
		}
		began, n := time.Now(), 0
		err := Scan(context.Background(), w.options(), name, map[int32][2]int64{0: {0, 40}}, func(int32, *kgo.Record) error {
			n++
			time.Sleep(time.Second) // in a bubble
			return nil
		})
		if took := time.Since(began); err != nil || n != 40 || took < 40*time.Second {
			t.Errorf("%v after %d records and %v", err, n, took)
		}
	})
}

// TestOfSeveralSilentPartitionsTheOldestIsNamed, whichever it is.
func TestOfSeveralSilentPartitionsTheOldestIsNamed(t *testing.T) {
	for oldest := range int32(8) {
		var logs kafkatest.Log
		f := flights{open: make(map[offsets.TopicPartition]flight)}
		now := time.Unix(1000, 0)
		for p := range int32(8) {
			at := now.Add(time.Duration(p+1) * time.Second)
			if p == oldest {
				at = now
			}
			f.begin(offsets.TopicPartition{Topic: "t", Partition: p}, at)
		}
		f.say(slog.New(slog.NewTextHandler(&logs, nil)), now.Add(20*time.Second))
		if len(logs.Lines(fmt.Sprintf("partition=%d partitions=8 for=20s", oldest))) != 1 {
			t.Errorf("partition %d is the oldest; said %s", oldest, logs.String())
		}
	}
}

// TestATopicThatWasMadeIsNotMadeAgainWhileBrokersDoNotKnowIt, for five seconds, each time.
func TestATopicThatWasMadeIsNotMadeAgainWhileBrokersDoNotKnowIt(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		for round := range 2 {
			ignorant := w.Refuse(kmsg.Metadata, kfake.Fault{Topic: name, Err: kerr.UnknownTopicOrPartition})
			if n := w.counts(kmsg.CreateTopics, func() { time.Sleep(requestRetry - 500*time.Millisecond) }); n > 1 {
				t.Errorf("round %d: made %d times in %v", round, n, requestRetry)
			}
			if n := w.counts(kmsg.CreateTopics, func() { time.Sleep(20 * time.Second) }); n > 5 {
				t.Errorf("round %d: made %d times in 20 s", round, n)
			}
			ignorant.Remove()
			w.Until(10*time.Second, "the journal is usable", func() bool { return w.last().Usable })
			if v := w.j.View().Topics[ingress]; v.Warning+v.Error != "" {
				t.Errorf("round %d: view %+v", round, v)
			}
			w.DeleteTopic(name)
			time.Sleep(10 * time.Second)
		}
	})
}

// TestARestoreAsksOneQuestionAtATime while answers take long, and with a pause behind each that
// is refused.
func TestARestoreAsksOneQuestionAtATime(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		e.store()
		for round := range 2 {
			ask, asked, underway, most := e.ask(), 0, 0, 0
			ask.LeaderEpoch = -1
			ask.Window = offsets.NewWindow(0)
			ask.EndOf = func(context.Context, int32) (int64, error) { // called one at a time, or most says so
				asked++
				underway++
				most = max(most, underway)
				time.Sleep(time.Second) // in a bubble
				underway--
				if asked < 4 {
					return 0, errors.New("no leader")
				}
				return 1 << 40, nil
			}
			a := w.restore(ask)[0]
			w.content(a)
			e.same(ask.Window)
			if asked != 4 || most != 1 {
				t.Errorf("round %d: %d questions, %d at a time", round, asked, most)
			}
			sick := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: name, Err: kerr.LeaderNotAvailable})
			before := sick.Hits()
			if a := w.restore(e.ask())[0]; a.Complaint == nil {
				t.Errorf("round %d: %+v", round, a)
			}
			if n := sick.Hits() - before; n < 50 || n > 700 { // some of each question, which asks each broker for start and end
				t.Errorf("round %d: %d questions in 30 s", round, n)
			}
			sick.Remove()
		}
	})
}

// TestTheRestOfACommitComesBackWithTheAnswer, so that the next writer knows it.
func TestTheRestOfACommitComesBackWithTheAnswer(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		e.store()
		e.finish(9002, 9030) // in the commit alone
		ask := e.ask()
		var want []facts.Run
		ask.Window.Each(func(from, to int64) bool { want = append(want, facts.Run{From: from, To: to}); return true })
		a := w.restore(ask)[0]
		w.content(a)
		if len(want) == 0 || !slices.Equal(a.Restored.Tail, want) {
			t.Errorf("%v came back of %v", a.Restored.Tail, want)
		}
	})
}

// TestAnswersWithoutATopicOfTheirRequestAreNone: neither that it was made nor that it may not be.
func TestAnswersWithoutATopicOfTheirRequestAreNone(t *testing.T) {
	inBubble(t, func(w *fixture) {
		var whole atomic.Bool
		for _, key := range []kmsg.Key{kmsg.CreateTopics, kmsg.DescribeConfigs, kmsg.DeleteRecords} {
			w.Answer(key, func(r kmsg.Request) kmsg.Response {
				if !whole.Load() {
					return r.ResponseKind()
				}
				return nil
			})
		}
		w.run()
		time.Sleep(time.Minute)
		if v := w.j.View().Topics[ingress]; v.State != "missing" || v.Error == "" || v.Warning != "" {
			t.Errorf("not made: view %+v", v)
		}
		w.makeJournal(3)
		time.Sleep(30 * time.Second)
		if n := w.said("WARN") + w.said("ERROR"); n > 0 || !w.last().Usable {
			t.Errorf("%d lines of an answer that is none, state %+v", n, w.last())
		}
		done := make(chan error, 2)
		w.j.Delete(offsets.TopicPartition{Topic: ingress, Partition: 1}, 1, func(err error) { done <- err })
		if err := <-done; err == nil || !strings.Contains(err.Error(), "deleting records") {
			t.Errorf("a deletion without an answer: %v", err)
		}
		whole.Store(true)
		time.Sleep(2 * time.Minute)
		if v := w.j.View().Topics[ingress]; v.State != "usable" || v.Warning+v.Error != "" {
			t.Errorf("answered: view %+v", v)
		}
	})
}

// TestARestoreThatGoesOnIsNotGivenUpForItsLength, whether or not a commit names the journal.
func TestARestoreThatGoesOnIsNotGivenUpForItsLength(t *testing.T) {
	for what, named := range map[string]bool{"named": true, "not named": false} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				e := w.assignment(1, w.makeJournal(3))
				e.finish(1, 9000)
				e.store()
				ask := e.blank()
				if named {
					ask = e.ask()
				}
				pad := make([]byte, 900_000) // one is read at a time
				for range 22 {
					w.append(1, pad)
				}
				w.Answer(kmsg.Fetch, func(kmsg.Request) kmsg.Response {
					w.Broker.SleepControl(func() { time.Sleep(1500 * time.Millisecond) })
					return nil
				})
				a := w.restore(ask)[0]
				if a.Complaint != nil || a.Err != nil || a.Took < namedWait || !a.Restored.Whole {
					t.Errorf("%+v", a)
				}
				e.same(ask.Window)
			})
		})
	}
}
