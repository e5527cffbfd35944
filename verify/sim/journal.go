package sim

import (
	"slices"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
)

// journal is the topic that sets go to which do not fit into metadata.
type journal struct {
	topicID byte // another number when it is deleted and made again; 0: there is none
	logs    []*journalLog
	// harmed: what was acknowledged was taken away, so that complaints are in order.
	harmed  bool
	deletes []journalDelete // on their way: they may arrive at any time, or never
	ghosts  []*journalWrite // written by somebody who does not wait any more: they may still arrive
}

// journalLog is one partition of it. Offsets are indexes.
type journalLog struct {
	values [][]byte
	start  int64
}

func (l *journalLog) end() int64 { return int64(len(l.values)) }

// journalWrite is a record on its way, or there, with its answer on its way back.
type journalWrite struct {
	purgatory.JournalWrite
	part    int
	topicID byte // of the topic that it was sent to
	byWord  bool // its partition began at an operator's offset, and had read nothing
	applied bool
	offset  int64
}

type journalDelete struct {
	purgatory.JournalDelete
	part    int
	topicID byte
	by      member
}

// id is the topic id as brokers tell it.
func (j *journal) id() offsets.TopicID { return offsets.TopicID{0xaa, j.topicID} }

func (j *journal) exists() bool { return j.topicID != 0 }

// make makes the topic, empty.
func (j *journal) make(partitions int) {
	j.topicID++
	j.logs = nil
	for range partitions {
		j.logs = append(j.logs, &journalLog{})
	}
}

// notice tells an instance about the journal: that it can be used, that it cannot, or,
// which need not be true, that it is gone.
func (in *instance) notice(what int) {
	s := purgatory.JournalState{Usable: what == 1, TopicID: in.w.journal.id(), MaxBytes: in.w.cfg.JournalMax}
	if what == 2 {
		s.TopicID = offsets.TopicID{}
	}
	in.core.Journals().Tell(ingress, s)
}

// readFacts reads the journal of a partition into a window, as whoever is assigned it and
// was told that the log ends at end.
func (b *brokers) readFacts(p int, window *offsets.Window, epoch int32, end int64, ext offsets.Extension, more ...[]byte) (u *facts.Reader, whole error, err error) {
	log, g := b.logs[p], b.journal.logs[p]
	id := facts.Identity{Identity: b.identity(p), Group: "g", Incarnation: ext.Incarnation}
	u = facts.NewReader(id, window, epoch, end, ext.Journal)
	all := append(g.values[:g.end():g.end()], more...)
	for at := g.start; at < int64(len(all)); at++ {
		if err := u.Add(at, all[at], func(e int32) (int64, error) { return log.endOf(e), nil }); err != nil {
			return u, nil, err
		}
	}
	return u, u.Complain(b.journal.id(), g.start, int64(len(all))), nil
}

// again returns from where on finished commands count again, of a commit that says so, for whoever has read the journal.
func (b *brokers) again(p int, u *facts.Reader, complaint error, committed int64) int64 {
	a := facts.Answer{Complaint: complaint, Until: u.Until(b.journal.logs[p].start)}
	return a.Again(committed)
}

// found is what an assignment would begin with that found this commit, but for what it
// would not believe of its log. Where that would be too little, whole is false.
func (b *brokers) found(p int, c offsets.Committed) (set doneSet, whole bool) {
	metadata, ext, err := offsets.DecodeAll(c.Metadata, b.identity(p), c.Offset)
	valid, epoch := b.logs[p].endOf(c.LeaderEpoch), c.LeaderEpoch
	window := offsets.NewWindow(metadata.Low())
	metadata.Each(func(from, to int64) bool {
		window.FinishRange(from, min(to, valid))
		return true
	})
	whole = err == nil
	if b.journal.exists() && ext.Incarnation != 0 {
		u, complaint, err := b.readFacts(p, window, c.LeaderEpoch, b.logs[p].end(), ext)
		whole, epoch = whole && complaint == nil && err == nil, u.LeaderEpoch()
	}
	if metadata.Low() > valid && epoch >= 0 { // the truncation is noticed, and nothing from there on believed
		window = offsets.NewWindow(valid)
	}
	return setOf(window), whole
}

