package facts

import (
	"context"
	"time"

	"layover/offsets"
)

// Ask describes a partition whose assignment begins, for reading its journal.
type Ask struct {
	offsets.TopicPartition // of the ingress topic
	ID                     Identity
	Window                 *offsets.Window      // the set of its commit, to which reading adds the journal's
	LeaderEpoch            int32                // the committed one, -1: none
	LogEnd                 int64                // of the ingress partition
	Committed              offsets.JournalRange // the journal records that the commit names
	// EndOf returns where the ingress log of a leader epoch ends, -1 for an epoch that
	// the broker does not know.
	EndOf func(ctx context.Context, leaderEpoch int32) (int64, error)
}

// Again returns the offset from which on finished commands count again, of a commit that
// says so and whose journal was read with that complaint. Where records are missing, any
// finished command may be one whose record is not finished.
func Again(committed int64, complaint error) int64 {
	if complaint != nil {
		return 0
	}
	return committed
}

// Answer is the result of reading a journal.
type Answer struct {
	Restored    Restored
	LeaderEpoch int32
	// Complaint names the missing records, or says why none could be read; nil: all were
	// found. Offsets of missing records are delivered again.
	Complaint error
	// Err forbids reading the partition at all: ErrNewer or ErrTruncated.
	Err                             error
	Records, Bytes, Others, Damaged int64
	Group                           string // another group with records in this journal, "" for none
	Took                            time.Duration
}
