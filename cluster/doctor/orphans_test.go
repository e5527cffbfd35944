package doctor

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestCopiesThatNobodyIsAssignedAreFound: the ingress topic has two partitions, and its runs topic five. Then it is gone.
func TestCopiesThatNobodyIsAssignedAreFound(t *testing.T) {
	inBubble(t, 2, func(w *fixture) {
		runs := w.cfg.RunsName("delayed")
		w.CreateTopic(runs, 5, nil)
		w.is(w.run()["left-topics"], OK)
		write := func(partitions ...int32) {
			for _, p := range partitions {
				w.Produce(&kgo.Record{Topic: runs, Partition: p, Value: []byte("x")})
			}
		}
		write(0, 1, 1)
		w.is(w.run()["left-topics"], OK)
		write(2, 3, 3)
		w.is(w.run()["left-topics"], Warn, runs+" has up to 3 copies in partitions that its ingress topic delayed does not have, as that has 2 partitions: no instance is assigned them",
			"--alter --topic delayed --partitions 4")
		no := w.Refuse(kmsg.OffsetFetch, kfake.Fault{Err: kerr.GroupAuthorizationFailed})
		w.is(w.run()["left-topics"], Warn, "up to 3 copies", "--alter --topic delayed --partitions 4")
		no.Remove()
		no = w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: runs, Err: kerr.TopicAuthorizationFailed})
		w.is(w.run()["left-topics"], Unknown, "whether copies wait in "+runs)
		w.DeleteTopic("delayed")
		w.is(w.run()["topics"], Fail, runs+" may have copies")
		no.Remove()
		found := w.run()["topics"]
		w.is(found, Fail, runs+" has up to 6 copies, which are delivered as long as no instance joins again or restarts", "make it again:", "--create --topic delayed --partitions 5")
		if strings.Contains(found.Fix, "take the topic out") {
			t.Errorf("copies are given up: %s", found.Fix)
		}
		w.is(w.run()["left-topics"], OK)
		for p, below := range map[int32]int64{0: 1, 1: 2, 2: 1, 3: 2} {
			w.DeleteRecords(runs, p, below)
		}
		w.is(w.run()["topics"], Fail, "take the topic out of LAYOVER_INGRESS_TOPICS, or make it again:")
	})
}

// TestARunsTopicThatMayNotBeLookedAtMayHaveCopies: an ingress topic that is gone is not given up then.
func TestARunsTopicThatMayNotBeLookedAtMayHaveCopies(t *testing.T) {
	inBubble(t, 1, func(w *fixture) {
		runs := w.cfg.RunsName("delayed")
		w.CreateTopic(w.cfg.JournalName("delayed"), 2, nil)
		w.CreateTopic(runs, 2, nil)
		w.Produce(&kgo.Record{Topic: runs, Value: []byte("x")})
		w.DeleteTopic("delayed")
		for _, err := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.UnknownServerError} {
			no := w.Refuse(kmsg.Metadata, kfake.Fault{Topic: runs, Err: err})
			found := w.run()["topics"]
			w.is(found, Fail, runs+" may have copies", "make it again:", "--create --topic delayed --partitions 2")
			if strings.Contains(found.Fix, "take the topic out") {
				t.Errorf("%v: copies are given up: %s", err, found.Fix)
			}
			no.Remove()
		}
	})
}

// TestANameThatNoTopicCanHaveHasNoCopies.
func TestANameThatNoTopicCanHaveHasNoCopies(t *testing.T) {
	inBubble(t, 1, func(w *fixture) {
		w.cfg.GroupID = "my group"
		w.cfg.JournalTopic = "{ingress}.journal"
		w.CreateTopic("delayed.journal", 2, nil)
		w.DeleteTopic("delayed")
		w.is(w.run()["topics"], Fail, "take the topic out of LAYOVER_INGRESS_TOPICS, or make it again:")
	})
}
