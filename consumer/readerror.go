package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"layover/batches"
	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readError deals with an error of fetching one partition. What passes by itself
// is left to the client; what does not stops that partition, and that alone.
func (c *Consumer) readError(t offsets.Assignment, err error) {
	var tooLarge *batches.TooLarge
	var loss *kgo.ErrDataLoss
	switch {
	case errors.As(err, &loss):
		// What is written anew at these offsets would be taken for what was read.
		c.giveUp(t, Truncated, fmt.Sprintf("the log was truncated below what was read: %v; set the group's offset for this partition, then restart", err))
	case errors.Is(err, kerr.OffsetOutOfRange):
		// Without a reset offset the client asks again at once, some 26,000 times a
		// second: the partition is paused until it is known what happened.
		c.pause(t)
		go c.outOfRange(t) // ends with its answer, after 30 s at most
	case errors.Is(err, batches.ErrLater): // it is fetched again, and there is room now
	case errors.As(err, &tooLarge):
		c.pause(t)                 // or it is fetched again at once
		go c.tooLarge(t, tooLarge) // ends with the broker's answer, or with the tenure
	case isCorrupt(err):
		c.pause(t) // the client would ask for it again at once
		go c.broken(t, err)
	case errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrClientClosed):
	default:
		// What the client can mend it does not report; what it reports it asks for
		// again at once. A deleted topic would keep a core busy.
		c.cfg.Log.Debug("fetch failed", "topic", t.Topic, "partition", t.Partition, "err", err)
		c.failing(t, err)
		c.pause(t)
		time.AfterFunc(fetchRetry, func() { c.resume(t) })
	}
}

// failing notes that fetches of a partition fail, until one is answered.
func (c *Consumer) failing(t offsets.Assignment, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.row(t); o != nil {
		if o.failed.err == nil {
			o.failed.since = time.Now()
		}
		o.failed.err = err
	}
}

// giveUp stops a partition and says why, in the log as in status.
func (c *Consumer) giveUp(t offsets.Assignment, code Reason, reason string) {
	c.Stop(t, c.position(t), code, reason)
	c.cfg.Log.Error("partition stops reading", "topic", t.Topic, "partition", t.Partition, "offset", c.position(t), "err", reason)
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
	return !errors.As(err, &network) && !errors.As(err, &session) &&
		!errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, kgo.ErrClientClosed)
}

func (c *Consumer) position(t offsets.Assignment) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.row(t); o != nil {
		return o.next
	}
	return -1
}

// outOfRange finds out whether the log starts above the position, which is a loss
// that is counted and gone over, or ends below it, where nothing but stopping is
// safe: the start of a truncated log would deliver everything retained again.
func (c *Consumer) outOfRange(t offsets.Assignment) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		at := c.position(t)
		if at < 0 {
			return
		}
		start, end, same, err := c.logBounds(ctx, t)
		switch {
		case err != nil:
			if pause(ctx, loadRetry) != nil {
				return
			}
			continue
		case !same: // another log, of which nothing was read: the topic is assigned afresh
		case at < start:
			c.cfg.Log.Error("the log starts above the read position: records were deleted before they were read", "topic", t.Topic, "partition", t.Partition, "offset", at, "start", start)
			c.handler.LogStart(t, start)
			c.Jump(t, start, -1)
		case at > end:
			c.giveUp(t, Truncated, fmt.Sprintf("the read position %d lies above the end of the log, %d: the log was truncated", at, end))
			return
		default: // the client stood elsewhere
			c.noteJump(t, jumpTo{at, -1, true})
			return
		}
		c.resume(t)
		return
	}
	c.resume(t)
}

// resume reads a partition again, unless it was stopped meanwhile.
func (c *Consumer) resume(t offsets.Assignment) {
	c.mu.Lock() // held over the call: a stop may not come in between
	defer c.mu.Unlock()
	if o := c.row(t); o != nil && o.stopped == "" {
		c.client.ResumeFetchPartitions(map[string][]int32{t.Topic: {t.Partition}})
	}
}

// pause stops fetching of a partition while it is of that tenure.
func (c *Consumer) pause(t offsets.Assignment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.row(t) != nil {
		c.client.PauseFetchPartitions(map[string][]int32{t.Topic: {t.Partition}})
	}
}

// isTenure says whether a tenure still is.
func (c *Consumer) isTenure(t offsets.Assignment) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.row(t) != nil
}

// logBounds asks where a partition's log begins and ends, and says whether its topic still
// is the one that the tenure is about.
func (c *Consumer) logBounds(ctx context.Context, t offsets.Assignment) (start, end int64, same bool, err error) {
	err = cluster.ErrNoAnswer
	cluster.AskBounds(ctx, c.client, []offsets.TopicPartition{t.TopicPartition}, func(found cluster.Located) {
		b := found[t.TopicPartition]
		start, end, err = b.Start, b.End, b.Err
		same = c.isOf(t, b.TopicID)
	})
	return start, end, same, err
}

// isOf says whether a tenure's topic has that id.
func (c *Consumer) isOf(t offsets.Assignment, id offsets.TopicID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.row(t)
	return o != nil && o.topicID == id
}
