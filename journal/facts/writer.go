package facts

import (
	"math"

	"layover/offsets"
)

// Mode is where a partition's finished set is kept.
type Mode uint8

const (
	InMetadata Mode = iota // all of it is in commit metadata
	InJournal              // in the journal, and in metadata the offsets that no record has yet
	InPrefix               // metadata holds its beginning, and there is no journal: a crash repeats the rest
)

// String returns the word that status uses.
func (m Mode) String() string { return [...]string{"metadata", "journal", "prefix"}[m] }

const (
	// maxRecord is the limit of one record, in bytes, where the topic takes that much. A
	// topic whose limit is below minRecord is not used.
	maxRecord = 64 << 10
	minRecord = 128

	// Bounds in records of the largest size.
	maxFlying   = 4 // records in flight
	maxFresh    = 4 // fresh offsets: enough for all outcomes of a lane's records in flight at once
	cutShare    = 2 // one part in so many of a record is cut without waiting for a commit
	minSnapshot = 1 // facts below this size are no reason for a snapshot

	retryMs       = 1000    // pause after a record was refused
	leftMs        = 300_000 // for which the last snapshot is kept after the journal was left
	deleteRetryMs = 60_000  // pause after a deletion was refused

	// onlySeq is below the numbers of the records of NewJournalOnly.
	onlySeq = 1 << 62

	// tailRuns bounds the runs that a commit looks at: no metadata holds more.
	tailRuns = 2048
)

// Write is a record to be appended to the journal, in the order of the numbers. Its owner
// calls Written with the same number when the outcome is known.
type Write struct {
	Seq   uint64
	Value []byte
}

// Writer is of one assignment of a partition. It decides which records the journal gets,
// how a commit describes the finished set, and which records may be deleted. It has one
// owner, who owns the window too, and no clock.
type Writer struct {
	id     Identity
	window *offsets.Window // the assignment's, which its owner changes
	number uint64          // of this assignment, in each record
	mode   Mode
	only   bool // see NewJournalOnly
	// refresh: a snapshot is to be written, though the last one is not old. See KeepUp.
	refresh bool
	// leftFrom and leftUntil: until then a late older commit may name records from there on.
	leftFrom, leftUntil int64
	// leaving: the set fits into metadata again, and the last snapshot is due.
	leaving bool
	rewrite bool // see TakeRewrite
	commit  lastCommit

	topic   offsets.TopicID // of the journal that is written to; zero: none was seen yet
	usable  bool
	limit   int   // bytes of a record
	retryAt int64 // no record is cut before, in milliseconds of the owner's clock

	unwritten unwritten
	flights   flights
	written   written
	deletion  deletion
	stats     Stats
}

// lastCommit is the state of the last commit on which the next one depends.
type lastCommit struct {
	fits   bool // its metadata held the whole set
	empty  bool // its metadata was empty: a restart would not find the journal
	limit  int  // metadata limit, in characters; 0: there was no commit
	large  int  // metadata above this size makes the set move to the journal
	copies offsets.RunsState
}

// Stats counts a writer's records and bytes in the journal, and its failures.
type Stats struct {
	Records, Bytes, Snapshots, Deletions, Failures int64
}

// Add adds other counts.
func (s *Stats) Add(o Stats) {
	s.Records += o.Records
	s.Bytes += o.Bytes
	s.Snapshots += o.Snapshots
	s.Deletions += o.Deletions
	s.Failures += o.Failures
}

// Restored is the state that an assignment begins with: see Reader.Restored.
type Restored struct {
	Named offsets.JournalRange // zero: the commit named no journal
	// Whole: all the records from Named.From to Named.To were found.
	Whole bool
	// Tail is the runs in the commit's metadata, which may be in no record.
	Tail                 []Run
	SnapshotBytes, Facts int64 // bytes that were read
}

// NewWriter returns the writer of an assignment that begins with the window. Its number is in
// its records: zero, or a number used before, would make snapshots of two assignments one.
func NewWriter(id Identity, number uint64, r Restored, window *offsets.Window) *Writer {
	w := &Writer{id: id, window: window, number: number, limit: maxRecord}
	w.commit.fits, w.written.to = true, -1
	if r.Named.IsZero() {
		return w
	}
	w.mode, w.topic = InJournal, r.Named.TopicID
	w.commit.fits = false
	if !r.Whole {
		w.unwritten.restart(window.Above())
		return w
	}
	w.written = written{base: base{ok: true, from: r.Named.From, bytes: r.SnapshotBytes}, to: r.Named.To, sum: r.Named.Sum, facts: r.Facts}
	for _, run := range r.Tail { // without offsets that reading took back, because the log was truncated
		window.EachFrom(run.From, func(from, to int64) bool {
			if from < run.To {
				w.unwritten.fresh.add(from, min(to, run.To))
			}
			return to < run.To
		})
	}
	return w
}

// NewJournalOnly returns the writer of a set that no commit's metadata holds, as that of a
// partition's finished copies. The journal has the set from the first offset on. Encode is not
// for such a writer.
func NewJournalOnly(id Identity, number uint64, r Restored, window *offsets.Window) *Writer {
	w := NewWriter(id, number, r, window)
	w.only, w.flights.seq = true, onlySeq|number%(1<<20)<<40
	if w.mode == InMetadata && (window.Low() > 0 || window.Above() > 0) { // no record that a commit names has it
		w.enter()
	}
	return w
}

