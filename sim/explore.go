package sim

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"layover/purgatory"
)

// Exploration is what a search of a small world saw.
type Exploration struct {
	Accidents int // at most in one trace; all searches with fewer are whole
	States    int
	Steps     int  // actions tried
	Depth     int  // every trace of that many actions was tried, or led to a state seen before
	Whole     bool // there are no longer traces
	Drains    int  // states from which the world was let run to its end
	Events    Tally
	Took      time.Duration
	Broken    *Broken
	Trace     Run // that broke it
}

func (e *Exploration) String() string {
	how := sprintf("to depth %d", e.Depth)
	if e.Whole {
		how = sprintf("whole, depth %d", e.Depth)
	}
	return sprintf("at most %d accidents: %s, %d states, %d steps, %d let run to their end, %v\n      %v",
		e.Accidents, how, e.States, e.Steps, e.Drains, e.Took.Round(time.Millisecond), &e.Events)
}

// node is one state, as the action that led to it first.
type node struct {
	parent *node
	action Action
}

func (n *node) trace() (out []Action) {
	for ; n.parent != nil; n = n.parent {
		out = append(out, n.action)
	}
	slices.Reverse(out)
	return out
}

// explorer searches breadth first, so that a state is known by its shortest trace.
type explorer struct {
	start Run
	until time.Time
	seed  maphash.Seed
	ended atomic.Bool

	mu    sync.Mutex
	seen  map[uint64]struct{}
	next  []*node
	found Exploration
}

// Explore tries every trace of actions that can follow the start's, with no
// accident first, then with at most one, two and so on, until the time is over. A
// search that ends before is whole: ordinary steps come to an end by themselves.
// States that are the same are searched once. From one of a hundred states the
// world is let run until it is quiet.
//
// The last search is the one that the time cut short; with it come the whole ones.
func Explore(start Run, budget time.Duration, workers int) (all []*Exploration) {
	until := time.Now().Add(budget)
	for accidents := 0; time.Now().Before(until); accidents++ {
		x := &explorer{start: start, until: until, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{})}
		x.start.Config.Accidents = accidents
		x.search(workers)
		x.found.Accidents = accidents
		all = append(all, &x.found)
		if x.found.Broken != nil {
			break
		}
	}
	return all
}

func (x *explorer) search(workers int) {
	began := time.Now()
	level := []*node{{}}
	for len(level) > 0 && !x.ended.Load() {
		x.next = nil
		var at atomic.Int64
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() { x.work(level, &at) })
		}
		wg.Wait()
		if !x.ended.Load() {
			x.found.Depth++
		}
		level = x.next
	}
	x.found.Whole = !x.ended.Load()
	x.found.States = len(x.seen)
	x.found.Took = time.Since(began)
}

