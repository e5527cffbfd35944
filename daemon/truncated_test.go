package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// truncatedAt makes the broker answer that the log of every epoch before the present
// one ends at an offset. The log was written anew from that offset on, after an
// unclean election. kfake does not truncate logs by itself.
func (w *fixture) truncatedAt(offset int64) {
	w.Answer(kmsg.OffsetForLeaderEpoch, func(r kmsg.Request) kmsg.Response {
		req := r.(*kmsg.OffsetForLeaderEpochRequest)
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, p.LeaderEpoch, offset
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
}

func TestAnOffsetAboveATruncationStopsItsPartition(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.sendMany(0, 0, 20, func(int) []kgo.RecordHeader { return nil })
		w.arrives(egress, 20, time.Minute)
		time.Sleep(3 * time.Second)
		if epoch := w.commitOf(0).LeaderEpoch; epoch < 0 {
			t.Fatalf("leader epoch %d committed", epoch)
		}
		in.stop()
		w.truncatedAt(10)
		in = w.start()
		w.sendMany(0, 20, 5, func(int) []kgo.RecordHeader { return nil })
		time.Sleep(time.Minute)
		if n := w.count(egress); n != 20 {
			t.Errorf("%d records delivered, want 20: what stands below the committed offset now is not known", n)
		}
		if _, body := in.get("/status"); !strings.Contains(body, "the log was truncated") {
			t.Errorf("status does not say why: %s", body)
		}
		in.stop()
	})
}

func TestAJumpGoesOverNothingThatWasWrittenAnew(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.finishBehindALongDelay(30_000)
		w.truncatedAt(25_000)
		in := w.start()
		in.ready()
		time.Sleep(30 * time.Second)
		if _, body := in.get("/status"); !strings.Contains(body, "the log was truncated at 25000") {
			t.Errorf("status says nothing of it: %s", body)
		}
		in.stop()
	})
}

// withoutLeaderEpochs makes a broker one that knows none.
func withoutLeaderEpochs() kfake.Opt {
	old := kversion.Stable()
	old.SetMaxKeyVersion(int16(kmsg.OffsetForLeaderEpoch), -1)
	return kfake.MaxVersions(old)
}

func TestABrokerThatKnowsNoLeaderEpochsIsReadFrom(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.sendMany(0, 0, 20, func(int) []kgo.RecordHeader { return nil })
		w.arrives(egress, 20, time.Minute)
		time.Sleep(3 * time.Second)
		in.stop()
		in = w.start()
		w.sendMany(0, 20, 5, func(int) []kgo.RecordHeader { return nil })
		w.Until(time.Minute, "what is written after a restart is delivered", func() bool { return w.count(egress) == 25 })
		in.stop()
	}, withoutLeaderEpochs())
}
