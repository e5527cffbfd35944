package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAnOldAnswerAboutATopicThatWasMadeAgainLosesNothing: a broker that lags tells the watcher the id of the deleted
// topic once.
func TestAnOldAnswerAboutATopicThatWasMadeAgainLosesNothing(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		old := w.Broker.TopicInfo(ingress).TopicID
		w.DeleteTopic(ingress)
		time.Sleep(10 * time.Second)
		w.CreateTopic(ingress, 2, nil)
		time.Sleep(20 * time.Second)
		w.sendMany(0, 0, 20, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "2m")} })
		time.Sleep(5 * time.Second)
		req := kmsg.NewPtrMetadataRequest()
		for _, name := range []string{ingress, egress, dlq} {
			topic := kmsg.NewMetadataRequestTopic()
			topic.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, topic)
		}
		stale, err := req.RequestWith(context.Background(), w.Client)
		if err != nil {
			t.Fatal(err)
		}
		for i := range stale.Topics {
			if *stale.Topics[i].Topic == ingress {
				stale.Topics[i].TopicID = old
			}
		}
		told := 0
		w.Broker.ControlKey(int16(kmsg.Metadata), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.Broker.KeepControl()
			m := r.(*kmsg.MetadataRequest)
			if told > 0 || len(m.Topics) < 3 {
				return nil, nil, false
			}
			told++
			stale.SetVersion(r.GetVersion())
			return stale, nil, true
		})
		time.Sleep(30 * time.Second)
		if n := in.at("parked", "records"); told != 1 || n != 20.0 {
			t.Errorf("told %d times; %v are parked, want 20", told, n)
		}
		w.arrives(egress, 20, 5*time.Minute)
		if lost := in.metric("layover_lost_to_retention_records_total"); lost != 0 {
			t.Errorf("%v count as lost, and all are delivered", lost)
		}
		in.stop()
	})
}
