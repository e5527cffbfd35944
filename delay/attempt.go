package delay

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	faultAttempt fault = "want digits, at most 1000000"
	faultHops    fault = "want at most "
)

// drawBits is the size of a draw: as many bits as a float64 holds exactly, so that any
// language can find the same share.
const drawBits = 53

// draw is the number in [0, 1<<53) that chooses how much of a record's wait is taken off.
// It is the upper bits of the FNV-1a hash of topic-partition-offset, behind the finaliser
// of SplitMix64. The hash alone hardly moves its upper bits from one offset to the next.
//
// It is the place of this record in the ingress topic, so that every reader finds the same.
func draw(topic string, partition int32, offset int64) uint64 {
	const start, prime = 0xcbf29ce484222325, 0x100000001b3
	hash := uint64(start)
	for i := range len(topic) {
		hash = (hash ^ uint64(topic[i])) * prime
	}
	var place [len("--2147483648--9223372036854775808")]byte
	for _, c := range appendID(place[:0], "", partition, offset) {
		hash = (hash ^ uint64(c)) * prime
	}
	hash = (hash ^ hash>>30) * 0xbf58476d1ce4e5b9
	hash = (hash ^ hash>>27) * 0x94d049bb133111eb
	return (hash ^ hash>>31) >> (64 - drawBits)
}

// backoff returns the back-off that applies to a record; none where none does. f is the
// fault of an x-delay that can only be meant as one.
func (r *Rules) backoff(c *control) (b Backoff, f fault) {
	switch {
	case c.has(kindDeliverAt):
		return Backoff{}, fine
	case !c.has(kindDelay) && c.other(roleWhen) != nil:
		return Backoff{}, fine
	case !c.has(kindDelay):
		return r.TopicBackoff, fine
	}
	switch value := c.value(kindDelay); {
	case string(value) == BackoffAuto:
		return r.Backoff, fine
	case looksLikeBackoff(value):
		return parseBackoff(value)
	}
	return Backoff{}, fine
}

// attempts returns how many attempts a record has had, by its x-delay-attempt or by a mapped
// header.
func (c *control) attempts() (n int64, f fault) {
	_, value, ok := c.attempt()
	if !ok {
		return 0, fine
	}
	if n, ok = parseCount(value, MaxAttempts); !ok {
		return 0, faultAttempt
	}
	return n, fine
}

// attempt returns the header that counts a record's attempts; not ok: there is none.
func (c *control) attempt() (name string, value []byte, ok bool) {
	if c.has(kindAttempt) {
		return HeaderAttempt, c.value(kindAttempt), true
	}
	if o := c.other(roleAttempt); o != nil {
		return c.word(o).name, c.text(o), true
	}
	return "", nil, false
}

// exhausted returns the Invalid of a record that had so many attempts, nil where one more
// is left.
func (b Backoff) exhausted(c *control, had int64) *Invalid {
	if b.max == 0 || had < b.max {
		return nil
	}
	name, value, _ := c.attempt()
	return &Invalid{ReasonAttemptsExhausted, describe(name, value) + ": back-off " + b.String() +
		" ends with attempt " + strconv.FormatInt(b.max, 10)}
}

// parseBackoff completes d for a record to which a back-off applies. d has the timestamp
// that a wait counts from, as far as there is one, as its deadline.
func (r *Rules) parseBackoff(b Backoff, c *control, d *Decision, record *kgo.Record, nowMs int64) *Invalid {
	had, f := c.attempts()
	if f != fine {
		name, value, _ := c.attempt()
		return malformed(ReasonMalformedAttempt, name, value, f)
	}
	if inv := b.exhausted(c, had); inv != nil {
		if !r.DeliverInvalid {
			return inv
		}
		d.Exhausted = true
	}
	w := c.base(record)
	if w.baseMs <= 0 {
		return noTimestamp(r.subject(c))
	}
	if w.ms = ceilMs(b.last); w.ms > ceilMs(r.MaxDelay) { // whatever this attempt waits
		return r.checkBounds(c, w, w.baseMs, nowMs)
	}
	d.Attempt = min(had+1, MaxAttempts)
	if !d.Exhausted {
		w.ms = b.Wait(d.Attempt, draw(record.Topic, record.Partition, record.Offset))
	}
	d.Delayed, d.DeadlineMs = true, addSat(w.baseMs, w.ms)
	return r.checkBounds(c, w, d.DeadlineMs, nowMs)
}

