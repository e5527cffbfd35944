package journal

import (
	"context"
	"testing"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A leader tells where its log ends and then answers no fetch. The other partitions of
// the question for what journals hold wait the 2 s that Holds says, not the fetch's 10 s.
func TestAFetchThatHangsHoldsUpNoOtherOfHolds(t *testing.T) {
	inBubble(t, func(w *fixture) {
		id := w.makeJournal(3)
		for p := range int32(2) {
			e := w.assignment(p, id)
			e.finish(1, 9000)
			e.store()
		}
		sick := w.Broker.LeaderFor(name, 0)
		for p := range int32(3) {
			if p != 0 {
				w.Broker.MoveTopicPartition(name, p, 1-sick)
			}
		}
		w.Answer(kmsg.Fetch, func(kmsg.Request) kmsg.Response {
			if w.Broker.CurrentNode() == sick {
				w.Broker.SleepControl(func() { time.Sleep(60 * time.Second) })
			}
			return nil
		})
		ids := make(map[offsets.TopicPartition]offsets.Identity)
		for p := range int32(3) {
			tp := offsets.TopicPartition{Topic: ingress, Partition: p}
			ids[tp] = offsets.Identity{TopicID: id, Partition: p}
		}
		began := time.Now()
		held, unknown := w.j.Holds(context.Background(), ids)
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("took %v (held %v, unknown %v)", took, held, unknown)
		}
		time.Sleep(2 * time.Minute)
	})
}

// A shared journal is used, and one partition of it loses its leader. The topic stays in
// use at the looks that follow each minute.
func TestASharedJournalStaysInUseWithoutOneLeader(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.cfg.Shared = true
		w.j = New(w.cfg)
		own := w.assignment(0, w.makeJournal(3))
		own.finish(1, 3000)
		own.store()
		w.run()
		w.Until(3*time.Second, "the topic is used", func() bool { return w.last().Usable })
		defer w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: name, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable}).Remove()
		time.Sleep(3 * time.Minute)
		if !w.last().Usable {
			t.Errorf("the topic is not used: %q", w.j.View().Topics[ingress].Warning)
		}
	})
}
