package purgatory

import (
	"cmp"
	"slices"
	"sort"
)

// failure is why a record goes elsewhere than to its target.
type failure struct {
	reason  string
	message string
	span    span // of a letter by reference
	entries int  // that have it
	// shared: many letters have it, and none of them alone takes its bytes.
	shared bool
}

// failureSize is the accounted size of a failure beside its message, in bytes. Reasons are constants.
const failureSize = 80

func (f *failure) bytes() int64 { return failureSize + int64(len(f.message)) }

// attempt is how a record is sent: the ladder of attempts when a broker refuses it, or calls
// it too large.
type attempt uint8

const (
	together attempt = iota // in a batch with others
	alone                   // in a batch of its own, so that the answer is about this record
	bare                    // alone, without headers of ours (a dead letter: without its value)
)

// entry is a due record on its way out. Its bytes stay in the store.
type entry struct {
	loc     location
	from    *source
	target  *target // where it goes now: its own target, the egress or the dead-letter topic
	failure *failure
	// since is the Clock.AnsweredMs when it was first held, or in flight, of a target; 0: neither yet. What holds it may
	// have begun later: then it counts from there on, see holds.keep.
	since   int64
	size    int32 // bytes it takes in a chunk
	try     attempt
	rehomed bool // moved to its target's own class of chunks
	// admitted: it has had its instant of the catch-up, and is not put back.
	admitted bool
	// refused: the dead-letter topic refused it for its content, in a batch of its own.
	refused bool
}

// weight returns the bytes that a record takes while it waits: of its chunk, of its queue, and of a text of its own.
func (e *entry) weight() int64 {
	weight := weightOf(e.size)
	if e.failure != nil && !e.failure.shared {
		weight += e.failure.bytes()
	}
	return weight
}

// weightOf is the weight of a record without a text that takes size bytes of a chunk.
func weightOf(size int32) int64 { return entrySize + int64(size) }

// note notes where the record of an entry is, if a command may find it.
func (e *entry) note(s *store, w where, at uint64) {
	if e.loc&named != 0 && e.failure == nil {
		s.move(e.loc, w, at)
	}
}

// entrySize is the accounted size of an entry in a queue, in bytes.
const entrySize = 48

// queue is a first-in-first-out queue that also takes entries back at its front.
// Amortised constant time at both ends.
//
// An entry whose record was cancelled is dead. It stays until it is in front, or until more
// than half of the entries are dead. Only at, take and settle see it. Invariant: none is in
// front, and at most half are dead; audit in the tests checks it.
type queue struct {
	memory *room
	store  *store
	buf    []entry
	head   int
	length int   // entries in buf
	count  int   // of them, those that are not dead
	bytes  int64 // that those take, by weight
	kept   bool  // buf counts as kept: the queue is empty
}

// room is the memory of targets, their partitions, and all queues of a core.
type room struct {
	overhead int64 // bytes
	kept     int   // entries that empty queues keep room for, of those that keep it for more than fewEntries
}

func (q *queue) grow() {
	size := max(fewEntries, 2*len(q.buf))
	buf := make([]entry, size)
	for i := range q.length {
		buf[i] = q.buf[(q.head+i)%len(q.buf)]
	}
	q.memory.overhead += int64(size-len(q.buf)) * entrySize
	q.buf, q.head = buf, 0
}

func (q *queue) pushBack(e entry) {
	q.use()
	if q.length == len(q.buf) {
		q.grow()
	}
	q.buf[(q.head+q.length)%len(q.buf)] = e
	q.added(&e)
}

func (q *queue) pushFront(e entry) {
	q.use()
	if q.length == len(q.buf) {
		q.grow()
	}
	q.head = (q.head - 1 + len(q.buf)) % len(q.buf)
	q.buf[q.head] = e
	q.added(&e)
}

func (q *queue) added(e *entry) {
	q.length++
	q.count++
	q.bytes += e.weight()
}

// front returns the oldest entry, valid until the queue changes; nil if empty.
func (q *queue) front() *entry {
	if q.count == 0 {
		return nil
	}
	return &q.buf[q.head]
}

func (q *queue) pop() entry {
	e := q.shift()
	q.lost(e.weight())
	return e
}

// lost notes that an entry of that weight is gone or dead.
func (q *queue) lost(weight int64) {
	q.count--
	q.bytes -= weight
	q.tidy()
}

// shift takes the entry in front, whatever it is.
func (q *queue) shift() entry {
	e := q.buf[q.head]
	q.buf[q.head] = entry{}
	q.head = (q.head + 1) % len(q.buf)
	q.length--
	return e
}

