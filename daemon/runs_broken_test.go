package daemon

import (
	"maps"
	"strings"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestABatchOfRunsThatCannotBeReadIsInNobodysWay: others have put one there, between copies. It is met in a
// gap, and at a start.
func TestABatchOfRunsThatCannotBeReadIsInNobodysWay(t *testing.T) {
	long.Only(t)
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
	long.Only(t)
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

// TestWhatIsNoCopyInARunsTopicIsCountedAndSaid, once: others have put it there, or a copy has lost its header.
func TestWhatIsNoCopyInARunsTopicIsCountedAndSaid(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		time.Sleep(5 * time.Second)
		due := w.far(0, 2500, 1000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*10*time.Millisecond })
		time.Sleep(30 * time.Second)
		w.Produce(&kgo.Record{Topic: runsTopic, Value: []byte("a stranger's")},
			&kgo.Record{Topic: runsTopic, Value: []byte("torn"), Headers: []kgo.RecordHeader{header("layover-run", "torn")}})
		for i, lost := range []int64{2, 0, 0} { // once, whatever begins anew
			if i < 2 {
				in.stop()
			} else {
				in.kill()
			}
			in = w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
			in.ready()
			time.Sleep(time.Minute)
			if _, _, n, _ := in.runsCount(); n != lost {
				t.Errorf("%d count as lost, want %d", n, lost)
			}
			for _, want := range []string{"neither a copy nor a directory", "is damaged, and not delivered", "records are gone from a runs topic"} {
				if n := len(in.logs.Lines("level=ERROR", want)); lost > 0 && n != 1 {
					t.Errorf("%d lines say %q, want one", n, want)
				}
			}
		}
		time.Sleep(75 * time.Minute)
		w.arrived(due, 0)
		if _, _, _, waiting := in.runsCount(); waiting != 0 {
			t.Errorf("%d wait", waiting)
		}
		in.stop()
	})
}
