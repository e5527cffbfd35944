package admin

import (
	"time"

	"layover/cluster/connect"
	"layover/purgatory"
)

// Source gives the present state of the process. Sample is called by requests,
// several at a time; it must return at once, even while Kafka or a lane is stuck.
type Source interface{ Sample() Sample }

// Sample is one look at the process. Its parts may be some milliseconds apart;
// each lane's snapshot is of one instant. Nothing in it is changed afterwards,
// neither by its source nor here.
type Sample struct {
	Version, Revision, GoVersion string

	Mode     string // "at-least-once"
	Started  time.Time
	Draining bool
	// CaughtUp stays true once the process became ready. It becomes so when the first
	// assignment was read up to its stable end, sick partitions apart. It also becomes so
	// when a join assigned nothing, when reading paused, or when Kafka or every ingress
	// topic was away for a while.
	CaughtUp bool

	Group Group
	Kafka Kafka
	// Connection is how Kafka is connected to, and which brokers refuse that.
	Connection connect.Status
	Journal    Journal
	Runs       Runs
	Memory     Memory
	Names      Names
	Replay     Replay
	// Lanes are the snapshots of all lanes, with counters since the start of the
	// process; nil for a lane that has given none yet.
	Lanes []*purgatory.Snapshot
	// Loops is when each of our own loops last turned, by its name. Every one
	// turns about once a second even with nothing to do.
	Loops map[string]time.Time
	// Turns is how often each loop has turned since the start of the process, by its name.
	// Some have nothing to do at times, and do not turn then.
	Turns  map[string]int64
	Pauses []Pause // why reading is paused now; empty: it is not
	// PausedSince is the begin of the present pause, zero without one.
	PausedSince time.Time
	Settings    Settings
	// Preflight is what the checks have found.
	Preflight Preflight
}

// Group is the membership.
type Group struct {
	ID, InstanceID, MemberID string

	Generation int32
	Joined     bool
	Rebalances int64 // since the start of the process
	LastError  string
	LeaseValid bool // the coordinator counts on us still, so delivering is allowed
	Partitions []Assignment
}

// Assignment is one assigned partition as the group member sees it.
type Assignment struct {
	Topic     string
	Partition int32
	Loaded    bool   // its committed offset and log bounds are known
	Stopped   string // why it is not read; "" if it is
	Reason    string // of Stopped, as a stable code
	Since     time.Time
	Trying    bool // stopped, and goes on by itself once the cause is over
	// Leaderless: no broker leads it.
	Leaderless bool
	Next       int64 // offset at which reading is
	End        int64 // of the log; below 0 while it is unknown
	// OldestUnread is when the first unread record was written; zero while that is not
	// known. It is known only of a pause.
	OldestUnread time.Time
	// OpenSince is since when records are known to wait for the transaction at OpenAt; zero: for none.
	OpenSince time.Time
	OpenAt    int64
}

// Kafka is whether brokers answer.
type Kafka struct {
	Answering bool
	Since     time.Time // of Answering as it is; zero if no broker ever answered
	// OthersAnswer: brokers answer other requests than that for the topics.
	OthersAnswer bool
	Err          string            // the last error, "" if there is none
	Missing      []string          // names of configured topics that do not exist
	Faults       []string          // sentences about configured topics that cannot be used
	Unusable     []string          // ingress topics that do not exist or may not be read
	Topics       []TopicState      // topics of the settings that cannot be used
	Warnings     map[string]string // by ingress topic
}

// TopicState is a topic that cannot be used.
type TopicState struct {
	Name   string
	State  string // missing, forbidden or, of a target, mismatched
	Since  time.Time
	Detail string // of mismatched
}

// Journal is the state of the journals, and the cost of reading them since the start
// of the process.
type Journal struct {
	Topics                   []JournalTopic // one for each ingress topic
	Restores, Records, Bytes int64
	Took, Last               time.Duration // all restores, and the last one
}

// JournalTopic is the journal of one ingress topic.
type JournalTopic struct {
	Ingress, Name string
	State         string // usable, missing, forbidden, off, ...
	Warning       string // the mistake in its configuration, "" for none
	Err           string // the last error
}

