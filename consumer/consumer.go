package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"layover/batches"
	"layover/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Tenure names a partition in one assignment.
type Tenure struct {
	offsets.TopicPartition
	Epoch uint64
}

// Assigned is a partition that is ready to be read.
type Assigned struct {
	Tenure
	TopicID   offsets.TopicID
	ClusterID string
	Window    *offsets.Window
	Facts     *facts.Writer // what the journal has of it
	Next      int64         // first offset that will be read
	StableEnd int64         // last stable offset now
	// LeaderEpoch is the highest that was read before, -1 for none.
	LeaderEpoch int32
	// Overtaken: a commit of before may still arrive, and take back what is committed.
	Overtaken bool
}

// Handler takes what the group and the brokers say. Revoked and Lost are called one at a
// time, and Fetched and Assigned never while one of them runs for the same partition.
// Assigned may be called from two goroutines at a time, for different partitions.
type Handler interface {
	Assigned(Assigned)
	Fetched(t Tenure, records []*kgo.Record, bytes int64)
	// LogStart says that the log begins at start now, above what was read.
	LogStart(t Tenure, start int64)
	// Unread says that a batch is not read, in its place behind what was Fetched. The
	// client goes on behind it with JumpBeyond.
	Unread(Tenure, Batch)
	// Revoked returns when each tenure is drained, committed and forgotten; it has
	// to return well within the rebalance timeout of a minute.
	Revoked([]Tenure)
	Lost([]Tenure)
}

// Config is what a Consumer needs.
type Config struct {
	Topics         []string
	Group          string
	InstanceID     string // "" for a dynamic member
	SessionTimeout time.Duration
	StartOffset    string           // earliest, latest, none
	FetchMaxBytes  int32            // of one fetch response
	ReadingBudget  int64            // bytes handed over and not yet Consumed
	MaxDecompress  int              // bytes that one batch may decompress to
	Asking         *kgo.Client      // for questions that must not wait behind a long poll
	Journal        Journal          // nil: there is none
	Options        func() []kgo.Opt // brokers, logger, hooks, back-off
	Log            *slog.Logger
}

// ErrFenced means that another process uses the same group instance id.
var ErrFenced = errors.New("another process joined the group with the same instance id (FENCED_INSTANCE_ID)")

// Consumer is one member of the group.
type Consumer struct {
	cfg          Config
	handler      Handler
	client       *kgo.Client
	budget       *budget
	decompressor *batches.Decompressor
	lease        lease
	fatal        chan error // capacity 1

	mu         sync.Mutex
	table      map[offsets.TopicPartition]*owned
	epochs     uint64
	memberID   string
	generation int32
	committed  map[offsets.TopicPartition]offsets.Committed // what OnOffsetsFetched saw last
	paused     bool
	joined     bool // a join has completed since the start
	jumps      map[Tenure]jumpTo
	arrived    []*beginning       // ready, and to enter through the poll loop
	jumped     time.Time          // when a jump was last carried out
	polling    context.CancelFunc // ends the poll that goes on, or is over

	repeatUntil time.Time  // what begins by then says its commits again for a while
	starting    sync.Mutex // over the decision where partitions without an offset begin
	committer   *committer
	rebalances  atomic.Int64
	group       atomic.Pointer[string] // last error of the group, nil after a join
	groupSaid   atomic.Pointer[saying]
	beat        atomic.Pointer[time.Time]
}

// owned is one row of the ownership table.
type owned struct {
	Tenure
	member    string // id under which it was assigned, and which it does not outlive
	topicID   offsets.TopicID
	loaded    bool   // offset and finished set are known and the handler has it
	stopped   string // why it is not read, "" if it is
	reason    Reason
	since     time.Time // of stopped
	trying    bool      // stopped until where to begin is known
	stoppedAt int64     // offset
	loading   bool      // a loading has it
	next      int64     // first offset not yet handed over
	end       int64     // of its log as last told, or endUnknown
	fetched   bool      // a fetch was answered
	failed    struct {
		err   error // of the last fetch; nil: it was answered
		since time.Time
	}
}

