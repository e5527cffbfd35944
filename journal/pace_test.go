package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// counts counts the requests of a kind while f runs.
func (w *fixture) counts(key kmsg.Key, f func()) int {
	w.Helper()
	seen := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Count: -1, Observe: true})
	defer seen.Remove()
	f()
	return seen.Hits()
}

// TestTheKeeperAsksNoMoreThanItHasTo while all is well and while it is refused, each time.
func TestTheKeeperAsksNoMoreThanItHasTo(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		quiet := func(when string) {
			w.Helper()
			time.Sleep(2 * time.Minute)
			for key, most := range map[kmsg.Key]int{kmsg.Metadata: 310, kmsg.DescribeConfigs: 6, kmsg.CreateTopics: 0, kmsg.CreatePartitions: 0} {
				if n := w.counts(key, func() { time.Sleep(5 * time.Minute) }); n > most || n == 0 && most > 0 {
					t.Errorf("%s: %d requests of %s in 5 min, want at most %d", when, n, kmsg.NameForKey(key.Int16()), most)
				}
			}
		}
		quiet("at first")
		for round := range 2 {
			for _, c := range []struct {
				key             kmsg.Key
				topic, resource string
				err             *kerr.Error
				least, most     int // in 10 min
				begin           func()
				text            string
			}{
				{kmsg.DescribeConfigs, "", name, kerr.TopicAuthorizationFailed, 50, 62, func() {}, ""},
				{kmsg.CreateTopics, name, "", kerr.TopicAuthorizationFailed, 9, 11, func() { w.DeleteTopic(name) }, "Create on topic " + name},
				{kmsg.CreateTopics, name, "", kerr.KafkaStorageError, 100, 122, func() { w.DeleteTopic(name) }, kerr.KafkaStorageError.Message},
			} {
				what := fmt.Sprintf("round %d, %s refused by %s", round, kmsg.NameForKey(c.key.Int16()), c.err.Message)
				sick := w.Refuse(c.key, kfake.Fault{Topic: c.topic, Resource: c.resource, Err: c.err})
				c.begin()
				time.Sleep(2 * time.Minute)
				before := sick.Hits()
				time.Sleep(10*time.Minute + 1500*time.Millisecond)
				if n := sick.Hits() - before; n < c.least || n > c.most {
					t.Errorf("%s: %d requests in 10 min, want %d to %d", what, n, c.least, c.most)
				}
				if c.key == kmsg.DescribeConfigs && !w.last().Usable {
					t.Errorf("%s: the journal is not used", what)
				}
				if c.key == kmsg.DescribeConfigs { // each answer about the topic clears it
					w.Until(15*time.Second, "the error is told", func() bool {
						return strings.Contains(w.j.View().Topics[ingress].Error, "DescribeConfigs on topic "+name)
					})
				}
				if v := w.j.View().Topics[ingress]; !strings.Contains(v.Error, c.text) {
					t.Errorf("%s: view %+v, want %q in it", what, v, c.text)
				}
				sick.Remove()
				w.Until(3*time.Minute, "the journal is usable again", func() bool { return w.last().Usable })
				time.Sleep(2 * time.Minute)
				if v := w.j.View().Topics[ingress]; v.State != "usable" || v.Warning != "" || v.Error != "" {
					t.Errorf("%s, healthy again: view %+v", what, v)
				}
			}
			quiet(fmt.Sprintf("behind round %d", round))
		}
		if n := w.said("INFO", "journal topic was made", "partitions=3"); n != 5 {
			t.Errorf("%d topics are said to be made, want 5", n)
		}
	})
}

// TestARefusedGrowthIsTriedOnceAMinuteAndGoesWithItsCause, each time.
func TestARefusedGrowthIsTriedOnceAMinuteAndGoesWithItsCause(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		for round := range 2 {
			sick := w.Refuse(kmsg.CreatePartitions, kfake.Fault{Topic: name, Err: kerr.PolicyViolation})
			if _, err := w.Admin().UpdatePartitions(context.Background(), 5+2*round, ingress); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Minute)
			before := sick.Hits()
			time.Sleep(10 * time.Minute)
			if n := sick.Hits() - before; n < 9 || n > 11 {
				t.Errorf("round %d: %d requests in 10 min, want one a minute", round, n)
			}
			if v := w.j.View().Topics[ingress]; !strings.Contains(v.Warning, "add them: kafka-topics.sh") || strings.Contains(v.Warning, "allow") || int(v.Partitions) != 3+2*round {
				t.Errorf("round %d: view %+v", round, v)
			}
			sick.Remove()
			time.Sleep(2 * time.Minute)
			if v := w.j.View().Topics[ingress]; v.Warning != "" || int(v.Partitions) != 5+2*round {
				t.Errorf("round %d, healthy again: view %+v", round, v)
			}
			if n := w.said("INFO", "journal topic has a partition for each of its ingress topic"); n != round+1 {
				t.Errorf("round %d: its end is said %d times", round, n)
			}
			w.sayOnce("INFO", "journal topic has got partitions", fmt.Sprintf("partitions=%d", 5+2*round))
		}
	})
}

