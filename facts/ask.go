package facts

import (
	"context"
	"time"

	"layover/offsets"
)

// Ask is a partition that begins, whose journal is to be read.
type Ask struct {
	offsets.TopicPartition // of the ingress topic
	ID                     Identity
	Window                 *offsets.Window // what its commit says; what the journal says is added
	LeaderEpoch            int32           // the committed one, -1: none
	LogEnd                 int64           // of the ingress partition
	Committed              offsets.Journal // what the commit names
	// EndOf asks where the ingress log of a leader epoch ends; -1: the broker does not
	// know the epoch.
	EndOf func(ctx context.Context, leaderEpoch int32) (int64, error)
}

// Answer is what reading a journal came to.
type Answer struct {
	Restored    Restored
	LeaderEpoch int32
	// Complaint says what of the named records is missing, or why nothing was read; nil:
	// all is there. What is missing comes again.
	Complaint error
	// Err says why the partition must not be read at all: ErrNewer or ErrTruncated.
	Err                             error
	Records, Bytes, Others, Damaged int64
	Group                           string // another that has records there, "" for none
	Took                            time.Duration
}
