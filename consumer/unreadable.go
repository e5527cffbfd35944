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

const (
	// lookAgain is the pause before a batch is asked for again, and the first one before it is fetched again.
	lookAgain = time.Second
	// mostRefetch bounds the pause before a batch is fetched again: it doubles. Each time the client drops what it has
	// fetched of all partitions.
	mostRefetch = 30 * time.Second
)

// unreadable finds the batch that the client cannot read, and hands it over in place of its records. Batches that the
// reader is past may stand in front of it, as the reader's position is that behind the last record. unreadable ends with
// the broker's answer, or with the assignment.
//
// Only the batch itself is believed. The error may be that of a batch which a jump has gone over meanwhile, which was
// damaged on its way, or which is another one by now; or it is of no batch. What can be read is fetched again.
func (f *fetchFaults) unreadable(a offsets.Assignment, err error) {
	at := f.table.position(a)
	for from := at; ; {
		found, ok := f.look(a, from)
		if !ok {
			return
		}
		behind, fault := f.judge(a, &found, at)
		switch {
		case behind && found.Last >= from:
			from = found.Last + 1
			continue
		case behind || fault == nil:
			f.refetch(a, err)
		case is[*batches.TooLarge](fault) && found.Damage == nil:
			f.handler.Unread(a, f.tooLarge(a, &found))
		default: // also one too large, of a format that does not say how many records it has
			f.handler.Unread(a, broken(&found, at, fault))
		}
		return
	}
}

// judge says whether a reader at an offset is past a batch, and else why the batch cannot be read, nil where it can. One
// batch is decompressed at a time: each may take the limit.
func (f *fetchFaults) judge(a offsets.Assignment, found *batches.Found, at int64) (behind bool, fault error) {
	f.judging.Lock()
	defer f.judging.Unlock()
	if found.IsBehind(a.TopicPartition, at, f.maxDecompress) {
		return true, nil
	}
	_, fault = found.Read(a.TopicPartition, f.maxDecompress)
	return false, fault
}

// tooLarge describes a batch that is refused for its size.
func (f *fetchFaults) tooLarge(a offsets.Assignment, found *batches.Found) offsets.UnreadBatch {
	b := offsets.UnreadBatch{First: found.First, Last: found.Last, Records: found.Records, LeaderEpoch: found.LeaderEpoch, Aborted: found.Aborted}
	b.Message = fmt.Sprintf("%s/%d@%d: the batch of the offsets %d to %d takes %d bytes with %s and more than %d decompressed, which is the limit: "+
		"read it from the ingress topic before its retention ends, or send it in smaller batches; LAYOVER_MAX_PARKED_BYTES raises the limit",
		a.Topic, a.Partition, b.First, b.First, b.Last, found.Bytes, found.Codec, f.maxDecompress)
	return b
}

// broken describes a batch that nobody can read, for a reader at an offset. An operator may have left it out: then all of
// it is finished. A broker looks for batches by the last offset of their headers, also where the checksum is wrong.
func broken(found *batches.Found, at int64, fault error) offsets.UnreadBatch {
	b := offsets.UnreadBatch{First: max(at, found.First), LeaderEpoch: -1, Broken: true}
	b.Last = b.First
	if !errors.Is(found.Damage, batches.ErrLayout) {
		b.Last = max(b.First, found.Last)
	}
	b.Message = fmt.Sprintf("the batch at offset %d cannot be read: %v", b.First, fault)
	return b
}

// refetch has a batch fetched again that its broker has whole. Nothing stops.
func (f *fetchFaults) refetch(a offsets.Assignment, err error) {
	f.table.while(a, func(o *owned) { o.failed(err, time.Now()) })
	f.log.Info("reading has failed at a batch that its broker has whole: it is fetched again", "topic", a.Topic, "partition", a.Partition, "err", err)
	f.goOnLater(a)
}

// goOnLater has reading go on at its position, after a pause that doubles while reading stays there.
func (f *fetchFaults) goOnLater(a offsets.Assignment) {
	var pause time.Duration
	f.table.while(a, func(o *owned) { pause = o.refetches.next(o.next) })
	time.AfterFunc(pause, func() { f.goOn(a) })
}

// goOn has reading go on at its position, where the log is the one that was read. The position is set: behind an unknown
// magic the client goes on by itself. It drops what it was about to ask about the log's epoch, so that is asked first.
func (f *fetchFaults) goOn(a offsets.Assignment) {
	to := jumpTo{-1, -1, true}
	f.table.while(a, func(o *owned) { to.offset, to.leaderEpoch = o.next, o.epoch })
	f.jumps.ask(a, to)
}

// refetches are those of the batch at one read position, one after the other.
type refetches struct {
	at    int64
	pause time.Duration // before the last one
}

// next returns the pause before the next one, at a read position.
func (r *refetches) next(at int64) time.Duration {
	if r.at != at {
		*r = refetches{at: at}
	}
	r.pause = min(max(2*r.pause, lookAgain), mostRefetch)
	return r.pause
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
		case errors.Is(err, batches.ErrNone): // gone since, or nothing from there on is to be read: what comes is
			f.goOnLater(a)
			return found, false
		}
		f.log.Debug("a batch that cannot be read is looked at again", "topic", a.Topic, "partition", a.Partition, "offset", offset, "err", err)
		time.Sleep(lookAgain)
	}
	return batches.Found{}, false
}