// Owns reports whether a record with this number may be the writer's. The two writers of a
// partition have numbers of their own, and so has each of NewJournalOnly.
func (w *Writer) Owns(seq uint64) bool {
	return w.only == (seq > onlySeq) && (!w.only || seq>>40 == w.flights.seq>>40)
}

// farBehind is how many records of the journal one set may need only because it has not written a
// snapshot for so long.
const farBehind = 10_000

// KeepUp begins a new snapshot where the records from needed on are needed, see Needed, and the
// partition's other set has written up to last. That set has filled the journal behind the old
// one.
func (w *Writer) KeepUp(needed, last int64) {
	if needed < math.MaxInt64 && last-needed > farBehind && w.mode == InJournal && w.written.base.ok {
		w.refresh = true
	}
}

// Last returns the journal offset of the last acknowledged record, -1 for none.
func (w *Writer) Last() int64 { return w.written.to }

// Incarnation returns the life of the group's offset that the writer is about.
func (w *Writer) Incarnation() uint64 { return w.id.Incarnation }

// Use takes the news that the journal can be written to: its topic id, and the largest
// record that it takes, in bytes. A topic with another id has none of the older records.
func (w *Writer) Use(topic offsets.TopicID, maxBytes int) {
	w.usable = maxBytes >= w.least()
	w.limit = max(min(maxRecord, maxBytes), w.least())
	renewed := topic != w.topic && w.topic != offsets.TopicID{}
	if topic != w.topic {
		w.topic = topic
		w.deletion = deletion{}
	}
	switch {
	case renewed && w.mode == InJournal:
		w.forget()
	case w.usable && !w.commit.fits && !w.commit.empty && w.mode == InMetadata: // no commit may ever come that would notice
		w.enter()
	}
}

// least is the smallest bound of a record that leaves room for something in it.
func (w *Writer) least() int { return minRecord + len(w.id.Group) }

// Stop takes the news that the journal cannot be written to at the moment. Records in
// flight may still be answered. gone: the topic and its records do not exist any more.
func (w *Writer) Stop(gone bool) {
	w.usable = false
	if gone && w.mode == InJournal && w.written.base.ok {
		w.forget()
	}
}

// forget makes the journal begin again: no record counts as written.
func (w *Writer) forget() {
	w.flights.forget()
	w.enter()
	w.rewrite = true
}

// TakeRewrite reports, once, that the journal's records have stopped counting as written.
func (w *Writer) TakeRewrite() bool {
	rewrite := w.rewrite
	w.rewrite = false
	return rewrite
}

// Note takes offsets that finished just now, each for the first time.
func (w *Writer) Note(from, to int64) {
	if w.only && w.mode == InMetadata && from < to {
		w.enter()
		return
	}
	if w.mode != InJournal || from >= to {
		return
	}
	w.unwritten.note(from, to, w.written.snap.active)
	if w.unwritten.fresh.size() > maxFresh*max(w.limit, minRecord) {
		w.open()
	}
}

// open gives up the fresh offsets and the snapshot in hand: a new snapshot has to come.
func (w *Writer) open() {
	w.unwritten.widen()
	w.written.snap = snapshot{}
}

// Lose takes the news that finished offsets were taken back: their log was truncated.
// Records in the journal stay true of the former log, whose end every reader asks for. A
// snapshot replaces the fresh offsets. Commits leave out the records in flight, which are
// answered before a commit could name them.
func (w *Writer) Lose() {
	if w.mode != InJournal {
		return
	}
	w.open()
}

// Status is a writer's state for people and metrics.
type Status struct {
	Mode Mode
	// Unwritten bounds the number of finished offsets in no acknowledged record. -1: not
	// known, until a snapshot has brought them into the journal.
	Unwritten int64
	Live      int64 // bytes in the journal from the last complete snapshot on
	InFlight  int
	Stats     Stats
}

// Status returns the writer's state for people and metrics.
func (w *Writer) Status() Status {
	s := Status{Mode: w.mode, Unwritten: -1, InFlight: len(w.flights.records), Stats: w.stats}
	if w.mode == InJournal {
		s.Live = w.written.live()
		if !w.unwritten.gap {
			s.Unwritten = w.notAcknowledged()
		}
	}
	if !w.commit.fits && (w.mode == InMetadata || w.unwritten.gap && !w.usable) {
		s.Mode = InPrefix
	}
	return s
}

// notAcknowledged returns how many finished offsets are in no acknowledged record.
func (w *Writer) notAcknowledged() int64 { return w.unwritten.count() + w.flights.count() }

// Bytes returns the memory that the writer holds beside its own fields.
func (w *Writer) Bytes() int64 { return int64(cap(w.unwritten.fresh.b) + w.flights.memory()) }

// Writing reports whether the oldest record in flight was cut after the record with
// number seq: no older record holds it up.
func (w *Writer) Writing(seq uint64) bool {
	return len(w.flights.records) > 0 && w.flights.records[0].seq > seq
}

// Seq returns the number of the last record that was cut.
func (w *Writer) Seq() uint64 { return w.flights.seq }
