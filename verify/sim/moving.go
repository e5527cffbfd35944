package sim

import (
	"math"
	"slices"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"
)

// moving is what an assignment has in the runs topic.
type moving struct {
	opening *opening
	index   *far.Index
	topic   byte      // of the index
	life    int       // of its index, which begins anew with a log that was truncated
	begunMs int64     // when the index began
	loaded  []*loaded // copies that its core took, and that have no outcome
	said    offsets.RunsState
}

// loaded is a copy in memory.
type loaded struct {
	entry  *entry
	copyAt int64
	record *copied // of the log, which may have been truncated since
	atMs   int64   // when it was read
}

// visit is a question about the runs topic on its way.
type visit struct {
	purgatory.Visit
	part    int
	topicID byte
	askedMs int64
}

// opening is where the runs of a partition begin. It is asked one question at a time.
type opening struct {
	stage   int
	topicID byte
	o       far.Opening
}

const (
	openEpoch  = iota // leader epoch, and the journal
	openBounds        // and whether the leader epoch is the same
	openDirectory
)

const (
	horizonMs = 35_000 // what is due later may be moved
	aheadMs   = 40_000 // what is due earlier is read: more than the horizon, so that some are moved again
)

// reads is how visits are made: which copies they are for, which they take, and how much of those.
type reads struct {
	soonMs, aheadMs int64
	room            int64 // bytes
}

// open asks the next question about a partition's runs, or lets them begin.
func (in *instance) open(p int) bool {
	own := in.partition(p)
	if own == nil || own.loading != nil || own.opening == nil || own.revoking {
		return false
	}
	w, x := in.w, own.opening
	log := w.runs.logs[p]
	if x.stage != openEpoch && (x.topicID != w.runs.topicID || x.o.LeaderEpoch != log.epoch) {
		x.stage = openEpoch
	}
	switch x.stage {
	case openEpoch:
		in.openJournal(p, own, log)
	case openBounds:
		x.o.Log, x.stage = offsets.Bounds{Start: log.start, End: log.end()}, openDirectory
	case openDirectory:
		if at := x.o.Said.DirectoryEnd - 1; x.o.Said.TopicID == x.o.TopicID && at >= log.start && at < log.end() && log.entries[at].directory != nil {
			x.o.Directory = log.entries[at].directory
			x.o.DirectoryEnd = log.endOf(x.o.Directory.LeaderEpoch)
		}
		index, lost := far.Open(&x.o)
		if lost > 0 && !w.runs.harmed && !w.journal.harmed {
			w.fail("the runs of %d lack %d offsets, and nothing was taken", p, lost)
		}
		own.opening, own.index, own.topic = nil, index, x.topicID
		own.life++
		own.begunMs = w.nowMs
		w.say("%s begins with the runs of %d: known up to %d, low %d", in.member, p, index.Known(), index.Low())
		in.core.Runs().Begin(in.assignment(p), x.o.TopicID, index, lost)
		in.effects()
	}
	return true
}

func (in *instance) assignment(p int) offsets.Assignment {
	return offsets.Assignment{TopicPartition: partitionOf(p), Epoch: in.partitions[p].epoch}
}

// openJournal asks for what is finished of the runs.
func (in *instance) openJournal(p int, own *partition, log *runsLog) {
	w, x := in.w, own.opening
	w.epochs++
	x.topicID, x.stage = w.runs.topicID, openBounds
	x.o = far.Opening{Writer: w.epochs, TopicID: w.runs.id(), LeaderEpoch: log.epoch}
	id := w.copiesIdentity(p)
	if epoch, ok := in.core.Runs().LeftEpoch(in.assignment(p)); ok {
		x.o.Window = in.core.Runs().Left(in.assignment(p), x.o.TopicID, log.endOf(epoch))
		x.o.Facts = facts.NewJournalOnly(id, w.epochs, facts.Restored{}, x.o.Window)
		return
	}
	said := far.SaidOf(own.said, x.o.TopicID)
	x.o.Said, x.o.SaidEnd = own.said, log.endOf(said.LeaderEpoch)
	x.o.Window = far.Finished(&said, x.o.SaidEnd)
	u := facts.NewReader(id, x.o.Window, said.LeaderEpoch, log.end(), said.Journal)
	g := w.journal.logs[p]
	for at := g.start; at < g.end(); at++ {
		if err := u.Add(at, g.values[at], func(e int32) (int64, error) { return log.endOf(e), nil }); err != nil {
			w.fail("the journal of the runs of %d cannot be read: %v", p, err)
		}
	}
	complaint := u.Complain(w.journal.id(), g.start, g.end())
	if complaint != nil && !w.journal.harmed {
		w.fail("the runs of partition %d lack something in the journal, and nothing was taken: %v", p, complaint)
	}
	x.o.Facts = facts.NewJournalOnly(id, w.epochs, u.Restored(complaint == nil, g.start, nil), x.o.Window)
}

