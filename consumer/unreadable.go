package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/batches"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Batch is a record batch that is not read.
type Batch struct {
	First, Last int64 // offsets; of a broken one First alone is known
	Records     int64
	LeaderEpoch int32
	Aborted     bool   // of an aborted transaction
	Broken      bool   // nobody can read it; else it takes too much decompressed
	Message     string // what is wrong, and what to do; nothing in it is from a record
}

// lookAgain is the pause before a batch is asked for again.
const lookAgain = time.Second

// tooLarge finds out where the batch is and what it holds that is refused for its size,
// and hands it over in place of its records. Between the position and the batch there
// may be others that nobody is to read. It ends with the broker's answer, or with the
// tenure.
func (c *Consumer) tooLarge(t offsets.Assignment, e *batches.TooLarge) {
	found, ok := c.look(t, c.position(t))
	for ok && !e.Matches(&found.Header) && found.Passable() {
		found, ok = c.look(t, found.Last+1)
	}
	switch {
	case !ok:
	case found.Damage != nil: // of a format that does not say how many records it has
		c.broken(t, e)
	case !e.Matches(&found.Header): // compacted or truncated since: it is read as it is now
		c.noteJump(t, jumpTo{c.position(t), -1, true})
	default:
		b := Batch{First: found.First, Last: found.Last, Records: found.Records, LeaderEpoch: found.LeaderEpoch, Aborted: found.Aborted}
		b.Message = fmt.Sprintf("%s/%d@%d: the batch of the offsets %d to %d takes %d bytes with %s and more than %d decompressed, which is the limit: "+
			"read it from the ingress topic before its retention ends, or send it in smaller batches; LAYOVER_MAX_PARKED_BYTES raises the limit",
			t.Topic, t.Partition, b.First, b.First, b.Last, found.Bytes, found.Codec, c.cfg.MaxDecompress)
		c.handler.Unread(t, b)
	}
}

// broken finds out where a batch begins that nobody can read, and hands it over: an
// operator may have left it out, and then all of it is finished. It ends as tooLarge does.
func (c *Consumer) broken(t offsets.Assignment, err error) {
	at := c.position(t)
	found, ok := c.look(t, at)
	for ok && found.Passable() {
		found, ok = c.look(t, found.Last+1)
	}
	if ok {
		at = max(at, found.First)
		c.handler.Unread(t, Batch{First: at, Last: at, LeaderEpoch: -1, Broken: true, Message: fmt.Sprintf("the batch at offset %d cannot be read: %v", at, err)})
	}
}

// look asks for the batch at an offset until there is an answer, or the tenure is over.
func (c *Consumer) look(t offsets.Assignment, offset int64) (batches.Found, bool) {
	for c.isTenure(t) {
		found, err := batches.At(context.Background(), c.cfg.Asking, t.TopicPartition, offset)
		switch {
		case err == nil:
			return found, true
		case errors.Is(err, kerr.OffsetOutOfRange):
			c.outOfRange(t)
			return found, false
		case errors.Is(err, batches.ErrNone): // gone since: what is there now is read
			c.noteJump(t, jumpTo{c.position(t), -1, true})
			return found, false
		}
		c.cfg.Log.Debug("a batch that cannot be read is looked at again", "topic", t.Topic, "partition", t.Partition, "offset", offset, "err", err)
		time.Sleep(lookAgain)
	}
	return batches.Found{}, false
}
