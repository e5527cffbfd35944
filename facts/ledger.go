package facts

import "layover/offsets"

// Mode is where a partition's finished set is kept.
type Mode uint8

const (
	Metadata Mode = iota // all of it is in commit metadata
	Journal              // the journal has it, and metadata what is not there yet
	Prefix               // it does not fit, and there is no journal: what is above the prefix comes again after a crash
)

// String returns the word that status uses.
func (m Mode) String() string { return [...]string{"metadata", "journal", "prefix"}[m] }

const (
	// maxRecord bounds one record, in bytes, or less where the topic takes less; with
	// it, all that a partition needs. A topic that takes less than minRecord has no use.
	maxRecord = 64 << 10
	minRecord = 128

	// In records of the largest size: what is in flight, what finished and waits for a
	// record, what of that makes one without waiting for a commit, and the facts that
	// no snapshot is worth while for.
	maxFlying   = 4
	maxFresh    = 4 // an outcome for everything that a lane has in flight, at once
	cutShare    = 2 // a half
	minSnapshot = 1

	retryMs       = 1000   // pause after a record was refused
	deleteRetryMs = 60_000 // pause after a deletion was refused

	// tailRuns is how many runs a commit looks at: more do not fit into any metadata.
	tailRuns = 2048
)

// Write is a record to be appended to the journal. Its owner calls Written with the
// same number once it is known how that ended. Records that are cut later are appended
// later.
type Write struct {
	Seq   uint64
	Value []byte
}

// Ledger decides, for one tenure of a partition, what goes into the journal, what a
// commit says, and what may be deleted. It has one owner, who has the window too, and
// no clock.
type Ledger struct {
	id     Identity
	window *offsets.Window // the tenure's, which its owner changes
	writer uint64
	mode   Mode
	fits   bool // the last commit's metadata held the whole set
	mute   bool // it was empty: nobody would find the journal
	anew   bool // see Anew
	// Of the last commit: the characters that it might have, and from which on its set
	// belongs into the journal.
	text, most int

	topic  offsets.TopicID // of the journal that is written to; zero: none was seen yet
	usable bool
	limit  int // bytes of a record

	// fresh is what finished and is in no record yet.
	// Invariant: without a gap every finished offset is below low, in an acknowledged
	// record from base on, in flight, or in fresh (sim.TestSimulationKeepsEveryPromise).
	fresh  runs
	below  int64 // finished offsets that low has passed, which the next record says with it
	flying []flight
	flown  int // bytes in flight
	seq    uint64
	// gap: something finished is in no record, and only a snapshot will bring it there.
	gap bool
	// lost counts finished offsets that are known to be in no record; those that a
	// running snapshot brings there are in lostBefore too.
	lost, lostBefore int64

	snap    snapshot // being written
	number  uint64   // of the last snapshot
	base    base     // the last complete snapshot
	to      int64    // journal offset of the last acknowledged record
	sum     uint32
	facts   int64 // bytes of facts that were acknowledged since base
	retryAt int64 // not before, in milliseconds of the owner's clock

	leaving  bool // the set fits again
	deleted  int64
	deleting bool
	deleteAt int64

	stats Stats
}

// Stats counts what a ledger had written.
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

// flight is a record that was handed out and not answered.
type flight struct {
	seq  uint64
	size int
	sum  uint32
	runs runs   // of a fact
	news int64  // finished offsets that it is the first record to say, with its low offset
	snap uint64 // number of the snapshot that it is a part of, 0 for a fact
	last bool   // part of it
}

// snapshot is a snapshot that is being written.
type snapshot struct {
	active bool
	cut    bool  // its last part was cut
	next   int64 // first offset that was not cut yet
	from   int64 // journal offset of its first part, -1 before that is known
	bytes  int64
	facts  int64 // bytes of facts acknowledged meanwhile
	leave  bool  // the one after which the journal is left
}

// base is the last complete snapshot.
type base struct {
	ok    bool
	from  int64
	bytes int64
	leave bool
}

// Restored is what a tenure begins with: see Union.Restored.
type Restored struct {
	Named offsets.Journal // zero: the commit named no journal
	// Whole says that all the records from Named.From to Named.To were found.
	Whole bool
	// Tail is what the commit's metadata held, which may be in no record.
	Tail                 []Run
	SnapshotBytes, Facts int64 // bytes that were read
}

