package copies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"layover/cluster"
	"layover/cluster/batches"
	"layover/journal/copies/turns"
	"layover/journal/logs"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// answerBytes limits one answer of a broker, which is compressed perhaps.
	answerBytes = 1 << 20
	// visitTimeout is for one visit.
	visitTimeout = 30 * time.Second
)

// Visit reads the copies that a visit asks for, of the runs topic with an id. It calls done once,
// within 30 s of its turn.
func (c *Copies) Visit(v purgatory.Visit, topic offsets.TopicID, done func(purgatory.Visited, []*kgo.Record)) {
	c.running.Go(func() { // ends with its time limit, or with Close
		read := reading{copies: c, at: c.at(v.TopicPartition), topic: topic}
		read.Visit, read.Until, read.Highest, read.broker = v, v.From, -1, -1
		asked := time.Now()
		for again := true; again; again = errors.Is(read.Err, turns.ErrSlow) {
			read.inTurn(asked)
		}
		c.troubles.read(v.TopicPartition, read.Err, time.Now())
		if read.Err != nil {
			c.cfg.Log.Debug("runs are not read yet", "topic", read.at.Topic, "partition", read.at.Partition, "offset", v.From, "err", read.Err)
		}
		done(read.Visited, read.records)
	})
}

// asks returns the broker that a visit is about to ask, -1 where nobody knows.
func (c *Copies) asks(at offsets.TopicPartition, topic offsets.TopicID) (broker int32) {
	if l, ok := c.known(at, topic); ok {
		return l.broker
	}
	return -1
}

// inTurn waits for a turn, and reads. asked is when the visit began to wait.
func (r *reading) inTurn(asked time.Time) {
	c := r.copies
	if r.turn, r.Err = c.turns.Await(c.ends, c.asks(r.at, r.topic)); r.Err != nil {
		return
	}
	began := time.Now()
	r.Waited = began.Sub(asked)
	ctx, cancel := context.WithTimeout(c.ends, visitTimeout)
	defer cancel()
	r.Err = r.run(ctx)
	r.Took = time.Since(began)
	if r.turn.End(r.broker, r.Took, r.Err) {
		c.doubtLeader(r.broker)
	}
}

// reading is one visit.
type reading struct {
	purgatory.Visited
	records []*kgo.Record // as they stood in ingress
	copies  *Copies
	at      offsets.TopicPartition // in the runs topic
	topic   offsets.TopicID
	bytes   int64
	asked   int32 // bytes of the last answer
	turn    *turns.Turn
	broker  int32 // that it asked last, -1 for none
}

// run reads until the visit's end, or until it has taken enough.
func (r *reading) run(ctx context.Context) error {
	if r.From == r.To {
		if _, ok, err := r.lead(ctx); !ok {
			return err
		}
		return r.bounds(ctx, true)
	}
	most := r.most()
	for r.Until < r.To && r.bytes < most {
		l, ok, err := r.lead(ctx)
		if !ok {
			return err
		}
		limits := r.copies.limits(r.at.Topic)
		limits.Answer = r.answer(most)
		limits.Partition = limits.Answer
		got := logs.Fetch(ctx, r.copies.reading, l.broker, []logs.Want{{At: r.at, ID: r.topic, From: r.Until, To: r.To}}, limits)[r.at]
		r.take(&got, l.clusterID)
		if more, err := r.goesOn(ctx, &got); !more || err != nil {
			return err
		}
	}
	return r.raise(ctx)
}

// lead returns whom to ask. ok is false where the topic was made again, too.
func (r *reading) lead(ctx context.Context) (l leader, ok bool, err error) {
	if l, err = r.copies.leader(ctx, r.at, r.topic); err != nil {
		return l, false, err
	}
	if l.topicID != r.topic {
		r.TopicID = l.topicID
		return l, false, nil
	}
	r.broker = l.broker
	err = r.turn.Asks(l.broker)
	return l, err == nil, err
}

// most returns the bytes of records at which the visit ends early.
func (r *reading) most() int64 {
	if r.Most > 0 {
		return min(r.Most, purgatory.MostVisit)
	}
	return purgatory.MostVisit
}

