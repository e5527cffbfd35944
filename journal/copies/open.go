package copies

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/journal/logs"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory/far"
)

const (
	// openTogether is how long an opening waits for others: one round asks for all of them.
	openTogether = 20 * time.Millisecond
	// openAgain is the pause before what failed is asked for again.
	openAgain = time.Second
	// askTimeout is for the questions of one step.
	askTimeout = 10 * time.Second
)

// opening is a call of Open on its way. What it asks is in the order that far.Opening gives.
type opening struct {
	ask  far.Ask
	at   offsets.TopicPartition // in the runs topic
	over <-chan struct{}        // closed when nobody waits any more
	done func(*far.Opening)
	look *Looked // of Look, which asks once; nil: it is asked for until it is known

	clusterID string
	found     far.Opening
	failed    error
}

// Open finds out what is known of an assignment's runs partition. It goes on until it knows, ctx
// ends or Close is called, and calls done once: with nil where it does not know.
func (c *Copies) Open(ctx context.Context, ask far.Ask, done func(*far.Opening)) {
	c.enqueue(&opening{ask: ask, at: c.at(ask.TopicPartition), over: ctx.Done(), done: done}, openTogether)
}

// enqueue has an opening dealt with after a moment, with all that come meanwhile.
func (c *Copies) enqueue(o *opening, after time.Duration) {
	c.running.Go(func() { // ends with its round
		cluster.Pause(c.ends, after)
		c.mu.Lock()
		c.openings = append(c.openings, o)
		first := len(c.openings) == 1
		c.mu.Unlock()
		if !first {
			return
		}
		cluster.Pause(c.ends, openTogether)
		c.mu.Lock()
		round := c.openings
		c.openings = nil
		c.mu.Unlock()
		c.round(round)
	})
}

// isOver ends an opening that nobody waits for.
func (c *Copies) isOver(o *opening) bool {
	select {
	case <-o.over:
	case <-c.ends.Done():
	default:
		return false
	}
	o.done(nil)
	return true
}

// again has an opening begun anew after a pause, because of err.
func (c *Copies) again(o *opening, err error) {
	if c.isOver(o) {
		return
	}
	if o.look != nil {
		o.look.Err = err
		o.done(nil)
		return
	}
	c.troubles.read(o.ask.TopicPartition, err, time.Now())
	c.cfg.Log.Debug("runs of a partition are not known yet", "topic", o.at.Topic, "partition", o.at.Partition, "err", err)
	if errors.Is(err, facts.ErrNewer) || errors.Is(err, facts.ErrTruncated) || errors.Is(err, ErrElsewhere) {
		c.say("closed "+o.at.Topic, func() {
			c.cfg.Log.Error("runs of a partition cannot be begun with, and what waits there is not delivered", "topic", o.at.Topic, "partition", o.at.Partition, "err", err)
		})
	}
	c.enqueue(o, openAgain)
}

// round takes openings through their first steps: those of each broker by themselves, as one may not answer.
func (c *Copies) round(round []*opening) {
	var parts []offsets.TopicPartition
	for _, o := range round {
		parts = append(parts, o.at)
	}
	cluster.AskBounds(c.ends, c.cfg.Client, parts, func(located cluster.Located) {
		var answered []*opening
		for _, o := range round {
			if _, ok := located[o.at]; ok {
				answered = append(answered, o)
			}
		}
		c.bounded(answered, located)
	})
}

// bounded takes openings whose bounds were asked for on, side by side, and asks the journal once for all of them.
func (c *Copies) bounded(round []*opening, located cluster.Located) {
	ctx, cancel := context.WithTimeout(c.ends, askTimeout)
	defer cancel()
	var asking sync.WaitGroup
	for _, o := range round {
		b := located[o.at]
		asking.Go(func() { o.failed = c.begin(ctx, o, &b) })
	}
	asking.Wait()
	var asks []facts.Ask
	var asked []*opening
	for _, o := range round {
		switch {
		case o.failed != nil:
			c.again(o, o.failed)
		case o.ask.Left != nil || o.found.Log.End == 0:
			c.running.Go(func() { c.complete(o) })
		default:
			asks, asked = append(asks, c.journalled(o)), append(asked, o)
		}
	}
	if len(asks) > 0 {
		c.cfg.Journal.Restore(c.ends, asks, func(i int, a facts.Answer) {
			c.running.Go(func() { c.restored(asked[i], &a) })
		})
	}
}