// NewLedger returns the ledger of a tenure that begins with the window w. A zero
// writer or a number used before would make snapshots of two tenures one.
func NewLedger(id Identity, writer uint64, r Restored, w *offsets.Window) *Ledger {
	l := &Ledger{id: id, window: w, writer: writer, fits: true, to: -1, limit: maxRecord}
	if r.Named.IsZero() {
		return l
	}
	l.mode, l.topic = Journal, r.Named.TopicID
	l.fits = false
	if !r.Whole {
		l.gap, l.lost = true, w.Above()
		return l
	}
	l.base = base{ok: true, from: r.Named.From, bytes: r.SnapshotBytes}
	l.to, l.sum, l.facts = r.Named.To, r.Named.Sum, r.Facts
	for _, run := range r.Tail { // reading may have taken some of it back: its log was truncated
		w.EachFrom(run.From, func(from, to int64) bool {
			if from < run.To {
				l.fresh.add(from, min(to, run.To))
			}
			return to < run.To
		})
	}
	return l
}

// Incarnation returns the life of the group's offset that the ledger is about.
func (l *Ledger) Incarnation() uint64 { return l.id.Incarnation }

// Use says that the journal can be written to: the topic with that id, which takes
// records of so many bytes. One that was made again has nothing of what was written.
func (l *Ledger) Use(topic offsets.TopicID, maxBytes int) {
	l.usable = maxBytes >= l.least()
	l.limit = max(min(maxRecord, maxBytes), l.least())
	renewed := topic != l.topic && l.topic != offsets.TopicID{}
	if topic != l.topic {
		l.topic, l.deleted, l.deleting = topic, 0, false
	}
	switch {
	case renewed && l.mode == Journal:
		l.forget()
	case l.usable && !l.fits && !l.mute && l.mode == Metadata: // no commit may ever come that would notice
		l.enter()
	}
}

// least is the smallest bound of a record that leaves room for something in it.
func (l *Ledger) least() int { return minRecord + len(l.id.Group) }

// Stop says that the journal cannot be written to at the moment. What is in flight may
// still be answered, unless the topic is gone, and all that was written with it.
func (l *Ledger) Stop(gone bool) {
	l.usable = false
	if gone && l.mode == Journal && l.base.ok {
		l.forget()
	}
}

// forget begins anew: nothing counts as written.
func (l *Ledger) forget() {
	l.flying, l.flown = nil, 0
	l.enter()
	l.anew = true
}

// Anew says, once, that what counted as written does not any more.
func (l *Ledger) Anew() bool {
	anew := l.anew
	l.anew = false
	return anew
}

// Note says that offsets, none of which was finished, are finished now.
func (l *Ledger) Note(from, to int64) {
	if l.mode != Journal || from >= to {
		return
	}
	if l.gap && !l.snap.active {
		l.lost += to - from
		return
	}
	l.fresh.add(from, to)
	if l.fresh.size() > maxFresh*max(l.limit, minRecord) {
		l.open()
	}
}

// open notes that what is in fresh will not become facts: a snapshot has to.
func (l *Ledger) open() {
	l.lost += l.fresh.count
	l.fresh.reset()
	l.gap, l.snap, l.lostBefore = true, snapshot{}, 0
}

// Lose says that something finished has been taken back: the log was truncated there.
// What was written stays true of the log that it is about, and whoever reads it asks
// where that ends. What waits here is written anew, and commits do not say what is in
// flight any more: by the time that they would, all of it is answered.
func (l *Ledger) Lose() {
	if l.mode != Journal {
		return
	}
	l.open()
}

// Status is what can be seen of a ledger.
type Status struct {
	Mode Mode
	// Unwritten is how many finished offsets are in no acknowledged record, at most; -1:
	// not known, as long as only a snapshot will bring some of them there.
	Unwritten int64
	Live      int64 // bytes in the journal from the last complete snapshot on
	InFlight  int
	Stats     Stats
}

// Status returns what can be seen of the ledger.
func (l *Ledger) Status() Status {
	s := Status{Mode: l.mode, Unwritten: -1, InFlight: len(l.flying), Stats: l.stats}
	if l.mode == Journal {
		s.Live = l.base.bytes + l.facts
		if !l.gap {
			s.Unwritten = l.unwritten()
		}
	}
	if !l.fits && (l.mode == Metadata || l.gap && !l.usable) {
		s.Mode = Prefix
	}
	return s
}

func (l *Ledger) unwritten() int64 {
	n := l.lost + l.fresh.count + l.below
	for i := range l.flying {
		n += l.flying[i].news
	}
	return n
}

// Bytes returns the memory that the ledger holds beside its own fields.
func (l *Ledger) Bytes() int64 {
	n := cap(l.fresh.b) + l.flown
	for i := range l.flying {
		n += cap(l.flying[i].runs.b)
	}
	return int64(n)
}

// Writing says whether a record is in flight that was cut after the number seq and is
// not stuck behind one that was cut before it.
func (l *Ledger) Writing(seq uint64) bool {
	return len(l.flying) > 0 && l.flying[0].seq > seq
}

// Seq returns the number of the last record that was cut.
func (l *Ledger) Seq() uint64 { return l.seq }
