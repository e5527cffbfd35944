package cluster

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// State is what is known about a topic.
type State uint8

const (
	Pending   State = iota // not asked yet, or nobody answers
	Usable                 // exists
	Missing                // does not exist
	Forbidden              // not authorised to describe it
	TooMany                // not asked about: headers chose too many names
)

// String returns the word that logs and status use.
func (s State) String() string {
	return [...]string{"unknown", "usable", "missing", "forbidden", "one name too many"}[s]
}

// Topic is what is known about one topic.
type Topic struct {
	Name          string
	State         State
	Since         time.Time // of State as it is; zero while it is Pending from the start
	ID            [16]byte
	Partitions    int32
	Led           []int32 // partitions that have a leader
	MaxBatchBytes int32   // max.message.bytes
	// Retention is retention.ms: below 0 nothing is deleted by time, 0 not known.
	Retention time.Duration

	known      time.Time // when an answer last had ID
	configured time.Time // when the configuration was last read
	used       time.Time // when it was last looked up
	pinned     bool      // named in the configuration, never forgotten
	unread     bool      // the log says that the configuration may not be read
	misses     uint8     // answers in a row that say a usable topic is missing
	others     uint8     // answers in a row that give a usable topic another id

	// Of a name that a header chose.
	added      time.Time
	asked      time.Time // zero: never
	batchLimit uint16    // names in its next request; 0: as many as there is room for
}

// missesBelieved is the number of answers in a row that make a known topic missing, or another one. A single answer
// may be of a broker that has just started, or lags behind.
const missesBelieved = 2

// read takes one topic's part of an answer. An error changes the topic only if it says
// whether the topic exists.
func (t *Topic) read(rt *kmsg.MetadataResponseTopic) {
	switch err := kerr.ErrorForCode(rt.ErrorCode); {
	case err == nil:
		if len(rt.Partitions) == 0 {
			t.miss()
			return
		}
		if t.others++; t.State == Usable && t.ID != rt.TopicID && t.others < missesBelieved {
			return
		}
		t.State, t.ID, t.Partitions, t.misses, t.others = Usable, rt.TopicID, int32(len(rt.Partitions)), 0, 0
		led := 0
		for _, p := range rt.Partitions {
			if p.Leader >= 0 {
				led++
			}
		}
		t.Led = make([]int32, 0, led) // a new slice: callers of Lookup have the old one
		for _, p := range rt.Partitions {
			if p.Leader >= 0 {
				t.Led = append(t.Led, p.Partition)
			}
		}
	case IsMissing(err):
		t.miss()
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		t.State, t.misses = Forbidden, 0
	}
}

// IsMissing reports whether a topic's error in metadata says that there is no such topic.
func IsMissing(err error) bool {
	return errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.InvalidTopicException)
}

// miss notes that an answer does not have the topic.
func (t *Topic) miss() {
	if t.misses++; t.State == Usable && t.misses < missesBelieved {
		return
	}
	t.State, t.misses = Missing, 0
}

// nameSize is the memory of a name chosen by a header, beside its letters and partitions.
// That is Topic, and the name's places in the map and in queues.
const nameSize = 376

// bytes returns the memory of a name chosen by a header.
func (t *Topic) bytes() int64 { return nameSize + int64(len(t.Name)) + 4*int64(cap(t.Led)) }
