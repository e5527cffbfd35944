package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// all reads a topic from its start to its end.
func (w *world) all(topic string) []*kgo.Record {
	w.Helper()
	ends, err := kadm.NewClient(w.client).ListEndOffsets(context.Background(), topic)
	if err != nil {
		w.Fatal(err)
	}
	left := make(map[int32]int64)
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	if len(left) == 0 {
		return nil
	}
	c := w.kafka(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.KeepControlRecords(), kgo.WithDecompressor(outside))
	defer c.Close()
	var out []*kgo.Record
	for len(left) > 0 {
		fetches := c.PollFetches(context.Background())
		if err := fetches.Err0(); err != nil {
			w.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
		})
	}
	return out
}

// values counts the records of a topic by value.
func (w *world) values(topic string) map[string]int {
	w.Helper()
	out := make(map[string]int)
	for _, r := range w.all(topic) {
		out[string(r.Value)]++
	}
	return out
}

// arrives waits until a topic holds n records and returns them.
func (w *world) arrives(topic string, n int, within time.Duration) []*kgo.Record {
	w.Helper()
	w.until(within, fmt.Sprintf("%d records in %s", n, topic), func() bool { return w.count(topic) >= n })
	return w.all(topic)
}

// count returns the end offsets of a topic summed up.
func (w *world) count(topic string) int {
	n := 0
	for _, p := range w.broker.PartitionInfos(topic) {
		n += int(p.HighWatermark)
	}
	return n
}
