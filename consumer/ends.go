package consumer

import (
	"context"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Every endsEvery the ends of the assigned partitions' logs are asked for. Fetches
// tell them too, but none comes from a partition that is paused or has no leader.
const (
	endsEvery   = 5 * time.Second
	endsTimeout = 4 * time.Second
)

// endUnknown is the end of a log that nobody has told yet.
const endUnknown = -1

// WatchEnds keeps the log ends in Status fresh until the context ends. How far
// reading is behind cannot be told from the group's lag, which counts what is parked.
func (c *Consumer) WatchEnds(ctx context.Context) {
	ticker := time.NewTicker(endsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.askEnds(ctx)
		}
	}
}

func (c *Consumer) askEnds(ctx context.Context) {
	req, asked := c.endsRequest()
	if len(asked) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endsTimeout)
	defer cancel()
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil { // of one of several brokers, the others' answers are there
		c.cfg.Log.Debug("not all log ends were read", "err", err)
	}
	if resp == nil {
		return
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if tenure, ok := asked[offsets.TopicPartition{Topic: t.Topic, Partition: p.Partition}]; ok && p.ErrorCode == 0 {
				c.noteEnd(tenure, p.Offset)
			}
		}
	}
}

// endsRequest asks for the ends of all partitions that are loaded, and says whose
// they are.
func (c *Consumer) endsRequest() (*kmsg.ListOffsetsRequest, map[offsets.TopicPartition]offsets.Assignment) {
	asked := make(map[offsets.TopicPartition]offsets.Assignment)
	byTopic := make(map[string][]kmsg.ListOffsetsRequestTopicPartition)
	c.mu.Lock()
	for tp, o := range c.table {
		if o.loaded {
			asked[tp] = o.Assignment
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.Timestamp = tp.Partition, -1 // the end
			byTopic[tp.Topic] = append(byTopic[tp.Topic], rp)
		}
	}
	c.mu.Unlock()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	for topic, partitions := range byTopic {
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic, rt.Partitions = topic, partitions
		req.Topics = append(req.Topics, rt)
	}
	return req, asked
}

// noteEnd notes where the log of a tenure's partition ends now.
func (c *Consumer) noteEnd(t offsets.Assignment, end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.row(t); o != nil && end >= 0 {
		o.end = end
	}
}
