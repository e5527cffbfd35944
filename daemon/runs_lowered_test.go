package daemon

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// lowered has records of size bytes moved under a large bound, and reads them under the least one. The second
// instance ends when all are due. It returns which have come, and how late.
func (w *fixture) lowered(bound string, count, size int, value func([]byte), apart time.Duration, between func()) (late map[string]time.Duration, in *instance) {
	w.Helper()
	in = w.start("LAYOVER_MAX_PARKED_BYTES=" + bound)
	in.ready()
	time.Sleep(5 * time.Second)
	large := w.NewClient(kgo.ProducerBatchMaxBytes(20<<20), kgo.BrokerMaxWriteBytes(30<<20), kgo.ProducerBatchCompression(kgo.SnappyCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	sent := time.Now().Truncate(time.Millisecond)
	due := make(map[string]time.Time)
	for i := range count {
		key := fmt.Sprint(i)
		due[key] = sent.Add(4*time.Hour + time.Duration(i)*apart)
		r := &kgo.Record{Topic: ingress, Partition: int32(i % 2), Key: []byte(key), Value: make([]byte, size), Timestamp: sent, Headers: []kgo.RecordHeader{header("x-delay", due[key].Sub(sent).String())}}
		value(r.Value)
		if err := large.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			w.Fatal(err)
		}
	}
	time.Sleep(2 * time.Hour)
	if moved, _, _, _ := in.runsCount(); moved != int64(count) {
		w.Fatalf("%d records are moved, want %d", moved, count)
	}
	in.stop()
	between()
	in = w.start("LAYOVER_MAX_PARKED_BYTES=1Mi")
	in.ready()
	time.Sleep(time.Until(due[fmt.Sprint(count-1)].Add(5 * time.Minute)))
	late = make(map[string]time.Duration)
	for _, r := range w.Records(egress) {
		if late[string(r.Key)] = r.Timestamp.Sub(due[string(r.Key)]); len(r.Value) != size {
			w.Errorf("%s has a value of %d bytes, want %d", r.Key, len(r.Value), size)
		}
	}
	return late, in
}

// TestLargeCopiesComeUnderTheLeastBound, though no two of them have room.
func TestLargeCopiesComeUnderTheLeastBound(t *testing.T) {
	long.Only(t)
	for name, apart := range map[string]time.Duration{"ten seconds apart": 10 * time.Second, "at once": 0} {
		t.Run(name, func(t *testing.T) {
			const count = 4
			if apart > 0 {
				long.WholeOnly(t)
			}
			inBubble(t, func(w *fixture) {
				late, in := w.lowered("64Mi", count, 900_000, func(b []byte) { rand.Read(b) }, apart, func() {})
				for key, d := range late {
					if t.Logf("%s: %v late", key, d); d < 0 || apart > 0 && d > time.Second {
						t.Errorf("%s is %v late", key, d)
					}
				}
				if _, _, lost, waiting := in.runsCount(); lost != 0 || waiting != 0 || len(late) != count {
					t.Errorf("%d have come, %d are lost, %d wait", len(late), lost, waiting)
				}
				in.stop()
			})
		})
	}
}

// TestACopyThatTakesTooMuchUnderALoweredBoundIsSaid: it takes more decompressed than one batch may. It stays, and
// comes once the bound is raised.
func TestACopyThatTakesTooMuchUnderALoweredBoundIsSaid(t *testing.T) {
	long.Only(t)
	const count = 2
	for name, c := range map[string]struct{ unlisted, again bool }{
		"raised at once": {}, "raised after another restart and more moves": {again: true}, "in no directory": {unlisted: true, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			if !c.unlisted {
				long.WholeOnly(t)
			}
			inBubble(t, func(w *fixture) {
				late, in := w.lowered("256Mi", count, 12<<20, func([]byte) {}, 10*time.Second, func() {
					for partition := range int32(2) {
						if c.unlisted {
							w.unlist(partition)
						}
					}
				})
				if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting != count || len(late) > 0 {
					t.Errorf("%d have come, %d are lost, %d wait", len(late), lost, waiting)
				}
				in.stop()
				if said := in.logs.Lines("level=ERROR", "a batch of a runs topic cannot be read", "LAYOVER_MAX_PARKED_BYTES"); len(said) == 0 {
					t.Errorf("the log does not name the setting: %v", in.logs.Lines("level=ERROR"))
				}
				if c.again {
					in = w.start("LAYOVER_MAX_PARKED_BYTES=1Mi")
					in.ready()
					due := w.far(100, 400, 1000, func(int) time.Duration { return 150 * time.Minute })
					time.Sleep(3 * time.Hour)
					if moved, _, _, _ := in.runsCount(); moved < int64(len(due)/2) {
						t.Errorf("%d of %d are moved", moved, len(due))
					}
					in.stop()
				}
				in = w.start("LAYOVER_MAX_PARKED_BYTES=256Mi")
				in.ready()
				time.Sleep(5 * time.Minute)
				large := 0
				for _, r := range w.Records(egress) {
					if len(r.Value) == 12<<20 {
						large++
					}
				}
				if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting > 0 || large != count {
					t.Errorf("with the bound raised %d have come, %d are lost, %d wait", large, lost, waiting)
				}
				in.stop()
			})
		})
	}
}

// unlist has the commit of a partition name no directory.
func (w *fixture) unlist(partition int32) {
	w.Helper()
	const group = "layover-" + ingress
	said, _ := w.Committed(group, ingress, partition)
	brokers, err := w.Admin().BrokerMetadata(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	id := offsets.Identity{ClusterID: brokers.Cluster, TopicID: w.Broker.TopicInfo(ingress).TopicID, Partition: partition}
	window, ext, err := offsets.DecodeAll(said.Metadata, id, said.At)
	if err != nil || ext.Runs.DirectoryEnd == 0 {
		w.Fatalf("the commit says %+v, %v", ext, err)
	}
	ext.Runs.DirectoryEnd = 0
	w.Commit(group, kadm.Offset{Topic: ingress, Partition: partition, At: said.At, LeaderEpoch: said.LeaderEpoch, Metadata: offsets.Encode(window, id, ext, offsets.MaxMetadata).Metadata})
}
