package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/journal"
	"layover/journal/facts"
	"layover/offsets"
)

// entry is one record of a journal, decoded.
type entry struct {
	*kgo.Record
	said  facts.Record
	bad   error  // why it has no facts: facts.ErrForeign, ErrDamaged or ErrNewer
	whose string // the owner, "" for this partition in this group
	// copies is whether it is about the copies in the partition's runs.
	copies bool

	above, runs int64
	first, last int64 // finished offsets above its low offset
}

// scan reads the journal from its log start to its stable end. An error is f's, or one
// of reading.
func (p *partition) scan(ctx context.Context, b *brokers, f func(*entry) error) error {
	at := p.journal
	ends := map[int32][2]int64{at.Partition: {p.records.Start, p.records.Stable}}
	var failed error
	err := journal.Scan(ctx, b.Opts, at.Topic, ends, func(_ int32, r *kgo.Record) error {
		failed = f(p.read(r))
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case err != nil: // which names the ACL where one is missing
		return fmt.Errorf("reading its journal: %w", b.Via.Explain(err))
	}
	return nil
}

// read decodes a record as a restart would, and also those that a restart passes over.
func (p *partition) read(r *kgo.Record) *entry {
	e := &entry{Record: r}
	if e.said, e.bad = facts.Read(r.Value); e.bad != nil {
		return e
	}
	cluster := facts.Identity{Group: e.said.Group}
	cluster.ClusterID, cluster.TopicID, cluster.Partition = p.id.ClusterID, e.said.TopicID, e.said.Partition
	if !e.said.Of(cluster) { // its checksum is made with the other cluster's id
		e.whose = "another cluster"
	} else if e.bad = e.said.Sound(r.Value, p.id.ClusterID); e.bad != nil {
		return e
	}
	e.bad = e.said.Each(func(from, to int64) {
		if e.runs == 0 {
			e.first = from
		}
		e.runs, e.above, e.last = e.runs+1, e.above+to-from, to-1
	})
	if e.whose == "" {
		e.copies = p.aboutCopies(&e.said)
		e.whose = p.whose(&e.said)
	}
	return e
}

// whose names the owner of a record of this cluster.
func (p *partition) whose(r *facts.Record) string {
	switch {
	case r.Group != p.id.Group:
		return fmt.Sprintf("group %.100q", r.Group)
	case p.aboutCopies(r):
		if p.runsLog.Err == nil && r.TopicID != p.runsID {
			return fmt.Sprintf("a runs topic with id %x, not of this one", r.TopicID)
		}
		return ""
	case r.TopicID != p.id.TopicID:
		return fmt.Sprintf("topic id %x, not of this topic", r.TopicID)
	case r.Partition != p.id.Partition:
		return fmt.Sprintf("partition %d", r.Partition)
	}
	return ""
}

// ours reports whether a restart may take the record in.
func (e *entry) ours() bool { return e.bad == nil && e.whose == "" && !e.copies }

// ofCopies reports whether a restart may take it in for the partition's runs.
func (e *entry) ofCopies() bool { return e.bad == nil && e.whose == "" && e.copies }

// tally counts the records of a journal by kind.
type tally struct {
	records, bytes                  int64
	snapshots                       int64 // complete ones, of this partition in this group
	foreign, damaged, newer, others int64
	copies                          int64  // about copies in runs
	copiesAt                        int64  // offset of the first of these
	kept                            int64  // records of other owners, which are not deleted
	keeper                          string // owner of the first of these
	newest                          uint64 // incarnation of the last record of this partition in this group, 0: none
}

func (t *tally) add(e *entry, group string) {
	t.records++
	t.bytes += int64(len(e.Value))
	keeper := ""
	switch {
	case errors.Is(e.bad, facts.ErrForeign):
		t.foreign++
		keeper = "not a journal's"
	case errors.Is(e.bad, facts.ErrNewer):
		t.newer++
		keeper = "of a newer release"
	case e.bad != nil:
		t.damaged++
	case e.whose != "":
		t.others++
		if e.said.Group != group {
			keeper = "of " + e.whose
		}
	case e.copies:
		if t.copies++; t.copies == 1 {
			t.copiesAt = e.Offset
		}
	default:
		if e.said.Kind == facts.LastPart {
			t.snapshots++
		}
		t.newest = e.said.Incarnation
	}
	if keeper != "" {
		if t.kept++; t.kept == 1 {
			t.keeper = keeper
		}
	}
}

// life is the sum of the records of one incarnation.
type life struct {
	incarnation uint64
	reader      *facts.Reader
	window      *offsets.Window
	err         error // why the sum is not known

	records, bytes int64
	written        time.Time // timestamp of the last record
}

// begin returns the life of a commit, or of none, before the journal is read.
func (p *partition) begin(incarnation uint64, w *offsets.Window, leaderEpoch int32, named offsets.JournalRange) *life {
	id := p.id
	id.Incarnation = incarnation
	return &life{incarnation: incarnation, window: w, reader: facts.NewReader(id, w, leaderEpoch, p.log.End, named)}
}

// add takes in a record of this life, cut as the ingress log is now.
func (l *life) add(e *entry, endOf facts.EndOf) {
	l.records++
	l.bytes += int64(len(e.Value))
	l.written = e.Timestamp
	if l.err == nil {
		l.err = l.reader.Add(e.Offset, e.Value, endOf)
	}
}

// current returns the life of the group's commit, and the start of a restart before it
// reads the journal. An error is why a restart would not begin.
func (p *partition) current() (*life, offsets.Start, error) {
	start, err := offsets.Resume(*p.committed, p.id.Identity, p.log)
	if err != nil {
		return nil, start, err
	}
	return p.begin(start.Incarnation, start.Window, start.LeaderEpoch, start.Journal), start, nil
}
