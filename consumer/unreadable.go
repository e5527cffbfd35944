package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/cluster/batches"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
)

// lookAgain is the pause before a batch is asked for again.
const lookAgain = time.Second

// tooLarge finds the batch that is refused for its size, and hands it over in place of its
// records. Batches that the reader is past may stand in front of that batch, as it knows of
// them by their records alone. tooLarge ends with the broker's answer, or with the assignment.
func (f *fetchFaults) tooLarge(a offsets.Assignment, e *batches.TooLarge) {
	at := f.table.position(a)
	found, ok := f.look(a, at)
	for ok && !e.Matches(&found.Header) && found.IsBehind(a.TopicPartition, at, f.maxDecompress) {
		found, ok = f.look(a, found.Last+1)
	}
	switch {
	case !ok:
	case found.Damage != nil: // of a format that does not say how many records it has
		f.broken(a, e)
	case !e.Matches(&found.Header): // compacted or truncated since: it is read as it is now
		f.jumps.note(a, jumpTo{f.table.position(a), -1, true})
	default:
		b := offsets.UnreadBatch{First: found.First, Last: found.Last, Records: found.Records, LeaderEpoch: found.LeaderEpoch, Aborted: found.Aborted}
		b.Message = fmt.Sprintf("%s/%d@%d: the batch of the offsets %d to %d takes %d bytes with %s and more than %d decompressed, which is the limit: "+
			"read it from the ingress topic before its retention ends, or send it in smaller batches; LAYOVER_MAX_PARKED_BYTES raises the limit",
			a.Topic, a.Partition, b.First, b.First, b.Last, found.Bytes, found.Codec, f.maxDecompress)
		f.handler.Unread(a, b)
	}
}

// broken finds the beginning of a batch that nobody can read, and hands the batch over. An
// operator may have left it out: then all of it is finished. broken ends as tooLarge does.
func (f *fetchFaults) broken(a offsets.Assignment, err error) {
	at := f.table.position(a)
	found, ok := f.look(a, at)
	for ok && found.IsBehind(a.TopicPartition, at, f.maxDecompress) {
		found, ok = f.look(a, found.Last+1)
	}
	if ok {
		at = max(at, found.First)
		f.handler.Unread(a, offsets.UnreadBatch{First: at, Last: at, LeaderEpoch: -1, Broken: true, Message: fmt.Sprintf("the batch at offset %d cannot be read: %v", at, err)})
	}
}

// look asks for the batch at an offset until there is an answer, or the assignment is over.
func (f *fetchFaults) look(a offsets.Assignment, offset int64) (batches.Found, bool) {
	for f.table.is(a) {
		found, err := batches.At(context.Background(), f.asking, a.TopicPartition, offset)
		switch {
		case err == nil:
			return found, true
		case errors.Is(err, kerr.OffsetOutOfRange):
			f.outOfRange(a)
			return found, false
		case errors.Is(err, batches.ErrNone): // gone since: reading goes on with the present batch
			f.jumps.note(a, jumpTo{f.table.position(a), -1, true})
			return found, false
		}
		f.log.Debug("a batch that cannot be read is looked at again", "topic", a.Topic, "partition", a.Partition, "offset", offset, "err", err)
		time.Sleep(lookAgain)
	}
	return batches.Found{}, false
}
