package purgatory

import (
	"math"

	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory/far"
)

// Listing is a directory to be produced to a runs partition; the answer goes to Listed.
type Listing struct {
	offsets.Assignment
	runs.Directory
	ClusterID string
	index     *far.Index
}

// RunsDelete asks for the records of a runs partition below an offset to be deleted; the answer
// goes to Deleted. What is finished stood in the log of LeaderEpoch: where that ends below, others
// may stand there by now, and nothing is to be deleted.
type RunsDelete struct {
	offsets.Assignment
	Below       int64
	LeaderEpoch int32
	index       *far.Index
}

const (
	// listAgainMs is how long after a directory that was refused the next one is written.
	listAgainMs = 1000
	// deleteAgainMs is the least time from one deletion to the next of a partition. Each frees
	// whole segments only.
	deleteAgainMs = 10_000
)

// Listings appends to out the directories that are to be written now: a flush has ended.
func (r *Runs) Listings(out []Listing) []Listing {
	for p := range r.parts.here() {
		m := &p.moved
		if m.index == nil || m.listing || p.src.moving > 0 || len(m.gathered) > 0 || !m.usable || !m.index.WantsDirectory() || r.now.MonotonicMs < m.listsAfter {
			continue
		}
		d, err := m.index.Directory()
		if err != nil { // what others wrote in between is not read yet
			continue
		}
		m.listing = true
		out = append(out, Listing{p.Assignment, d, p.ClusterID, m.index})
	}
	return out
}

// Listed takes the answer to a Listing: the offset where it stands, if it was acknowledged.
func (r *Runs) Listed(l *Listing, acked bool, offset int64) {
	p := r.parts.find(l.TopicPartition, l.Epoch)
	if p == nil || p.moved.index != l.index {
		return
	}
	m := &p.moved
	m.listing = false
	if acked {
		m.doubtful, m.asks = !m.index.Listed(l.LeaderEpoch, offset) || m.doubtful, true
		r.lose(p, m.index.Lost())
		p.commit.dirty = true
		return
	}
	m.index.Unlisted()
	m.listsAfter = r.now.MonotonicMs + listAgainMs
}

// Deletions appends to out what is to be deleted now: all of it is finished, and a restart knows.
func (r *Runs) Deletions(out []RunsDelete) []RunsDelete {
	for p := range r.parts.here() {
		m := &p.moved
		if m.index == nil || r.now.MonotonicMs < m.deleteAfter {
			continue
		}
		if below, ok := m.index.Delete(); ok {
			m.deleteAfter = r.now.MonotonicMs + deleteAgainMs
			out = append(out, RunsDelete{p.Assignment, below, m.index.LeaderEpoch(), m.index})
		}
	}
	return out
}

// Deleted takes the answer to a RunsDelete. A commit says that an older release may read the
// partition once all is deleted, also where nothing else happens any more. A deletion that fails may
// be about another log, so a visit asks which one it is before the next.
func (r *Runs) Deleted(d RunsDelete, err error) {
	if p := r.parts.find(d.TopicPartition, d.Epoch); p != nil && p.moved.index == d.index {
		p.moved.index.Deleted(d.Below, err)
		p.commit.dirty, p.moved.asks = p.commit.dirty || err == nil, p.moved.asks || err != nil
	}
}

// saidOfRuns returns what a commit says of the partition's runs, and the writer of the index that
// says it. Until there is an index it repeats what the last one said, which stays true. Of a log
// that has never held anything nothing is said.
func (p *partition) saidOfRuns() (said offsets.RunsState, of uint64) {
	if p.moved.index == nil {
		return p.Runs, 0
	}
	if said = p.moved.index.State(); said.Known == 0 && !said.Holds {
		return offsets.RunsState{}, p.moved.index.Writer()
	}
	said.TopicID = p.moved.topic
	return said, p.moved.index.Writer()
}

// runsCommitted takes what a successful commit has said of the partition's runs. It returns the
// journal offset from which on records about them are needed, math.MaxInt64 for none.
func (p *partition) runsCommitted(c *offsets.Commit) (needed int64) {
	switch m := &p.moved; {
	case m.index == nil && c.Runs.Holds:
		return 0
	case m.index == nil || m.index.Facts() == nil:
		return math.MaxInt64
	case c.RunsOf != m.index.Writer(): // of another log, perhaps
		return 0
	default:
		m.index.Committed(c.Runs.Low)
		w := m.index.Facts()
		needed = w.Needed(c.Runs.Journal)
		w.KeepUp(needed, p.Facts.Last())
		p.Facts.KeepUp(p.Facts.Needed(c.Journal), w.Last())
		return needed
	}
}
