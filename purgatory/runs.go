package purgatory

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"layover/offsets"
	"layover/purgatory/far"
)

// Runs moves records that are due far off out of memory into the runs topic, and takes their
// copies back before they are due.
//
//	wheel ─gather─► gathered ─offer─► in flight ─answer─► in a run ─visit─► wheel ─► …
//	  ▲                │                  │
//	  └─── too near ───┴──── refused ─────┘
//
// A record that was moved is finished: its copy counts from now on. Until the answer it is
// the record that counts. One whose copy nobody has acknowledged is parked again, and its
// copy, if there is one, is delivered as well.
type Runs struct {
	now     *Clock      // the core's
	store   *store      // the core's
	parking *parking    // the core's
	parts   *partitions // the core's
	out     *outbox     // the core's: the targets of records
	stats   *Stats      // the core's: here Parked, Moved, Loaded and LostFromRuns are counted
	// journals is the core's: an index has to know whether it may write.
	journals *Journals

	most   int       // Config.MaxCopies
	flying []copying // by id; a free one has no source
	free   []int32
	bytes  int64    // of what is gathered or in flight
	apart  int64    // of those, of records that do not count as movable where they are parked
	large  int64    // and of those, of records that were refused for their size before
	taken  []uint64 // scratch of Gather
	first  int      // where the next round of Offer over the partitions begins
	gaveUp int64    // Clock.MonotonicMs of the last look for copies that are not answered in time
	// largeAfter is when records are tried again that were refused for their size, in Clock.MonotonicMs.
	largeAfter int64

	seen     RunsOutlook // see lookAtRuns
	lookedMs int64       // Clock.MonotonicMs of that
	lookFrom int         // the slot of the partition with which the next look begins
	cleaning cleaning
}

const (
	// copiesInFlight bounds the bytes of copies in flight, for each partition. At least one may be.
	copiesInFlight = 4 << 20

	// movedUncommitted bounds the records that were moved since the last successful commit of
	// their partition: a restart may deliver so many twice.
	movedUncommitted = 10_000

	// mostUnsure bounds the copies of a partition of which nobody knows in which leader epoch they were
	// acknowledged: each takes 24 bytes. With askUnsure of them the log is asked: with a small bound of memory,
	// more would take what moving is to free.
	mostUnsure = 1 << 17
	askUnsure  = 1 << 13

	// tooNearMs is how long before its deadline a record that is gathered goes back: its copy
	// could not be acknowledged, and read again, in time.
	tooNearMs = 30_000

	// againMs is how long nothing more of a partition is moved after a copy was refused.
	againMs = 1000
	// tooLargeMs is the time after which records are tried again that were refused for their size: somebody may raise
	// max.message.bytes.
	tooLargeMs = 600_000
)

// moved is what a partition has in the runs topic, and on its way there.
type moved struct {
	index  *far.Index // nil: nothing is known of the runs topic yet
	topic  offsets.TopicID
	usable bool // it takes copies
	epochs epochs
	renewal

	gathered      [][]waiting // each ascending by deadline, and none is empty
	gatheredBytes int64       // of those
	gatheredMs    int64       // Clock.MonotonicMs of when something was gathered last

	number  uint64 // of the run in hand
	merging int64  // bytes of the small runs that become one, as Cleanings last saw them

	flyingBytes int64
	flyingAlone int   // copies in flight of more than AloneBytes
	given       int   // copies in flight whose records are parked again
	givenBytes  int64 // of those
	answeredMs  int64 // Clock.MonotonicMs of the last answer to a copy, or of the first copy since none was in flight
	uncommitted int64 // moved since the last commit that was built
	committing  int64 // moved before that, and not committed
	oldUntil    int64 // timestamp up to which a record is old, as Behind says
	oldBelow    int64 // offset below which it is
	longAt      int64 // read position when Behind said Long
	pauseUntil  int64 // Clock.MonotonicMs
	largeUntil  int64 // Unix ms; copies are in memory until then that were refused for their size, and loaded to be moved again
	fullSinceMs int64 // see RunsView
	gapSinceMs  int64 // the same
	gapFrom     int64 // where the gap begins that this is about
	seen        runsSeen
	wary        bool // the next copy goes alone, until one is taken: the last was refused, or much is silent

	// doubtful: an offset was acknowledged that the log had already.
	doubtful bool
	reading
	listing     bool
	listsAfter  int64  // Clock.MonotonicMs: no directory before
	deleteAfter int64  // Clock.MonotonicMs: no deletion before
	cutFrom     uint64 // number of the last journal record about copies that is not waited for
}

