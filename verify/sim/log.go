package sim

import "fmt"

// kind is what an offset of a log holds.
type kind uint8

const (
	record    kind = iota
	control        // a transaction marker
	aborted        // of an aborted transaction: no reader gets it
	compacted      // nothing is there any more
	undecided      // of a transaction that is still open
)

// entry is one offset of an ingress log, and what became of it. Only the model
// broker writes here: what the core believes is compared with it.
type entry struct {
	kind       kind
	part       int
	offset     int64
	epoch      int32 // the leader's when it was written
	deadlineMs int64
	passed     bool // asks for no delay
	invalid    bool
	large      bool // a batch that is not read: its letter stands for it
	target     string
	body       string
	id         string
	cancel     bool
	copied     bool // one of several cancels
	expires    bool
	expireMs   int64

	written int      // times it stands in its target or in the dead-letter topic
	reads   int      // times a core took it in
	readMs  int64    // when it last did
	unknown int      // times a core was told that it may or may not have been written
	dropped bool     // by an explicit policy
	lost    bool     // gone from the log before it was read: outside of Layover's power
	gone    bool     // cancelled, replaced or expired; of a cancel: it was carried out, or found nothing
	by      []*entry // commands about it that some assignment read
	unfound bool     // commands may have missed it: it was bound for the dead-letter topic, or its expiry had come
	called  uint64   // the assignments that began before it was called cancelled or replaced
	early   bool     // it was called so before its deadline
	valid   bool     // some assignment found it valid
	// refusedMs is when an assignment last found its deadline too far ahead; 0: none did.
	refusedMs int64
	atMs      int64 // when it was written
	said      bool  // a commit whose answer arrived, and which still stands, says it is finished
}

// finished says whether a commit may call the entry finished.
func (e *entry) finished() bool {
	return e.kind != record || e.lost || e.hasOutcome()
}

// hasOutcome says whether the record was written, or ended otherwise: one whose copy is gone may be in memory, and
// expire there.
func (e *entry) hasOutcome() bool { return e.written > 0 || e.dropped || e.gone }

// allowed is how often the entry may have been written by now. That is once for
// each assignment that read it as unfinished, and once more for each answer that
// left it open whether it was written.
func (e *entry) allowed() int { return e.reads + e.unknown }

func (e *entry) String() string { return fmt.Sprintf("%d@%d", e.part, e.offset) }

// partitionLog is the log of one ingress partition.
type partitionLog struct {
	topicID byte // another number when the topic is deleted and made again
	entries []*entry
	start   int64
	epoch   int32 // the leader's; every truncation begins one
	strange bool  // the group's facts are of unknown epochs: a truncation could not be told
	sick    illness
}

func (l *partitionLog) end() int64 { return int64(len(l.entries)) }

// stable is the last stable offset: what a read_committed reader reads up to.
func (l *partitionLog) stable() int64 {
	for o := l.start; o < l.end(); o++ {
		if l.entries[o].kind == undecided {
			return o
		}
	}
	return l.end()
}

// quiet is one past the last offset that a reader gets to see.
func (l *partitionLog) quiet() int64 {
	for o := l.end() - 1; o >= l.start; o-- {
		if k := l.entries[o].kind; k == record || k == control {
			return o + 1
		}
	}
	return l.start
}

func (l *partitionLog) append(p int, e entry) *entry {
	e.part, e.offset, e.epoch = p, l.end(), l.epoch
	e.body = fmt.Sprintf("%d of topic %d, %d@%d, %0*d", p, l.topicID, p, e.offset, len(e.body), 0)
	if e.id != "" {
		e.body = named(e.id, e.body)
	}
	l.entries = append(l.entries, &e)
	return &e
}

// decide ends the open transaction and writes its marker.
func (l *partitionLog) decide(p int, commit bool) bool {
	open := false
	for _, e := range l.entries[l.start:] {
		if e.kind == undecided {
			open = true
			if e.kind = aborted; commit {
				e.kind = record
			}
		}
	}
	if open {
		l.append(p, entry{kind: control})
	}
	return open
}

// truncate cuts the log off at an offset, as an unclean election does.
func (l *partitionLog) truncate(end int64) {
	for _, e := range l.entries[end:] {
		e.lost = true
	}
	l.entries = l.entries[:end:end]
	l.epoch++
}

// endOf is where what was written up to a leader epoch ends: from there on the log
// is another one than its readers knew. -1 is no epoch.
func (l *partitionLog) endOf(epoch int32) int64 {
	for o := l.start; epoch >= 0 && o < l.end(); o++ {
		if l.entries[o].epoch > epoch {
			return o
		}
	}
	return l.end()
}
