package dlq

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/process"
	"layover/delay"
)

// place is where a letter lies.
type place struct {
	topic     string // "": the dead-letter topic of the settings
	partition int32
	offset    int64
}

// parsePlace reads PARTITION-OFFSET. The topic may stand before it, as in layover-redriven.
func parsePlace(text string) (p place, err error) {
	parts := strings.Split(text, "-")
	if n := len(parts); n >= 2 {
		partition, ok1 := parseNumber(parts[n-2], 32)
		offset, ok2 := parseNumber(parts[n-1], 64)
		if ok1 && ok2 {
			return place{strings.Join(parts[:n-2], "-"), int32(partition), offset}, nil
		}
	}
	return p, fmt.Errorf("%q: want PARTITION-OFFSET, such as 0-1203: list prints them", text)
}

// show prints one letter.
func (c *command) show(ctx context.Context, p place) error {
	n, offset := p.partition, p.offset
	if p.topic != "" && p.topic != c.cfg.DLQTopic {
		return fmt.Errorf("%s-%d-%d: this is the dead-letter topic %q: choose the other with --from", p.topic, n, offset, c.cfg.DLQTopic)
	}
	from, log, err := c.survey(ctx)
	if err != nil {
		return err
	}
	id := delay.ID(c.cfg.DLQTopic, n, offset)
	if int(n) >= len(log) {
		return fmt.Errorf("%s: topic %q has the partitions 0 to %d", id, c.cfg.DLQTopic, len(log)-1)
	}
	switch at := &log[n]; {
	case at.Err != nil:
		return at.Err
	case offset >= at.Stable && offset < at.End:
		return fmt.Errorf("%s: it is behind an open transaction, and can be read when that has ended", id)
	case offset < at.Start || offset >= at.Stable:
		return fmt.Errorf("%s: partition %d has the offsets from %d on, below %d", id, n, at.Start, at.Stable)
	}
	var found *kgo.Record
	err = from.each(ctx, stretches{n: {offset, offset}}, func(c *chunk) error {
		for _, r := range c.records {
			found = r
		}
		return nil
	})
	if err != nil {
		return err
	}
	if found != nil {
		l, fault := read(found, c.names)
		if c.json {
			return process.WriteJSON(c.out, c.facts(&l, fault))
		}
		c.sayLetter(&l, fault)
		return nil
	}
	return fmt.Errorf("%s: no record is there: compacted away, or of a transaction", id)
}

// fate is what redrive does with a letter, for people.
func (c *command) fate(l *letter) string {
	switch why := c.obstacle(l); why {
	case none:
		return fmt.Sprintf("writes it to %s/%d again", l.origin.Topic, l.origin.Partition)
	case otherGroup:
		return "passes it over, as it is of another group; --any-group takes it"
	case otherTopic:
		return "passes it over, as LAYOVER_INGRESS_TOPICS does not have its topic"
	case cancels:
		return "passes it over, as it is a cancel: the record that it was to end has been delivered or not"
	case reference:
		return "passes it over, as it stands for a batch: the records are in the ingress topic alone"
	default:
		return "passes it over, as the value is missing: the whole record is in the ingress topic alone"
	}
}

// sayLetter prints a letter for people.
func (c *command) sayLetter(l *letter, fault string) {
	c.say("%s, written %s\n", l.id(), process.Clock(l.Timestamp))
	line := func(name, format string, args ...any) { c.say("  %-10s %s\n", name, fmt.Sprintf(format, args...)) }
	if fault != "" {
		line("problem", "no dead letter of Layover: %s", fault)
	} else {
		c.sayErrors(l, line)
	}
	if c.payload {
		line("key", "%s", quoted(l.Key))
		line("value", "%s", quoted(l.Value))
		for _, h := range l.Headers {
			if fault != "" || !delay.IsError(h.Key) {
				line("header", "%s: %s", strconv.Quote(h.Key), quoted(h.Value))
			}
		}
		return
	}
	line("payload", "key %s, value %s, %s; --payload prints them", size(l.Key), size(l.Value), process.Count(int64(len(l.Headers)), "header"))
}

// sayErrors prints what the error headers say.
func (c *command) sayErrors(l *letter, line func(name, format string, args ...any)) {
	line("was", "%s/%d@%d, layover-id %s", l.origin.Topic, l.origin.Partition, l.origin.Offset, l.source())
	line("for", "%s", targetOf(l, c.cfg))
	line("group", "%s", plain(l.group))
	line("died", "%s", process.Clock(l.at))
	line("reason", "%s: %s", l.reason, meaning(l.reason))
	line("message", "%s", l.message)
	if l.batch {
		line("stands for", "%s without an outcome, of the batch of the offsets %d to %d", process.Count(l.records, "record"), l.origin.Offset, l.last)
	}
	if l.dropped {
		line("value", "dropped: %s takes the letter only without it", l.Topic)
	}
	line("redrive", "%s", c.fate(l))
}

// plain is text without quotes where it needs none.
func plain(text string) string {
	if q := strconv.Quote(text); q != `"`+text+`"` {
		return q
	}
	return text
}

