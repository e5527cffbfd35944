package sim

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"layover/journal/facts"
	"layover/offsets"
)

// state is everything that decides what can happen from here on. States are written alike
// that differ only in names, in which instance is which, or in numbers that are merely
// counted up. The state of a core is taken from what can be seen of it and from the model
// beside it. The order within its queues is left out, and two records that wait for the
// same target are alike.
func (w *World) state() []byte {
	order := make([]int, len(w.insts))
	for i := range order {
		order[i] = i
	}
	one := w.encode(order)
	if len(order) == 2 {
		if two := w.encode([]int{1, 0}); bytes.Compare(two, one) < 0 {
			return two
		}
	}
	return one
}

// scribe appends numbers to a state.
type scribe struct{ b []byte }

func (s *scribe) num(ns ...int64) {
	for _, n := range ns {
		s.b = binary.AppendVarint(s.b, n)
	}
}

func (s *scribe) flags(fs ...bool) {
	for _, f := range fs {
		n := byte(0)
		if f {
			n = 1
		}
		s.b = append(s.b, n)
	}
}

func (s *scribe) text(t string) {
	s.num(int64(len(t)))
	s.b = append(s.b, t...)
}

func (w *World) encode(order []int) []byte {
	s := &scribe{make([]byte, 0, 512)}
	s.num(w.nowMs-startMs, int64(w.accidents))
	names := make(map[member]int64) // who is who in this order
	for at, i := range order {
		in := w.insts[i]
		if in.up {
			names[in.member] = int64(10 * (at + 1))
		}
		for k, m := range in.dead {
			names[m] = int64(10*(at+1) + k + 1)
		}
	}
	for p, log := range w.logs {
		s.num(log.start, log.end(), int64(log.epoch), int64(log.topicID), int64(log.sick))
		for _, e := range log.entries {
			s.num(int64(e.allowed()-e.written), int64(e.epoch))
			s.flags(e.written > 0, e.lost, e.said, e.dropped, e.gone, e.unfound, e.called > 0, e.early, e.valid, e.refusedMs > 0)
			s.num(int64(len(e.by)))
		}
		s.num(names[w.group.owner[p]])
		s.flags(w.group.offsets[p] != nil)
		if was := w.group.offsets[p]; was != nil {
			s.num(was.Offset, int64(was.LeaderEpoch))
			s.text(was.Metadata)
			s.flags(was.late)
		}
	}
	for _, i := range order {
		w.insts[i].encode(s)
	}
	commits := make([]string, 0, len(w.late))
	for _, c := range w.late {
		l := &scribe{}
		w.encodeCommit(l, c)
		commits = append(commits, string(l.b))
	}
	slices.Sort(commits)
	s.num(int64(len(commits)))
	for _, c := range commits {
		s.text(c)
	}
	ghosts := make([]int64, 0, len(w.ghosts))
	for _, f := range w.ghosts {
		ghosts = append(ghosts, int64(f.part)<<48|int64(f.entry.epoch)<<32|f.entry.offset)
	}
	slices.Sort(ghosts)
	s.num(ghosts...)
	w.journal.encode(s, w)
	return s.b
}

// encode writes what the journal holds. A record's writer is left out, and of its
// incarnation whether it is that of the partition's commit.
func (j *journal) encode(s *scribe, w *World) {
	s.num(int64(j.topicID), int64(len(j.deletes)))
	s.flags(j.harmed)
	for _, d := range j.deletes {
		s.num(int64(d.part), int64(d.topicID), d.Below)
	}
	for p, log := range j.logs {
		s.num(log.start, log.end())
		for _, v := range log.values[log.start:] {
			w.encodeRecord(s, p, v)
		}
	}
	s.num(int64(len(j.ghosts)))
	for _, g := range j.ghosts {
		g.encode(s, w)
	}
}

func (g *journalWrite) encode(s *scribe, w *World) {
	s.num(int64(g.part), int64(g.topicID), g.offset)
	s.flags(g.applied, g.byWord)
	w.encodeRecord(s, g.part, g.Value)
}

