package batches

import (
	"context"
	"errors"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// askTimeout is for one batch, with the question who leads its partition.
const askTimeout = 10 * time.Second

// fetchWait is how long a broker may wait for a batch. It is short: the log has the batch.
const fetchWait = 200 * time.Millisecond

// Found is a batch as a broker sent it.
type Found struct {
	Header
	Aborted      bool   // its transaction was aborted: nobody is to read it
	Raw          []byte // the batch, and the bytes that the broker sent behind it
	PresentEpoch int32  // the partition's leader epoch now; LeaderEpoch is the one in which the batch was written
}

// Passable says whether a reader passes over the batch by itself, as far as its header
// tells: transaction markers, batches of aborted transactions, and those without a record.
// Compaction leaves the last batch of a producer in the log, empty.
func (f *Found) Passable() bool {
	return f.Damage == nil && f.Codec.Known() && (f.Control || f.Aborted || f.Records == 0)
}

// IsBehind says whether a reader that stands at an offset is past the batch, which is the one that holds that offset or a
// later one. Compaction takes a batch's last records, and leaves its last offset. So its records are read, of at most
// limit bytes decompressed: where they cannot be, the reader is not past them. A reader decompresses also what is of an
// aborted transaction.
func (f *Found) IsBehind(of offsets.TopicPartition, offset int64, limit int) bool {
	passable := f.Passable()
	if !passable && (f.First >= offset || !f.Codec.Known()) {
		return false
	}
	records, err := f.Read(of, limit)
	return err == nil && (passable || len(records) == 0 || records[len(records)-1].Offset < offset)
}

// Read reads the records of the batch, as a member of a group would that decompresses at
// most limit bytes. It reads also what has no header that Parse knows, the messages of magic 0 and 1.
func (f *Found) Read(of offsets.TopicPartition, limit int) ([]*kgo.Record, error) {
	if f.Damage != nil && !f.isOld() {
		return nil, f.Damage
	}
	answer := kmsg.NewFetchResponseTopicPartition()
	answer.Partition, answer.RecordBatches = of.Partition, f.Raw[:f.Bytes]
	out, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: f.First, Topic: of.Topic, Partition: of.Partition},
		&answer, NewDecompressor(limit, false), nil)
	return out.Records, out.Err
}

// isOld says whether it is a whole message of magic 0 or 1.
func (f *Found) isOld() bool {
	return errors.Is(f.Damage, ErrLayout) && f.Bytes > atMagic && f.Bytes <= len(f.Raw) && f.Raw[atMagic] < 2
}

// ErrNone is an offset at or beyond which no batch is committed.
var ErrNone = errors.New("there is no batch")

var errNoAnswer = errors.New("no answer")

// At asks the leader of a partition for the batch that holds an offset, or else for the
// next one; ErrNone is neither. A broker sends a first batch whole, whatever its size, and
// here little else. Other errors than a broker's may be over soon. It takes 10 s at most.
//
// The request is our own, because the client's consumer decompresses every batch. cl must
// not be a group member's, behind whose long poll the request would wait.
func At(ctx context.Context, cl *kgo.Client, at offsets.TopicPartition, offset int64) (Found, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	leader, epoch, id, err := locate(ctx, cl, at)
	if err != nil {
		return Found{}, err
	}
	resp, err := request(at, id, offset).RequestWith(ctx, cl.Broker(int(leader)))
	if err != nil {
		return Found{}, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return Found{}, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].Partition != at.Partition {
		return Found{}, errNoAnswer
	}
	f, err := pick(&resp.Topics[0].Partitions[0], offset)
	f.PresentEpoch = epoch
	return f, err
}

// locate asks for a partition's leader: the client's cache may be older than an election.
func locate(ctx context.Context, cl *kgo.Client, at offsets.TopicPartition) (leader, epoch int32, id offsets.TopicID, err error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(at.Topic)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return 0, 0, id, err
	}
	for _, t := range resp.Topics {
		if t.Topic == nil || *t.Topic != at.Topic {
			continue
		}
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return 0, 0, id, err
		}
		for _, p := range t.Partitions {
			if p.Partition == at.Partition {
				return p.Leader, p.LeaderEpoch, t.TopicID, kerr.ErrorForCode(p.ErrorCode)
			}
		}
	}
	return 0, 0, id, errNoAnswer
}

func request(at offsets.TopicPartition, id offsets.TopicID, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes = int32(fetchWait.Milliseconds()), 1
	req.IsolationLevel = 1
	req.SessionEpoch = -1 // no session
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = at.Partition, offset, 1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = at.Topic, id // the version tells which one is sent
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// pick takes the batch that holds an offset, or the next one, out of an answer.
func pick(p *kmsg.FetchResponseTopicPartition, offset int64) (Found, error) {
	var f Found
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return f, err
	}
	for b := p.RecordBatches; ; {
		h, rest, ok := Parse(b)
		if !ok {
			return f, ErrNone
		}
		if h.Damage == nil && h.Last < offset { // a broker begins where its index says
			b = rest
			continue
		}
		f.Header, f.Raw = h, b
		for _, a := range p.AbortedTransactions {
			f.Aborted = f.Aborted || h.Transactional && !h.Control && a.ProducerID == h.ProducerID && a.FirstOffset <= h.First
		}
		return f, nil
	}
}
