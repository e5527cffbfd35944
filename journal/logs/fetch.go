package logs

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"layover/cluster"
	"layover/cluster/batches"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Limits are the bounds of one fetch request, in bytes. A broker sends a first batch whole
// that is larger, so that reading goes on.
type Limits struct {
	Answer    int32 // all of it
	Partition int32 // one partition in it
	// Batch limits one batch decompressed. A larger one is an error of its partition.
	Batch int
	// Together has Batch limit all compressed batches of the answer together. One that has
	// no room beside others is left for the next answer. Without it, an answer takes up to
	// Batch for each of its compressed batches.
	Together bool
}

const (
	// fetchTimeout is for one answer, however slow its way is.
	fetchTimeout = 10 * time.Second
	// fetchWait is how long a broker may wait for records. It is short: requests are for
	// offsets below the end of a log.
	fetchWait = 200 * time.Millisecond
	// discoverTimeout is for one metadata answer.
	discoverTimeout = time.Second
)

// Want is a partition and the first offset to read.
type Want struct {
	At   offsets.TopicPartition
	ID   offsets.TopicID // of the topic; brokers from before topics had ids do without
	From int64
	To   int64 // batches that begin there or above are not looked into; 0: all are
}

// Fetched is the part of an answer about one partition. Without records, progress and error
// the answer had no room for it.
type Fetched struct {
	From    int64         // as it was wanted
	Next    int64         // where to go on, also past offsets without a record
	Records []*kgo.Record // from From on, below Next
	// Err is of the offsets from Next on: a broker's, ErrUnreadable, or why nothing came. Its
	// text begins with the offset, and it wraps the reason.
	Err error
}

// ErrUnreadable is a batch that cannot be read however often it is fetched. It takes more
// than the limit decompressed, it has an unknown compression, or it is damaged. The errors
// of [batches.Decompressor] are told apart by errors.AsType.
var ErrUnreadable = errors.New("the batch cannot be read")

// unreadable makes an error ErrUnreadable, too, and leaves its text.
type unreadable struct{ error }

// Unwrap returns the reason and ErrUnreadable.
func (e unreadable) Unwrap() []error { return []error{e.error, ErrUnreadable} }

// NewClient makes a client that reads. It should read nothing else: behind a request that
// waits for a broker, others to that broker wait, too.
func NewClient(opts []kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append(slices.Clip(opts), kgo.DisableClientMetrics())...) // or closing it may take a second
	if err != nil {
		return nil, fmt.Errorf("client that reads a journal: %w", err)
	}
	return client, nil
}

// Fetch asks a broker once for the committed records of partitions that it leads. Every one
// of wants has its part of the answer, within 10 s; a broker fills an answer in the order of
// wants. The memory is that of the answer and of what Limits says of decompressed batches.
//
// The requests are our own. The client's consumer has four faults here:
//
//   - where a log ends with a marker it does not tell its position
//   - after an offset out of range it asks again without a pause
//   - for each partition that joins it needs metadata, and may ask dead brokers
//   - after a partition had left, others were seen to stay unread
func Fetch(ctx context.Context, cl *kgo.Client, leader int32, wants []Want, limits Limits) map[offsets.TopicPartition]Fetched {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	out := make(map[offsets.TopicPartition]Fetched, len(wants))
	fail := func(err error) map[offsets.TopicPartition]Fetched {
		for _, w := range wants {
			out[w.At] = Fetched{From: w.From, Next: w.From, Err: fmt.Errorf("reading at %d: %w", w.From, err)}
		}
		return out
	}
	if len(cl.DiscoveredBrokers()) == 0 { // it has just been made
		if err := discover(ctx, cl); err != nil {
			return fail(err)
		}
	}
	resp, err := cl.Broker(int(leader)).Request(ctx, fetchRequest(wants, limits)) // a caller that asks again has asked for the leader
	if err != nil {
		discover(ctx, cl) // the broker may have moved; if not, the next try tells
		return fail(err)
	}
	answer := resp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return fail(err)
	}
	fail(cluster.ErrNoAnswer) // for partitions that the answer leaves out
	names, tos := make(map[offsets.TopicID]string), make(map[offsets.TopicPartition]int64)
	for _, w := range wants {
		names[w.ID], tos[w.At] = w.At.Topic, w.To
	}
	decompressor := batches.NewDecompressor(limits.Batch, limits.Together)
	for _, t := range answer.Topics {
		if t.Topic == "" { // from version 13 on
			t.Topic = names[t.TopicID]
		}
		for i := range t.Partitions {
			at := offsets.TopicPartition{Topic: t.Topic, Partition: t.Partitions[i].Partition}
			if w, ok := out[at]; ok {
				out[at] = process(at, w.From, tos[at], &t.Partitions[i], decompressor)
			}
		}
	}
	return out
}

// process takes a partition's part of an answer.
func process(at offsets.TopicPartition, from, to int64, p *kmsg.FetchResponseTopicPartition, d kgo.Decompressor) Fetched {
	p.RecordBatches = below(p.RecordBatches, to)
	f, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: from, IsolationLevel: kgo.ReadCommitted(), Topic: at.Topic, Partition: at.Partition,
	}, p, d, nil)
	got := Fetched{From: from, Next: max(from, next), Records: f.Records}
	err := f.Err
	if err == nil || errors.Is(err, batches.ErrLater) { // there is room in the next answer
		return got
	}
	if p.ErrorCode == 0 {
		err = unreadable{err}
	}
	got.Err = fmt.Errorf("reading at %d: %w", got.Next, cluster.Allow(err, "Read on topic "+at.Topic))
	return got
}

// below returns the batches that begin below an offset, 0 for all, and the first one in any case. Where no wanted
// record is left, that batch says so. Each begins with its first offset, and with the bytes of what follows these two
// numbers. One of a format before version 2 may begin with its last offset.
func below(all []byte, to int64) []byte {
	const prefix, magic = 8 + 4, 8 + 4 + 4
	for at := 0; to > 0 && len(all)-at > magic && all[at+magic] >= 2; {
		if at > 0 && int64(binary.BigEndian.Uint64(all[at:])) >= to {
			return all[:at]
		}
		length := int64(binary.BigEndian.Uint32(all[at+8:]))
		if length > int64(len(all)-at-prefix) {
			break // it was cut, and is the last
		}
		at += prefix + int(length)
	}
	return all
}

// discover makes a client ask where the brokers are.
func discover(ctx context.Context, cl *kgo.Client) error {
	if _, err := cluster.Metadata(ctx, cl, nil, discoverTimeout, false); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

// fetchRequest asks for partitions in their order, as far as they are of one topic.
func fetchRequest(wants []Want, limits Limits) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(fetchWait.Milliseconds()), 1, limits.Answer
	req.IsolationLevel = 1
	req.SessionEpoch = -1 // no session
	for _, w := range wants {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = w.At.Partition, w.From, limits.Partition
		if i := slices.IndexFunc(req.Topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == w.At.Topic }); i >= 0 {
			req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
			continue
		}
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = w.At.Topic, w.ID // the version tells which one is sent
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	return req
}
