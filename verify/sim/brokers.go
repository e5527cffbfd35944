package sim

import (
	"layover/offsets"
	"layover/purgatory"
)

// brokers are the ingress topics, the group, the journal and the targets, as Kafka has them.
// They keep the books of their records; World holds instances to the promises.
type brokers struct {
	logs    []*partitionLog
	group   group
	journal journal
	runs    runsTopic
	// verdicts is what cores are told about targets.
	verdicts map[string]purgatory.Verdict
	silent   map[place]bool // target partitions that do not answer
}

func newBrokers(cfg Config) brokers {
	b := brokers{verdicts: make(map[string]purgatory.Verdict), silent: make(map[place]bool)}
	b.group = group{
		members: make(map[member]bool), owner: make([]member, cfg.Partitions),
		offsets: make([]*committed, cfg.Partitions), pending: make([]*committed, cfg.Partitions),
		maxMetadata: cfg.MaxMetadata, byName: cfg.CommitsByName,
	}
	for range cfg.Partitions {
		b.logs = append(b.logs, &partitionLog{topicID: 1})
	}
	if b.journal.make(cfg.Partitions); !cfg.Journal {
		b.journal.topicID = 0
	}
	if cfg.Runs {
		b.runs.make(cfg.Partitions)
	}
	return b
}

func (b *brokers) topicID(p int) offsets.TopicID { return offsets.TopicID{b.logs[p].topicID} }

func (b *brokers) identity(p int) offsets.Identity {
	return offsets.Identity{ClusterID: cluster, TopicID: b.topicID(p), Partition: int32(p)}
}

// told is what a core hears about targets.
func (b *brokers) told(names []purgatory.TargetName) (out []purgatory.TargetState) {
	for _, name := range names {
		out = append(out, purgatory.TargetState{TargetName: name, Verdict: b.verdicts[name.Name]})
	}
	return out
}

// remake deletes the topic of a partition and makes it again. A broker drops the
// offsets of a deleted topic.
func (b *brokers) remake(p int) {
	for _, e := range b.logs[p].entries {
		e.lost = true
	}
	b.logs[p] = &partitionLog{topicID: b.logs[p].topicID + 1}
	b.group.pending[p], b.group.offsets[p] = nil, nil
}

// setOf reads a commit of this topic back, as whoever is assigned next will.
func (b *brokers) setOf(p int, was *committed) (doneSet, bool) {
	set, err := offsets.Decode(was.Metadata, b.identity(p), was.Offset)
	return setOf(set), err == nil
}

// noteSaid notes what an assignment may rely on from now on: unless the commit was
// overtaken by a later one that says less.
func (b *brokers) noteSaid(log *partitionLog, c *commitMsg) {
	now := b.group.offsets[c.part]
	if log != b.logs[c.part] || now == nil || now.Offset != c.Low || now.Metadata != c.Metadata {
		return
	}
	found, whole := b.found(c.part, now.Committed)
	for _, e := range log.entries {
		e.said = found.has(e.offset) && whole && c.knows.has(e.offset)
	}
}

// transact is a former life in exactly-once mode that died with its transaction
// open. Some more records are delivered, and said to be, once the transaction
// is committed.
func (b *brokers) transact(p int, f doneSet, was *committed) *committed {
	log := b.logs[p]
	set := offsets.NewWindow(f.low)
	for o := range f.above {
		set.Finish(o)
	}
	for o := max(f.low, log.start); o < log.stable(); o += 2 {
		if log.entries[o].id != "" { // it knew of no ids
			continue
		}
		set.Finish(o)
	}
	_, ext, _ := offsets.DecodeAll(was.Metadata, b.identity(p), was.Offset)
	enc := offsets.Encode(set, b.identity(p), ext, b.group.maxMetadata)
	if !enc.Complete {
		return nil
	}
	return &committed{offsets.Committed{Offset: set.Low(), LeaderEpoch: log.epoch, Metadata: enc.Metadata}, log.topicID, false, false}
}

// markPending notes what a transaction that is committed delivered. It was not handed out what is undecided: that
// stands below an operator's offset, in a log that was truncated since, and nobody reads it.
func (b *brokers) markPending(p int) {
	f, _ := b.setOf(p, b.group.offsets[p])
	for _, e := range b.logs[p].entries {
		switch {
		case !f.has(e.offset):
		case e.kind == undecided:
			e.lost = true
		case !e.finished():
			e.reads++
			e.written++
		}
	}
}
