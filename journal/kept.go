package journal

import (
	"time"

	"layover/cluster/needs"
	"layover/offsets"
)

// kept is what is known about one topic that is kept. The keeper's loop alone changes it,
// under the keeper's lock.
type kept struct {
	kind          *kind
	ingress, name string // of the ingress topic, and its own
	state         topicState
	watch         bool // it is looked for and read, and not made, grown, judged or written to
	id            offsets.TopicID
	partitions    int32 // 0: the topic does not exist
	maxBatch      int

	wanted   int32           // partitions of the ingress topic, 0: not known
	replicas int16           // of its first partition
	like     []needs.Setting // because of the ingress topic's settings, where they are known
	likeSaid bool            // there was an answer about those since the topic was missed
	misses   int             // answers in a row that did not know the topic

	// ingressHas is how many partitions the ingress topic has, and ingressTold that brokers said so. Unlike wanted it is 0
	// also where nobody may look, and not at the first answer that does not know the topic.
	ingressHas    int32
	ingressTold   bool
	ingressMisses int // such answers in a row
	orphaned      orphaned

	making, growing, using refusal
	unreadable             bool // a right is missing without which nobody reads it

	configured time.Time // when the configuration is read again
	read       bool      // it was read since the topic was found
	reading    refusal   // that the configuration cannot be read
	unsafe     refusal   // the fault of the configuration for which the topic is not used
	warning    string    // any other fault of it, "" for none
	err        string    // the last error
	told       standing
	sharing    sharing
}

// topicState says whether a topic can be used.
type topicState string

const (
	unknown   topicState = "unknown" // not asked yet, or nobody answers
	usable    topicState = "usable"
	missing   topicState = "missing"
	forbidden topicState = "forbidden" // not authorised to describe it or to use it
	illegal   topicState = "illegal name"
	off       topicState = "off"
	refused   topicState = "refused" // in a View alone: it could be used, and is not
)

// refusal is an operation that was refused.
type refusal struct {
	text       string    // "" when it is not, or not any more
	next, said time.Time // the next try, and the last line
}

// say notes a refusal and says whether a line is due.
func (r *refusal) say(text string, now time.Time) bool {
	r.next = now.Add(refusedRetry)
	due := r.text == "" || now.Sub(r.said) >= refusedSay
	r.text = text
	if due {
		r.said = now
	}
	return due
}

// standing is what users of a topic hear of it.
type standing struct {
	usable   bool
	id       offsets.TopicID // zero: it does not exist
	maxBytes int             // of one record, without what is around it in a batch
	// known says whether brokers have told if it exists. It and partitions are 0 of a kind
	// whose users do not count partitions.
	known      bool
	partitions int32
}

// now returns the topic's standing.
func (t *kept) now() (s standing) {
	if t.id != (offsets.TopicID{}) || t.state == usable {
		s = standing{usable: t.inUse(), id: t.id, maxBytes: t.maxBatch - min(batchOverhead, t.maxBatch/4)}
	}
	if t.kind.counted {
		s.known, s.partitions = t.partitions > 0 || t.state == missing || t.state == illegal, t.partitions
	}
	return s
}

// inUse says whether the topic is used. One of a strict kind is not used before all is known
// of it.
func (t *kept) inUse() bool {
	if t.kind.strict && (!t.read || !t.sharing.looked) {
		return false
	}
	return t.served() && t.unsafe.text == "" && t.sharing.refused == ""
}

// served says whether the topic is there, and the keeper's to look after.
func (t *kept) served() bool { return t.state == usable && !t.watch }

// forget forgets what was found out about a topic that is not there any more.
func (t *kept) forget() {
	t.configured, t.read, t.unsafe, t.likeSaid, t.sharing.looked = time.Time{}, false, refusal{}, false, false
}

// wanting says whether the topic is to be made.
func (t *kept) wanting() bool { return t.state == missing && t.wanted > 0 && !t.watch }

// follows says whether the topic's settings depend on those of its ingress topic.
func (t *kept) follows() bool { return t.kind.likeIngress != nil }

// shown is the topic as a View has it.
func (t *kept) shown() Topic {
	s := t.state
	switch {
	case t.watch && s == usable:
		s = off
	case t.sharing.refused != "":
		s = refused
	case s != usable || t.inUse():
	case t.unsafe.text != "":
		s = refused
	case t.reading.text != "":
		s = forbidden
	default:
		s = unknown
	}
	return Topic{Name: t.name, State: string(s), TopicID: t.id, Partitions: t.partitions, Warning: t.complaint(), Error: t.err, Unreadable: t.unreadable, Orphans: t.orphans()}
}

// complaint returns the first fault that an operator should mend, "" for none.
func (t *kept) complaint() string {
	unread := ""
	if t.kind.strict {
		unread = t.reading.text
	}
	for _, s := range []string{t.unsafe.text, t.sharing.refused, t.using.text, t.making.text, unread, t.growing.text, t.warning} {
		if s != "" {
			return s
		}
	}
	return ""
}

// settings are those that the topic is made with.
func (t *kept) settings() []needs.Setting {
	return append(t.kind.config[:len(t.kind.config):len(t.kind.config)], t.like...)
}
