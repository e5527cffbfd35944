package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAJournalThatMayNotBeSeenIsSaidUntilItMay, each time; it is not made, and not written to.
func TestAJournalThatMayNotBeSeenIsSaidUntilItMay(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.run()
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		for round := range 2 {
			sick := w.Refuse(kmsg.Metadata, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed})
			time.Sleep(5 * time.Minute)
			if v := w.j.View().Topics[ingress]; v.State != "forbidden" || !strings.Contains(v.Warning, "Describe on topic "+name) {
				t.Errorf("round %d: view %+v", round, v)
			}
			if w.last().Usable {
				t.Errorf("round %d: it is used", round)
			}
			if n := w.said("WARN", "journal topic may not be used", "Describe on topic "+name); n != round+1 {
				t.Errorf("round %d: said %d times", round, n)
			}
			var r facts.Result
			w.j.Write(offsets.TopicPartition{Topic: ingress, Partition: 1}, facts.Write{Seq: 3}, func(got facts.Result) { r = got })
			if r.Err == nil || r.Seq != 3 || !strings.Contains(r.Err.Error(), "forbidden") {
				t.Errorf("round %d: a record: %+v", round, r)
			}
			sick.Remove()
			w.Until(5*time.Second, "the journal is usable again", func() bool { return w.last().Usable })
			if v := w.j.View().Topics[ingress]; v.State != "usable" || v.Warning != "" {
				t.Errorf("round %d, allowed again: view %+v", round, v)
			}
			if n := w.said("INFO", "journal topic may be used"); n != round+1 {
				t.Errorf("round %d: its end is said %d times", round, n)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestTwoJournalsAreKeptApart: limit, state, refusal and partitions of one are not the other's.
func TestTwoJournalsAreKeptApart(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const second, its = "later", "later.journal"
		w.CreateTopic(second, 2, nil)
		w.CreateTopic(name, 3, map[string]string{"max.message.bytes": "20000", "retention.ms": "-1", "retention.bytes": "-1"})
		refused := w.Refuse(kmsg.CreateTopics, kfake.Fault{Topic: its, Err: kerr.ClusterAuthorizationFailed})
		states := make(map[string]State)
		w.cfg.Ingress = []string{ingress, second}
		w.cfg.Changed = func(topic string, s State) {
			w.mu.Lock()
			defer w.mu.Unlock()
			states[topic] = s
		}
		w.j = New(w.cfg)
		w.run()
		time.Sleep(time.Minute)
		v := w.j.View().Topics
		if v[ingress].State != "usable" || v[ingress].Warning != "" || v[ingress].Partitions != 3 || v[ingress].Name != name {
			t.Errorf("the one that is there: %+v", v[ingress])
		}
		if v[second].State != "missing" || !strings.Contains(v[second].Warning, "allow Create on topic "+its) || !strings.Contains(v[second].Warning, "--partitions 2") || v[second].Name != its {
			t.Errorf("the one that may not be made: %+v", v[second])
		}
		if a, b, c := w.j.MaxBatch(name), w.j.MaxBatch(its), w.j.MaxBatch("another"); a != 20000 || b != defaultMaxBatch || c != defaultMaxBatch {
			t.Errorf("limits %d, %d and %d of one that is nobody's", a, b, c)
		}
		refused.Remove()
		time.Sleep(2 * time.Minute)
		if v := w.j.View().Topics[second]; v.State != "usable" || v.Warning != "" || v.Partitions != 2 {
			t.Errorf("the second, made after all: %+v", v)
		}
		w.mu.Lock()
		if a, b := states[ingress], states[second]; !a.Usable || a.MaxBytes != 20000-1024 || !b.Usable || b.MaxBytes != defaultMaxBatch-1024 || a.TopicID == b.TopicID {
			t.Errorf("passed on: %+v and %+v", a, b)
		}
		w.mu.Unlock()
		var r facts.Result
		w.j.Write(offsets.TopicPartition{Topic: "another"}, facts.Write{Seq: 3}, func(got facts.Result) { r = got })
		if r.Err == nil || !strings.Contains(r.Err.Error(), "another is no ingress topic") {
			t.Errorf("a record of another topic: %+v", r)
		}
	})
}

// TestNoJournalIsMadeForATopicThatIsNotThere, and one as soon as it is.
func TestNoJournalIsMadeForATopicThatIsNotThere(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.DeleteTopic(ingress)
		w.run()
		if n := w.counts(kmsg.CreateTopics, func() { time.Sleep(time.Minute) }); n > 0 || w.Broker.TopicInfo(name) != nil {
			t.Errorf("%d requests", n)
		}
		w.CreateTopic(ingress, 4, nil)
		w.Until(5*time.Second, "the journal is usable", func() bool { return w.last().Usable })
		if n := len(w.Broker.PartitionInfos(name)); n != 4 {
			t.Errorf("%d partitions, want 4", n)
		}
	})
}

