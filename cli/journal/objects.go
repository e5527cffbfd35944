package journal

import (
	"fmt"

	"layover/cli/process"
)

// The objects of -o json stand one a line, told apart by their type. The names are
// documented. An incarnation is text, as no JSON number has 64 bits.

// partitionFacts is the first object of a partition.
type partitionFacts struct {
	Type      string `json:"type"` // partition
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Journal   string `json:"journal"`
	Exists    bool   `json:"exists"` // the journal has such a partition
	LogStart  int64  `json:"log_start"`
	LogEnd    int64  `json:"log_end"`
	Committed *int64 `json:"committed"` // nil: none
	Commit    string `json:"commit"`    // its content, for people
}

func (s *shown) partitionFacts(commit string) partitionFacts {
	p := s.p
	f := partitionFacts{
		Type: "partition", Topic: p.Topic, Partition: p.Partition, Journal: p.journal.Topic, Exists: !p.absent,
		LogStart: p.records.Start, LogEnd: p.records.Stable, Commit: commit,
	}
	if p.committed != nil {
		f.Committed = &p.committed.Offset
	}
	return f
}

// recordFacts is one record. One without facts has a problem, its place and its size
// alone.
type recordFacts struct {
	Type      string `json:"type"` // record
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"` // in the journal
	Timestamp string `json:"timestamp"`
	Bytes     int    `json:"bytes"`
	Problem   string `json:"problem,omitempty"`
	Of        string `json:"of,omitempty"`    // the owner, unless it is this group and partition
	About     string `json:"about,omitempty"` // copies: it is about the copies in the partition's runs
	*saidFacts
}

type saidFacts struct {
	Kind        string     `json:"kind"`
	Incarnation string     `json:"incarnation"`
	Writer      string     `json:"writer"`
	LeaderEpoch int32      `json:"leader_epoch"`
	Low         int64      `json:"low"`
	Above       int64      `json:"above"` // how many are finished above low
	Runs        int64      `json:"runs"`
	Finished    [][2]int64 `json:"finished,omitempty"` // first and last of each run, where asked
}

func (p *partition) recordFacts(e *entry, runs bool) recordFacts {
	f := recordFacts{
		Type: "record", Topic: p.Topic, Partition: p.Partition,
		Offset: e.Offset, Timestamp: process.Clock(e.Timestamp), Bytes: len(e.Value), Of: e.whose,
	}
	if e.bad != nil {
		f.Problem = badWord(e.bad)
		return f
	}
	if e.copies {
		f.About = "copies"
	}
	r := &e.said
	f.saidFacts = &saidFacts{
		Kind: fmt.Sprint(r.Kind), Incarnation: hex(r.Incarnation), Writer: hex(r.Writer),
		LeaderEpoch: r.LeaderEpoch, Low: r.Low, Above: e.above, Runs: e.runs,
	}
	if runs {
		r.Each(func(from, to int64) { // it was read before
			f.Finished = append(f.Finished, [2]int64{from, to - 1})
		})
	}
	return f
}

// totalFacts comes behind the records of a partition.
type totalFacts struct {
	Type      string `json:"type"` // total
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Records   int64  `json:"records"`
	Bytes     int64  `json:"bytes"`
	Snapshots int64  `json:"snapshots"` // complete ones
	Copies    int64  `json:"copies"`    // about copies in runs
	Others    int64  `json:"others"`
	Foreign   int64  `json:"foreign"`
	Damaged   int64  `json:"damaged"`
	Newer     int64  `json:"newer"`
	Left      int64  `json:"left_out"` // records of incarnations not summed up
}

func (s *shown) totalFacts() totalFacts {
	t := &s.tally
	return totalFacts{
		Type: "total", Topic: s.p.Topic, Partition: s.p.Partition, Records: t.records, Bytes: t.bytes, Snapshots: t.snapshots,
		Copies: t.copies, Others: t.others, Foreign: t.foreign, Damaged: t.damaged, Newer: t.newer, Left: s.more,
	}
}

// lifeFacts is the sum of the records of one incarnation.
type lifeFacts struct {
	Type        string `json:"type"` // incarnation
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Incarnation string `json:"incarnation"`
	OfCommit    bool   `json:"of_commit"`
	Records     int64  `json:"records"`
	Low         *int64 `json:"low"`   // nil: not known
	Above       *int64 `json:"above"` // as low
	Summary     string `json:"summary"`
}

func (s *shown) lifeFacts(l *life) lifeFacts {
	f := lifeFacts{
		Type: "incarnation", Topic: s.p.Topic, Partition: s.p.Partition, Incarnation: hex(l.incarnation),
		OfCommit: l == s.current, Records: l.records, Summary: s.sum(l),
	}
	if l.err == nil {
		low, above := l.window.Low(), int64(l.window.Above())
		f.Low, f.Above = &low, &above
	}
	return f
}

// copiesFacts is the sum of the records about copies in runs.
type copiesFacts struct {
	Type      string `json:"type"` // copies
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Records   int64  `json:"records"`
	Low       *int64 `json:"low"`   // nil: not known
	Above     *int64 `json:"above"` // as low
	Summary   string `json:"summary"`
}

func (s *shown) copiesFacts() copiesFacts {
	l := s.p.copied
	f := copiesFacts{Type: "copies", Topic: s.p.Topic, Partition: s.p.Partition, Records: l.records, Summary: s.sumCopies()}
	if l.err == nil {
		low, above := l.window.Low(), l.window.Above()
		f.Low, f.Above = &low, &above
	}
	return f
}

func hex(n uint64) string { return fmt.Sprintf("%016x", n) }

// object prints one object. An error comes again when the output is flushed.
func (c *command) object(facts any) { _ = process.WriteJSON(c.out, facts) }
