package dlq

import (
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
)

// letter is a dead letter: a record of the dead-letter topic, and what its error headers
// say of the record that it was.
type letter struct {
	*kgo.Record
	origin  delay.Origin // without a timestamp
	group   string
	reason  delay.Reason
	message string // printable ASCII on one line
	at      time.Time

	batch         bool  // stands for a whole batch, whose content is in the ingress topic alone
	last, records int64 // of that batch: its last offset, its records without an outcome
	dropped       bool  // the record had a value, and the letter has none
	claim         delay.Claim
	target        string // that the record names; "" for none, noTopic for none that can be
}

// cancel: the letter ends another record, and is none to send again.
func (l *letter) cancel() bool { return l.claim.Cancel && !(l.claim.Schedule && l.dropped) }

// noTopic stands for a target that is no topic's name.
const noTopic = "(no topic's name)"

// maxMessage is how many bytes of a message are taken. Layover writes less than that, but
// anybody may write to the topic.
const maxMessage = 1000

// read reads the error headers of a record. fault is why it is no dead letter of Layover,
// "" for one that is. Of a header that repeats the last one counts. names are the headers of
// other products, nil for none.
func read(r *kgo.Record, names *delay.Names) (l letter, fault string) {
	said := make(map[string][]byte)
	l.Record, l.claim = r, names.Claim(r)
	for _, h := range r.Headers {
		if delay.IsError(h.Key) {
			said[strings.ToLower(h.Key)] = h.Value
		}
	}
	if l.claim.Target != nil {
		if l.target = string(l.claim.Target); !delay.IsTopicName(l.target) {
			l.target = noTopic
		}
		l.claim.Target = nil // it would keep all that the record was fetched with
	}
	for _, name := range required {
		if _, ok := said[name]; !ok {
			return l, "it has no header " + name
		}
	}
	if name := l.take(said); name != "" {
		return l, "its header " + name + " is none that Layover writes"
	}
	return l, ""
}

// required are the headers of every dead letter.
var required = []string{
	delay.HeaderErrorTopic, delay.HeaderErrorPartition, delay.HeaderErrorOffset, delay.HeaderErrorGroup,
	delay.HeaderErrorReason, delay.HeaderErrorMessage, delay.HeaderErrorTimestamp,
}

// take takes the values, and returns the name of one that is malformed.
func (l *letter) take(said map[string][]byte) (malformed string) {
	number := func(name string, bits int) int64 {
		n, err := strconv.ParseInt(string(said[name]), 10, bits)
		if (err != nil || n < 0) && malformed == "" {
			malformed = name
		}
		return n
	}
	l.origin.Topic = string(said[delay.HeaderErrorTopic])
	l.origin.Partition = int32(number(delay.HeaderErrorPartition, 32))
	l.origin.Offset = number(delay.HeaderErrorOffset, 64)
	l.group, l.reason = string(said[delay.HeaderErrorGroup]), delay.Reason(said[delay.HeaderErrorReason])
	l.message = printable(said[delay.HeaderErrorMessage])
	var err error
	l.at, err = time.Parse(time.RFC3339, string(said[delay.HeaderErrorTimestamp]))
	for name, n := range map[string]*int64{delay.HeaderErrorLastOffset: &l.last, delay.HeaderErrorRecords: &l.records} {
		if _, ok := said[name]; ok {
			l.batch, *n = true, number(name, 64)
		}
	}
	value, isSaid := said[delay.HeaderErrorValue]
	l.dropped = isSaid
	switch {
	case malformed != "":
	case !delay.IsTopicName(l.origin.Topic):
		malformed = delay.HeaderErrorTopic
	case l.group == "":
		malformed = delay.HeaderErrorGroup
	case !isReason(string(l.reason)):
		malformed = delay.HeaderErrorReason
	case err != nil:
		malformed = delay.HeaderErrorTimestamp
	case isSaid && string(value) != delay.ValueDropped:
		malformed = delay.HeaderErrorValue
	}
	return malformed
}

// isReason reports whether text has the form of a reason. A newer Layover has reasons that
// this one does not know.
func isReason(text string) bool {
	const longest = 64
	return text != "" && len(text) <= longest && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// id is where the letter lies: topic-partition-offset.
func (l *letter) id() string { return delay.ID(l.Topic, l.Partition, l.Offset) }

// source is where the record lay that the letter was: its layover-id.
func (l *letter) source() string {
	return delay.ID(l.origin.Topic, l.origin.Partition, l.origin.Offset)
}

// printable is text of a header for a terminal: one line of ASCII, cut to maxMessage.
func printable(text []byte) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, string(text[:min(len(text), maxMessage)]))
}