// restore adds to what an assignment begins with what the journal says, and returns its
// writer. The log lies within the bounds, or did when they were asked for.
func (in *instance) restore(p int, s *offsets.Start, b offsets.Bounds) (*facts.Writer, error) {
	w := in.w
	if s.Incarnation == 0 {
		w.lives++
		s.Extension = offsets.Extension{Incarnation: w.lives}
	}
	id := facts.Identity{Identity: w.identity(p), Group: "g", Incarnation: s.Incarnation}
	if !w.cfg.Journal {
		return facts.NewWriter(id, w.epochs, facts.Restored{}, s.Window), nil
	}
	var tail []facts.Run
	s.Window.Each(func(from, to int64) bool {
		tail = append(tail, facts.Run{From: from, To: to})
		return true
	})
	u, complaint, err := w.readFacts(p, s.Window, s.LeaderEpoch, b.End, s.Extension)
	if err != nil {
		return nil, err
	}
	if complaint != nil && !w.journal.harmed {
		w.fail("an assignment of partition %d finds that its journal lacks something, and nothing was taken: %v", p, complaint)
	}
	if complaint != nil {
		w.say("%s misses records in the journal of %d: %v", in.member, p, complaint)
		for _, e := range w.logs[p].entries {
			e.said = false
		}
	}
	s.LeaderEpoch = u.LeaderEpoch()
	s.Next = max(s.Window.Low(), b.Start)
	s.Again = w.again(p, u, complaint, s.Again)
	return facts.NewWriter(id, w.epochs, u.Restored(complaint == nil, w.journal.logs[p].start, tail), s.Window), nil
}

// send takes over what the core wants written and deleted.
func (in *instance) send(e purgatory.Effects) {
	for _, j := range e.Writes {
		j.Value = slices.Clone(j.Value)
		own := in.partition(int(j.Partition))
		byWord := own != nil && own.byWord
		in.writes = append(in.writes, &journalWrite{JournalWrite: j, part: int(j.Partition), topicID: in.w.journal.topicID, byWord: byWord})
	}
	for _, d := range e.Deletes {
		in.w.journal.deletes = append(in.w.journal.deletes, journalDelete{d, int(d.Partition), in.w.journal.topicID, in.member})
	}
}

// applyToJournal is what happens to the journal, and on the way to it.
func (w *World) applyToJournal(a Action) bool {
	j := &w.journal
	switch a.Kind {
	case JournalHaunt:
		if a.N >= len(j.ghosts) {
			return false
		}
		g := j.ghosts[a.N]
		j.ghosts = append(j.ghosts[:a.N:a.N], j.ghosts[a.N+1:]...)
		return w.record(g)
	case JournalDelete:
		if a.N >= len(j.deletes) {
			return false
		}
		d := j.deletes[a.N]
		j.deletes = append(j.deletes[:a.N:a.N], j.deletes[a.N+1:]...)
		w.deleteRecords(d, a.P == 1)
	case JournalDouble:
		log := j.logs[a.P]
		if int64(a.N) >= log.end()-log.start {
			return false
		}
		log.values = append(log.values, log.values[log.start+int64(a.N)])
	case JournalTruncate:
		log := j.logs[a.P]
		if log.end()-int64(a.N) < log.start {
			return false
		}
		log.values = log.values[:log.end()-int64(a.N)]
		w.harm()
	case JournalTrim:
		log := j.logs[a.P]
		if log.start+int64(a.N) > log.end() {
			return false
		}
		log.start += int64(a.N)
		w.harm()
	case JournalRecreate:
		j.make(w.cfg.Partitions)
		w.harm()
	}
	return true
}

// harm notes that records were taken away. Where the last commit would not complain,
// because it names none of them, what only they said is not said any more.
func (b *brokers) harm() {
	b.journal.harmed = true
	for p, was := range b.group.offsets {
		if was == nil || was.topicID != b.logs[p].topicID {
			continue
		}
		set, whole := b.found(p, was.Committed)
		for _, e := range b.logs[p].entries {
			e.said = e.said && (set.has(e.offset) || !whole)
		}
	}
}

