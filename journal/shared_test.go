package journal

import (
	"context"
	"strings"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestATopicThatAnotherGroupHasRecordsInIsNotUsedUntilTheyAreGone, where its name does
// not tell groups apart: each group would delete the other's.
func TestATopicThatAnotherGroupHasRecordsInIsNotUsedUntilTheyAreGone(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.cfg.Shared = true
		w.j = New(w.cfg)
		id := w.makeJournal(3)
		own, other := w.assignment(0, id), w.assignment(1, id)
		other.id.Group = "billing"
		other.ledger = facts.NewWriter(other.id, 9, facts.Restored{}, other.window)
		other.ledger.Use(id, 1<<20)
		own.finish(1, 3000)
		own.store()
		other.finish(1, 3000)
		other.store()
		w.run()
		time.Sleep(5 * time.Second)
		if w.last().Usable {
			t.Error("the topic is used")
		}
		if v := w.j.View().Topics[ingress]; v.State != "refused" || !strings.Contains(v.Warning, `"billing"`) || !strings.Contains(v.Warning, "LAYOVER_JOURNAL_TOPIC") {
			t.Errorf("view %+v", v)
		}
		time.Sleep(5 * time.Minute)
		if n := w.said("ERROR"); n != 1 {
			t.Errorf("%d lines about it, want 1", n)
		}
		info := w.Broker.PartitionInfo(name, 1)
		w.DeleteRecords(name, 1, info.HighWatermark)
		w.Until(2*time.Minute, "the topic is used once they are gone", func() bool { return w.last().Usable })
		if v := w.j.View().Topics[ingress]; v.State != "usable" || v.Warning != "" {
			t.Errorf("view %+v", v)
		}
	})
}

func TestATopicOfOneGroupAloneIsUsedWhateverItsName(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.cfg.Shared = true
		w.j = New(w.cfg)
		own := w.assignment(0, w.makeJournal(3))
		own.finish(1, 3000)
		own.store()
		w.append(2, []byte("not a record of a journal"))
		w.run()
		w.Until(3*time.Second, "the topic is used", func() bool { return w.last().Usable })
	})
}

// TestHoldsTakesAJournalThatMayNotBeReadForNone: a group that was never allowed to write
// one must be able to start.
func TestHoldsTakesAJournalThatMayNotBeReadForNone(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := w.assignment(0, w.makeJournal(3))
		e.finish(1, 3000)
		e.store()
		ids := map[offsets.TopicPartition]offsets.Identity{e.tp: e.id.Identity}
		for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata} {
			end := w.Refuse(key, kfake.Fault{Topic: name, Err: kerr.TopicAuthorizationFailed}).Remove
			held, unknown := w.j.Holds(context.Background(), ids)
			if len(unknown) > 0 || held[e.tp] {
				t.Errorf("%s forbidden: %v, %v", kmsg.NameForKey(key.Int16()), held, unknown)
			}
			end()
		}
		if held, unknown := w.j.Holds(context.Background(), ids); len(unknown) > 0 || !held[e.tp] {
			t.Errorf("allowed: %v, %v", held, unknown)
		}
	})
}
