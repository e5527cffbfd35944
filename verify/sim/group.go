package sim

import (
	"layover/offsets"
)

// member is one life of an instance as the coordinator knows it; "" is nobody.
type member string

// committed is what the group holds for a partition.
type committed struct {
	offsets.Committed
	topicID byte
	byWord  bool // an operator's, or where a group first started: nothing was read
	late    bool // on a connection that was cut: a newer commit may have come before it
}

// group is the coordinator's side. It does what a real one does, and no more. A
// commit is taken from any known member of the current generation, whoever owns
// the partition.
type group struct {
	generation int32
	members    map[member]bool
	owner      []member // by partition
	offsets    []*committed
	// pending are offsets of a transaction that has not ended: a stable fetch waits.
	pending []*committed
	// maxMetadata is the broker's limit in characters.
	maxMetadata int
	// byName: commits are taken by topic name, whatever topic id they carry, as by
	// brokers before version 10 of the request.
	byName bool
}

// answer is what the coordinator says to a commit.
type answer struct {
	ok       bool
	fenced   bool
	tooLarge bool
}

// commitMsg is one commit on its way: built and stamped by an instance, or already
// at the coordinator, whose answer is on its way back.
type commitMsg struct {
	offsets.Commit
	part    int
	topicID byte
	facts   doneSet // what it says, read back
	knows   doneSet // what its sender knew to be finished: the journal may have more, of others
	arrived bool
	taken   *committed // what it became, nil: it was not taken
	answer  answer
	byWord  bool
	stale   bool // built before the lease ran out: its answer proves nothing
	final   bool
}

// judge is the coordinator's answer, by its rules.
func (g *group) judge(c *commitMsg, log *partitionLog) answer {
	switch {
	case !g.members[member(c.MemberID)] || c.Generation != g.generation:
		return answer{fenced: true}
	case len(c.Metadata) > g.maxMetadata:
		return answer{tooLarge: true}
	case !log.sick.takesCommits():
		return answer{}
	case !g.byName && c.topicID != log.topicID:
		return answer{}
	}
	return answer{ok: true}
}

// join makes a member known, which begins a generation.
func (g *group) join(m member) {
	g.members[m] = true
	g.generation++
}

// expel takes a member and its partitions out of the group.
func (g *group) expel(m member) {
	delete(g.members, m)
	for p := range g.owner {
		if g.owner[p] == m {
			g.owner[p] = ""
		}
	}
	g.generation++
}

// doneSet is a finished set: everything below low, and the offsets in above.
type doneSet struct {
	low   int64
	above map[int64]bool
}

// setOf reads a window. A stretch of more than a model's log is a bug.
func setOf(w *offsets.Window) doneSet {
	f := doneSet{low: w.Low(), above: make(map[int64]bool)}
	w.Each(func(from, to int64) bool {
		for o := from; o < to; o++ {
			f.above[o] = true
		}
		return true
	})
	return f
}

func (f doneSet) has(offset int64) bool { return offset < f.low || f.above[offset] }

// upTo is what is left of the set in a log that was truncated there. The first record of a later leader epoch removes
// the rest.
func (f doneSet) upTo(end int64) doneSet {
	left := doneSet{low: min(f.low, end), above: make(map[int64]bool)}
	for o := range f.above {
		if o < end {
			left.above[o] = true
		}
	}
	return left
}

// end is one past the highest fact.
func (f doneSet) end() int64 {
	end := f.low
	for o := range f.above {
		end = max(end, o+1)
	}
	return end
}
