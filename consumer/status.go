package consumer

import (
	"time"

	"layover/offsets"
)

// View is one row of the ownership table, for status.
type View struct {
	offsets.Assignment
	Loaded  bool
	Stopped string    // why it is not read, "" if it is
	Reason  Reason    // of Stopped, for programs
	Since   time.Time // of Stopped
	Trying  bool      // it goes on by itself once the cause is over
	Next    int64
	End     int64 // of the log, -1 while it is unknown
	// OldestUnread is when the first unread record was written, zero where that is not
	// known. It is asked for only while reading is paused.
	OldestUnread time.Time
	Open         OpenTransaction // behind which records wait
}

// Status is the state of the consumer for status and metrics.
type Status struct {
	MemberID   string
	Generation int32
	Joined     bool // a join has completed, and its membership is not lost since
	Rebalances int64
	Partitions []View
	LastError  string // of the group, "" after a join
}

// Status returns a copy of the ownership table, the member's identity and the group's last
// error.
func (c *Consumer) Status() Status {
	s := c.table.status(time.Now())
	s.LastError = c.group.lastError()
	return s
}