// base returns the instant that the wait of a back-off counts from. That is the record's
// timestamp, or the deadline of the delivery that it was, whichever is later.
func (c *control) base(record *kgo.Record) wait {
	w := wait{baseMs: record.Timestamp.UnixMilli(), base: baseTimestamp}
	if dueMs, ok := c.due(); ok && dueMs > w.baseMs {
		w.baseMs, w.base = dueMs, baseDue
	}
	return w
}

// Due is when a record is due to which b applies, in Unix milliseconds. Its headers have to
// be valid, and no maximum is looked at. Its topic, partition and offset are known.
func (b Backoff) Due(record *kgo.Record) (ms int64) {
	var c control
	c.read(record.Headers)
	had, _ := c.attempts()
	waitMs := ceilMs(b.last)
	if b.max == 0 || had < b.max {
		waitMs = b.Wait(min(had+1, MaxAttempts), draw(record.Topic, record.Partition, record.Offset))
	}
	return addSat(c.base(record).baseMs, waitMs)
}

// due returns the deadline of the delivery that a record was, by its layover-due. Clients
// that keep timestamps send a record again with the one of its first attempt.
func (c *control) due() (ms int64, ok bool) {
	if !c.has(kindDue) {
		return 0, false
	}
	ms, f := parseInstant(c.value(kindDue), up)
	return ms, f == fine
}

// raised returns the attempt that a delivery is; 0 for one that is none, as no back-off
// applies or no attempt is left.
func (r *Rules) raised(c *control) int64 {
	b, f := r.backoff(c)
	if f != fine || b.IsZero() {
		return 0
	}
	had, f := c.attempts()
	if f != fine || b.max > 0 && had >= b.max {
		return 0
	}
	return min(had+1, MaxAttempts)
}

// carried returns the mapped count of a record, which goes on in x-delay-attempt where a
// delivery does not raise it. The mapped header is gone, and without a count the record
// would begin anew. The count is 0 where there is none, and where x-delay-attempt itself
// goes on.
func (c *control) carried() int64 {
	if c.has(kindAttempt) || c.other(roleAttempt) == nil {
		return 0
	}
	had, _ := c.attempts()
	return had
}

// Exhausted returns why a record with these headers is delivered although its attempts
// have ended; nil where that is not so. Only rules with DeliverInvalid deliver one.
func (r *Rules) Exhausted(headers []kgo.RecordHeader) *Invalid {
	if !r.DeliverInvalid {
		return nil
	}
	var c control
	if r.Names != nil {
		c.mapped = &mapped{names: r.Names}
	}
	c.readAll(headers)
	b, f := r.backoff(&c)
	if f != fine || b.IsZero() {
		return nil
	}
	had, f := c.attempts()
	if f != fine {
		return nil
	}
	return b.exhausted(&c, had)
}

// withoutAttempts removes x-delay-attempt from headers, from the first place on.
func withoutAttempts(headers []kgo.RecordHeader, first int) []kgo.RecordHeader {
	kept := headers[:first]
	for _, h := range headers[first:] {
		if kindOf(h.Key) != kindAttempt {
			kept = append(kept, h)
		}
	}
	return kept
}

// IsBackoff reports whether text is auto, or can only be meant as a back-off.
func IsBackoff(text string) bool { return text == BackoffAuto || looksLikeBackoff([]byte(text)) }