// begin asks for the end of the log that the commit, or what is left, is about.
func (c *Copies) begin(ctx context.Context, o *opening, b *cluster.Bounds) error {
	if o.look != nil {
		o.look.Bounds = *b
	}
	if b.Err != nil {
		return b.Err
	}
	o.clusterID = b.ClusterID
	o.found = far.Opening{Writer: rand.Uint64() | 1, TopicID: b.TopicID, LeaderEpoch: max(b.LeaderEpoch, 0), Log: offsets.Bounds{Start: b.Start, End: b.End}}
	if o.ask.Left != nil {
		end, err := c.endOf(ctx, o.at, o.ask.LeftEpoch)
		if err != nil {
			return err
		}
		if o.found.Window = o.ask.Left(ctx, b.TopicID, end); o.found.Window == nil {
			return errNobody
		}
		o.found.Facts = facts.NewJournalOnly(c.identity(o), o.found.Writer, facts.Restored{}, o.found.Window)
		return nil
	}
	said := far.SaidOf(o.ask.Said, b.TopicID)
	if o.found.Said = o.ask.Said; said.IsZero() && o.ask.Said.Holds {
		if err := c.elsewhere(ctx, o.ask.Said.TopicID); err != nil {
			return err
		}
	}
	if !said.IsZero() {
		end, known, err := c.endIfKnown(ctx, o.at, said.LeaderEpoch)
		if err != nil {
			return err
		}
		if o.found.SaidEnd = end; !known { // which does not tell that anything was cut
			o.found.Said.Sure = 0
		}
	}
	o.found.Window = far.Finished(&said, o.found.SaidEnd)
	if b.End == 0 {
		o.found.Facts = facts.NewJournalOnly(c.identity(o), o.found.Writer, facts.Restored{}, o.found.Window)
	}
	return nil
}

// elsewhere returns an error where copies wait in a topic that is there, and has another name: none of them
// is lost. A topic that is gone, or was made again, has no such id.
func (c *Copies) elsewhere(ctx context.Context, id offsets.TopicID) error {
	name, err := cluster.NameOf(ctx, c.cfg.Client, id)
	switch {
	case err != nil:
		return fmt.Errorf("the runs topic that the commit names: %w", err)
	case name != "":
		return fmt.Errorf("%w %s, and LAYOVER_RUNS_TOPIC says another one: set it back, and change it when layover runs show says that nothing waits there", ErrElsewhere, name)
	}
	return nil
}

var (
	// ErrElsewhere is that the commit names another runs topic than LAYOVER_RUNS_TOPIC. Its text has the remedy.
	ErrElsewhere = errors.New("records wait in the topic")

	errNobody  = errors.New("nobody waits for it")
	errStale   = errors.New("the runs topic's log ends below what is known of it, in the same leader epoch: the leader does not know that there is another one")
	errChanged = errors.New("the runs topic has another leader, or was made again, since it was asked about")
)

// identity is what records of the journal are about that call copies finished.
func (c *Copies) identity(o *opening) facts.Identity {
	return facts.Identity{Identity: offsets.Identity{ClusterID: o.clusterID, TopicID: o.found.TopicID, Partition: o.at.Partition}, Group: c.cfg.Group}
}

// journalled asks for the finished copies that the journal has.
func (c *Copies) journalled(o *opening) facts.Ask {
	said := far.SaidOf(o.found.Said, o.found.TopicID)
	return facts.Ask{
		TopicPartition: o.ask.TopicPartition, ID: c.identity(o), Window: o.found.Window, LeaderEpoch: said.LeaderEpoch, LogEnd: o.found.Log.End, Committed: said.Journal,
		EndOf: func(ctx context.Context, epoch int32) (int64, error) {
			return cluster.EndOfEpoch(ctx, c.cfg.Client, o.at, epoch)
		},
	}
}

