package logs

import (
	"context"
	"fmt"
	"time"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteTimeout is for one deletion.
const deleteTimeout = 5 * time.Second

// Delete deletes the records of a partition below an offset: the log begins there then. It
// takes 5 s at most. After an error the records may be deleted all the same. The disk gets
// its room back by whole segments that are closed.
func Delete(ctx context.Context, cl *kgo.Client, at offsets.TopicPartition, below int64) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = at.Partition, below
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic, t.Partitions = at.Topic, append(t.Partitions, p)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = int32(deleteTimeout.Milliseconds())
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return fmt.Errorf("deleting records: %w", err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return fmt.Errorf("deleting records: %w", cluster.ErrNoAnswer)
	}
	if err := kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode); err != nil {
		return fmt.Errorf("deleting records below %d: %w", below, err)
	}
	return nil
}
