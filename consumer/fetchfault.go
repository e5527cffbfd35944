package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"layover/cluster"
	"layover/cluster/batches"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fetchFaults deals with errors of fetching single partitions. An error that passes by
// itself is left to the client; any other stops its partition alone. Only the poll loop
// calls handle; questions to brokers are asked beside it.
type fetchFaults struct {
	client        *kgo.Client
	asking        *kgo.Client // for questions that must not wait behind a long poll
	table         *ownership
	fetching      *fetching
	jumps         *jumper
	handler       Handler
	log           *slog.Logger
	maxDecompress int        // bytes that one batch may decompress to
	judging       sync.Mutex // held while a batch is decompressed
}

// fetchMeaning is the meaning of an error of fetching a partition.
type fetchMeaning uint8

const (
	fetchAgain   fetchMeaning = iota // after a pause
	roomIsThere                      // a batch was put off for its size, and is fetched again at once
	fetchEnds                        // the client or the assignment does
	logTruncated                     // below the read position
	outsideLog                       // the read position is, or was for a moment
	batchUnread                      // a batch takes too much decompressed, cannot be decoded, or has nothing to do with it
)

// meaningOf returns the meaning of an error of fetching. Of brokers' errors OFFSET_OUT_OF_RANGE
// alone is not tried again, and none of them says that a batch is broken: another replica
// may be well. Errors of decoding have no type, so an unknown one may be any of the client's.
func meaningOf(err error) fetchMeaning {
	var network interface{ Timeout() bool }
	switch {
	case is[*kgo.ErrDataLoss](err):
		return logTruncated
	case errors.Is(err, kerr.OffsetOutOfRange):
		return outsideLog
	case errors.Is(err, batches.ErrLater):
		return roomIsThere
	case errors.Is(err, context.Canceled), errors.Is(err, kgo.ErrClientClosed):
		return fetchEnds
	case is[*kerr.Error](err), is[*kgo.ErrGroupSession](err), errors.As(err, &network), errors.Is(err, io.EOF):
		return fetchAgain
	default:
		return batchUnread
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// handle deals with an error of fetching a partition.
func (f *fetchFaults) handle(a offsets.Assignment, err error) {
	switch meaningOf(err) {
	case logTruncated:
		// New records at these offsets would be taken for the ones that were read.
		f.fetching.giveUp(a, Truncated, fmt.Sprintf("the log was truncated below the read position: %v; set the group's offset for this partition, then restart", err))
	case outsideLog:
		// Without a reset offset the client asks again at once, some 26,000 times a
		// second: the partition is paused until the cause is known.
		f.fetching.pause(a)
		go f.outOfRange(a) // ends with its answer, after 30 s at most
	case roomIsThere, fetchEnds:
	case batchUnread:
		f.fetching.pause(a)     // or it is fetched again at once
		go f.unreadable(a, err) // ends with the broker's answer, or with the assignment
	default:
		// The client reports only errors that it cannot mend, and fetches again at once.
		// A deleted topic would keep a core busy.
		f.log.Debug("fetch failed", "topic", a.Topic, "partition", a.Partition, "err", err)
		f.table.while(a, func(o *owned) { o.failed(allow(err, "", a.Topic), time.Now()) })
		f.fetching.pause(a)
		time.AfterFunc(fetchRetry, func() { f.fetching.resume(a) })
	}
}

// fetchRetry is the pause after a fetch error that the client leaves to us.
const fetchRetry = time.Second

// outOfRange asks for the log's bounds. A log that starts above the position has lost
// records: they are counted and gone over. A log that ends below it was truncated, and
// its partition stops: reading from the log start would deliver everything retained again.
// Without an answer for 30 s the partition is fetched again: nobody else would resume it.
func (f *fetchFaults) outOfRange(a offsets.Assignment) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		at := f.table.position(a)
		if at < 0 {
			return
		}
		start, end, same, err := f.logBounds(ctx, a)
		switch {
		case err != nil:
			cluster.Pause(ctx, loadRetry)
			continue
		case !same: // another log, of which nothing was read: the topic is assigned afresh
			cluster.Pause(ctx, fetchRetry) // until then it is asked about once a second
			f.fetching.resume(a)
			return
		case at < start:
			f.log.Error("the log starts above the read position: records were deleted before they were read", "topic", a.Topic, "partition", a.Partition, "offset", at, "start", start)
			f.handler.LogStart(a, start)
			f.jumps.note(a, jumpTo{start, -1, true}) // which resumes it: before that it would ask where it stands
			return
		case at > end:
			f.fetching.giveUp(a, Truncated, fmt.Sprintf("the read position %d lies above the end of the log, %d: the log was truncated", at, end))
			return
		default: // the client stood elsewhere
			f.goOn(a)
			return
		}
	}
	f.fetching.resume(a) // the next fetch says whether to ask again
}

// logBounds asks where a partition's log begins and ends, and says whether its topic still
// is the one that the assignment is about. What a former leader says is an error.
func (f *fetchFaults) logBounds(ctx context.Context, a offsets.Assignment) (start, end int64, same bool, err error) {
	err = cluster.ErrNoAnswer
	cluster.AskBounds(ctx, f.client, []offsets.TopicPartition{a.TopicPartition}, func(found cluster.Located) {
		b := found[a.TopicPartition]
		start, end, err = b.Start, b.End, b.Err
		if same = f.table.isOf(a, b.TopicID); same && err == nil && f.table.isFormer(a, b.LeaderEpoch) {
			err = errFormerLeader
		}
	})
	return start, end, same, err
}
