package facts

import "layover/offsets"

// Assigned is a partition as its assignment hands it over, ready to be read.
type Assigned struct {
	offsets.Assignment
	TopicID   offsets.TopicID
	ClusterID string
	Window    *offsets.Window // low offset, and the finished offsets above it
	Facts     *Writer         // writer of its journal; nil: commits do without
	// Next is the first offset that will be read. Unfinished offsets below it are no
	// longer in the log.
	Next      int64
	StableEnd int64 // last stable offset at the assignment
	// LeaderEpoch is the committed one, -1 for none: Window is about records of up to
	// this epoch.
	LeaderEpoch int32
	Again       int64             // finished commands count again from this offset on: see offsets.Extension
	Runs        offsets.RunsState // what the commit says of the partition's runs; its zero value nothing
	Committed   bool              // the start position is committed, so delivering may begin
	Overtaken   bool              // an earlier commit may still arrive, and take back the committed offset
}

// Identity returns the partition that commit metadata is bound to.
func (a *Assigned) Identity() offsets.Identity {
	return offsets.Identity{ClusterID: a.ClusterID, TopicID: a.TopicID, Partition: a.Partition}
}