// answer returns the bytes to ask for. All batches of an answer are read, wanted or not. Where it is known about how
// much is wanted, no more is asked for than that, with the batch that it begins in. Where that was too little, twice as
// much is the next at least, as each answer takes its way to the broker and back.
func (r *reading) answer(most int64) int32 {
	bytes := min(answerBytes, most)
	if r.Bytes > 0 {
		average := float64(r.Bytes) / float64(r.To-r.From)
		if r.Until > r.From {
			average = float64(r.bytes) / float64(r.Until-r.From)
		}
		about := int64(min(average*float64(r.To-r.Until), answerBytes)) + BatchBytes
		bytes = min(bytes, max(about, 2*int64(r.asked)))
	}
	r.asked = int32(bytes)
	return r.asked
}

// goesOn deals with an answer without progress.
func (r *reading) goesOn(ctx context.Context, got *logs.Fetched) (more bool, err error) {
	switch {
	case errors.Is(got.Err, kerr.OffsetOutOfRange):
		before := r.Until
		if err := r.bounds(ctx, false); err != nil || r.TopicID != (offsets.TopicID{}) {
			return false, err
		}
		return r.Until > before, nil
	case got.Err == nil && got.Next > got.From:
		r.copies.isWhole(r.at, got.From, got.Next)
		return true, nil
	case got.Err == nil: // the log ends here, or the answer had no room
		return false, r.bounds(ctx, true)
	}
	r.copies.forget(r.at)
	if r.Until > r.From { // what was read counts
		return false, r.raise(ctx)
	}
	if errors.Is(got.Err, logs.ErrUnreadable) && r.copies.isBroken(r.at, r.Until) {
		err := got.Err
		if _, large := errors.AsType[*batches.TooLarge](err); large {
			err = fmt.Errorf("%w, which are %d bytes: they come after a restart with a higher LAYOVER_MAX_PARKED_BYTES", err, r.copies.cfg.Batch(r.at.Topic)+besideBytes)
		}
		r.copies.say("unreadable "+r.at.Topic, func() {
			r.copies.cfg.Log.Error("a batch of a runs topic cannot be read, and the records in it are not delivered", "topic", r.at.Topic, "partition", r.at.Partition, "offset", got.Next, "err", err)
		})
		return false, r.passBroken(ctx)
	}
	return false, got.Err
}

// bounds asks where the log begins and ends. Where it begins above the next offset, reading goes
// on there. Where it ends at that offset or below, or with epoch, the leader's epoch says of
// which log that is.
func (r *reading) bounds(ctx context.Context, epoch bool) error {
	b := located(ctx, r.copies.cfg.Client, r.at)
	switch {
	case b.Err != nil:
		return b.Err
	case b.TopicID != r.topic:
		r.TopicID = b.TopicID
		return nil
	}
	if b.Start > r.Until {
		if r.Until > r.From { // what was read counts, and the next visit finds the rest gone
			return r.raise(ctx)
		}
		if r.Start = b.Start; b.Start >= r.To {
			return errGone
		}
		r.Visit.From, r.Until = b.Start, b.Start
		return nil
	}
	if epoch || r.Until >= b.End {
		r.Highest, r.Ended, r.LogEnd = max(r.Highest, b.LeaderEpoch), r.Until == r.From, b.End
	}
	return r.raise(ctx)
}

var errGone = errors.New("the log begins behind what was to be read")

// raise asks where the log of the visit's leader epoch ends, if a later one was met. Some brokers know the
// epochs of records alone. Where such a one knows none behind the visit's, the log of that ends with the log.
func (r *reading) raise(ctx context.Context) error {
	if r.Highest <= r.LeaderEpoch {
		return nil
	}
	end, known, err := r.copies.endIfKnown(ctx, r.at, r.LeaderEpoch)
	if r.End = end; err == nil && !known && r.Ended {
		r.End = r.LogEnd
	}
	return err
}

// take takes the records of an answer.
func (r *reading) take(got *logs.Fetched, clusterID string) {
	id := runs.Identity{Owner: runs.OwnerOf(clusterID, r.copies.cfg.Group, r.TopicPartition.Topic), Partition: r.Partition}
	for _, rec := range got.Records {
		if rec.Offset >= r.To {
			break
		}
		r.Highest = max(r.Highest, rec.LeaderEpoch)
		r.one(id, rec)
	}
	r.Until = max(r.Until, min(got.Next, r.To))
}

