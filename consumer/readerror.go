package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readError deals with an error of fetching one partition. What passes by itself
// is left to the client; what does not stops that partition, and that alone.
func (c *Consumer) readError(t Tenure, err error) {
	var tooLarge *kgo.ErrDecompressTooLarge
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		// Without a reset offset the client asks again at once, some 26,000 times a
		// second: the partition is paused until it is known what happened.
		c.client.PauseFetchPartitions(map[string][]int32{t.Topic: {t.Partition}})
		go c.outOfRange(t) // ends with its answer, after 30 s at most
	case errors.As(err, &tooLarge), isCorrupt(err):
		c.Stop(t, fmt.Sprintf("the batch at offset %d cannot be read: %v", c.position(t), err))
		c.cfg.Log.Error("partition stops reading", "topic", t.Topic, "partition", t.Partition, "offset", c.position(t), "err", err)
	case errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrClientClosed):
	default:
		// What the client can mend it does not report; what it reports it asks for
		// again at once. A deleted topic would keep a core busy.
		c.cfg.Log.Debug("fetch failed", "topic", t.Topic, "partition", t.Partition, "err", err)
		c.client.PauseFetchPartitions(map[string][]int32{t.Topic: {t.Partition}})
		time.AfterFunc(fetchRetry, func() { c.resume(t) })
	}
}

// fetchRetry is the pause after a fetch error that the client leaves to us.
const fetchRetry = time.Second

// isCorrupt says whether an error is about bytes that will be no better when they
// are read again: neither the broker's nor the network's.
func isCorrupt(err error) bool {
	var broker *kerr.Error
	if errors.As(err, &broker) {
		return errors.Is(err, kerr.CorruptMessage)
	}
	var network interface{ Timeout() bool }
	var session *kgo.ErrGroupSession
	var loss *kgo.ErrDataLoss
	return !errors.As(err, &network) && !errors.As(err, &session) && !errors.As(err, &loss) &&
		!errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, kgo.ErrClientClosed)
}

func (c *Consumer) position(t Tenure) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.table[t.TopicPartition]; o != nil && o.Epoch == t.Epoch {
		return o.next
	}
	return -1
}

// outOfRange finds out whether the log starts above the position, which is a loss
// that is counted and gone over, or ends below it, where nothing but stopping is
// safe: the start of a truncated log would deliver everything retained again.
func (c *Consumer) outOfRange(t Tenure) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		at := c.position(t)
		if at < 0 {
			return
		}
		start, end, err := c.logBounds(ctx, t)
		switch {
		case err != nil:
			if pause(ctx, loadRetry) != nil {
				return
			}
			continue
		case at < start:
			c.cfg.Log.Error("the log starts above the read position: records were deleted before they were read", "topic", t.Topic, "partition", t.Partition, "offset", at, "start", start)
			c.handler.LogStart(t, start)
			c.Jump(t, start)
		case at > end:
			c.Stop(t, fmt.Sprintf("the read position %d lies above the end of the log, %d: the log was truncated", at, end))
			return
		}
		c.resume(t)
		return
	}
	c.resume(t)
}

// resume reads a partition again, unless it was stopped meanwhile. A jump is
// carried out by the poll loop, which an empty poll wakes.
func (c *Consumer) resume(t Tenure) {
	c.mu.Lock()
	o := c.table[t.TopicPartition]
	ok := o != nil && o.Epoch == t.Epoch && o.stopped == ""
	c.mu.Unlock()
	if ok {
		c.client.ResumeFetchPartitions(map[string][]int32{t.Topic: {t.Partition}})
	}
}

func (c *Consumer) logBounds(ctx context.Context, t Tenure) (start, end int64, err error) {
	adm := kadm.NewClient(c.client)
	starts, err := adm.ListStartOffsets(ctx, t.Topic)
	if err != nil {
		return 0, 0, err
	}
	ends, err := adm.ListEndOffsets(ctx, t.Topic)
	if err != nil {
		return 0, 0, err
	}
	s, _ := starts.Lookup(t.Topic, t.Partition)
	e, _ := ends.Lookup(t.Topic, t.Partition)
	return s.Offset, e.Offset, errors.Join(s.Err, e.Err)
}