// work expands nodes of a level until there are no more.
func (x *explorer) work(level []*node, at *atomic.Int64) {
	var own Exploration
	for i := at.Add(1) - 1; i < int64(len(level)) && !x.ended.Load(); i = at.Add(1) - 1 {
		x.expand(level[i], &own)
		if time.Now().After(x.until) {
			x.ended.Store(true)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.found.Steps += own.Steps
	x.found.Drains += own.Drains
	x.found.Events.Add(&own.Events)
}

// expand tries everything that can happen in one state.
func (x *explorer) expand(n *node, own *Exploration) {
	w := x.replay(n)
	for _, a := range w.choices() {
		if w == nil {
			w = x.replay(n)
		}
		if !w.Do(a) {
			continue
		}
		own.Steps++
		own.Events[a.Kind]++
		child := &node{n, a}
		if w.err == nil && x.visit(child, w) && own.Steps%100 == 0 {
			own.Drains++
			w.Drain()
		}
		if w.err != nil {
			x.broken(child, w.err)
			return
		}
		w = nil
	}
}

// replay makes the world of a node. Its actions were checked when it was found.
func (x *explorer) replay(n *node) *World {
	w := New(x.start.Config)
	w.unchecked = true
	for _, a := range x.start.Trace {
		w.Do(a)
	}
	for _, a := range n.trace() {
		w.Do(a)
	}
	w.unchecked = false
	return w
}

// visit notes a state; false when it was seen before.
func (x *explorer) visit(n *node, w *World) bool {
	key := maphash.Bytes(x.seed, w.state())
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.seen[key]; ok {
		return false
	}
	x.seen[key] = struct{}{}
	x.next = append(x.next, n)
	return true
}

func (x *explorer) broken(n *node, b *Broken) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.found.Broken == nil {
		x.found.Broken = b
		x.found.Trace = Run{x.start.Config, append(slices.Clone(x.start.Trace), n.trace()...)}
	}
	x.ended.Store(true)
}

// choices returns everything that can happen now. Some of it may turn out not to be
// possible.
func (w *World) choices() (out []Action) {
	add := func(k Kind, i, p, n int) { out = append(out, Action{k, i, p, n}) }
	for i, in := range w.insts {
		add(Expel, i, 0, 0)
		if !in.up {
			add(Start, i, 0, 0)
			continue
		}
		add(Crash, i, 0, 0)
		add(Learn, i, 0, 0)
		add(Sync, i, 0, 0)
		add(Turn, i, 0, 8)
		add(Build, i, 0, 0)
		add(Arrive, i, 0, 0)
		add(Straggle, i, 0, 0)
		add(Answer, i, 0, 0)
		add(Suspend, i, 0, 0)
		for k := range in.flying {
			add(Write, i, 0, k)
			add(Reply, i, k, int(purgatory.Delivered))
			add(Reply, i, k, int(purgatory.Unknown))
		}
		for p := range w.logs {
			for _, k := range []Kind{Assign, Revoke, Final, Sweep} {
				add(k, i, p, 0)
			}
			add(Fetch, i, p, 2)
		}
	}
	for k := range w.late {
		add(Late, 0, 0, k)
	}
	for k := range w.ghosts {
		add(Haunt, 0, 0, k)
	}
	for p := range w.logs {
		add(DeleteRecords, 0, p, 1)
		add(Truncate, 0, p, 1)
	}
	if w.nowMs < startMs+20_000 {
		add(Pass, 0, 0, 10_000)
	}
	return out
}

// state is everything that decides what can happen from here on, written so that
// states which differ only in names, in numbers that are merely counted up, or in
// which instance is which, are the same. What a core is in is taken from what can
// be seen of it and from the model beside it; the order within its queues is left
// out, and two records that wait for the same target are alike.
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
		s.num(log.start, log.end())
		for _, e := range log.entries {
			s.num(int64(e.allowed() - e.written))
			s.flags(e.written > 0, e.lost, e.said, e.dropped)
		}
		s.num(names[w.group.owner[p]])
		s.flags(w.group.offsets[p] != nil)
		if was := w.group.offsets[p]; was != nil {
			s.num(was.Offset)
			s.text(was.Metadata)
		}
	}
	for _, i := range order {
		w.insts[i].encode(s)
	}
	commits := make([]string, 0, len(w.late))
	for _, c := range w.late {
		l := &scribe{}
		w.encodeCommit(l, c, w.group.members[member(c.MemberID)])
		commits = append(commits, string(l.b))
	}
	slices.Sort(commits)
	s.num(int64(len(commits)))
	for _, c := range commits {
		s.text(c)
	}
	ghosts := make([]int64, 0, len(w.ghosts))
	for _, f := range w.ghosts {
		ghosts = append(ghosts, int64(f.part)<<32|f.entry.offset)
	}
	slices.Sort(ghosts)
	s.num(ghosts...)
	return s.b
}

func (w *World) encodeCommit(s *scribe, c *commitMsg, known bool) {
	s.num(int64(c.part), c.Low)
	s.text(c.Metadata)
	s.flags(known, c.Generation == w.group.generation, c.arrived, c.answer.ok, c.answer.fenced, c.answer.tooLarge, c.stale, c.final)
}

func (in *instance) encode(s *scribe) {
	s.flags(in.up)
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
		in.w.encodeCommit(s, c, in.w.group.members[member(c.MemberID)])
		t := in.tenure(c.part)
		s.flags(t != nil && t.epoch == c.Epoch)
	}
	s.num(int64(len(in.intake)))
	for _, b := range in.intake {
		t := in.tenure(b.part)
		s.flags(t != nil && t.epoch == b.epoch)
		s.num(int64(b.part), b.start, int64(len(b.entries)))
		if len(b.entries) > 0 {
			s.num(b.entries[0].offset)
		}
	}
	in.encodeFlying(s)
	snapshot := in.core.Snapshot()
	for _, h := range snapshot.Held {
		s.text(h.Target)
		s.num(int64(h.Verdict), in.w.nowMs-h.SinceMs, int64(h.Records))
	}
	for p, t := range in.tenures {
		s.flags(t != nil)
		if t != nil {
			t.encode(s, in.w.logs[p])
		}
	}
	for _, v := range snapshot.Partitions {
		s.num(int64(v.Partition), int64(v.Parked), int64(v.Due), v.Uncommitted)
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
		t := in.tenure(f.part)
		s.num(int64(f.part), f.entry.offset)
		s.flags(f.applied, t != nil && t.epoch == f.epoch)
	}
}

func (t *tenure) encode(s *scribe, log *partitionLog) {
	s.flags(t.log == log, t.accepted, t.revoking, t.halted, t.stopped, t.cut)
	s.num(t.next, t.read, t.low, t.lastLow)
	for o := t.low; o < max(t.read, t.highest()); o++ {
		s.flags(t.isDone(o))
	}
}