// tidy takes dead entries away from the front, or all where they are more than half, and lets
// a backlog's memory go with the backlog.
func (q *queue) tidy() {
	if q.length > q.count {
		for q.length > q.count && q.store.isGone(q.buf[q.head].loc) {
			q.store.bury(q.shift().loc)
		}
		if q.length > 2*q.count {
			q.remove(func(*entry) bool { return false }, nil)
		}
	}
	q.shrink()
}

// at returns the entry with i others in front of it, valid until the queue changes.
func (q *queue) at(i int) *entry { return &q.buf[(q.head+i)%len(q.buf)] }

// take takes the entry with i others in front of it, which costs a move of each, or of those behind it if they are fewer.
func (q *queue) take(i int) entry {
	e := *q.at(i)
	if i <= q.length/2 {
		for ; i > 0; i-- {
			*q.at(i) = *q.at(i - 1)
		}
		*q.at(0) = e
		return q.pop()
	}
	for ; i < q.length-1; i++ {
		*q.at(i) = *q.at(i + 1)
	}
	*q.at(i) = entry{}
	q.length--
	q.lost(e.weight())
	return e
}

// settle moves the first n entries behind those that have been held for longer. All others are in order. It costs a move
// of each entry that another one passes.
func (q *queue) settle(n int) {
	moved := make([]entry, min(n, q.length))
	for i := range moved {
		moved[i] = *q.at(i)
	}
	slices.SortStableFunc(moved, func(a, b entry) int { return cmp.Compare(a.since, b.since) })
	for i, next := 0, len(moved); len(moved) > 0; i++ {
		if next < q.length && q.at(next).since < moved[0].since {
			*q.at(i) = *q.at(next)
			next++
			continue
		}
		*q.at(i) = moved[0]
		moved = moved[1:]
	}
	q.tidy()
}

// popBack takes the newest entry of a queue that has one.
func (q *queue) popBack() entry {
	for {
		at := (q.head + q.length - 1) % len(q.buf)
		e := q.buf[at]
		q.buf[at] = entry{}
		q.length--
		if q.store.isGone(e.loc) {
			q.store.bury(e.loc)
			continue
		}
		q.lost(e.weight())
		return e
	}
}

const (
	// keptEntries is how many entries an empty queue keeps room for.
	keptEntries = 1024
	// keptInAll is how many all of them do, 384 KiB: there is one for each partition of many targets.
	keptInAll = 8 * keptEntries
	// fewEntries is the least room of a queue, which it keeps in any case: many targets have but one record.
	fewEntries = 4
)

// shrink gives back the memory of an empty queue, if it is much, or others keep much.
func (q *queue) shrink() {
	n := len(q.buf)
	switch {
	case q.length > 0 || n <= fewEntries || q.kept:
	case n > keptEntries || q.memory.kept+n > keptInAll:
		q.free()
	default:
		q.kept = true
		q.memory.kept += n
	}
}

// use is called before a queue gets an entry.
func (q *queue) use() {
	if q.kept {
		q.kept = false
		q.memory.kept -= len(q.buf)
	}
}

// trim gives back the memory of a queue that is empty, however little it is.
func (q *queue) trim() {
	if q.length == 0 && len(q.buf) > 0 {
		q.free()
	}
}

// free gives back the memory of an empty queue.
func (q *queue) free() {
	q.use()
	q.memory.overhead -= int64(len(q.buf)) * entrySize
	q.buf, q.head = nil, 0
}

// refusedLast puts the letters that were refused behind all others, in their order. No letter is dead.
func (q *queue) refusedLast() {
	var refused []entry
	q.remove(func(e *entry) bool { return e.refused }, func(e entry) { refused = append(refused, e) })
	for _, e := range refused {
		q.pushBack(e)
	}
}

// refusedFrom returns the index of the first letter that was refused, where those are behind all others; length: there is
// none.
func (q *queue) refusedFrom() int {
	return sort.Search(q.length, func(i int) bool { return q.at(i).refused })
}

// each visits the entries in order, without dead ones; they may be changed but for their
// weight.
func (q *queue) each(f func(*entry)) {
	for i := range q.length {
		if e := q.at(i); !q.store.isGone(e.loc) {
			f(e)
		}
	}
}

// remove takes out the entries that match, in one pass, and keeps the order; dead ones go
// with them. removed is called behind the pass: with the last record of a target the queue
// may go.
func (q *queue) remove(match func(*entry) bool, removed func(entry)) {
	kept := 0
	var out []entry
	for i := range q.length {
		e := q.at(i)
		switch {
		case q.store.isGone(e.loc):
			q.store.bury(e.loc)
		case match(e):
			q.count--
			q.bytes -= e.weight()
			out = append(out, *e)
		default:
			*q.at(kept) = *e
			kept++
		}
	}
	for i := kept; i < q.length; i++ {
		*q.at(i) = entry{}
	}
	q.length = kept
	q.shrink()
	for _, e := range out {
		removed(e)
	}
}