// Runs is the state of the runs topics.
type Runs struct {
	Topics []RunsTopic // one for each ingress topic
	// OlderSince is since when the group has had a member of a release that knows no runs; zero: the last sync told of none.
	OlderSince time.Time
	// JoiningSince is since when a rebalance goes on, so that nobody knows of its members; zero: none does. At most it
	// takes JoinTakes, or another follows.
	JoiningSince time.Time
	JoinTakes    time.Duration
}

// RunsTopic is the runs topic of one ingress topic.
type RunsTopic struct {
	Ingress, Name string
	State         string // usable, missing, forbidden, refused, ...
	Warning       string // the mistake in its configuration, "" for none
	Err           string // the last error of looking at it
	Off           string // the setting for which nothing is moved, "" for none
	Refused       string // why copies are not written at the moment, "" if they are
	Unread        string // why copies are not read at the moment, "" if they are

	RefusedSince, UnreadSince time.Time

	Elsewhere  bool // Unread is that copies wait in a topic of another name
	Unreadable bool // the right to read it is missing

	There   bool // brokers have said that it exists
	Orphans Orphans
}

// Orphans are the partitions of a runs topic that its ingress topic does not have. Nobody is assigned them.
type Orphans struct {
	Asked      bool      // what is in each of them, and how many partitions the ingress topic has
	Ingress    int32     // partitions of the ingress topic; 0: it does not exist, or may not be looked at
	Partitions []int32   // those with records, in order
	Records    int64     // in them. Copies that wait are at most so many.
	Since      time.Time // when the first record was found
}

// The States of a journal that can be written to, and of one that is not wanted.
const (
	journalUsable = "usable"
	journalOff    = "off"
)

// Replay is the reading of records that were in the log when partitions were assigned,
// most of them parked before. All is 0 once none is left.
type Replay struct {
	Since     time.Time
	Records   int64   // read since then
	Remaining int64   // offsets still to be read
	Rate      float64 // records read a second, of late
}

// Memory is the use of LAYOVER_MAX_PARKED_BYTES, in bytes. Reading pauses below the
// limit, so that fetches on their way have room. Where there are runs, it pauses lower still, so
// that copies have room that are read back; PauseAt grows with those that are in memory. Above
// MovesAt records that are due far off are moved to runs.
type Memory struct{ Used, PauseAt, MovesAt, Limit int64 }

// Names counts the target names that headers chose: those known, and the most that may
// be. Refused is since when names find no room; zero: there is room.
type Names struct {
	Known, Limit int
	Refused      time.Time
}

// Reasons of a Pause.
const (
	PauseBytes      = "bytes"       // memory is at its limit
	PauseDeadLetter = "dead_letter" // the dead-letter topic fails
	PauseTarget     = "target"      // a target's share or patience is used up, without a dead-letter topic
)

func pauseReasons() []string { return []string{PauseBytes, PauseDeadLetter, PauseTarget} }

// Pause is a reason for which reading is paused, and the topic it is about.
type Pause struct{ Reason, Target string }

// Settings are the settings that answers quote, and the label values that exist from
// the start.
type Settings struct {
	Ingress                       []string
	Egress, DeadLetter, OnInvalid string
	Events                        string   // the topic of events, "" for none
	Targets                       []string // the egress topic, and the names and globs allowed
	Reasons                       []string // every code that a reason label may have
	Deliverable                   bool     // every ingress topic has a target for records that name none
	// Principal returns what brokers call Layover, as a word of a command; nil: nobody knows.
	Principal func() string

	Lanes                    int
	CommitInterval, MaxDelay time.Duration
	// Retention is that of each ingress topic by time; below 0 for ever, 0 unknown.
	Retention map[string]time.Duration
	// IngressFlags are the flags with which each ingress topic is made, beside its name.
	IngressFlags map[string]string
}

// kindOf returns the kind of sickness of a topic that is produced to.
func (set *Settings) kindOf(name string) string {
	switch name {
	case set.DeadLetter:
		return SickDeadLetter
	case set.Events:
		return SickEvents
	}
	return SickTarget
}
