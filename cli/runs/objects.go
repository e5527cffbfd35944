package runs

import (
	"fmt"

	"layover/offsets"
)

// The objects of -o json stand one a line, told apart by their type. The names are
// documented.

// partitionFacts is the object of a partition.
type partitionFacts struct {
	Type      string       `json:"type"` // partition
	Topic     string       `json:"topic"`
	Partition int32        `json:"partition"`
	RunsTopic string       `json:"runs_topic"`
	Exists    bool         `json:"exists"` // the runs topic has such a partition
	Orphan    bool         `json:"orphan"` // the ingress topic does not
	LogStart  int64        `json:"log_start"`
	LogEnd    int64        `json:"log_end"`
	Committed *int64       `json:"committed"` // nil: none
	Said      *commitFacts `json:"commit"`    // nil: it says nothing of runs

	Exact    bool        `json:"exact"`
	Copies   int64       `json:"copies"`
	Bytes    int64       `json:"bytes"`
	Runs     int         `json:"runs"`
	Writers  int         `json:"writers"`
	Earliest string      `json:"earliest,omitempty"`
	Latest   string      `json:"latest,omitempty"`
	Within   withinFacts `json:"due_within"`

	Finished int64    `json:"finished"` // and not deleted
	Lost     int64    `json:"lost"`
	Foreign  int64    `json:"foreign"`
	Newer    int64    `json:"newer"`
	Damaged  int64    `json:"damaged"`
	Strange  int64    `json:"strange"`
	Hidden   int64    `json:"hidden"`
	Problems []string `json:"problems"` // for people
}

// withinFacts is how many copies are due within a time from now.
type withinFacts struct {
	Hour int64 `json:"1h"`
	Day  int64 `json:"1d"`
	Week int64 `json:"7d"`
}

// commitFacts is what the commit says of runs.
type commitFacts struct {
	TopicID     string `json:"topic_id"` // empty: what it says cannot be read
	Low         int64  `json:"low"`
	KnownEnd    int64  `json:"known_end"`
	DueBy       string `json:"due_by,omitempty"` // empty: all below the known end
	Directory   *int64 `json:"directory"`        // nil: none
	LeaderEpoch int32  `json:"leader_epoch"`
	Holds       bool   `json:"holds"` // an older release must not read the partition
}

func (p *partition) facts(f *findings) partitionFacts {
	facts := partitionFacts{
		Type: "partition", Topic: p.Topic, Partition: p.Partition, RunsTopic: p.runs.Topic, Exists: f.absent == nil, Orphan: p.orphan,
		LogStart: f.log.Start, LogEnd: f.log.End, Said: p.commitFacts(),
		Exact: f.exact, Copies: f.copies, Bytes: f.bytes, Runs: len(f.runs), Writers: f.writers(),
		Within: withinFacts{f.within[0], f.within[1], f.within[2]}, Finished: f.finished, Lost: f.lost,
		Foreign: f.foreign, Newer: f.newer, Damaged: f.damaged, Strange: f.strange, Hidden: f.hidden(), Problems: p.problems(f),
	}
	if p.committed != nil {
		facts.Committed = &p.committed.Offset
	}
	if f.copies > 0 {
		facts.Earliest, facts.Latest = instant(f.earliestMs), instant(f.latestMs)
	}
	return facts
}

func (p *partition) commitFacts() *commitFacts {
	r := &p.said
	if r.IsZero() {
		return nil
	}
	f := &commitFacts{Low: r.Low, KnownEnd: r.Known, LeaderEpoch: r.LeaderEpoch, Holds: r.Holds}
	if r.TopicID == (offsets.TopicID{}) {
		return f
	}
	f.TopicID, f.DueBy = fmt.Sprintf("%x", r.TopicID), dueBy(r)
	if r.DirectoryEnd > 0 {
		at := r.DirectoryEnd - 1
		f.Directory = &at
	}
	return f
}

// problems are the reasons why the facts of a partition may not be all.
func (p *partition) problems(f *findings) []string {
	all := []string{}
	for _, err := range []error{p.unsaid, f.directory, f.journal, f.unread} {
		if err != nil {
			all = append(all, err.Error())
		}
	}
	return all
}

// totalFacts comes last.
type totalFacts struct {
	Type       string   `json:"type"` // total
	Partitions int      `json:"partitions"`
	Exact      bool     `json:"exact"`
	Copies     int64    `json:"copies"`
	Bytes      int64    `json:"bytes"`
	Runs       int64    `json:"runs"`
	Latest     string   `json:"latest,omitempty"`
	Finished   int64    `json:"finished"`
	Safe       *bool    `json:"downgrade_safe"` // nil: not known
	Missing    []string `json:"missing"`        // for people
}

func (v *verdict) facts() totalFacts {
	f := totalFacts{
		Type: "total", Partitions: v.partitions, Exact: v.exact, Copies: v.copies, Bytes: v.bytes, Runs: v.runs, Finished: v.finished,
		Missing: append(v.missing(), v.unknown()...),
	}
	if v.copies > 0 {
		f.Latest = instant(v.latestMs)
	}
	switch safe := len(f.Missing) == 0; {
	case safe || len(v.missing()) > 0:
		f.Safe = &safe
	}
	if f.Missing == nil {
		f.Missing = []string{}
	}
	return f
}