// restored takes the journal's answer.
func (c *Copies) restored(o *opening, a *facts.Answer) {
	if a.Err != nil {
		c.again(o, a.Err)
		return
	}
	if o.look != nil {
		o.look.Journal = a.Complaint
	}
	o.found.Facts = facts.NewJournalOnly(c.identity(o), o.found.Writer, a.Restored, o.found.Window)
	c.complete(o)
}

// complete asks for bounds and leader epoch once more, and for the directory.
func (c *Copies) complete(o *opening) {
	if c.isOver(o) {
		return
	}
	ctx, cancel := context.WithTimeout(c.ends, askTimeout)
	defer cancel()
	b := located(ctx, c.cfg.Client, o.at)
	switch {
	case b.Err != nil:
		c.again(o, b.Err)
		return
	case b.TopicID != o.found.TopicID || max(b.LeaderEpoch, 0) != o.found.LeaderEpoch:
		c.again(o, errChanged)
		return
	}
	if said := far.SaidOf(o.found.Said, b.TopicID); b.LeaderEpoch >= 0 && b.LeaderEpoch <= said.LeaderEpoch && b.End < max(said.Known, said.Sure) {
		c.again(o, errStale)
		return
	}
	o.found.Log = offsets.Bounds{Start: b.Start, End: b.End}
	if o.look != nil {
		o.look.Bounds = b
	}
	if err := c.directory(ctx, o, &b); err != nil {
		c.again(o, err)
		return
	}
	c.troubles.read(o.ask.TopicPartition, nil, time.Now())
	o.done(&o.found)
}

// directory reads the directory that the commit names. Without a sound one the log is read through.
func (c *Copies) directory(ctx context.Context, o *opening, b *cluster.Bounds) error {
	said := far.SaidOf(o.found.Said, o.found.TopicID)
	offset := said.DirectoryEnd - 1
	if offset < b.Start || offset >= b.End {
		if said.DirectoryEnd > 0 {
			o.unusable(fmt.Errorf("it stood at %d, and the log has the offsets from %d to %d", offset, b.Start, b.End-1))
		}
		return nil
	}
	got := logs.Fetch(ctx, c.reading, b.Leader, []logs.Want{{At: o.at, ID: b.TopicID, From: offset}}, c.limits(o.at.Topic))[o.at]
	if len(got.Records) == 0 || got.Records[0].Offset != offset {
		switch {
		case errors.Is(got.Err, logs.ErrUnreadable) && (o.look != nil || c.isBroken(o.at, offset)):
			c.unread(o, offset, got.Err)
			return nil
		case got.Err != nil:
			return got.Err
		}
		o.unusable(fmt.Errorf("no record at %d", offset))
		return nil
	}
	r := got.Records[0]
	id := runs.Identity{Owner: runs.OwnerOf(o.clusterID, c.cfg.Group, o.ask.Topic), Partition: o.at.Partition}
	d, err := runs.ReadDirectory(id, r.Key, r.Value, r.Headers)
	if err != nil {
		c.unread(o, offset, err)
		return nil
	}
	end, err := c.endOf(ctx, o.at, d.LeaderEpoch)
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	o.found.Directory, o.found.DirectoryEnd = &d, end
	if end < d.End {
		o.unusable(fmt.Errorf("record at %d: it speaks of the offsets below %d, and the log of its leader epoch ends at %d", offset, d.End, end))
	}
	return nil
}

// unread notes that the directory at an offset cannot be read.
func (c *Copies) unread(o *opening, offset int64, err error) {
	c.cfg.Log.Warn("directory of a runs topic cannot be used, and its copies are read through", "topic", o.at.Topic, "partition", o.at.Partition, "offset", offset, "err", err)
	o.unusable(fmt.Errorf("record at %d: %w", offset, err))
}