// TestANameThatIsNoTopicsIsNotAskedAbout: brokers refuse the whole question, or make a line.
func TestANameThatIsNoTopicsIsNotAskedAbout(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.cfg.Name = func(s string) string { return s + strings.Repeat("x", 249) }
		w.j = New(w.cfg)
		var asked atomic.Int32
		w.Answer(kmsg.Metadata, func(r kmsg.Request) kmsg.Response {
			for _, t := range r.(*kmsg.MetadataRequest).Topics {
				if t.Topic != nil && len(*t.Topic) > 249 {
					asked.Add(1)
				}
			}
			return nil
		})
		w.run()
		time.Sleep(10 * time.Second)
		if n := asked.Load(); n > 0 {
			t.Errorf("asked %d times", n)
		}
	})
}

// TestASilenceIsCountedFromTheLastAnswerOfAPartition with records in flight, each time.
func TestASilenceIsCountedFromTheLastAnswerOfAPartition(t *testing.T) {
	var logs kafkatest.Log
	log := slog.New(slog.NewTextHandler(&logs, nil))
	f := flights{open: make(map[offsets.TopicPartition]flight)}
	one, two := offsets.TopicPartition{Topic: "t", Partition: 1}, offsets.TopicPartition{Topic: "t", Partition: 2}
	now := time.Unix(1000, 0)
	wants := func(what string, warnings, infos int) {
		t.Helper()
		f.say(log, now)
		if w, i := len(logs.Lines("level=WARN")), len(logs.Lines("level=INFO")); w != warnings || i != infos {
			t.Errorf("%s: %d warnings, %d answers again, want %d and %d", what, w, i, warnings, infos)
		}
	}
	for round := range 3 {
		f.begin(one, now)
		now = now.Add(2 * time.Second)
		f.begin(one, now) // the first one's time counts
		f.begin(two, now)
		now = now.Add(time.Second)
		wants("3 s", round, round)
		now = now.Add(time.Second)
		f.end(one, now) // an answer: the other one has its time anew
		wants("answered", round, round)
		now = now.Add(3 * time.Second)
		f.end(two, now)
		f.begin(two, now)
		wants("3 s behind an answer", round, round)
		now = now.Add(time.Millisecond)
		wants("more", round+1, round)
		if said := logs.Lines("level=WARN"); !strings.Contains(said[round], "partition=1 partitions=1 for=3s") {
			t.Errorf("said %s", said[round])
		}
		now = now.Add(10 * time.Second)
		wants("not again so soon", round+1, round)
		f.end(one, now)
		f.end(two, now)
		if len(f.open) != 0 {
			t.Errorf("%v is kept of records that are answered", f.open)
		}
		wants("all answered", round+1, round+1)
		now = now.Add(time.Minute)
		wants("quiet", round+1, round+1)
	}
}

