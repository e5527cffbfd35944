package purgatory

import "layover/offsets"

// commitState is the state of one partition's commits.
type commitState struct {
	dirty    bool // something to say since the last commit that was built
	underway bool
	// doubtful: the lease ran out while the commit was underway. Its answer may be
	// older than that, and is no proof of membership.
	doubtful bool
	// mayArrive: a copy of an earlier commit may arrive later, and none has succeeded since.
	mayArrive bool
	// repeatUntil: until then commits go out though there is nothing new to say, in
	// MonotonicMs.
	repeatUntil int64
	// Of the last successful commit: partition.finished when it was built, its low
	// offset, and the finished offsets that it left out.
	finishedSaid, low, left int64
	metadata                int // characters of the last successful one's metadata
}

// A commit that takes slowMs may have been sent twice, on a connection that its client gave up and on the next one. So may
// a quick one, of which the client tells, and one that has failed may still be on its way. The first copy then may reach
// the coordinator behind newer ones, and undo them. So from the next success on commits go on at their interval for
// repeatForMs: the next one repeats whatever was undone.
const (
	slowMs      = 1000
	repeatForMs = 60_000
)

// minMetadata is the least limit, in characters, that refusals of metadata halve
// ours to. A broker that refuses even that gets the offset alone: without its
// commits a partition would never deliver.
const minMetadata = 256

// Commits appends a commit for every partition that has something to say, or to
// repeat, and none underway. Member and generation are the caller's to fill in, where
// ownership is checked. With force, partitions without news are named too.
func (c *Core) Commits(out []offsets.Commit, force bool) []offsets.Commit {
	for p := range c.parts.here() {
		if p.commit.underway || !p.commit.dirty && !p.repeats(c.now) && !force {
			continue
		}
		out = append(out, p.build(&c.cfg, &c.stats))
	}
	return out
}

// Final builds the last commit of an assignment that is being revoked, if there is
// anything left to say.
func (c *Core) Final(tp offsets.TopicPartition, epoch uint64) (offsets.Commit, bool) {
	p := c.parts.find(tp, epoch)
	if p == nil || !p.commit.dirty && !p.commit.underway {
		return offsets.Commit{}, false
	}
	return p.build(&c.cfg, &c.stats), true
}

// build builds a commit of the offsets that are finished now.
func (p *partition) build(cfg *Config, stats *Stats) offsets.Commit {
	said, of := p.saidOfRuns()
	enc, journal := p.Facts.Encode(p.metaLimit, min(p.metaLimit, cfg.JournalAbove), p.again(), said)
	if !enc.Complete {
		stats.MetadataOverflows++
	}
	p.commit.dirty = false
	p.commit.underway = true
	p.moved.committing, p.moved.uncommitted = p.moved.committing+p.moved.uncommitted, 0
	return offsets.Commit{
		TopicPartition: p.TopicPartition, TopicID: p.TopicID, Epoch: p.Epoch,
		Low: p.Window.Low(), LeaderEpoch: p.factsEpoch(), Metadata: enc.Metadata,
		Journal: journal, Runs: said, RunsOf: of, Left: enc.Left, Finished: p.finished,
	}
}

// Committed takes the answer to a commit. A successful one confirms membership.
func (c *Core) Committed(r offsets.CommitResult) {
	p := c.parts.find(r.TopicPartition, r.Epoch)
	if p == nil {
		return
	}
	p.commit.underway = false
	if !r.Unsent {
		c.stats.Committed.observe(&LatenessBounds, r.TookMs)
	}
	p.commit.mayArrive = p.commit.mayArrive || r.MayArrive || r.TookMs >= slowMs
	if r.Err == nil {
		c.stats.Commits++
		c.stats.LastCommitMs, p.commit.metadata = c.now.WallMs, len(r.Metadata)
		p.moved.committing = 0
		p.commit.finishedSaid, p.commit.low, p.commit.left = r.Finished, r.Low, r.Left
		if p.commit.mayArrive {
			p.commit.mayArrive, p.commit.repeatUntil = false, c.now.MonotonicMs+repeatForMs
		}
		if below := p.Facts.Committed(r.Journal, p.runsCommitted(&r.Commit), c.now.AnsweredMs); below >= 0 {
			c.journals.remove(p, below)
		}
		if !p.commit.doubtful {
			c.out.confirm(p.src)
		}
		p.commit.doubtful = false
		return
	}
	c.stats.CommitErrors++
	p.commit.dirty, p.commit.doubtful = true, false
	if r.Fenced {
		p.src.confirmed = false
	}
	if r.MetadataTooLarge {
		p.takesLessThan(len(r.Metadata))
	}
}

// takesLessThan halves the limit until it is below the size that the broker refused. With
// two commits underway the second refusal is often about a size that is over already.
func (p *partition) takesLessThan(refused int) {
	for p.metaLimit >= refused && p.metaLimit > 0 {
		if p.metaLimit /= 2; p.metaLimit < minMetadata {
			p.metaLimit = 0
		}
	}
}

// Unconfirmed says whether a partition waits for a commit before it delivers.
func (c *Core) Unconfirmed() bool {
	return c.parts.some(func(p *partition) bool { return !p.src.confirmed })
}

// Dirty says whether Commits would build one.
func (c *Core) Dirty() bool {
	return c.parts.some(func(p *partition) bool { return p.commit.dirty && !p.commit.underway })
}

// repeats says whether the last commit is to be said again. An assignment that ends has
// its final one.
func (p *partition) repeats(now Clock) bool {
	return now.MonotonicMs < p.commit.repeatUntil && !p.src.draining
}

// Repeating says whether Commits would build one without news.
func (c *Core) Repeating() bool {
	return c.parts.some(func(p *partition) bool { return !p.commit.underway && p.repeats(c.now) })
}

// Committing says whether an answer to a commit is owed.
func (c *Core) Committing() bool {
	return c.parts.some(func(p *partition) bool { return p.commit.underway })
}

// Unsettled says whether something waits that no event announces. That is a
// held or unknown target, a client without room, or a partition whose
// membership is not confirmed.
func (c *Core) Unsettled() bool { return c.out.unsettled() || c.Unconfirmed() }