// waiting is a record that is gathered.
type waiting struct {
	loc        location
	deadlineMs int64
}

// Move is a record to be produced to the runs topic as a copy. Its answer is owed under its id.
type Move struct {
	ID int32
	offsets.Assignment
	TopicID     offsets.TopicID // of the ingress topic
	ClusterID   string
	Writer      uint64 // of the index
	Offset      int64  // of its origin in ingress
	LeaderEpoch int32  // of its origin, -1 for unknown
	TimestampMs int64
	DeadlineMs  int64
	Run         uint64
	Body        []byte // aliases the store until the answer is in
	Copy        int64  // one more than the offset of the copy that is moved again; 0: it is the first
}

// Begin makes a partition's copies count: the index, of the runs topic with this id, knows which
// are unfinished. lost is how many are gone. Until then nothing of the partition is moved.
func (r *Runs) Begin(a offsets.Assignment, topic offsets.TopicID, index *far.Index, lost int64) {
	p := r.parts.find(a.TopicPartition, a.Epoch)
	if p == nil {
		return
	}
	m := &p.moved
	lost += m.resume(index, topic)
	m.index, m.topic, m.cutFrom = index, topic, 0
	if said, _ := p.saidOfRuns(); said != p.Runs {
		p.commit.dirty = true
	}
	r.lose(p, lost)
	if s, ok := r.journals.states[p.Topic]; ok {
		p.useJournal(s)
	}
}

// Usable takes whether the runs topic of an ingress topic takes copies. Where it does not,
// what is gathered is parked again.
func (r *Runs) Usable(topic string, usable bool) {
	for p := range r.parts.here() {
		if p.Topic != topic {
			continue
		}
		if p.moved.usable = usable; !usable {
			r.scatter(p, math.MaxInt64)
		}
	}
}

// movable reports whether records of a partition may be gathered now; again: copies. Where there are so
// many runs that none may begin for others, copies may still be moved together.
func (p *partition) movable(nowMs int64, again bool) bool {
	m := &p.moved
	if m.index == nil || !m.usable || m.doubtful || p.src.draining || nowMs < m.pauseUntil || p.silent(nowMs) || p.slow(nowMs) {
		return false
	}
	return !m.index.Full() || again && !m.index.Overfull()
}

// FromFarthest makes the next Gather begin with the farthest records. Without it, one goes on where the
// last one has ended.
func (r *Runs) FromFarthest() { r.parking.wheel.RewindFarthest() }

// Gather takes records out of the wheel that are due after an instant, the farthest first,
// until they take size bytes. It looks at most at budget records; more reports that there
// are others beyond. What is gathered is to be offered.
//
// Records with an id stay: a command has to find them. So does what the catch-up has put back.
func (r *Runs) Gather(afterMs, size int64, budget int) (gathered int64, more bool) {
	if n := r.store.live; n > 0 { // not far beyond the size, whatever the records take
		budget = int(min(int64(budget), size/(r.store.used/n+1)+1))
	}
	return r.gather(afterMs, budget, func(payload uint64) bool {
		_, may := r.mayMove(payload)
		return may
	})
}