// quoted is bytes for a terminal: on one line, with escapes for all that a terminal might
// obey, and for what is not UTF-8.
func quoted(b []byte) string {
	if b == nil {
		return "null"
	}
	return strconv.Quote(string(b))
}

// size is how long bytes are.
func size(b []byte) string {
	if b == nil {
		return "null"
	}
	return process.Count(int64(len(b)), "byte")
}

// letterFacts is the one object of show. The names are documented.
type letterFacts struct {
	Topic      string `json:"topic"`
	Partition  int32  `json:"partition"`
	Offset     int64  `json:"offset"`
	At         string `json:"at,omitempty"`
	ID         string `json:"id,omitempty"` // of the record that it was
	Target     string `json:"target,omitempty"`
	Group      string `json:"group,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
	LastOffset *int64 `json:"last_offset,omitempty"`
	Records    *int64 `json:"records,omitempty"`
	Dropped    bool   `json:"value_dropped"`
	PassedOver string `json:"passed_over"` // the reason; "" for a letter that redrive takes
	Problem    string `json:"problem,omitempty"`

	Payload *payloadFacts `json:"payload,omitempty"` // with --payload
}

// payloadFacts are what the record's producer wrote.
type payloadFacts struct {
	Key     *textFacts    `json:"key"`
	Value   *textFacts    `json:"value"`
	Headers []headerFacts `json:"headers"` // without the error headers
}

// textFacts are bytes: as text where that is all printable, else as base64.
type textFacts struct {
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

// headerFacts is one header.
type headerFacts struct {
	Name  textFacts  `json:"name"`
	Value *textFacts `json:"value"`
}

// facts is a letter for machines.
func (c *command) facts(l *letter, fault string) letterFacts {
	f := letterFacts{Topic: l.Topic, Partition: l.Partition, Offset: l.Offset, PassedOver: string(foreign), Problem: fault}
	if fault == "" {
		f.At, f.ID, f.Target, f.Group = process.Clock(l.at), l.source(), targetOf(l, c.cfg), plain(l.group)
		f.Reason, f.Message, f.Dropped, f.PassedOver = string(l.reason), l.message, l.dropped, string(c.obstacle(l))
	}
	if l.batch && fault == "" {
		f.LastOffset, f.Records = &l.last, &l.records
	}
	if !c.payload {
		return f
	}
	f.Payload = &payloadFacts{Key: textOf(l.Key), Value: textOf(l.Value), Headers: []headerFacts{}}
	for _, h := range l.Headers {
		if fault != "" || !delay.IsError(h.Key) {
			f.Payload.Headers = append(f.Payload.Headers, headerFacts{*textOf([]byte(h.Key)), textOf(h.Value)})
		}
	}
	return f
}

// textOf is nil for null. JSON itself leaves characters as they are that a terminal obeys.
func textOf(b []byte) *textFacts {
	if b == nil {
		return nil
	}
	text := string(b)
	harmless := func(c rune) bool { return unicode.IsPrint(c) || c == '\n' || c == '\t' || c == '\r' }
	if utf8.Valid(b) && strings.IndexFunc(text, func(c rune) bool { return !harmless(c) }) < 0 {
		return &textFacts{Text: &text}
	}
	return &textFacts{Base64: b}
}

// meaning is a reason in words.
func meaning(r delay.Reason) string {
	if words, ok := meanings[string(r)]; ok {
		return words
	}
	return "a reason of another release of Layover"
}

// meanings are the reasons in words, with what mends them.
var meanings = map[string]string{
	"malformed_delay":      "x-delay is none of its forms; correct the producer",
	"malformed_deliver_at": "x-deliver-at is none of its forms; correct the producer",
	"malformed_id":         "x-delay-id is no id; correct the producer",
	"malformed_cancel":     "x-delay-cancel is not true, or has something else beside it; correct the producer",
	"malformed_expire_at":  "x-expire-at is none of its forms; correct the producer",
	"malformed_attempt":    "x-delay-attempt is no number; correct the consumer that wrote the record back",
	"delay_too_long":       "the deadline is beyond LAYOVER_MAX_DELAY; shorten it, or raise that, and without runs the retention",
	"future_timestamp":     "the record's timestamp is ahead of Layover's clock; mend one of the clocks",
	"no_timestamp":         "a delay without a timestamp to count from; use x-deliver-at, or let the broker stamp",
	"target_not_allowed":   "x-deliver-to names a topic that may not be chosen; add it to LAYOVER_TARGETS_ALLOWED",
	"no_target":            "the record names no target, and there is no egress topic; set one of the two",
	"expired":              "its expiry came before it was handed out; redrive takes x-expire-at off",
	"attempts_exhausted":   "as many attempts as its back-off allows have failed; see why the consumer fails",
	"too_many_hops":        "it has passed Layover too often; see whether two of them write to each other",
	"too_large":            "the target refuses a record of this size; raise its max.message.bytes",
	"rejected":             "the target refuses the record for its content; see the message",
	"target_unavailable":   "the target was missing, unreachable or forbidden for too long; bring it back, then redrive",
	"too_large_to_read":    "its batch takes too much memory decompressed; send smaller batches",
	"unreadable":           "its batch cannot be read, and an operator left it out with layover skip",
	"skipped":              "an operator left it out with layover skip; redrive it once the cause is mended",
}
