package verify

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// IDHeader is the header that carries a record's id in the ledger. Whoever sends
// writes it into the record; the product takes it for one of the user's.
const IDHeader = "ledger-id"

// Header is one header of a record. A nil Value is null, which is not empty.
type Header struct {
	Name  string
	Value []byte
}

// Record is a record as it lies in a topic, or is to be sent. A nil Key or Value is
// null, which is not empty.
type Record struct {
	Topic      string
	Partition  int32
	Offset     int64
	Timestamp  time.Time
	Key, Value []byte
	Headers    []Header
	Received   time.Time // by the clock of who read it as it came; zero for any other
	// Offered is when it was offered, and of an event when it happened, by a clock that all
	// machines share. Zero means that the clocks that made the stamps are one.
	Offered time.Time
}

// Sent is what is known about a record before it is sent.
type Sent struct {
	ID string
	// Record has the ingress topic, and partition and offset only once it is
	// acknowledged. IDHeader is among its headers.
	Record Record
	// To is the topic it has to arrive in; "" for one that can only be a dead letter.
	To string
	// Dead are the reasons for which the dead-letter topic is right, too.
	Dead []string
	// Due is when it may arrive at the earliest, in whole milliseconds; zero: at any
	// time, because it asks for no delay.
	Due time.Time
	// Expires is from when on it is not handed out; zero: it does not expire. It is dropped
	// then, and not dead-lettered, where Dropped says so.
	Expires time.Time
	Dropped bool
	Timer   Timer
	// Backoff is the one that applies, and Due is left to the ledger: it follows from the
	// headers, and from where the record lies.
	Backoff Backoff
	attempt int64 // that its delivery says; 0: none
}

// outcome of sending a record.
type outcome uint8

const (
	unknown outcome = iota // it may or may not be in the log
	acked                  // it is in the log
	refused                // it is not, or as part of an aborted transaction
)

// entry is one record in the ledger.
type entry struct {
	Sent
	outcome outcome
	excused bool // lost outside of the product's power, if it does not arrive
	repeats int  // times it may arrive more than once
	sayings int  // events that may be about it beside the first
	ackedAt time.Time
}

// Ledger holds what was sent. It is written to while records are on their way, from
// any goroutine.
type Ledger struct {
	deadLetters string // topic

	mu      sync.Mutex
	entries map[string]*entry
	order   []string                 // ids as they were entered
	deleted map[logPosition][]span   // by log: what is gone
	free    int                      // repeats allowed of whatever record
	groups  map[logPosition][]*entry // acknowledged records, for excuses that come later

	events              string // topic, "" for none
	calms               map[logPosition][]calm
	returns             map[logPlace]bool // arrivals that may be of ended records
	freeSayings, unsaid int               // events of whatever record that may come again, or not at all
}

type logPosition struct {
	topic     string
	partition int32
}

// span is the offsets from one up to and without another.
type span struct{ from, to int64 }

func (s span) has(offset int64) bool { return s.from <= offset && offset < s.to }

// NewLedger returns an empty ledger for a product with that dead-letter topic.
func NewLedger(deadLetters string) *Ledger {
	return &Ledger{deadLetters: deadLetters, entries: make(map[string]*entry),
		deleted: make(map[logPosition][]span), groups: make(map[logPosition][]*entry),
		calms: make(map[logPosition][]calm), returns: make(map[logPlace]bool)}
}

// Enter notes a record before it is sent: if the sender never comes back, it stays one
// that may or may not have been written. Ids are unique.
func (l *Ledger) Enter(s Sent) {
	if id, ok := idOf(s.Record.Headers); !ok || id != s.ID {
		panic(fmt.Sprintf("verify: the record of id %q does not carry it", s.ID))
	}
	s.number()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.entries[s.ID] != nil {
		panic(fmt.Sprintf("verify: id %q is entered twice", s.ID))
	}
	l.entries[s.ID] = &entry{Sent: s}
	l.order = append(l.order, s.ID)
}

// Acked notes that the log took a record, and where.
func (l *Ledger) Acked(id string, partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[id]
	e.outcome = acked
	e.Record.Partition, e.Record.Offset = partition, offset
	e.settle()
	at := logPosition{e.Record.Topic, partition}
	l.groups[at] = append(l.groups[at], e)
	for _, s := range l.deleted[at] {
		e.excused = e.excused || s.has(offset)
	}
}

// Refused notes that a record is certainly not to be read: the log did not take it, or
// its transaction was aborted. It must not arrive.
func (l *Ledger) Refused(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[id].outcome = refused
}

// DeletedRange excuses the records of a log from an offset up to and without another:
// whoever had not read them cannot any more. They may have arrived all the same.
func (l *Ledger) DeletedRange(topic string, partition int32, from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, s := logPosition{topic, partition}, span{from, to}
	l.deleted[at] = append(l.deleted[at], s)
	for _, e := range l.groups[at] {
		e.excused = e.excused || s.has(e.Record.Offset)
	}
}

// Truncated excuses the records that a log has acknowledged so far from an offset on. The
// log has lost them, and has others there from now on. The lost ones may have arrived all
// the same.
func (l *Ledger) Truncated(topic string, partition int32, from int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := logPosition{topic, partition}
	l.groups[at] = slices.DeleteFunc(l.groups[at], func(e *entry) bool {
		gone := e.Record.Offset >= from
		e.excused = e.excused || gone
		return gone
	})
}

// Deleted excuses every record that was entered for an ingress topic so far, because
// the topic is gone. One of the same name that is made afterwards begins anew.
func (l *Ledger) Deleted(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.Record.Topic == topic {
			e.excused = true
		}
	}
	for at := range l.groups {
		if at.topic == topic {
			delete(l.groups, at)
			delete(l.deleted, at)
		}
	}
}

// MayRepeat allows a record to arrive so many times more. Unknown ids are ignored.
func (l *Ledger) MayRepeat(id string, times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[id]; e != nil {
		e.repeats += times
	}
}

// MayRepeatAny allows so many repeats more, of whatever records: for a bound that is
// known only as a number.
func (l *Ledger) MayRepeatAny(times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free += times
}

// Len returns how many records were entered.
func (l *Ledger) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.order)
}

// idOf returns the id that headers carry.
func idOf(headers []Header) (string, bool) {
	for _, h := range headers {
		if h.Name == IDHeader {
			return string(h.Value), true
		}
	}
	return "", false
}
