package sim

import (
	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"
)

// runsTopic is the topic that far records are copied to.
type runsTopic struct {
	topicID byte
	logs    []*runsLog
	ghosts  []*copying // written by somebody who does not wait any more: they may still arrive
	deletes []runsDelete
	harmed  bool // what was acknowledged was taken away
}

// runsLog is one partition of it. Offsets are indexes.
type runsLog struct {
	entries []*copied
	start   int64
	epoch   int32              // the leader's; every truncation begins one
	places  map[*entry][]int64 // offsets at which copies of an entry were written; others may stand there by now
	ailing
}

// copied is one offset of a runs partition: a copy, a directory, or what was never either.
type copied struct {
	far.Found
	entry     *entry // nil: it is no copy
	origin    int32  // leader epoch that the copy names
	directory *runs.Directory
	epoch     int32
	atMs      int64 // when it was written
	broken    bool  // it is in a batch that cannot be read
}

// copying is a copy or a directory on its way, or there, with its answer on its way back.
type copying struct {
	part    int
	topicID byte
	epoch   uint64
	life    int // of the index
	move    purgatory.Move
	entry   *entry // of which it is a copy
	listing *purgatory.Listing
	sentMs  int64
	applied bool
	offset  int64
}

type runsDelete struct {
	purgatory.RunsDelete
	part    int
	topicID byte
	by      member
}

func (l *runsLog) end() int64 { return int64(len(l.entries)) }

// endOf is where what was written up to a leader epoch ends.
func (l *runsLog) endOf(epoch int32) int64 {
	for o := l.start; o < l.end(); o++ {
		if l.entries[o].epoch > epoch {
			return o
		}
	}
	return l.end()
}

// id is the topic id as brokers tell it.
func (r *runsTopic) id() offsets.TopicID { return offsets.TopicID{0xcc, r.topicID} }

// make makes the topic, empty. What stood in it is gone.
func (r *runsTopic) make(partitions int) {
	for _, log := range r.logs {
		r.lose(log, log.start, log.end())
	}
	r.topicID++
	r.logs = nil
	for range partitions {
		r.logs = append(r.logs, &runsLog{places: make(map[*entry][]int64)})
	}
}

// lose notes that copies are gone, outside of Layover's power.
func (r *runsTopic) lose(l *runsLog, from, to int64) {
	r.harmed = true
	for _, c := range l.entries[from:to] {
		if c.entry != nil && !c.entry.finished() {
			c.entry.lost = true
		}
	}
}

// has says whether a copy stands where it was written.
func (l *runsLog) has(c *copying) bool {
	return c.offset >= l.start && c.offset < l.end() && l.entries[c.offset].entry == c.entry
}

// stands says whether the log has a copy of an entry, other than the one at an offset.
func (l *runsLog) stands(e *entry, but int64) bool {
	for _, o := range l.places[e] {
		if o >= l.start && o < l.end() && l.entries[o].entry == e && o != but {
			return true
		}
	}
	return false
}

// moved says whether an entry may be called finished because a copy of it stands in the runs
// topic.
func (b *brokers) moved(e *entry) bool {
	return len(b.runs.logs) > 0 && b.runs.logs[e.part].stands(e, -1)
}

// identity of the set of finished copies.
func (b *brokers) copiesIdentity(p int) facts.Identity {
	return facts.Identity{Identity: offsets.Identity{ClusterID: cluster, TopicID: b.runs.id(), Partition: int32(p)}, Group: "g"}
}

// land is the broker's side of a produce to the runs topic.
func (w *World) land(c *copying) bool {
	if c.topicID != w.runs.topicID {
		return false
	}
	log := w.runs.logs[c.part]
	c.applied, c.offset = true, log.end()
	r := &copied{Found: far.Found{Offset: c.offset}, epoch: log.epoch, atMs: w.nowMs}
	if c.listing != nil {
		r.directory = &c.listing.Directory
		w.say("the runs of %d have at %d: a directory up to %d, %d runs", c.part, c.offset, r.directory.End, len(r.directory.Runs))
	} else {
		r.entry, r.origin = c.entry, c.move.LeaderEpoch
		r.Found = far.Found{Offset: c.offset, DeadlineMs: c.move.DeadlineMs, Bytes: int64(len(c.entry.body)), Origin: c.move.Offset, Writer: c.move.Writer, Run: c.move.Run}
		log.places[c.entry] = append(log.places[c.entry], c.offset)
		w.say("the runs of %d have at %d: a copy of %v", c.part, c.offset, c.entry)
	}
	log.entries = append(log.entries, r)
	return true
}

