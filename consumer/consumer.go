package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"layover/cluster/batches"
	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Handler takes assignments and their fetched records. Revoked and Lost are called one at a
// time, and Fetched and Assigned never while one of them runs for the same partition.
// Assigned may be called from two goroutines at a time, for different partitions.
type Handler interface {
	Assigned(facts.Assigned)
	Fetched(a offsets.Assignment, records []*kgo.Record, bytes int64)
	// LogStart says that the log begins at start now, above the read position.
	LogStart(a offsets.Assignment, start int64)
	// Unread says that a batch is not read, in its place behind the records that were
	// Fetched. Reading goes on behind it with JumpBeyond.
	Unread(offsets.Assignment, offsets.UnreadBatch)
	// Revoked returns when each assignment is drained, committed and forgotten; it has
	// to return well within the rebalance timeout of a minute.
	Revoked([]offsets.Assignment)
	Lost([]offsets.Assignment)
}

// Config has the parameters of a Consumer.
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
	// Refused reports whether a broker refuses the connection, which has a line of its
	// own; nil: none does.
	Refused func() bool
	Log     *slog.Logger
}

// ErrFenced means that another process uses the same group instance id.
var ErrFenced = errors.New("another process joined the group with the same instance id (FENCED_INSTANCE_ID)")

// Consumer is one member of the group.
type Consumer struct {
	cfg          Config
	handler      Handler
	client       *kgo.Client
	started      chan struct{} // closed when client is set: callbacks wait for it
	fatal        chan error    // capacity 1
	budget       *budget
	decompressor *batches.Decompressor

	table     *ownership
	protocol  *protocol
	group     *groupErrors
	poll      *poll
	haste     *haste
	fetching  *fetching
	jumps     *jumper
	faults    *fetchFaults
	broken    brokenCommits
	committer *committer
	beats     *heartbeats
	loader    *loader
	turns     turns
}

// New returns a consumer that has done nothing yet.
func New(cfg Config, h Handler) (*Consumer, error) {
	c := &Consumer{
		cfg: cfg, handler: h,
		started:      make(chan struct{}),
		fatal:        make(chan error, 1),
		budget:       newBudget(cfg.ReadingBudget),
		decompressor: batches.NewDecompressor(cfg.MaxDecompress, true),
		table:        newOwnership(),
		poll:         new(poll),
		haste:        newHaste(time.Now()),
	}
	c.protocol = &protocol{rejoin: c.forceRebalance}
	c.group = &groupErrors{group: cfg.Group, log: cfg.Log, fenced: c.fenced, refused: cfg.Refused}
	c.table.lease.length = cfg.SessionTimeout - cfg.SessionTimeout/5 // a margin for the way of a heartbeat
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
		kgo.Balancers(c.protocol.balancers()...),
		kgo.SessionTimeout(cfg.SessionTimeout),
		kgo.HeartbeatInterval(cfg.SessionTimeout / 3),
		kgo.RebalanceTimeout(RebalanceTimeout(cfg.SessionTimeout)),
		// load chooses the offset of every partition. A reset would go on elsewhere, and
		// say nothing.
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
		kgo.WithHooks(c.group, &c.broken),
	}
	if cfg.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(cfg.InstanceID))
	}
	return opts
}

// Start makes the client, which joins the group as soon as Kafka answers. Before, only calls
// for a look at the process and for its stop are allowed. Those are Status, Beat, Buffered,
// LeaseValid, NoneOlder, OlderSince, JoiningSince, Unread, Paused, WatchEnds, SetPaused, Rejoin and Leave.
func (c *Consumer) Start() error {
	client, err := kgo.NewClient(append(c.options(), c.cfg.Options()...)...)
	if err != nil {
		return fmt.Errorf("consumer client: %w", err)
	}
	c.client = client
	c.fetching = &fetching{client: client, table: c.table, topics: c.cfg.Topics, log: c.cfg.Log}
	c.jumps = &jumper{client: client, table: c.table, fetching: c.fetching, poll: c.poll, pending: make(map[offsets.Assignment]jumpTo)}
	c.faults = &fetchFaults{client: client, asking: c.cfg.Asking, table: c.table, fetching: c.fetching, jumps: c.jumps,
		handler: c.handler, log: c.cfg.Log, maxDecompress: c.cfg.MaxDecompress}
	c.committer = &committer{turns: &c.turns.committer, client: client, group: c.cfg.Group, instanceID: c.cfg.InstanceID, accepted: c.table.lease.renew, fenced: c.fenced, broken: &c.broken}
	c.committer.start()
	c.beats = &heartbeats{client: client, table: c.table, group: c.cfg.Group, instanceID: c.cfg.InstanceID, every: c.cfg.SessionTimeout / 3}
	c.beats.start()
	c.loader = newLoader(c)
	close(c.started)
	return nil
}

// begun reports whether Start has made the client.
func (c *Consumer) begun() bool {
	select {
	case <-c.started:
		return true
	default:
		return false
	}
}

// Beat returns when the poll loop last turned.
func (c *Consumer) Beat() time.Time { return c.poll.last() }

