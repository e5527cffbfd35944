package journal

import (
	"context"
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

// Bounds of one fetch request, in bytes: of its answer, and of one partition in it. Each
// broker has one request at a time, so fetchBytes bounds the memory for each.
const (
	fetchBytes     = 8 << 20
	partitionBytes = 1 << 20
	// decompressBytes limits one batch decompressed. Layover's own take a mebibyte at most,
	// but others may write to the topic.
	decompressBytes = 8 << 20

	// fetchTimeout is for one answer, however slow its way is.
	fetchTimeout = 10 * time.Second
	// fetchWait is how long a broker may wait for records. It is short: requests are for
	// offsets below the end of a log.
	fetchWait = 200 * time.Millisecond
	// discoverTimeout is for one metadata answer.
	discoverTimeout = time.Second
)

// want is a partition and the first offset to read.
type want struct {
	at   offsets.TopicPartition
	id   offsets.TopicID
	from int64
}

// took is the part of a fetch answer about one partition.
type took struct {
	from, next int64 // next is where to go on, also past offsets without a record
	records    []*kgo.Record
	err        error // of the offsets from next on
}

// fetched is a broker's answer, by partition.
type fetched struct {
	leader int32
	parts  map[offsets.TopicPartition]took
}

// newClient makes a client that reads.
func newClient(opts []kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append(slices.Clip(opts), kgo.DisableClientMetrics())...) // or closing it may take a second
	if err != nil {
		return nil, fmt.Errorf("client that reads a journal: %w", err)
	}
	return client, nil
}

// fetch asks a broker once for the committed records of partitions that it leads.
//
// The requests are our own. The client's consumer has four faults here:
//
//   - where a log ends with a marker it does not tell its position
//   - after an offset out of range it asks again without a pause
//   - for each partition that joins it needs metadata, and may ask dead brokers
//   - after a partition had left, others were seen to stay unread
func fetch(ctx context.Context, cl *kgo.Client, leader int32, wants []want) map[offsets.TopicPartition]took {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	out := make(map[offsets.TopicPartition]took, len(wants))
	fail := func(err error) map[offsets.TopicPartition]took {
		for _, w := range wants {
			out[w.at] = took{from: w.from, next: w.from, err: fmt.Errorf("reading at %d: %w", w.from, err)}
		}
		return out
	}
	if len(cl.DiscoveredBrokers()) == 0 { // it has just been made
		if err := discover(ctx, cl); err != nil {
			return fail(err)
		}
	}
	resp, err := cl.Broker(int(leader)).Request(ctx, fetchRequest(wants)) // a caller that asks again has asked for the leader
	if err != nil {
		discover(ctx, cl) // the broker may have moved; if not, the next try tells
		return fail(err)
	}
	answer := resp.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return fail(err)
	}
	fail(cluster.ErrNoAnswer) // for partitions that the answer leaves out
	names := make(map[offsets.TopicID]string)
	for _, w := range wants {
		names[w.id] = w.at.Topic
	}
	decompressor := batches.NewDecompressor(decompressBytes, false)
	for _, t := range answer.Topics {
		if t.Topic == "" { // from version 13 on
			t.Topic = names[t.TopicID]
		}
		for i := range t.Partitions {
			at := offsets.TopicPartition{Topic: t.Topic, Partition: t.Partitions[i].Partition}
			if w, ok := out[at]; ok {
				out[at] = process(at, w.from, &t.Partitions[i], decompressor)
			}
		}
	}
	return out
}

// process takes a partition's part of an answer.
func process(at offsets.TopicPartition, from int64, p *kmsg.FetchResponseTopicPartition, d kgo.Decompressor) took {
	f, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: from, IsolationLevel: kgo.ReadCommitted(), Topic: at.Topic, Partition: at.Partition,
	}, p, d, nil)
	t := took{from: from, next: max(from, next), records: f.Records}
	if f.Err != nil {
		t.err = fmt.Errorf("reading at %d: %w", t.next, cluster.Allow(f.Err, "Read on topic "+at.Topic))
	}
	return t
}

// discover makes a client ask where the brokers are.
func discover(ctx context.Context, cl *kgo.Client) error {
	if _, err := cluster.Metadata(ctx, cl, nil, discoverTimeout, false); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

// fetchRequest asks for partitions in their order, as far as they are of one topic.
func fetchRequest(wants []want) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(fetchWait.Milliseconds()), 1, fetchBytes
	req.IsolationLevel = 1
	req.SessionEpoch = -1 // no session
	for _, w := range wants {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = w.at.Partition, w.from, partitionBytes
		if i := slices.IndexFunc(req.Topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == w.at.Topic }); i >= 0 {
			req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
			continue
		}
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = w.at.Topic, w.id // the version tells which one is sent
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	return req
}
