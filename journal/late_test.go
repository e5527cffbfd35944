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

// TestHoldsAsksAgainForATopicThatABrokerDoesNotKnowYet, for two seconds: one that has just
// started knows none, and "no record" would be a wrong answer.
func TestHoldsAsksAgainForATopicThatABrokerDoesNotKnowYet(t *testing.T) {
	inBubble(t, func(w *fixture) {
		id := w.makeJournal(3)
		e := w.assignment(1, id)
		e.finish(1, 5000)
		e.store()
		ids := map[offsets.TopicPartition]offsets.Identity{e.tp: e.id.Identity}
		for _, after := range []time.Duration{300 * time.Millisecond, missingWait - 300*time.Millisecond} {
			ignorant := w.Refuse(kmsg.Metadata, kfake.Fault{Topic: name, Err: kerr.UnknownTopicOrPartition})
			time.AfterFunc(after, func() { ignorant.Remove() })
			began := time.Now()
			held, unknown := w.j.Holds(context.Background(), ids)
			if took := time.Since(began); !held[e.tp] || len(unknown) > 0 || took < after || took > missingWait+time.Second {
				t.Errorf("known after %v: held %v, unknown %v, after %v", after, held, unknown, took)
			}
		}
	})
}