// TestWhatABrokerSaysOfARefusalIsPassedOn, cut to a bounded length.
func TestWhatABrokerSaysOfARefusalIsPassedOn(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for said, want := range map[string]string{"": "", "no such policy": "(no such policy)", long: "(" + long[:200] + ")"} {
		inBubble(t, func(w *fixture) {
			w.Answer(kmsg.CreateTopics, func(r kmsg.Request) kmsg.Response {
				resp := r.ResponseKind().(*kmsg.CreateTopicsResponse)
				rt := kmsg.NewCreateTopicsResponseTopic()
				rt.Topic, rt.ErrorCode, rt.ErrorMessage = name, kerr.PolicyViolation.Code, &said
				resp.Topics = append(resp.Topics, rt)
				return resp
			})
			w.run()
			time.Sleep(10 * time.Second)
			v := w.j.View().Topics[ingress]
			if !strings.Contains(v.Warning, "POLICY_VIOLATION") || !strings.Contains(v.Warning, want+"; make it: kafka-topics.sh") || strings.Contains(v.Warning, long[:201]) {
				t.Errorf("%.20q: view %+v", said, v)
			}
		})
	}
}

// TestASharedTopicIsLookedAtOnceAMinute, and its mending is no error.
func TestASharedTopicIsLookedAtOnceAMinute(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.cfg.Shared = true
		w.j = New(w.cfg)
		own, other := w.assignment(0, w.makeJournal(3)), w.assignment(1, offsets.TopicID{})
		own.finish(1, 3000)
		own.store()
		w.run()
		time.Sleep(time.Minute)
		for round := range 2 {
			if n := w.counts(kmsg.ListOffsets, func() { time.Sleep(10 * time.Minute) }); n < 9 || n > 70 { // each asks every broker for start and end
				t.Errorf("round %d: %d questions in 10 min, want one a minute", round, n)
			}
			other.id.Group = fmt.Sprintf("billing-%d", round)
			other.ledger = facts.NewWriter(other.id, 9, facts.Restored{}, other.window)
			other.ledger.Use(w.last().TopicID, 1<<20)
			other.finish(int64(10_000*round)+1, int64(10_000*round)+3000)
			other.store()
			time.Sleep(2 * time.Minute)
			if v := w.j.View().Topics[ingress]; w.last().Usable || v.State != "refused" || !strings.Contains(v.Warning, other.id.Group) {
				t.Errorf("round %d: view %+v", round, v)
			}
			w.DeleteRecords(name, 1, w.Broker.PartitionInfo(name, 1).HighWatermark)
			time.Sleep(2 * time.Minute)
			if v := w.j.View().Topics[ingress]; !w.last().Usable || v.Warning != "" {
				t.Errorf("round %d, gone again: view %+v", round, v)
			}
			if n := w.said("ERROR"); n != round+1 {
				t.Errorf("round %d: %d errors are said", round, n)
			}
		}
	})
}

// TestRestoresAreSummedUp, and one partition that is asked for twice has one answer.
func TestRestoresAreSummedUp(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e, empty := w.assignment(1, w.makeJournal(3)), w.assignment(2, offsets.TopicID{})
		e.finish(1, 9000)
		e.store()
		var records, bytes int64
		for round := range int64(3) {
			a := w.restore(e.ask(), empty.blank())
			w.content(a[0])
			records, bytes = records+a[0].Records, bytes+a[0].Bytes
			if v := w.j.View(); v.Restores != round+1 || v.RestoredRecords != records || v.RestoredBytes != bytes || records == 0 || bytes == 0 {
				t.Errorf("view %+v, want %d restores of %d records and %d bytes", v, round+1, records, bytes)
			}
		}
		if n := w.said("INFO", "journal was read", "partitions=2", fmt.Sprintf("records=%d ", records/3)); n != 3 {
			t.Errorf("said %d times, want 3", n)
		}
		w.restore()
		w.restore(empty.blank())
		if n, v := w.said("journal was read"), w.j.View(); n != 3 || v.Restores != 4 {
			t.Errorf("said %d times, %d restores, with nothing to read", n, v.Restores)
		}
		asks := []facts.Ask{e.ask(), e.ask(), empty.blank()}
		a := w.restore(asks...)
		w.content(a[0])
		w.content(a[2])
		e.same(asks[0].Window)
		if a[1].Complaint == nil || !strings.Contains(a[1].Complaint.Error(), "asked for twice") {
			t.Errorf("%+v", a[1])
		}
	})
}
