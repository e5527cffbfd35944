package journal

import (
	"cmp"
	"context"
	"time"

	"layover/journal/logs"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// scanWait is how long a scan waits for any record.
const scanWait = 30 * time.Second

// limits bound a request that reads journals. Each broker has one at a time, so the answer's
// bounds the memory for each. Layover's own batches take a mebibyte at most decompressed,
// but others may write to the topic.
func limits() logs.Limits {
	return logs.Limits{Answer: 8 << 20, Partition: 1 << 20, Batch: 8 << 20}
}

// Scan reads partitions of a topic, each from its start to its end (not included). It
// calls f for each committed record, in order within a partition. It ends with an error
// of f, of a partition, or when nothing was read for 30 s.
func Scan(ctx context.Context, opts []kgo.Opt, topic string, ends map[int32][2]int64, f func(partition int32, r *kgo.Record) error) error {
	client, err := logs.NewClient(opts)
	if err != nil {
		return err
	}
	defer client.Close()
	all := make(map[offsets.TopicPartition][2]int64, len(ends))
	for p, b := range ends {
		all[offsets.TopicPartition{Topic: topic, Partition: p}] = b
	}
	left, err := logs.Scan(ctx, client, limits(), all, scanWait, func(at offsets.TopicPartition, r *kgo.Record) (bool, error) {
		return true, f(at.Partition, r)
	})
	for _, why := range left {
		err = cmp.Or(err, why)
	}
	return err
}