// GatherKept does the same for what ingress has to keep, whatever that takes. It gathers records that are
// due after an instant, and after another one those that Behind has found old. Copies stay.
func (r *Runs) GatherKept(afterMs, oldAfterMs int64, budget int) (more bool) {
	_, more = r.gather(min(afterMs, oldAfterMs), budget, func(payload uint64) bool {
		h, may := r.mayMove(payload)
		return may && h.marks&isCopy == 0 && (h.deadlineMs > afterMs || h.deadlineMs > oldAfterMs && r.parts.list[h.slot].moved.isOld(&h))
	})
	return more
}

// GatherCopies does the same for the copies among them: they were loaded to be moved again.
func (r *Runs) GatherCopies(afterMs int64, budget int) (more bool) {
	_, more = r.gather(afterMs, budget, func(payload uint64) bool {
		h, may := r.mayMove(payload)
		return may && h.marks&isCopy != 0
	})
	return more
}

func (r *Runs) gather(afterMs int64, budget int, wanted func(payload uint64) bool) (gathered int64, more bool) {
	r.giveUp() // nothing is offered before the end of the pass
	if !r.parts.some(func(p *partition) bool { return p.movable(r.now.MonotonicMs, true) }) {
		return 0, false // a look at all that is parked would be in vain, as where the only partition is slow
	}
	r.taken, more = r.parking.wheel.TakeFarthest(max(afterMs, r.now.WallMs+tooNearMs), budget, wanted, r.taken[:0])
	lists := make(map[*partition][]waiting)
	for _, payload := range r.taken {
		loc, _ := parked(payload)
		h := readHeader(r.store.at(loc))
		p := r.parts.list[h.slot]
		lists[p] = append(lists[p], waiting{loc, h.deadlineMs})
		gathered += int64(h.total())
		r.underway(loc, int64(h.total()))
		p.moved.gatheredBytes += int64(h.total())
		p.unpark()
		r.stats.Parked--
		r.stats.Gathered++
	}
	for p, list := range lists {
		slices.SortStableFunc(list, func(a, b waiting) int { return cmp.Compare(a.deadlineMs, b.deadlineMs) })
		p.moved.gathered, p.moved.gatheredMs = append(p.moved.gathered, list), r.now.MonotonicMs
	}
	if len(r.taken) > 0 {
		r.parking.nextDueMs = 0
	}
	return gathered, more
}

// mayMove says whether the record of a payload of the wheel may be gathered.
func (r *Runs) mayMove(payload uint64) (h header, may bool) {
	loc, putBack := parked(payload)
	if putBack || loc&named != 0 {
		return h, false
	}
	if _, flying := r.store.retained[loc]; flying || r.now.MonotonicMs < r.largeAfter && r.store.tooLarge(loc) {
		return h, false
	}
	h = readHeader(r.store.at(loc))
	return h, h.marks&unsure == 0 && h.waits() && r.parts.list[h.slot].movable(r.now.MonotonicMs, h.marks&isCopy != 0)
}

// Offer appends to out at most limit copies to be produced now, those of each partition by
// deadline. What is gathered is parked again where it has come too near its deadline, or its partition is silent.
// Slow partitions get what others leave: theirs would fill the room, however soon others answer.
func (r *Runs) Offer(out []Move, limit int) []Move {
	r.giveUp()
	s := r.silence()
	limit = len(out) + max(min(limit, s.room(r.most, r.Flying())), 0)
	r.first++
	for _, slow := range []bool{false, true} {
		for i := range r.parts.list {
			p := r.parts.list[(r.first+i)%len(r.parts.list)]
			if p == nil || p.src.gone || len(p.moved.gathered) == 0 || p.slow(r.now.MonotonicMs) != slow {
				continue
			}
			out = r.offer(p, out, limit, s.crowded(r.most))
		}
	}
	return out
}