// applyToMoves is what happens to an instance's copies and visits.
func (in *instance) applyToMoves(a Action) bool {
	r := in.core.Runs()
	switch a.Kind {
	case Gather:
		n, _ := r.Gather(in.clock().WallMs+horizonMs, int64(100+300*a.N), 1+a.N)
		return n > 0
	case Move:
		return in.move(1 + a.N)
	case List:
		return in.list()
	case Copy, Copied:
		return in.applyToCopies(a)
	case Visit:
		wanted := r.Visits(nil, in.w.reads.soonMs, in.w.reads.aheadMs)
		if a.N == 3 {
			wanted, _ = r.Cleanings(wanted, far.Cleaning{Small: 300, Few: 4}, 1000, 100)
		}
		in.visit(wanted)
		return len(wanted) > 0
	case Visited:
		return a.N < 9*len(in.visits) && in.visited(a.N/9, a.N%9)
	case Open:
		return in.open(a.P)
	case Clear:
		before := len(in.w.runs.deletes)
		for _, d := range r.Deletions(nil) {
			in.w.runs.deletes = append(in.w.runs.deletes, runsDelete{d, int(d.Partition), in.partitions[d.Partition].topic, in.member})
		}
		return len(in.w.runs.deletes) > before
	case RunsUsable:
		r.Usable(ingress, a.N > 0)
	}
	return true
}

// visit begins visits.
func (in *instance) visit(wanted []purgatory.Visit) {
	for _, v := range wanted {
		in.visits = append(in.visits, &visit{v, int(v.Partition), in.partitions[v.Partition].topic, in.w.nowMs})
	}
}

// move takes over the copies that the core wants written.
func (in *instance) move(n int) bool {
	moves := in.core.Runs().Offer(nil, n)
	for _, m := range moves {
		own := in.still(int(m.Partition), m.Epoch)
		if own == nil || own.revoking || own.opening != nil {
			in.w.fail("%d@%d is moved, though its partition may not", m.Partition, m.Offset)
			return true
		}
		e := own.movable(&m)
		if e == nil {
			in.w.fail("%d@%d is moved, which is finished or was not read", m.Partition, m.Offset)
			return true
		}
		if epochs := in.w.logs[m.Partition].epoch; m.LeaderEpoch != e.epoch && (m.LeaderEpoch >= 0 || epochs < 16) {
			in.w.fail("%v is moved as if it was written in leader epoch %d", e, m.LeaderEpoch)
		}
		in.copies = append(in.copies, &copying{part: int(m.Partition), topicID: in.w.runs.topicID, epoch: m.Epoch, life: own.life, move: m, entry: e, sentMs: in.w.nowMs})
		in.w.say("%s moves %v", in.member, e)
	}
	if n, most := in.core.Runs().Flying(), in.w.cfg.MaxBuffered; most > 0 && n > most {
		in.w.fail("%d copies are in flight, the client has room for %d", n, most)
	}
	return len(moves) > 0
}

// movable returns the entry that a move is about, nil where it may not be moved.
func (own *partition) movable(m *purgatory.Move) *entry {
	if m.Copy > 0 {
		if c := own.copyAt(m.Copy-1, m.Offset); c != nil {
			return c.entry
		}
		return nil
	}
	if e := own.held[m.Offset]; e != nil && !own.isDone(m.Offset) {
		return e
	}
	return nil
}

// is says whether it is the copy at an offset of the runs log, of the record at one of ingress.
func (c *loaded) is(copyAt, offset int64) bool { return c.copyAt == copyAt && c.entry.offset == offset }

func (own *partition) copyAt(copyAt, offset int64) *loaded {
	for _, c := range own.loaded {
		if c.is(copyAt, offset) {
			return c
		}
	}
	return nil
}

// list takes over the directories that the core wants written.
func (in *instance) list() bool {
	listings := in.core.Runs().Listings(nil)
	for i := range listings {
		l := &listings[i]
		l.Directory.Runs = slices.Clone(l.Directory.Runs)
		in.copies = append(in.copies, &copying{part: int(l.Partition), topicID: in.w.runs.topicID, epoch: l.Epoch, listing: l})
	}
	return len(listings) > 0
}

// applyToCopies is what happens to an instance's oldest copy of a partition: they arrive in
// their order.
func (in *instance) applyToCopies(a Action) bool {
	for i, c := range in.copies {
		if c.part != a.P || a.Kind == Copy && c.applied {
			continue
		}
		if a.Kind == Copy {
			return in.w.land(c)
		}
		if a.N == 0 && !c.applied {
			return false
		}
		if !c.applied {
			again := *c
			again.move.Body = slices.Clone(c.move.Body)
			in.w.runs.ghosts = append(in.w.runs.ghosts, &again)
		}
		in.copies = append(in.copies[:i:i], in.copies[i+1:]...)
		in.copied(c, a.N == 0)
		return true
	}
	return false
}

