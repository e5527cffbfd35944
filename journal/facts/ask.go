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

// Answer is the result of reading a journal.
type Answer struct {
	Restored    Restored
	LeaderEpoch int32
	// Until is the offset below which the commit counts for commands: see Reader.Until, and Again.
	Until int64
	// Complaint names the missing records, or says why none could be read; nil: all were
	// found. Offsets of missing records are delivered again.
	Complaint error
	// Err forbids reading the partition at all: ErrNewer or ErrTruncated.
	Err                             error
	Records, Bytes, Others, Damaged int64
	Group                           string // another group with records in this journal, "" for none
	Took                            time.Duration
}

// Again returns the offset from which on finished commands count again, of a commit that
// says so. Where records of the journal are missing, any finished command may be one whose
// record is not finished. So may one that was written after the log had been truncated
// below that offset. The same holds behind an owner that found the journal incomplete.
func (a *Answer) Again(committed int64) int64 {
	if a.Complaint != nil {
		return 0
	}
	return min(committed, a.Until)
}
