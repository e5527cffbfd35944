package daemon

import (
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// harm is something that takes copies out of a runs topic. It returns which.
type harm struct {
	does    func(f *freight) (takes func(p place) bool)
	stopped bool // no instance runs meanwhile
	others  bool // what is no copy counts as well
	often   bool // it is among those of an ordinary run
	repeats int  // of what is moved before the harm is noticed
}

// harmedOffsets is how many offsets of partition 0 are harmed at least: the first or, with their batch, the last.
const harmedOffsets = 300

func harms() map[string]harm {
	trim := func(f *freight) func(p place) bool {
		f.DeleteRecords(runsTopic, 0, harmedOffsets)
		return func(p place) bool { return p.partition == 0 && p.offset < harmedOffsets }
	}
	cut := func(f *freight) func(p place) bool {
		at := f.batchOf(runsTopic, 0, f.Broker.PartitionInfo(runsTopic, 0).HighWatermark-harmedOffsets)
		f.Truncate(runsTopic, 0, at)
		return func(p place) bool { return p.partition == 0 && p.offset >= at }
	}
	remake := func(f *freight) func(place) bool {
		f.DeleteTopic(runsTopic)
		f.CreateTopic(runsTopic, 2, map[string]string{"retention.ms": "-1", "retention.bytes": "-1", "segment.bytes": "67108864"})
		return func(place) bool { return true }
	}
	return map[string]harm{
		"its start is moved":                    {trim, false, false, true, 0},
		"its start is moved while nobody looks": {trim, true, false, false, 0},
		"it is deleted": {func(f *freight) func(place) bool {
			f.DeleteTopic(runsTopic)
			time.Sleep(2 * time.Minute) // it is made again
			return func(place) bool { return true }
		}, false, false, false, 0},
		"it is made again at once":            {remake, false, false, false, 0},
		"it is made again while nobody looks": {remake, true, true, false, 0},
		"it is truncated while nobody looks":  {cut, true, true, true, 0},
		"it is truncated":                     {cut, false, false, true, 10_000},
	}
}

// batchOf returns where the batch begins that has an offset.
func (w *fixture) batchOf(topic string, partition int32, offset int64) int64 {
	w.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis = 1<<20, 1, 1000
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, w.Broker.TopicInfo(topic).TopicID
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 1<<20
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(w.Context(), w.Client.Broker(int(w.Broker.LeaderFor(topic, partition))))
	if err != nil || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions[0].RecordBatches) < 8 {
		w.Fatalf("fetching %s/%d@%d: %v", topic, partition, offset, err)
	}
	return int64(binary.BigEndian.Uint64(resp.Topics[0].Partitions[0].RecordBatches))
}

// TestWhatARunsTopicHasLostIsCountedAndTheRestGoesOn: the log has an error, and no record is delivered
// for another, nor is one early. What is moved afterwards stands where others stood before.
func TestWhatARunsTopicHasLostIsCountedAndTheRestGoesOn(t *testing.T) {
	long.Only(t)
	for name, h := range harms() {
		t.Run(name, func(t *testing.T) {
			if !h.often {
				long.WholeOnly(t)
			}
			synctest.Test(t, func(t *testing.T) {
				w := fixtureOf(kafkatest.StartVirtualOnDisk(t, 1, kfake.SeedTopics(2, ingress), kfake.SeedTopics(2, egress), kfake.SeedTopics(1, dlq)))
				in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
				in.ready()
				time.Sleep(10 * time.Second)
				f := w.freight()
				f.send(10, 100, func(i int) time.Duration { return time.Duration(5+i) * time.Minute })
				f.send(2500, 1000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*10*time.Millisecond })
				time.Sleep(30 * time.Second)
				there := f.copies()
				if h.stopped {
					in.stop()
				}
				takes := h.does(f)
				if h.stopped {
					in = w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
				}
				var gone []string
				for id, p := range there {
					if takes(p) {
						gone = append(gone, id)
					}
				}
				if len(gone) < 200 {
					t.Fatalf("the harm takes %d copies of %d", len(gone), len(there))
				}
				f.gone(gone)
				time.Sleep(2 * time.Minute)
				second := f.send(2500, 1000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*10*time.Millisecond })
				time.Sleep(80 * time.Minute)
				a := f.all(h.repeats)
				a.onTime(0, 10, 100*time.Millisecond)
				a.onTime(second, f.next, 100*time.Millisecond)
				moved, loaded, lost, waiting := in.runsCount()
				in.metrics(fmt.Sprint("layover_lost_from_runs_records_total ", lost))
				t.Logf("%d copies, %d gone; moved %d, loaded %d, lost %d, waiting %d", len(there), len(gone), moved, loaded, lost, waiting)
				if h.others && lost > int64(len(gone)) && lost < int64(len(gone))+20 {
					lost = int64(len(gone))
				}
				if lost != int64(len(gone)) || a.Excused != len(gone) || waiting != 0 {
					t.Errorf("%d lost, %d did not come, %d wait, want the %d that are gone", lost, a.Excused, waiting, len(gone))
				}
				if len(in.logs.Lines("level=ERROR", "records are gone from a runs topic")) == 0 {
					t.Error("the log has no error")
				}
				in.stop()
			})
		})
	}
}