// finishedCopies holds a record of the journal about copies to the promise: what it calls
// finished has its outcome, or another copy.
func (w *World) finishedCopies(p int, r *facts.Record) {
	set := offsets.NewWindow(r.Low)
	r.Each(func(from, to int64) { set.FinishRange(from, to) })
	log := w.runs.logs[p]
	for o := log.start; o < log.endOf(r.LeaderEpoch); o++ {
		if set.Finished(o) {
			w.copyEnded(p, o, "a record of the journal")
		}
	}
}

// saidOfCopies holds a commit to the same promise.
func (w *World) saidOfCopies(p int, said *offsets.RunsState) {
	if len(w.runs.logs) == 0 || said.TopicID != w.runs.id() {
		return
	}
	log := w.runs.logs[p]
	for o, end := log.start, min(log.endOf(said.LeaderEpoch), max(said.Low, said.Known)); o < end; o++ {
		if c := log.entries[o]; o < said.Low || c.entry != nil && c.DeadlineMs <= said.DueMs {
			w.copyEnded(p, o, "a commit")
		}
	}
	for o := max(log.start, said.Low); o < log.end() && !said.Holds; o++ {
		if c := log.entries[o]; c.entry != nil && o < said.Known && !c.entry.finished() {
			w.fail("LOST: a commit of partition %d lets an older release read it, which knows nothing of the copy of %v at %d", p, c.entry, o)
		}
	}
}

func (w *World) copyEnded(p int, o int64, who string) {
	c := w.runs.logs[p].entries[o]
	if c.entry != nil && !c.entry.finished() && !w.runs.logs[p].stands(c.entry, o) {
		w.fail("LOST: %s calls the copy of %v at %d of the runs of partition %d finished, which has no outcome", who, c.entry, o, p)
	}
}

// applyToRuns is what happens to the runs topic, and on the way to it.
func (w *World) applyToRuns(a Action) bool {
	r := &w.runs
	switch a.Kind {
	case CopyHaunt:
		if a.N >= len(r.ghosts) {
			return false
		}
		g := r.ghosts[a.N]
		r.ghosts = append(r.ghosts[:a.N:a.N], r.ghosts[a.N+1:]...)
		return w.land(g)
	case RunsDelete:
		if a.N >= len(r.deletes) {
			return false
		}
		d := r.deletes[a.N]
		r.deletes = append(r.deletes[:a.N:a.N], r.deletes[a.N+1:]...)
		w.deleteRuns(d, a.P == 1)
	case RunsTrim: // by its retention, or by somebody
		log := r.logs[a.P]
		to := min(log.start+int64(a.N), log.end())
		if to <= log.start {
			return false
		}
		r.lose(log, log.start, to)
		log.start = to
		w.say("the runs of %d begin at %d", a.P, to)
	case RunsElect:
		if a.N > 0 { // always possible, and seldom
			return false
		}
		r.logs[a.P].epoch++
	case RunsTruncate:
		log := r.logs[a.P]
		end := log.end() - int64(a.N)
		if end < log.start {
			return false
		}
		r.lose(log, end, log.end())
		log.entries = log.entries[:end:end]
		log.epoch++
		w.say("the runs of %d are truncated to %d", a.P, end)
	case RunsRecreate:
		if a.N > 0 {
			return false
		}
		r.make(w.cfg.Partitions)
		w.say("the runs topic is made again")
	}
	return true
}

// deleteRuns is a deletion with the look at the leader epoch before it, and holds it to the promise:
// nothing is deleted that counts. The moment between the two is not modelled.
func (w *World) deleteRuns(d runsDelete, refused bool) {
	var err error
	if log := w.runs.logs[d.part]; refused || d.topicID != w.runs.topicID || log.endOf(d.LeaderEpoch) < d.Below {
		err = errRefused
	} else {
		for o := log.start; o < d.Below; o++ {
			c := log.entries[o]
			if c.entry != nil && !c.entry.finished() && !log.stands(c.entry, o) {
				w.fail("LOST: the copy of %v at %d is deleted, which has no outcome", c.entry, o)
			}
		}
		log.start = max(log.start, d.Below)
		w.say("the runs of %d begin at %d", d.part, log.start)
	}
	for _, in := range w.insts {
		if in.up && in.member == d.by {
			in.core.Runs().Deleted(d.RunsDelete, err)
		}
	}
}
