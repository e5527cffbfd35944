package daemon

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestBatchesOfCopiesAreSmall: a visit for one record reads its whole batch. Those of a topic that
// takes less are smaller still, so that it refuses none.
func TestBatchesOfCopiesAreSmall(t *testing.T) {
	for _, test := range []struct {
		limit       string // max.message.bytes before the first copy; "": as it was made
		least, most int
	}{{"", 16 << 10, 64 << 10}, {"20000", 10_000, 20_000}} {
		inBubble(t, func(w *fixture) {
			in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
			in.ready()
			time.Sleep(5 * time.Second)
			if test.limit != "" {
				w.alter(runsTopic, "max.message.bytes", test.limit)
				time.Sleep(2 * time.Minute)
			}
			var mu sync.Mutex
			largest := 0
			w.Answer(kmsg.Produce, func(r kmsg.Request) kmsg.Response {
				mu.Lock()
				defer mu.Unlock()
				for _, of := range r.(*kmsg.ProduceRequest).Topics {
					for _, p := range of.Partitions {
						if of.Topic == runsTopic || of.TopicID == w.Broker.TopicInfo(runsTopic).TopicID {
							largest = max(largest, len(p.Records))
						}
					}
				}
				return nil
			})
			w.Produce(slices.Concat(large(0, 1500, 1000, "5h"), large(1, 1500, 1000, "5h"))...)
			time.Sleep(20 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			if moved, _, _, _ := in.runsCount(); moved < 500 || largest < test.least || largest > test.most {
				w.Errorf("limit %q: %d records are moved, in batches of up to %d bytes, want %d to %d", test.limit, moved, largest, test.least, test.most)
			}
			if len(in.logs.Lines("refuses a record")) > 0 {
				w.Errorf("limit %q: a copy is refused", test.limit)
			}
			in.stop()
		})
	}
}

// TestLargeRecordsAreMovedOneInABatch: the runs topic would refuse a batch of all that come at once, though it takes each.
func TestLargeRecordsAreMovedOneInABatch(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const all = 400
		in := w.start("LAYOVER_MAX_PARKED_BYTES=64Mi")
		in.ready()
		time.Sleep(5 * time.Second) // in which the runs topic is made
		var mu sync.Mutex
		most := int32(0)
		w.Answer(kmsg.Produce, func(r kmsg.Request) kmsg.Response {
			mu.Lock()
			defer mu.Unlock()
			for _, of := range r.(*kmsg.ProduceRequest).Topics {
				for _, p := range of.Partitions {
					var batch kmsg.RecordBatch
					if of.Topic != runsTopic && of.TopicID != w.Broker.TopicInfo(runsTopic).TopicID {
						continue
					}
					if err := batch.ReadFrom(p.Records); err != nil {
						w.Error(err)
					}
					if len(p.Records) > 60<<10 { // else it is of directories
						most = max(most, batch.NumRecords)
					}
				}
			}
			return nil
		})
		w.Produce(slices.Concat(large(0, all/2, 64<<10, "5h"), large(1, all/2, 64<<10, "5h"))...)
		time.Sleep(20 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if moved, _, _, _ := in.runsCount(); moved < all/4 || most != 1 {
			w.Errorf("%d records are moved, up to %d in a batch", moved, most)
		}
		if len(in.logs.Lines("refuses a record")) > 0 {
			w.Error("a copy is refused")
		}
		in.stop()
	})
}
