package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// readError deals with an error of fetching one partition. What passes by itself
// is left to the client; what does not stops that partition, and that alone.
func (c *Consumer) readError(t Tenure, err error) {
	var tooLarge *kgo.ErrDecompressTooLarge
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
	case errors.As(err, &tooLarge):
		go c.tooLarge(t, tooLarge) // ends with the broker's answer, or with the tenure
	case isCorrupt(err):
		c.pause(t) // the client would ask for it again at once
		go c.broken(t, err)
	case errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrClientClosed):
	default:
		// What the client can mend it does not report; what it reports it asks for
		// again at once. A deleted topic would keep a core busy.
		c.cfg.Log.Debug("fetch failed", "topic", t.Topic, "partition", t.Partition, "err", err)
		c.pause(t)
		time.AfterFunc(fetchRetry, func() { c.resume(t) })
	}
}

// giveUp stops a partition and says why, in the log as in status.
func (c *Consumer) giveUp(t Tenure, code Reason, reason string) {
	c.Stop(t, code, reason)
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

func (c *Consumer) position(t Tenure) int64 {
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
			c.Jump(t, start, -1)
		case at > end:
			c.giveUp(t, Truncated, fmt.Sprintf("the read position %d lies above the end of the log, %d: the log was truncated", at, end))
			return
		}
		c.resume(t)
		return
	}
	c.resume(t)
}

// resume reads a partition again, unless it was stopped meanwhile.
func (c *Consumer) resume(t Tenure) {
	c.mu.Lock() // held over the call: a stop may not come in between
	defer c.mu.Unlock()
	if o := c.row(t); o != nil && o.stopped == "" {
		c.client.ResumeFetchPartitions(map[string][]int32{t.Topic: {t.Partition}})
	}
}

// pause stops fetching of a partition while it is of that tenure.
func (c *Consumer) pause(t Tenure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.row(t) != nil {
		c.client.PauseFetchPartitions(map[string][]int32{t.Topic: {t.Partition}})
	}
}

// askAgain is the pause before a topic is assigned afresh of which a partition could
// not be begun.
const askAgain = 15 * time.Second

// notLoaded deals with a partition whose offset the group did not tell: the client
// has dropped it from the assignment and does not ask again by itself.
func (c *Consumer) notLoaded(t Tenure, err error) {
	c.mu.Lock()
	o := c.row(t)
	if o == nil || o.loaded || o.stopped != "" {
		c.mu.Unlock()
		return
	}
	o.stopped = fmt.Sprintf("where to begin could not be found out, trying again: %v", err)
	o.reason, o.since, o.trying = NotBegun, time.Now(), true
	c.mu.Unlock()
	c.cfg.Log.Warn("partition cannot be begun, trying again", "topic", t.Topic, "partition", t.Partition, "err", err)
	time.AfterFunc(askAgain, func() {
		if c.isTenure(t) {
			c.Rejoin(t.Topic)
		}
	})
}

// tenure returns a partition's present tenure.
func (c *Consumer) tenure(tp offsets.TopicPartition) Tenure {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.table[tp]; o != nil {
		return o.Tenure
	}
	return Tenure{TopicPartition: tp}
}

// isTenure says whether a tenure still is.
func (c *Consumer) isTenure(t Tenure) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.row(t) != nil
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