// New returns a consumer that has done nothing yet.
func New(cfg Config, h Handler) (*Consumer, error) {
	c := &Consumer{
		cfg: cfg, handler: h,
		budget:       newBudget(cfg.ReadingBudget),
		decompressor: batches.NewDecompressor(cfg.MaxDecompress, true),
		fatal:        make(chan error, 1),
		table:        make(map[offsets.TopicPartition]*owned),
		committed:    make(map[offsets.TopicPartition]offsets.Committed),
		jumps:        make(map[Tenure]jumpTo),
	}
	c.lease.length = cfg.SessionTimeout - cfg.SessionTimeout/5 // a margin for the way of a heartbeat
	if err := kgo.ValidateOpts(c.options()...); err != nil {
		return nil, fmt.Errorf("consumer client: %w", err)
	}
	return c, nil
}

// options are those of the group member.
func (c *Consumer) options() []kgo.Opt {
	cfg := &c.cfg
	opts := []kgo.Opt{
		kgo.ConsumerGroup(cfg.Group),
		kgo.ConsumeTopics(cfg.Topics...),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.KeepControlRecords(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.SessionTimeout(cfg.SessionTimeout),
		kgo.HeartbeatInterval(cfg.SessionTimeout / 3),
		kgo.RebalanceTimeout(max(time.Minute, cfg.SessionTimeout)),
		// Every partition starts at an offset that load has chosen. A reset would
		// go on elsewhere without a word.
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(cfg.FetchMaxBytes),
		kgo.FetchMaxPartitionBytes(min(cfg.FetchMaxBytes, 1<<20)),
		kgo.FetchMaxWait(time.Second),
		kgo.BrokerMaxReadBytes(1 << 30), // a broker sends a first batch of any size
		kgo.WithDecompressor(c.decompressor),
		kgo.OnPartitionsAssigned(c.onAssigned),
		kgo.OnPartitionsRevoked(c.onRevoked),
		kgo.OnPartitionsLost(c.onLost),
		kgo.OnOffsetsFetched(c.onOffsetsFetched),
		kgo.AdjustFetchOffsetsFn(c.load),
		kgo.WithHooks(&c.lease, groupErrors{c}),
	}
	if cfg.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(cfg.InstanceID))
	}
	return opts
}

// Start makes the client, which joins the group as soon as Kafka answers. Nothing
// else may be called before.
func (c *Consumer) Start() error {
	c.mu.Lock() // callbacks begin with it, so they find the client in its place
	defer c.mu.Unlock()
	client, err := kgo.NewClient(append(c.options(), c.cfg.Options()...)...)
	if err != nil {
		return fmt.Errorf("consumer client: %w", err)
	}
	c.client = client
	c.committer = newCommitter(c)
	return nil
}

// pollAtMost ends a poll that nothing comes from, so that the loop shows that it
// moves, and jumps are carried out.
const pollAtMost = time.Second

// Beat returns when the poll loop last turned.
func (c *Consumer) Beat() time.Time {
	if t := c.beat.Load(); t != nil {
		return *t
	}
	return time.Now()
}

// Run polls until the context ends, or until the group has no place for this
// process: then it returns ErrFenced.
func (c *Consumer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case err := <-c.fatal:
			return err
		default:
		}
		now := time.Now()
		c.beat.Store(&now)
		poll, done := context.WithTimeout(ctx, pollAtMost)
		c.mu.Lock()
		c.polling = done
		c.mu.Unlock()
		fetches := c.client.PollFetches(poll)
		c.decompressor.Taken()
		done()
		if fetches.IsClientClosed() {
			return nil
		}
		c.enter() // rebalances are blocked until AllowRebalance, so the table holds
		c.jump()
		bytes := c.handOver(fetches)
		c.client.AllowRebalance()
		if !c.budget.take(ctx, bytes) {
			break
		}
	}
	select {
	case err := <-c.fatal:
		return err
	default:
		return nil
	}
}

