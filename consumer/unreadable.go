package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/batches"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Batch is a record batch that is not read, because it takes too much decompressed.
type Batch struct {
	First, Last int64 // offsets
	Records     int64
	LeaderEpoch int32
	Aborted     bool   // of an aborted transaction
	Message     string // what is wrong, and what to do
}

// lookAgain is the pause before a batch is asked for again.
const lookAgain = time.Second

// passOver finds out what a batch holds that the client refuses to decompress, and hands
// it over in place of its records. The client stands before it until Jump. It ends with
// the broker's answer, or with the tenure.
func (c *Consumer) passOver(t Tenure, e *kgo.ErrDecompressTooLarge) {
	for c.isTenure(t) {
		found, err := batches.At(context.Background(), c.cfg.Asking, t.TopicPartition, e.Offset, 1)
		switch {
		case errors.Is(err, kerr.OffsetOutOfRange):
			c.outOfRange(t)
			return
		case err != nil:
			c.cfg.Log.Debug("a batch that is too large to read is asked for again", "topic", t.Topic, "partition", t.Partition, "offset", e.Offset, "err", err)
			time.Sleep(lookAgain)
		case found.First > e.Offset: // compacted or truncated since: it is read as it is now
			c.noteJump(t, jumpTo{c.position(t), -1, true})
			return
		default:
			b := Batch{First: e.Offset, Last: e.NextOffset - 1, Records: found.Records, LeaderEpoch: e.Epoch, Aborted: found.Aborted}
			if found.Damage != nil { // of a format in which the batch does not count its records
				b.Records = b.Last - b.First + 1
			}
			b.Message = c.tooLarge(t, &b, &found)
			c.handler.Unread(t, b)
			return
		}
	}
}

// tooLarge says what is wrong with a batch, and what to do. Nothing in it is from a
// record.
func (c *Consumer) tooLarge(t Tenure, b *Batch, found *batches.Found) string {
	return fmt.Sprintf("%s/%d@%d: the batch of the offsets %d to %d takes %d bytes with %s and more than %d decompressed, which is the limit: "+
		"read it from the ingress topic before its retention ends, or send it in smaller batches; LAYOVER_MAX_PARKED_BYTES raises the limit",
		t.Topic, t.Partition, b.First, b.First, b.Last, found.Bytes, found.Codec, c.cfg.MaxDecompress)
}

// unreadable stops a partition before a batch that cannot be read.
func (c *Consumer) unreadable(t Tenure, err error) {
	at := c.position(t)
	c.giveUp(t, Unreadable, fmt.Sprintf("the batch at offset %d cannot be read: %v", at, err))
	c.cfg.Log.Error("with all instances stopped, this command leaves a batch out that cannot be read", "command", fmt.Sprintf("layover skip %s/%d@%d", t.Topic, t.Partition, at))
}
