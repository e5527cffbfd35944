package purgatory

import (
	"fmt"
	"slices"

	"layover/journal/facts"
	"layover/offsets"
)

// What the group does in the model: it takes commits, moves partitions and loses the
// beginning of logs.

// ask builds commits and holds each to what is finished.
func (w *world) ask() {
	w.reconcile()
	before := len(w.asked)
	w.asked = w.Commits(w.asked, w.dice.roll(4) == 0)
	for _, c := range w.asked[before:] {
		w.honest(c)
	}
}

// honest reads a commit back: nothing in it is unfinished.
func (w *world) honest(c offsets.Commit) {
	p := &w.parts[c.Partition]
	set, again := w.decode(c)
	for o := int64(0); o < max(p.next, c.Low); o++ {
		if set.Finished(o) && !p.done[o] {
			w.Fatalf("commit of %d@%d says that %d is finished", c.Partition, c.Low, o)
		}
	}
	w.coversPairs(p, set, again)
}

// decode returns the finished set of a commit, and from which offset on commands count again.
func (w *world) decode(c offsets.Commit) (*offsets.Window, int64) {
	id := modelID
	id.Partition = c.Partition
	set, ext, err := offsets.DecodeAll(c.Metadata, id, c.Low)
	if err != nil {
		w.Fatalf("commit of %d@%d: %v", c.Partition, c.Low, err)
	}
	return set, ext.Again
}

// coordinate answers the oldest commit: 0 to 2 takes it, 3 refuses, 4 fences.
func (w *world) coordinate(how int) {
	if len(w.asked) == 0 {
		return
	}
	c := w.asked[0]
	w.asked = w.asked[1:]
	r := offsets.CommitResult{Commit: c}
	if how >= 3 {
		r.Err, r.Fenced = fmt.Errorf("refused"), how == 4
	} else if p := &w.parts[c.Partition]; p.epoch == c.Epoch { // a fenced assignment's commit is not taken
		p.commit = c
	} else {
		r.Err = fmt.Errorf("fenced")
	}
	w.Committed(r)
}

// move is a rebalance: it assigns, revokes, ends an assignment after its final commit,
// or takes it away without one.
func (w *world) move(no, how int) {
	p, tp := &w.parts[no], partitionOf(int32(no))
	switch {
	case !p.assigned:
		w.epochs++
		low := p.commit.Low
		set := offsets.NewWindow(0)
		p.again = 0
		p.done = map[int64]bool{}
		if p.commit.Metadata != "" {
			set, p.again = w.decode(p.commit)
		}
		p.stableEnd = []int64{0, p.end(), int64(w.dice.roll(logLength))}[w.dice.roll(3)]
		p.ids, p.barrier = newIDModel(), barrierModel{readMs: w.at.AnsweredMs, shut: max(low, p.start) < p.stableEnd}
		for o := range int64(logLength) {
			p.done[o] = set.Finished(o)
		}
		for o := low; o < p.start; o++ {
			p.done[o] = true
		}
		p.narrow = w.dice.roll(2) == 0
		p.assigned, p.revoked, p.epoch, p.next = true, false, w.epochs, max(low, p.start)
		w.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: tp, Epoch: p.epoch}, Facts: incarnated(int32(no), set), TopicID: modelID.TopicID, ClusterID: modelID.ClusterID,
			Window: set, Next: p.next, Committed: w.dice.roll(3) == 0, StableEnd: p.stableEnd, Again: p.again})
		w.follow()
	case how == 0:
		w.sweep(no)
	case !p.revoked:
		w.Revoke(tp, p.epoch)
		p.revoked = true
	default:
		if c, ok := w.Final(tp, p.epoch); ok {
			w.honest(c)
			if how == 1 {
				p.commit = c
			}
			w.Committed(offsets.CommitResult{Commit: c})
		}
		w.sweep(no)
	}
}

// incarnated is a writer whose commits have room for an extension.
func incarnated(no int32, set *offsets.Window) *facts.Writer {
	id := modelID
	id.Partition = no
	return facts.NewWriter(facts.Identity{Identity: id, Incarnation: 42}, 1, facts.Restored{}, set)
}

func (w *world) sweep(no int) {
	w.Sweep(offsets.Assignment{TopicPartition: partitionOf(int32(no)), Epoch: w.parts[no].epoch})
	w.parts[no].assigned, w.parts[no].ids = false, idModel{}
}

func (w *world) logStart(p *partitionModel, start int64) {
	p.start = max(p.start, min(start, logLength))
	if !p.assigned {
		return
	}
	no := int32((slices.IndexFunc(w.parts[:], func(q partitionModel) bool { return q.epoch == p.epoch })))
	w.LogStart(partitionOf(no), p.epoch, p.start)
	for ; p.next < p.start; p.next++ {
		p.done[p.next] = true
	}
}