// offer is Offer of one partition, until out has limit copies; crowded says that much is silent.
func (r *Runs) offer(p *partition, out []Move, limit int, crowded bool) []Move {
	until := r.now.WallMs + tooNearMs
	if p.silent(r.now.MonotonicMs) {
		until = math.MaxInt64
	}
	r.scatter(p, until)
	p.moved.wary = p.moved.wary || crowded && p.src.moving == 0
	for len(out) < limit && len(p.moved.gathered) > 0 && r.takes(p) {
		out = append(out, r.start(p))
	}
	return out
}

// start puts the gathered record in flight that is due first.
func (r *Runs) start(p *partition) Move {
	m := &p.moved
	loc := m.pop(m.soonest())
	h, body := r.store.read(loc)
	size := int64(h.total())
	m.gatheredBytes -= size
	var id int32
	if n := len(r.free); n > 0 {
		id, r.free = r.free[n-1], r.free[:n-1]
	} else {
		id = int32(len(r.flying))
		r.flying = append(r.flying, copying{})
	}
	r.flying[id] = copying{loc: loc, from: p.src, size: size, deadlineMs: h.deadlineMs, run: m.number, origin: h.offset, to: m.index, epoch: m.index.LeaderEpoch(), place: h.place()}
	m.fly(1, size)
	if p.src.moving == 0 {
		m.answeredMs = r.now.MonotonicMs
	}
	p.src.moving++
	move := Move{ID: id, Assignment: p.Assignment, TopicID: p.TopicID, ClusterID: p.ClusterID, Writer: m.index.Writer(),
		Offset: h.offset, LeaderEpoch: m.epochs.of(h.offset), TimestampMs: h.timestampMs, DeadlineMs: h.deadlineMs, Run: m.number, Body: body}
	if copyAt, ok := h.place().inRuns(); ok {
		move.Copy, move.LeaderEpoch = copyAt+1, h.epoch
	}
	return move
}

// soonest returns the list whose first record is due first.
func (m *moved) soonest() (first int) {
	for i, list := range m.gathered {
		if list[0].deadlineMs < m.gathered[first][0].deadlineMs {
			first = i
		}
	}
	return first
}

// pop takes the first record of a list.
func (m *moved) pop(list int) location {
	loc := m.gathered[list][0].loc
	if m.gathered[list] = m.gathered[list][1:]; len(m.gathered[list]) == 0 {
		m.gathered = slices.Delete(m.gathered, list, list+1)
	}
	return loc
}

// scatter parks the gathered records of a partition again that are due at an instant or before.
func (r *Runs) scatter(p *partition, untilMs int64) {
	m := &p.moved
	for len(m.gathered) > 0 {
		list := m.soonest()
		if m.gathered[list][0].deadlineMs > untilMs {
			return
		}
		r.stats.Gathered--
		loc := m.pop(list)
		h := readHeader(r.store.at(loc))
		m.gatheredBytes -= int64(h.total())
		r.park(p, loc)
	}
}

// park parks a record again that was not moved.
func (r *Runs) park(p *partition, loc location) {
	h := readHeader(r.store.at(loc))
	r.underway(loc, -int64(h.total()))
	p.parkAgain(h.deadlineMs)
	r.stats.Parked++
	r.parking.again(loc, h.fireMs(r.now.WallMs), false)
}

// forget releases what of a partition is gathered: it is gone. It returns how many those are.
func (r *Runs) forget(p *partition) (n int64) {
	for m := &p.moved; len(m.gathered) > 0; n++ {
		loc := m.pop(0)
		h := readHeader(r.store.at(loc))
		r.stats.orphaned(p, &h, 1, r.now.WallMs)
		r.underway(loc, -int64(h.total()))
		m.gatheredBytes -= int64(h.total())
		r.out.release(loc, &h)
	}
	r.stats.Gathered -= n
	return n
}

const waitingSize = int64(unsafe.Sizeof(waiting{}))

// bytes returns the memory beside that of the records.
func (m *moved) bytes() (b int64) {
	for _, list := range m.gathered {
		b += int64(cap(list)) * waitingSize
	}
	if m.index != nil {
		b += m.index.Bytes()
	}
	return b + m.renewal.bytes()
}