// record is the broker's side of a write, which holds it to the promise: nothing that
// it calls finished is without an outcome.
func (w *World) record(g *journalWrite) bool {
	if g.topicID != w.journal.topicID {
		return false // by an id that is gone
	}
	log := w.journal.logs[g.part]
	g.applied, g.offset = true, log.end()
	log.values = append(log.values, g.Value)
	r, err := facts.Read(g.Value)
	if err == nil {
		err = r.Sound(g.Value, cluster)
	}
	if err != nil {
		w.fail("a record of the journal cannot be read back: %v", err)
		return true
	}
	w.say("the journal of %d has at %d: %v, low %d, epoch %d", g.part, g.offset, r.Kind, r.Low, r.LeaderEpoch)
	if r.TopicID == w.runs.id() {
		w.finishedCopies(g.part, &r)
	}
	if r.TopicID != w.topicID(g.part) {
		return true
	}
	set := offsets.NewWindow(r.Low)
	r.Each(func(from, to int64) { set.FinishRange(from, to) })
	said := setOf(set)
	for o, end := int64(0), w.logs[g.part].endOf(r.LeaderEpoch); o < end; o++ {
		switch e := w.logs[g.part].entries[o]; {
		case !said.has(o) || w.excused(e, r.LeaderEpoch):
		case g.byWord && r.LeaderEpoch < 0 && o < r.Low: // an operator's offset, as in a commit
			e.lost = e.lost || e.written == 0
		default:
			w.fail("LOST: a record of the journal of partition %d calls %d finished, which has no outcome", g.part, o)
		}
	}
	return true
}

// writtenOver says whether an entry that the log does not have any more may be taken
// for another that stood there before a truncation. The journal has facts about the
// other one, and no broker knows any more where the log of their epoch ended.
func (b *brokers) writtenOver(e *entry) bool { return b.journal.exists() && e.epoch > 0 }

// excused says whether an entry may be called finished by who has read up to an epoch.
func (b *brokers) excused(e *entry, epoch int32) bool {
	return e.finished() || b.moved(e) || e.offset < b.logs[e.part].start && (e.reads == 0 || e.epoch > epoch)
}

// deleteRecords is the broker's side of a deletion.
func (w *World) deleteRecords(d journalDelete, refused bool) {
	log := w.journal.logs[d.part]
	var err error
	switch {
	case refused || d.topicID != w.journal.topicID:
		err = errRefused
	case d.Below > log.end():
		err = errRefused
	default:
		log.start = max(log.start, d.Below)
		w.say("the journal of %d begins at %d", d.part, log.start)
	}
	for _, in := range w.insts {
		if in.up && in.member == d.by {
			in.core.Journals().Deleted(d.JournalDelete, err)
		}
	}
}

// applyToWrites is what happens to an instance's oldest write to the journal of a
// partition: those of one partition arrive in their order.
func (in *instance) applyToWrites(a Action) bool {
	for i, g := range in.writes {
		if g.part != a.P || a.Kind == JournalAppend && g.applied {
			continue
		}
		if a.Kind == JournalAppend {
			return in.w.record(g)
		}
		if a.N == 0 && !g.applied {
			return false
		}
		if !g.applied {
			again := *g
			in.w.journal.ghosts = append(in.w.journal.ghosts, &again)
		}
		in.writes = append(in.writes[:i:i], in.writes[i+1:]...)
		in.written(g, a.N > 0, a.N == 2)
		return true
	}
	return false
}

// written gives the core the answer to a write.
func (in *instance) written(g *journalWrite, failed, tooLarge bool) {
	r := facts.Result{Seq: g.Seq, Offset: g.offset, TooLarge: tooLarge}
	if failed {
		r.Err = errRefused
	}
	in.w.say("%s hears that record %d of the journal of %d is written: %v", in.member, g.Seq, g.part, !failed)
	in.core.Journals().Written(g.Assignment, r)
	in.effects()
}

// bounded holds what an instance says will come again after a crash to what would.
func (in *instance) bounded() {
	w := in.w
	for _, v := range in.core.Snapshot().Partitions {
		p := int(v.Partition)
		own, now := in.still(p, v.Epoch), w.group.offsets[p]
		if own == nil || own.halted || own.cut || own.log != w.logs[p] || now == nil || now != own.answered || w.journal.harmed {
			continue
		}
		if now.Offset > own.log.endOf(now.LeaderEpoch) { // the next owner notices the truncation, and begins there
			continue
		}
		set, _ := w.found(p, now.Committed)
		again := int64(0)
		for o, e := range own.held {
			if own.isDone(o) && !set.has(o) && e.offset < own.log.endOf(own.epochRead) {
				again++
			}
		}
		if most := v.Uncommitted + v.BeyondPrefix - v.Journalled; again > most {
			w.fail("BOUND: of partition %d %d records would come again, and %s says %d at most: %+v", p, again, in.member, most, v.Facts)
		}
	}
}