func (b *brokers) encodeRecord(s *scribe, p int, value []byte) {
	r, err := facts.Read(value)
	if err != nil {
		return
	}
	var life uint64
	if was := b.group.offsets[p]; was != nil {
		_, ext, _ := offsets.DecodeAll(was.Metadata, b.identity(p), was.Offset)
		life = ext.Incarnation
	}
	s.flags(r.Incarnation == life, r.TopicID == b.topicID(p))
	s.num(int64(r.Kind), int64(r.LeaderEpoch), r.Low, r.From)
	r.Each(func(from, to int64) { s.num(from, to) })
}

// current says whether a commit is of an assignment that still is.
func (w *World) current(c *commitMsg) bool {
	return slices.ContainsFunc(w.insts, func(in *instance) bool { return in.still(c.part, c.Epoch) != nil })
}

func (w *World) encodeCommit(s *scribe, c *commitMsg) {
	s.num(int64(c.part), c.Low, int64(c.LeaderEpoch))
	s.text(c.Metadata)
	s.flags(w.group.members[member(c.MemberID)], c.Generation == w.group.generation, w.current(c),
		c.arrived, c.answer.ok, c.answer.fenced, c.answer.tooLarge, c.stale, c.final)
}

func (in *instance) encode(s *scribe) {
	s.flags(in.up)
	s.num(in.skewMs)
	s.flags(in.steppedBack, in.paused)
	in.pacer.encode(s, in.clock().MonotonicMs)
	for _, m := range in.dead {
		s.flags(in.w.group.members[m])
	}
	if !in.up {
		return
	}
	known := in.w.group.members[in.member]
	s.flags(known, in.generation == in.w.group.generation, in.core.Dirty(), in.core.Committing())
	s.num(int64(len(in.queue)))
	for _, c := range in.queue {
		in.w.encodeCommit(s, c)
	}
	s.num(int64(len(in.intake)))
	for _, b := range in.intake {
		s.flags(in.still(b.part, b.epoch) != nil)
		s.num(int64(b.part), b.start, int64(len(b.entries)))
		if len(b.entries) > 0 {
			s.num(b.entries[0].offset)
		}
	}
	in.encodeFlying(s)
	s.num(int64(len(in.writes)))
	for _, g := range in.writes {
		s.flags(in.still(g.part, g.Epoch) != nil)
		g.encode(s, in.w)
	}
	snapshot := in.core.Snapshot()
	for _, c := range snapshot.CatchingUp {
		s.text(c.Label)
		s.num(int64(c.Records), c.UntilMs-in.w.nowMs)
	}
	for _, h := range snapshot.Held {
		s.text(h.Target)
		s.num(int64(h.Verdict), in.w.nowMs-h.SinceMs, int64(h.Records))
	}
	for p, own := range in.partitions {
		s.flags(own != nil)
		if own != nil {
			own.encode(s, in.w.logs[p])
			if in.w.cfg.IDs > 0 {
				own.encodeIDs(s, in.clock().AnsweredMs)
			}
		}
	}
	for _, v := range snapshot.Partitions {
		s.num(int64(v.Partition), int64(v.Parked), int64(v.Due), v.Uncommitted)
		s.num(int64(v.Facts.Mode), v.Facts.Unwritten, v.Facts.Live, int64(v.Facts.InFlight))
		s.flags(v.Confirmed)
	}
}

func (in *instance) encodeFlying(s *scribe) {
	flying := slices.Clone(in.flying)
	slices.SortFunc(flying, func(a, b *produce) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.entry.offset, b.entry.offset), cmp.Compare(a.epoch, b.epoch))
	})
	s.num(int64(len(flying)))
	for _, f := range flying {
		s.num(int64(f.part), f.entry.offset, int64(f.entry.epoch))
		s.flags(f.event != nil, f.applied, in.still(f.part, f.epoch) != nil)
	}
}

func (own *partition) encode(s *scribe, log *partitionLog) {
	s.flags(own.log == log, own.accepted, own.revoking, own.halted, own.stopped, own.cut)
	s.num(own.next, own.read, own.low, own.lastLow, int64(own.known), int64(own.epochRead), own.strange, own.mayHalt, int64(own.notices))
	s.flags(own.byWord, own.rewound, own.loading != nil)
	if own.loading != nil {
		own.loading.encode(s)
	}
	for o, end := own.low, max(own.read, own.highest()); o < end; o++ {
		s.flags(own.isDone(o))
	}
}