// copied gives the core the answer to a copy, or to a directory.
func (in *instance) copied(c *copying, acked bool) {
	w := in.w
	if c.listing != nil {
		in.core.Runs().Listed(c.listing, acked, c.offset)
		in.effects()
		return
	}
	w.say("%s hears of the copy of %v: %v", in.member, c.entry, acked)
	before := in.core.Snapshot().Moved
	in.core.Runs().Moved(in.clock(), []purgatory.Answer{{ID: c.move.ID, Acked: acked, Offset: c.offset, Bytes: int64(len(c.entry.body))}})
	// The core may not believe an answer whose offset it knows otherwise.
	own := in.still(c.part, c.epoch)
	known := own != nil && own.opening == nil && c.life == own.life
	if own != nil && in.core.Snapshot().Moved > before {
		if !known {
			w.fail("%v counts as moved by an answer to an index that is gone", c.entry)
		}
		own.end(c.entry, c.move.Copy)
	}
	if acked && known && w.group.owner[c.part] == in.member && w.runs.logs[c.part].has(c) { // it counts, whatever became of others
		c.entry.lost = false
	}
	in.effects()
	in.observe()
}

// end notes that a record is finished, or the copy at one offset less.
func (own *partition) end(e *entry, copied int64) {
	if copied == 0 {
		own.done[e.offset] = true
		return
	}
	for i, c := range own.loaded {
		if c.copyAt == copied-1 && c.entry == e {
			own.loaded = append(own.loaded[:i:i], own.loaded[i+1:]...)
			return
		}
	}
}

// visited answers a visit with what is there now: all of it, or n records; 8 is no answer.
func (in *instance) visited(k, n int) bool {
	v := in.visits[k]
	in.visits = append(in.visits[:k:k], in.visits[k+1:]...)
	w, r, own := in.w, in.core.Runs(), in.still(v.part, v.Epoch)
	log := w.runs.logs[v.part]
	if v.topicID != w.runs.topicID {
		if own != nil && own.opening == nil {
			own.opening = &opening{}
			r.Renewed(v.Assignment, w.runs.id())
		}
		return true
	}
	if n == 8 {
		r.Unread(v.Visit)
		return true
	}
	shown := log.shown()
	answer := purgatory.Visited{Visit: v.Visit, Until: min(v.To, shown.until), End: min(log.endOf(v.LeaderEpoch), shown.end), Highest: -1}
	from := max(v.From, log.start) // what is gone is read as nothing, once its start is told
	if n > 0 {
		answer.Until = min(answer.Until, from+int64(n))
	}
	if v.From >= shown.until || v.From == v.To {
		answer.Highest, answer.Until, answer.Ended, answer.LogEnd = shown.epoch, v.From, true, shown.end
	}
	if own != nil && own.opening == nil && log.start > v.From {
		r.LogStart(&v.Visit, log.start)
	}
	if answer.Until <= from && v.From < shown.until && v.From < v.To {
		r.Unread(v.Visit)
		return true
	}
	w.say("%s reads the runs of %d from %d to %d", in.member, v.part, from, answer.Until)
	for o := from; o < answer.Until; o++ {
		c := log.entries[o]
		answer.Highest = max(answer.Highest, c.epoch)
		if c.broken {
			answer.Found = append(answer.Found, far.Found{Offset: o, DeadlineMs: math.MaxInt64, Bytes: 1})
		} else if c.entry != nil {
			answer.Found = append(answer.Found, c.Found)
		}
	}
	answer.Visit.From = min(from, max(answer.Until, v.From))
	in.taken(own, log, &answer)
	return true
}

// taken gives the core the answer to a visit, and loads what it takes.
func (in *instance) taken(own *partition, log *runsLog, v *purgatory.Visited) {
	w := in.w
	take, renewed := in.core.Runs().Take(v, w.reads.aheadMs, w.reads.room, nil)
	if renewed {
		w.say("%s finds that the runs of %d were truncated", in.member, v.Partition)
		own.opening = &opening{}
	}
	for _, i := range take {
		f := &v.Found[i]
		e := log.entries[f.Offset].entry
		l, ok := in.core.Loader(v.Assignment)
		if !ok {
			w.fail("a copy of %v is to be loaded, and its partition is gone", e)
			return
		}
		if slices.ContainsFunc(own.loaded, func(c *loaded) bool { return c.record == log.entries[f.Offset] }) {
			w.fail("the copy of %v at %d is loaded twice", e, f.Offset)
		}
		a := purgatory.Arrival{Offset: e.offset, TimestampMs: startMs, Body: body(e.body), Target: e.target, Label: e.target, DeadlineMs: f.DeadlineMs, LeaderEpoch: log.entries[f.Offset].origin, Reloaded: v.Whole}
		e.reads++
		own.loaded = append(own.loaded, &loaded{e, f.Offset, log.entries[f.Offset], w.nowMs})
		w.say("%s loads the copy of %v at %d", in.member, e, f.Offset)
		l.Load(f.Offset, &a)
	}
	in.effects()
}
