package sim

import (
	"fmt"
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
	how := fmt.Sprintf("to depth %d", e.Depth)
	if e.Whole {
		how = fmt.Sprintf("whole, depth %d", e.Depth)
	}
	return fmt.Sprintf("at most %d accidents: %s, %d states, %d steps, %d let run to their end, %v\n      %v",
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
	whole bool // however long it takes
	seed  maphash.Seed
	ended atomic.Bool

	mu    sync.Mutex
	seen  map[uint64]struct{}
	next  []*node
	found Exploration
}

// Explore tries every trace of actions that can follow the start's. It allows no
// accident first, then at most one, two and so on, until the time is over. A search
// that ends before is whole: ordinary steps come to an end by themselves. The first
// search has all the time it takes. States that are the same are searched once.
// From one of a hundred states the world is let run until it is quiet.
//
// The last search is the one that the time cut short; with it come the whole ones.
func Explore(start Run, budget time.Duration, workers int) (all []*Exploration) {
	until := time.Now().Add(budget)
	for accidents := 0; accidents == 0 || time.Now().Before(until); accidents++ {
		x := &explorer{start: start, until: until, whole: accidents == 0, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{})}
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
		if !x.whole && time.Now().After(x.until) {
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
	if w.err != nil { // the start's trace breaks a promise already
		x.broken(n, w.err)
		return
	}
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

// again is the number of Append for a record without a delay.
const again = 2 * len(delays)

// choices returns everything that can happen now. Some of it may turn out not to be
// possible.
func (w *World) choices() []Action {
	c := choices{w: w}
	for i, in := range w.insts {
		c.add(Expel, i, 0, 0)
		if !in.up {
			c.add(Start, i, 0, 0)
			continue
		}
		c.instance(i, in)
	}
	c.network()
	if w.cfg.Journal {
		c.add(JournalRecreate, 0, 0, 0)
	}
	for p := range w.logs {
		c.log(p)
	}
	if w.nowMs < startMs+20_000 {
		c.add(Pass, 0, 0, 10_000)
	}
	return c.out
}

// choices collects what can happen in a world.
type choices struct {
	w   *World
	out []Action
}

func (c *choices) add(k Kind, i, p, n int) { c.out = append(c.out, Action{k, i, p, n}) }

// instance adds what can happen to an instance that is up.
func (c *choices) instance(i int, in *instance) {
	for _, k := range []Kind{Crash, Learn, Sync} {
		c.add(k, i, 0, 0)
	}
	c.add(Turn, i, 0, 8)
	for _, k := range []Kind{Build, Arrive, Straggle, Answer, Suspend} {
		c.add(k, i, 0, 0)
	}
	c.add(Step, i, 0, -5000)
	if c.w.cfg.IDs > 0 {
		c.add(Reading, i, 0, 1)
		c.add(Reading, i, 0, 0)
	}
	for k := range in.flying {
		c.add(Write, i, 0, k)
		c.add(Reply, i, k, int(purgatory.Delivered))
		c.add(Reply, i, k, int(purgatory.Unknown))
		if c.w.cfg.IDs > 0 { // commands wait for the answer
			for _, class := range []purgatory.Class{purgatory.TooLarge, purgatory.Rejected, purgatory.Unavailable, purgatory.NoRoom} {
				c.add(Reply, i, k, int(class))
			}
		}
	}
	for p := range c.w.logs {
		for _, k := range []Kind{Assign, Load, Revoke, Final, Sweep} {
			c.add(k, i, p, 0)
		}
		c.add(Fetch, i, p, 4)
		if c.w.cfg.Journal {
			c.add(JournalAppend, i, p, 0)
			c.add(JournalAnswer, i, p, 0)
			c.add(JournalAnswer, i, p, 1)
		}
	}
	if c.w.cfg.Journal {
		c.add(Cut, i, 0, 1)
	}
}

// network adds what can arrive that nobody waits for.
func (c *choices) network() {
	for k := range c.w.late {
		c.add(Late, 0, 0, k)
	}
	for k := range c.w.ghosts {
		c.add(Haunt, 0, 0, k)
	}
	for k := range c.w.journal.ghosts {
		c.add(JournalHaunt, 0, 0, k)
	}
	for k := range c.w.journal.deletes {
		c.add(JournalDelete, 0, 0, k)
	}
}

// log adds what can happen to an ingress partition and its journal.
func (c *choices) log(p int) {
	if c.w.cfg.Journal {
		c.add(JournalTruncate, 0, p, 1)
		c.add(JournalTrim, 0, p, 1)
		c.add(JournalDouble, 0, p, 0)
	}
	c.add(DeleteRecords, 0, p, 1)
	c.add(Truncate, 0, p, 1)
	c.add(Elect, 0, p, 0)
	c.add(Recreate, 0, p, 0)
	for sick := range illnesses {
		c.add(Sicken, 0, p, int(sick))
	}
	if log := c.w.logs[p]; (log.epoch > 0 || log.topicID > 1) && log.end() < 4 { // what was lost is written anew
		c.add(Append, 0, p, again)
	}
}
