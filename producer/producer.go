package producer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Config is the parameters of a Producer.
type Config struct {
	// Compression are the codecs in order of preference; a broker that is too old for
	// one gets the next. Records that are sent alone are packed by Packer.
	Compression []kgo.CompressionCodec
	// MaxBatchBytes returns a topic's max.message.bytes.
	MaxBatchBytes func(topic string) int32
	// MaxAloneBytes is the same for a batch of one record that is sent alone; nil: MaxBatchBytes, which may be less.
	MaxAloneBytes func(topic string) int32
	Packer        *Packer // nil: one of its own
	MaxBuffered   int     // records that the caller may have in flight
	// Linger is how long a record waits for others that go to its partition.
	Linger time.Duration
	// Options returns brokers, logger, hooks, back-off; suffix tells the clients of
	// one producer apart in metrics.
	Options func(suffix string) []kgo.Opt
}

// Producer is one lane's client. Deliver and Classify may be called from any
// goroutine.
type Producer struct {
	cfg    Config
	client *kgo.Client
	closed atomic.Bool

	mu sync.Mutex // guards large, waiting, stale, purged, and writes of ended
	// large send one record a batch, packed until it fits, by suffix. A client
	// compares its limit with the size before compression: a record that compresses well
	// needs a client with a larger one. A record that fitted into the ingress topic is to
	// fit again, whoever packed it.
	large   map[string]*kgo.Client
	waiting map[offsets.TopicPartition]turn // of partitions that have a record in flight
	stale   map[staleTopic]bool             // topics whose purge is underway
	purged  map[staleTopic]int              // how many purges had ended when one of a topic did, for toldWithin
	purging sync.WaitGroup                  // the purges underway
	ended   atomic.Pointer[purges]          // how many have ended
}

// New returns a producer. It does not wait for Kafka.
func New(cfg Config) (*Producer, error) {
	if cfg.Packer == nil {
		cfg.Packer = NewPacker(bestTakes)
	}
	if cfg.MaxAloneBytes == nil {
		cfg.MaxAloneBytes = cfg.MaxBatchBytes
	}
	p := &Producer{cfg: cfg, large: make(map[string]*kgo.Client), waiting: make(map[offsets.TopicPartition]turn), stale: make(map[staleTopic]bool), purged: make(map[staleTopic]int)}
	p.ended.Store(&purges{Context: context.Background()})
	var err error
	if p.client, err = newClient(cfg, "", kgo.ProducerBatchCompression(cfg.Compression...), kgo.ProducerBatchMaxBytesFn(p.limit), kgo.WithHooks(&stalePurger{producer: p})); err != nil {
		return nil, err
	}
	return p, nil
}

// limit returns how many bytes a batch of several records may take.
func (p *Producer) limit(topic string) int32 { return min(p.cfg.MaxBatchBytes(topic), mostBatch) }

func newClient(cfg Config, suffix string, opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append([]kgo.Opt{
		kgo.ProducerLinger(cfg.Linger),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxBufferedRecords(cfg.MaxBuffered),
		kgo.BrokerMaxWriteBytes(mostRequest),
		kgo.UnknownTopicRetries(1), // callers of Deliver have seen the topic; a hold is better than a wait here
	}, append(opts, cfg.Options(suffix)...)...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("producer client: %w", err)
	}
	return client, nil
}

// Deliver produces r to its partition and calls done once, with the outcome. With alone
// the record gets a batch of its own, whatever its size: of each partition one is in flight
// at a time, and the others wait here, in order.
func (p *Producer) Deliver(r *kgo.Record, alone bool, done func(*kgo.Record, error)) {
	if alone {
		p.deliverAlone(r, done)
	} else {
		p.produce(p.client, r, done)
	}
}

// produce gives a record to a client, with how much that may know of the topic.
func (p *Producer) produce(client *kgo.Client, r *kgo.Record, done func(*kgo.Record, error)) {
	r.Context = p.ended.Load()
	client.TryProduce(r.Context, r, done) // a full buffer is an answer, too
}

// Refresh makes the clients ask for fresh metadata of the topics that they know.
func (p *Producer) Refresh() {
	p.client.ForceMetadataRefresh()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, large := range p.large {
		large.ForceMetadataRefresh()
	}
}

// Close fails the records still in flight. Deliver must not be called any more.
func (p *Producer) Close() {
	p.mu.Lock()
	p.closed.Store(true)
	p.mu.Unlock()
	p.client.Close()
	for _, large := range p.large { // no more are made
		large.Close()
	}
	p.purging.Wait()
}

// Pick returns the partition for a key: the Java client's hash of it, or, for a
// null key, one of those that have a leader.
func Pick(key []byte, partitions int32, led []int32) int32 {
	if key != nil {
		return int32(murmur2(key)&(1<<31-1)) % partitions
	}
	if len(led) > 0 {
		return led[rand.IntN(len(led))]
	}
	return rand.Int32N(partitions)
}