// Run polls until the context ends, or until the group has no place for this
// process: then it returns ErrFenced.
func (c *Consumer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case err := <-c.fatal:
			return err
		default:
		}
		polling, done := c.poll.begin(ctx)
		fetches := c.client.PollFetches(polling)
		c.decompressor.Taken()
		done()
		if fetches.IsClientClosed() {
			return nil
		}
		c.loader.enter() // rebalances are blocked until AllowRebalance, so the table holds
		c.jumps.carryOut()
		bytes := c.handOver(fetches)
		c.client.AllowRebalance()
		if !c.budget.wait(ctx) {
			break
		}
		c.rest(ctx, bytes)
		c.decompressor.Parked()
	}
	select {
	case err := <-c.fatal:
		return err
	default:
		return nil
	}
}

// handOver passes the records of a poll on to the handler, and returns their bytes. It runs with
// rebalances blocked, so the table says whose each partition is.
func (c *Consumer) handOver(fetches kgo.Fetches) (bytes int64) {
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		a, from, strayed, ok := c.table.noteFetch(&f)
		if !ok {
			return
		}
		if strayed {
			c.jumps.back(a, from, f.Records[0].LeaderEpoch)
		}
		if len(f.Records) > 0 {
			size := sizeOf(f.Records)
			bytes += size
			c.budget.take(size)
			c.handler.Fetched(a, f.Records, size)
		}
		if f.Err != nil {
			c.faults.handle(a, f.Err)
		}
	})
	return bytes
}

// sizeOf returns the bytes of the reading budget that records take.
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
func (c *Consumer) Buffered() int64 {
	if !c.begun() {
		return 0
	}
	return c.client.BufferedFetchBytes()
}

// LeaseValid says whether the group still counts on this member.
func (c *Consumer) LeaseValid() bool { return c.table.lease.valid(time.Now()) }

// NoneOlder reports whether every member of the group is of this release or a later one.
// The last sync told so, and the lease lasts. It is false from a join to its sync, and
// outside the group.
//
// An older member that joins later is known here from the next sync on. Until then it has
// none of this member's partitions, unless they are lost or it takes the instance id.
func (c *Consumer) NoneOlder() bool { return c.protocol.newest.Load() && c.LeaseValid() }

// OlderSince returns since when syncs have said that a member of an older release is in the group; zero where the last
// one has not.
func (c *Consumer) OlderSince() time.Time { return since(&c.protocol.olderMs) }

// JoiningSince returns since when nobody has known who is in the group, as this member joins again; zero where the last
// sync counts, and before the first join.
func (c *Consumer) JoiningSince() time.Time { return since(&c.protocol.joiningMs) }

// RebalanceTimeout is how long the coordinator waits at most until all members have joined again.
func RebalanceTimeout(session time.Duration) time.Duration { return max(time.Minute, session) }

// SetPaused stops or resumes reading of everything. Parked records are still delivered.
// Before Start it does nothing: there is nothing read that could fill a bound.
func (c *Consumer) SetPaused(paused bool) {
	if c.begun() {
		c.fetching.setPaused(paused)
		c.haste.waits(time.Now(), 0) // there is much to read behind a pause
	}
}

// Paused reports whether reading of everything is stopped.
func (c *Consumer) Paused() bool { return c.begun() && c.fetching.isPaused() }

// Stopped reports whether nothing more of an assignment is read, ever.
func (c *Consumer) Stopped(a offsets.Assignment) bool { return c.table.ended(a) }

// Stop ends the reading of a partition for the rest of its assignment. Status then has the
// offset at, the code and the reason.
func (c *Consumer) Stop(a offsets.Assignment, at int64, code Reason, reason string) {
	c.fetching.stop(a, at, code, reason)
}

// Rejoin makes the client look afresh at a topic that was deleted and made again. The
// client takes a changed topic id for an error until it is told. A client that Start has
// yet to make knows no id.
func (c *Consumer) Rejoin(topic string) {
	if c.begun() {
		c.fetching.rejoin(topic)
	}
}

// Commit queues commits of assignments that still are, each with the identity of its
// assignment. done is called once, from another goroutine.
func (c *Consumer) Commit(commits []offsets.Commit, done func([]offsets.CommitResult)) {
	b := batch{done: done}
	b.commits, b.refused = c.table.stamp(commits)
	if !c.committer.put(b) {
		go done(b.fail(kgo.ErrClientClosed))
	}
}

// Leave leaves the group, unless the member is static, by the context's end. The
// handler's Revoked is called meanwhile. Before Start there is nothing to leave.
func (c *Consumer) Leave(ctx context.Context) {
	if !c.begun() {
		return
	}
	c.client.AllowRebalance()
	if err := c.client.LeaveGroupContext(ctx); err != nil {
		c.cfg.Log.Info("left without the group's answer", "group", c.cfg.Group, "err", err)
	}
	c.protocol.joins()
	c.beats.end()
	closed := make(chan struct{})
	go func() { // ends when the client has given up its requests, at the latest with the process
		c.client.Close()
		c.client.AllowRebalance() // Close polls once more, and leaves again behind that poll
		<-c.beats.done
		close(closed)
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
	c.committer.close()
}

// forceRebalance has the client join again.
func (c *Consumer) forceRebalance() {
	<-c.started
	c.client.ForceRebalance()
}

// fenced ends Run: no retry mends it.
func (c *Consumer) fenced() {
	select {
	case c.fatal <- ErrFenced:
	default:
	}
	<-c.started
	c.client.AllowRebalance()
}
