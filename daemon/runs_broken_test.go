package daemon

import (
	"maps"
	"strings"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestABatchOfRunsThatCannotBeReadIsInNobodysWay: others have put one there, between copies. It is met in a
// gap, and at a start.
func TestABatchOfRunsThatCannotBeReadIsInNobodysWay(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		time.Sleep(5 * time.Second)
		delay := func(i int) time.Duration { return 2*time.Hour + time.Duration(i)*time.Second }
		due := w.far(0, 3000, 1000, delay)
		time.Sleep(50 * time.Minute)
		w.ProduceBatch(runsTopic, kafkatest.Batch(func(*kmsg.RecordBatch) {}))
		maps.Copy(due, w.far(3000, 3000, 1000, delay))
		time.Sleep(50 * time.Minute)
		if moved, _, _, _ := in.runsCount(); moved != 6000 {
			t.Errorf("%d records were moved, want all 6000", moved)
		}
		time.Sleep(25 * time.Minute)
		if said := in.logs.String(); !strings.Contains(said, "a batch of a runs topic cannot be read") {
			t.Error("nothing says that a batch cannot be read")
		}
		in.stop()
		in = w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		time.Sleep(3 * time.Hour)
		late := w.arrived(due, 0)
		_, _, lost, waiting := in.runsCount()
		if late > 5*time.Second || lost > 0 || waiting != 3 {
			t.Errorf("lost %d, waiting %d, the latest %v late", lost, waiting, late)
		}
		in.stop()
	})
}

// TestADirectoryInABatchThatCannotBeReadIsDoneWithout: all is read through.
func TestADirectoryInABatchThatCannotBeReadIsDoneWithout(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		time.Sleep(5 * time.Second)
		due := w.far(0, 6000, 1000, func(i int) time.Duration { return 2*time.Hour + time.Duration(i)*time.Millisecond })
		time.Sleep(50 * time.Minute)
		in.stop()
		end := w.bounds(runsTopic)[0][1]
		w.ProduceBatch(runsTopic, kafkatest.Batch(func(*kmsg.RecordBatch) {}))
		const group = "layover-" + ingress
		said, _ := w.Committed(group, ingress, 0)
		brokers, err := w.Admin().BrokerMetadata(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		id := offsets.Identity{ClusterID: brokers.Cluster, TopicID: w.Broker.TopicInfo(ingress).TopicID}
		window, ext, err := offsets.DecodeAll(said.Metadata, id, said.At)
		if err != nil || ext.Runs.DirectoryEnd == 0 {
			t.Fatalf("the commit says %+v, %v", ext, err)
		}
		ext.Runs.DirectoryEnd = end + 1
		w.Commit(group, kadm.Offset{Topic: ingress, Partition: 0, At: said.At, LeaderEpoch: said.LeaderEpoch, Metadata: offsets.Encode(window, id, ext, offsets.MaxMetadata).Metadata})
		in = w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		time.Sleep(2 * time.Hour)
		if late := w.arrived(due, 0); late > 50*time.Millisecond {
			t.Errorf("the latest is %v late", late)
		}
		if said := in.logs.String(); !strings.Contains(said, "directory of a runs topic cannot be used") {
			t.Error("nothing says that the directory cannot be used")
		}
		in.stop()
	})
}