// TestARefusedRecordIsSaidEvery30SecondsAndToldUntilOneIsAppended, with the right that it needs.
func TestARefusedRecordIsSaidEvery30SecondsAndToldUntilOneIsAppended(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		write := func() (r facts.Result) {
			done := make(chan facts.Result, 2)
			w.j.Write(offsets.TopicPartition{Topic: ingress, Partition: 1}, facts.Write{Seq: 4, Value: []byte("v")}, func(r facts.Result) { done <- r })
			return <-done
		}
		for round := range 2 {
			sick := w.Refuse(kmsg.Produce, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed})
			for range 4 {
				if r := write(); !errors.Is(r.Err, kerr.TopicAuthorizationFailed) || r.Offset != -1 || r.Seq != 4 {
					t.Errorf("round %d: %+v", round, r)
				}
				time.Sleep(10 * time.Second)
			}
			if v := w.j.View().Topics[ingress]; !strings.Contains(v.Error, "Write on topic "+name) {
				t.Errorf("round %d: view %+v", round, v)
			}
			if n := w.said("WARN", "journal refuses a record", "Write on topic "+name); n != 2*(round+1) {
				t.Errorf("round %d: said %d times in 40 s each", round, n)
			}
			sick.Remove()
			if r := write(); r.Err != nil {
				t.Errorf("round %d: %+v", round, r)
			}
			if v := w.j.View().Topics[ingress]; v.Error != "" {
				t.Errorf("round %d, healthy again: view %+v", round, v)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestASharedTopicIsNotUsedBeforeAllOfItIsLookedAt: another group may have records in the rest.
func TestASharedTopicIsNotUsedBeforeAllOfItIsLookedAt(t *testing.T) {
	for what, key := range map[string]kmsg.Key{"no bounds": kmsg.ListOffsets, "no records": kmsg.Fetch} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.cfg.Shared = true
				w.j = New(w.cfg)
				own := w.assignment(1, w.makeJournal(3))
				own.finish(1, 3000)
				own.store()
				sick := w.Refuse(key, kfake.Fault{Topic: name, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable})
				w.run()
				time.Sleep(time.Minute)
				if v := w.j.View().Topics[ingress]; w.last().Usable || v.State != "refused" || !strings.Contains(v.Warning, "is not known") {
					t.Errorf("view %+v", v)
				}
				w.sayOnce("ERROR", "journal topic is not used", "is not known")
				sick.Remove()
				w.Until(15*time.Second, "the topic is used", func() bool { return w.last().Usable })
				if v := w.j.View().Topics[ingress]; v.State != "usable" || v.Warning != "" {
					t.Errorf("healthy again: view %+v", v)
				}
			})
		})
	}
}

// TestALongRestoreSaysHowFarItIs every 10 s, and in the end what it could not read: as a
// warning where no commit names it. A restore that is stopped says nothing.
func TestALongRestoreSaysHowFarItIs(t *testing.T) {
	inBubble(t, func(w *fixture) {
		id := w.makeJournal(3)
		one, two := w.assignment(1, id), w.assignment(2, id)
		for _, e := range []*assignment{one, two} {
			e.finish(1, 9000)
			e.store()
		}
		left := w.Broker.PartitionInfo(name, 1).HighWatermark
		sick := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: name, Partitions: []int32{1}, Err: kerr.NotLeaderForPartition})
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		w.answers(ctx, []facts.Ask{one.ask(), two.ask()})
		cancel()
		if n := w.said("journal is incomplete"); n != 0 {
			t.Errorf("a stop says %d times that something is incomplete", n)
		}
		for round := range 2 {
			before := w.said("reading the journal")
			a := w.restore(one.ask(), two.ask())
			w.content(a[1])
			if a[0].Complaint == nil || a[0].Records != 0 {
				t.Errorf("round %d: %+v", round, a[0])
			}
			if n := w.said("INFO", "reading the journal", "partitions=1 ", fmt.Sprintf("records=%d ", a[1].Records), fmt.Sprintf("remaining=%d", left)) - before; n < 2 || n > 3 {
				t.Errorf("round %d: said %d times in 30 s, want every 10; lines: %v", round, n, w.logs.Lines("reading the journal"))
			}
		}
		if n := w.said("ERROR", "journal is incomplete", "partition=1"); n != 2 {
			t.Errorf("%d errors, want 2", n)
		}
		if a := w.restore(one.blank())[0]; a.Complaint == nil {
			t.Errorf("%+v", a)
		}
		if n, all := w.said("WARN", "journal is incomplete", "partition=1"), w.said("journal is incomplete"); n != 1 || all != 3 {
			t.Errorf("%d warnings of %d lines, want 1 of 3", n, all)
		}
		sick.Remove()
		ask := one.ask()
		w.content(w.restore(ask)[0])
		one.same(ask.Window)
		if v := w.j.View(); v.Restores != 4 || v.RestoreSeconds < 60 || v.LastRestore > time.Second {
			t.Errorf("view %+v", v)
		}
	})
}

// TestANamedTopicThatIsMissingIsBelievedMissingAfterTwoSeconds: a broker that has just started
// knows none.
func TestANamedTopicThatIsMissingIsBelievedMissingAfterTwoSeconds(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(1, w.makeJournal(3))
		e.finish(1, 9000)
		e.store()
		for range 2 {
			ignorant := w.Refuse(kmsg.Metadata, kfake.Fault{Topic: name, Err: kerr.UnknownTopicOrPartition})
			time.AfterFunc(missingWait-300*time.Millisecond, func() { ignorant.Remove() })
			ask := e.ask()
			w.content(w.restore(ask)[0])
			e.same(ask.Window)
		}
		ask := e.ask()
		w.DeleteTopic(name)
		began := time.Now()
		a := w.restore(ask)[0]
		if took := time.Since(began); a.Complaint == nil || took < missingWait || took > missingWait+time.Second {
			t.Errorf("%+v after %v", a, took)
		}
	})
}