// handOver passes what a poll returned on to the handler. It runs with rebalances
// blocked, so the table says whose each partition is.
func (c *Consumer) handOver(fetches kgo.Fetches) (bytes int64) {
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		tp := offsets.TopicPartition{Topic: f.Topic, Partition: f.Partition}
		c.mu.Lock()
		o := c.table[tp]
		if o == nil || !o.loaded || o.stopped != "" {
			c.mu.Unlock()
			return
		}
		tenure := o.Tenure
		c.astray(o, f.Records)
		if n := len(f.Records); n > 0 {
			o.next = max(o.next, f.Records[n-1].Offset+1)
		}
		o.fetched = o.fetched || len(f.Records) > 0 || f.Err != nil
		if f.Err == nil {
			o.failed.err = nil
		}
		if f.Err == nil && f.HighWatermark > 0 {
			o.end = f.HighWatermark
		}
		c.mu.Unlock()
		if len(f.Records) > 0 {
			size := sizeOf(f.Records)
			bytes += size
			c.handler.Fetched(tenure, f.Records, size)
		}
		if f.Err != nil {
			c.readError(tenure, f.Err)
		}
	})
	return bytes
}

// sizeOf is what records take of the reading budget.
func sizeOf(records []*kgo.Record) (bytes int64) {
	const fixed = 160 // of a kgo.Record
	for _, r := range records {
		bytes += fixed + int64(len(r.Key)+len(r.Value)) + 40*int64(len(r.Headers))
	}
	return bytes
}

// Consumed gives back bytes of the reading budget.
func (c *Consumer) Consumed(bytes int64) { c.budget.give(bytes) }

// Unread returns the bytes handed over and not yet consumed.
func (c *Consumer) Unread() int64 { return c.budget.taken() }

// Buffered returns the bytes that the client holds ready for the next poll.
func (c *Consumer) Buffered() int64 { return c.client.BufferedFetchBytes() }

// LeaseValid says whether the group still counts on this member.
func (c *Consumer) LeaseValid() bool { return c.lease.valid(time.Now()) }

// SetPaused stops or resumes reading of everything. What is parked goes on.
func (c *Consumer) SetPaused(paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused == paused {
		return
	}
	c.paused = paused
	if paused {
		c.client.PauseFetchTopics(c.cfg.Topics...)
	} else {
		c.client.ResumeFetchTopics(c.cfg.Topics...)
	}
}

// Rejoin makes the client look at a topic afresh that was deleted and made again:
// the client takes a changed topic id for an error until it is told.
func (c *Consumer) Rejoin(topic string) {
	c.client.PurgeTopicsFromClient(topic)
	c.client.AddConsumeTopics(topic)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused {
		c.client.PauseFetchTopics(topic)
	}
}

// Leave leaves the group, unless the member is static, by the context's end. The
// handler's Revoked is called meanwhile.
func (c *Consumer) Leave(ctx context.Context) {
	c.client.AllowRebalance()
	if err := c.client.LeaveGroupContext(ctx); err != nil {
		c.cfg.Log.Info("left without the group's answer", "group", c.cfg.Group, "err", err)
	}
	closed := make(chan struct{})
	go func() { // ends when the client has given up its requests, at the latest with the process
		c.client.Close()
		c.client.AllowRebalance() // Close polls once more, and leaves again behind that poll
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
	c.committer.close()
}

// sayEvery is how often an error that lasts is said again.
const sayEvery = 30 * time.Second

// fail ends Run with an error that no retry mends.
func (c *Consumer) fail(err error) {
	select {
	case c.fatal <- err:
	default:
	}
	c.mu.Lock() // New may not be done yet
	client := c.client
	c.mu.Unlock()
	client.AllowRebalance()
}
