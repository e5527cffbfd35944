package daemon

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Records reads a topic from its start to its end. Its zstd is decompressed outside of the bubble.
func (w *fixture) Records(topic string, opts ...kgo.Opt) []*kgo.Record {
	w.Helper()
	return w.Cluster.Records(topic, append(opts, kgo.WithDecompressor(outside))...)
}

// values counts the records of a topic by value.
func (w *fixture) values(topic string) map[string]int {
	w.Helper()
	out := make(map[string]int)
	for _, r := range w.Records(topic) {
		out[string(r.Value)]++
	}
	return out
}

// arrives waits until a topic holds n records and returns them.
func (w *fixture) arrives(topic string, n int, within time.Duration) []*kgo.Record {
	w.Helper()
	w.Until(within, fmt.Sprintf("%d records in %s", n, topic), func() bool { return w.count(topic) >= n })
	return w.Records(topic)
}

// count returns the end offsets of a topic summed up.
func (w *fixture) count(topic string) int {
	n := 0
	for _, p := range w.Broker.PartitionInfos(topic) {
		n += int(p.HighWatermark)
	}
	return n
}
