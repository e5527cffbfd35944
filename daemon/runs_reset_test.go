package daemon

import (
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// likeKafka has the brokers fail at the question which topic has no id, as Kafka 4.3 does. kfake calls such a
// topic missing.
func (w *fixture) likeKafka() {
	w.Answer(kmsg.Metadata, func(r kmsg.Request) kmsg.Response {
		for _, t := range r.(*kmsg.MetadataRequest).Topics {
			if t.Topic == nil && t.TopicID == [16]byte{} {
				resp := r.ResponseKind().(*kmsg.MetadataResponse)
				resp.ErrorCode = kerr.UnknownServerError.Code
				return resp
			}
		}
		return nil
	})
}

// TestCopiesAreDeliveredAfterAReset: the commit of "layover journal reset" or "recover" tells nothing of runs but
// that something waits there.
func TestCopiesAreDeliveredAfterAReset(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.likeKafka()
		in, f := w.flooded()
		in.stop()
		there := f.copies()
		brokers, err := w.Admin().BrokerMetadata(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		for p := range int32(2) {
			end := w.Broker.PartitionInfo(ingress, p).HighWatermark
			f.ledger.DeletedRange(ingress, p, 0, end)
			id := offsets.Identity{ClusterID: brokers.Cluster, TopicID: w.Broker.TopicInfo(ingress).TopicID, Partition: p}
			ext := offsets.Extension{Runs: offsets.RunsState{Holds: true}}
			w.Commit("layover-"+ingress, kadm.Offset{Topic: ingress, Partition: p, At: end, LeaderEpoch: -1,
				Metadata: offsets.Encode(offsets.NewWindow(end), id, ext, offsets.MaxMetadata).Metadata})
		}
		in = w.start(far8)
		in.ready()
		time.Sleep(80 * time.Minute)
		if a := f.all(0); a.Came != len(there) {
			t.Errorf("%d arrived, want the %d that were moved", a.Came, len(there))
		}
		if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting > 0 {
			t.Errorf("%d lost, %d wait", lost, waiting)
		}
		in.stop()
	})
}