// one takes a record. A copy becomes the record that it is of.
func (r *reading) one(id runs.Identity, rec *kgo.Record) {
	found, c, own, err := find(id, rec)
	r.bytes += found.Bytes
	switch {
	case errors.Is(err, runs.ErrNoCopy):
		if _, err := runs.ReadDirectory(id, rec.Key, rec.Value, rec.Headers); errors.Is(err, runs.ErrNoDirectory) {
			r.Damaged = append(r.Damaged, rec.Offset) // it may be a copy that has lost its header
			r.complain("a record of a runs topic is neither a copy nor a directory, and not delivered", rec, err)
		}
		return
	case errors.Is(err, runs.ErrDamaged):
		r.Damaged = append(r.Damaged, rec.Offset)
		r.complain("a record of a runs topic is damaged, and not delivered", rec, err)
		return
	case err != nil:
		r.complain("a record of a runs topic is not for this release, group or cluster, and not delivered", rec, err)
	}
	r.Found = append(r.Found, found)
	rec.Topic, rec.Partition, rec.Offset, rec.LeaderEpoch = r.TopicPartition.Topic, r.Partition, c.Offset, c.LeaderEpoch
	rec.Timestamp, rec.Headers = time.UnixMilli(c.TimestampMs), own
	r.records = append(r.records, rec)
}

// find reads a record, and returns the record's own headers as well. A copy that is not for this
// reader is one that is never due.
func find(id runs.Identity, rec *kgo.Record) (far.Found, runs.Copy, []kgo.RecordHeader, error) {
	c, own, err := runs.ReadCopy(id, rec.Key, rec.Value, rec.Headers)
	f := far.Found{Offset: rec.Offset, DeadlineMs: c.DeadlineMs, Bytes: int64(sizeOf(rec)), Origin: c.Offset, Writer: c.Writer, Run: c.Run}
	if err != nil {
		f.DeadlineMs = math.MaxInt64
	}
	if errors.Is(err, runs.ErrForeign) {
		f.Run = far.Foreign
	}
	return f, c, own, err
}

func (r *reading) complain(what string, rec *kgo.Record, err error) {
	r.copies.say(what+r.at.Topic, func() {
		r.copies.cfg.Log.Error(what, "topic", r.at.Topic, "partition", r.at.Partition, "offset", rec.Offset, "err", err)
	})
}

// leader returns what is known of a runs partition whose topic has an id. It asks where nothing is, or
// where another id is: that may be the former one. Others that are in doubt are asked about with it.
func (c *Copies) leader(ctx context.Context, at offsets.TopicPartition, topic offsets.TopicID) (leader, error) {
	if l, ok := c.known(at, topic); ok {
		return l, nil
	}
	parts := []offsets.TopicPartition{at}
	c.mu.Lock()
	for other, l := range c.leaders {
		if l.doubtful && other != at {
			parts = append(parts, other)
		}
	}
	c.mu.Unlock()
	located := cluster.Locate(ctx, c.cfg.Client, parts)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range parts {
		if b := located[at]; b.Err == nil {
			c.leaders[at] = leader{broker: b.Leader, topicID: b.TopicID, clusterID: b.ClusterID}
		}
	}
	return c.leaders[at], located[at].Err
}

// known is leader without asking; ok is false where it is to be asked for.
func (c *Copies) known(at offsets.TopicPartition, topic offsets.TopicID) (l leader, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok = c.leaders[at]
	return l, ok && l.topicID == topic && !l.doubtful
}

// doubtLeader has the leaders of all partitions of a broker asked for again.
func (c *Copies) doubtLeader(broker int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at, l := range c.leaders {
		if l.broker == broker {
			l.doubtful = true
			c.leaders[at] = l
		}
	}
}

// forget has the leader of a partition asked for again.
func (c *Copies) forget(at offsets.TopicPartition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.leaders, at)
}

// located returns the bounds of one partition.
func located(ctx context.Context, cl *kgo.Client, at offsets.TopicPartition) (b cluster.Bounds) {
	b.Err = cluster.ErrNoAnswer
	cluster.AskBounds(ctx, cl, []offsets.TopicPartition{at}, func(a cluster.Located) { b = a[at] })
	return b
}
