package kafkatest

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"layover/verify"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopic makes a topic and returns its id.
func (c *Cluster) CreateTopic(name string, partitions int32, config map[string]string) [16]byte {
	c.Helper()
	if err := c.Broker.CreateTopic(name, partitions, config); err != nil {
		c.Fatal(err)
	}
	return c.Broker.TopicInfo(name).TopicID
}

// DeleteTopic deletes a topic.
func (c *Cluster) DeleteTopic(name string) {
	c.Helper()
	if err := c.Broker.DeleteTopic(name); err != nil {
		c.Fatal(err)
	}
}

// DeleteRecords deletes what a partition holds below an offset.
func (c *Cluster) DeleteRecords(topic string, partition int32, below int64) {
	c.Helper()
	if err := c.Broker.DeleteRecords(topic, partition, below); err != nil {
		c.Fatal(err)
	}
}

// Produce appends records and returns the offset of the last, 0 where there are none.
func (c *Cluster) Produce(records ...*kgo.Record) (last int64) {
	c.Helper()
	if err := c.Client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		c.Fatal(err)
	}
	for _, r := range records {
		last = r.Offset
	}
	return last
}

// Transaction appends records in a transaction of a client, which is left open. kgo asks the
// partitions it knows which of them the transaction touched. It may send the first record of
// a topic before it has noted the topic's partitions. Then it would abort where it is asked
// to commit, and number the next transaction's records as no broker takes them. Transaction
// waits until kgo has noted the partitions.
func Transaction(ctx context.Context, cl *kgo.Client, records ...*kgo.Record) error {
	if err := cl.BeginTransaction(); err != nil {
		return err
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	for _, r := range records {
		for ctx.Err() == nil {
			if leader, _, err := cl.PartitionLeader(r.Topic, r.Partition); leader >= 0 || err != nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// Batch is a batch of three records as a producer sends it, which says that it is
// compressed with gzip and is not.
func Batch(change func(*kmsg.RecordBatch)) []byte {
	b := kmsg.RecordBatch{Magic: 2, Attributes: 1, LastOffsetDelta: 2, NumRecords: 3, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, Records: []byte("no gzip at all")}
	change(&b)
	b.Length = int32(49 + len(b.Records))
	out := b.AppendTo(nil)
	binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[21:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}

// ProduceBatch appends a batch to partition 0 of a topic as it is.
func (c *Cluster) ProduceBatch(topic string, batch []byte) {
	c.Helper()
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 1000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = batch
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID, t.Partitions = topic, c.Broker.TopicInfo(topic).TopicID, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(context.Background(), c.Client.Broker(int(c.Broker.LeaderFor(topic, 0))))
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		c.Fatal(err)
	}
}

// Records reads a topic from its start to its end, which the brokers say themselves. None
// are returned of a topic that does not exist.
func (c *Cluster) Records(topic string, opts ...kgo.Opt) (out []*kgo.Record) {
	c.Helper()
	from, left := make(map[int32]kgo.Offset), make(map[int32]int64)
	for _, p := range c.Broker.PartitionInfos(topic) {
		if p.HighWatermark > p.LogStartOffset {
			from[p.Partition], left[p.Partition] = kgo.NewOffset().AtStart(), p.HighWatermark
		}
	}
	if len(left) == 0 {
		return nil
	}
	cl := c.client(append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.KeepControlRecords())...)
	defer cl.Close() // and not with the test: some read a hundred times
	for len(left) > 0 {
		fetches := cl.PollFetches(context.Background())
		for _, e := range fetches.Errors() {
			if e.Topic == "" { // of the client; a partition is asked again
				c.Fatal(e.Err)
			}
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				out = append(out, r)
			}
		})
	}
	return out
}

// Commit commits an offset for a group without members.
func (c *Cluster) Commit(group string, offsets ...kadm.Offset) {
	c.Helper()
	var all kadm.Offsets
	for _, o := range offsets {
		all.Add(o)
	}
	if err := c.Admin().CommitAllOffsets(context.Background(), group, all); err != nil {
		c.Fatal(err)
	}
}

// Committed returns a group's offset of a partition, false for none.
func (c *Cluster) Committed(group, topic string, partition int32) (kadm.Offset, bool) {
	c.Helper()
	all, err := c.Admin().FetchOffsets(context.Background(), group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		c.Fatal(err)
	}
	o, ok := all.Lookup(topic, partition)
	return o.Offset, ok && o.At >= 0
}

// Arrived is a record as the checker takes it.
func Arrived(k *kgo.Record) verify.Record {
	r := verify.Record{Topic: k.Topic, Partition: k.Partition, Offset: k.Offset, Timestamp: k.Timestamp, Key: k.Key, Value: k.Value}
	for _, h := range k.Headers {
		r.Headers = append(r.Headers, verify.Header{Name: h.Key, Value: h.Value})
	}
	return r
}

// Entered is a record of the ledger as a client sends it.
func Entered(r verify.Record) *kgo.Record {
	k := &kgo.Record{Topic: r.Topic, Partition: r.Partition, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		k.Headers = append(k.Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
	}
	return k
}
