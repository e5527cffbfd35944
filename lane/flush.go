package lane

import (
	"errors"
	"math"
	"slices"
	"time"

	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	gatherBudget = 4096 // records looked at in one turn
	copyBudget   = 256  // copies produced in one turn: 3 us each

	// squeezeShare is the part of the share that records take at most which are carried together at a time. At
	// least half of that has to be gained.
	squeezeShare = 16

	// flushRest is the least time between two flushes for memory. With memory nearly full there is
	// none, but behind one that found nothing to move.
	flushRest = 10 * time.Second

	// leastFlush is the part of the share that records which may be moved have to take before there is one. What is
	// known of a run takes some 250 bytes. So where that alone fills memory, flush after flush of a record or two would
	// take more than it gives. With memory nearly full it may be less, where it gives at least leastOfRun for each run.
	leastFlush = 16
	leastOfRun = 1 << 10

	// Ingress need not keep a record beyond these bounds as long as records may be moved. They are an age of
	// mostAge, an age of the topic's retention divided by mostShare, and mostSpan offsets. A restart reads a
	// million offsets a second, so those are for all partitions of the process, but at least leastSpan for
	// each.
	mostAge   = time.Hour
	mostShare = 4
	mostSpan  = 5_000_000
	leastSpan = 50_000
	// leastAged is the least time between two flushes for age, whatever the retention, and between two looks
	// for what ingress keeps.
	leastAged = time.Second
	// mostOld is the most time between two flushes of what is old.
	mostOld = time.Minute
)

// flush moves records that are due far off to the runs topics. One flush takes records out of the
// wheel, the farthest first, then writes them as copies in the order of their deadlines, then a
// directory. There is one at a time, beside what slow partitions have left of those before.
type flush struct {
	core     *purgatory.Core
	box      *mailbox
	cfg      *Config
	pressure *pressure
	out      *outbound // its decoder of bodies
	throttle *throttle

	squeezing bool  // no flush: records are carried out of chunks that are nearly empty
	squeezed  bool  // that gave little, so a flush comes before the next time
	before    int64 // bytes in use when it began

	gathering bool  // it takes records out of the wheel
	target    int64 // bytes at which that ends
	kept      bool  // it is for what ingress has to keep, whatever the memory
	urgent    bool  // of what is on its way some was kept: none is held back
	copies    bool  // it is for what was loaded to be moved again
	horizon   time.Duration
	near      time.Duration // the horizon of what is old
	least     int64         // bytes that are worth a flush
	gathered  int64         // bytes that it has taken
	little    time.Time     // no flush for memory that is nearly full before, unless reading pauses: the last has found little
	stays     int64         // what counted as movable then, and may not be
	again     bool          // runs were loaded that are to be moved again
	rested    time.Time     // no flush for memory before
	nothing   time.Time     // nor one for memory that is nearly full: the last found nothing to move
	looked    time.Time     // no look for what is aged or old before
	aged      time.Time     // no flush for age before
	old       time.Time     // no flush of what is old before
	cleared   time.Time     // no deletion before

	slots    []copySlot // of copies in flight, by id
	moves    []purgatory.Move
	listings []purgatory.Listing
	deletes  []purgatory.RunsDelete

	clusterID, ingress string
	owner              runs.Owner // of the runs topic of that ingress topic, which was asked for last
}

// copySlot belongs to one copy in flight: its record, and room for its headers.
type copySlot struct {
	record  *kgo.Record
	headers []kgo.RecordHeader
	added   []byte
	size    int64 // bytes of the copy
	promise func(offset int64, err error)
}

// turn does one budget's worth; more says that something is left that need not be waited for.
// Nothing is moved that is due within twice the read-ahead.
func (f *flush) turn(now time.Time, ahead time.Duration, wake *alarm) (more bool) {
	r := f.core.Runs()
	if f.squeezing {
		if f.squeezing = r.SqueezeOn(gatherBudget); !f.squeezing {
			f.squeezed = f.before-f.pressure.used() < f.pressure.share()/squeezeShare/2
		}
	}
	begins := !f.gathering && !f.squeezing && !r.Moving() && f.begins(now, ahead)
	if begins {
		r.FromFarthest()
	}
	if begins || f.gathering {
		f.gather(now)
	}
	more = f.gathering || f.squeezing || f.offer(now)
	f.list()
	if r.Moving() || r.Flying() > 0 { // one that is silent may have to be given up
		wake.by(now.Add(soon))
	}
	return more
}

// gather takes records out of the wheel.
func (f *flush) gather(now time.Time) {
	r, after := f.core.Runs(), func(horizon time.Duration) int64 { return f.cfg.Wall(now).Add(horizon).UnixMilli() }
	size := f.pressure.used() - f.target
	switch f.gathering = false; {
	case f.kept:
		f.gathering = r.GatherKept(after(f.horizon), after(f.near), gatherBudget)
	case f.copies:
		f.gathering = r.GatherCopies(after(f.horizon), gatherBudget)
	case size > 0:
		var n int64
		n, f.gathering = r.Gather(after(f.horizon), size, gatherBudget)
		f.gathered += n
		if !f.gathering && f.gathered > 0 && f.gathered <= f.least { // what else counts as movable is not, such as where a partition takes none
			f.rested, f.nothing = now.Add(flushRest), now.Add(time.Second)
			f.little, f.stays = f.rested, r.OnceMovableBytes()
		}
	}
	if !f.gathering && !r.Moving() {
		f.nothing = now.Add(time.Second)
		f.rested = f.nothing
	}
}

// grown reports whether so much that may be moved has come since the flush that found little that another comes at once.
func (f *flush) grown() bool {
	return f.core.Runs().OnceMovableBytes() > f.stays+f.pressure.share()/leastFlush/2
}

// gives reports whether what may be moved is worth a flush. Where reading pauses for memory all of it is: nothing more
// comes that would make it worth one.
func (f *flush) gives(share int64, nearly, pauses bool) bool {
	f.least = share / leastFlush
	if nearly {
		f.least = min(f.least, int64(f.core.Runs().Known())*leastOfRun)
	}
	movable := f.core.Runs().MovableBytes()
	return movable > f.least || pauses && movable > 0
}

// begins says whether a flush begins: for what ingress has to keep, for memory, or for what was loaded to
// be moved again.
func (f *flush) begins(now time.Time, ahead time.Duration) bool {
	used, share, pauses := f.pressure.used(), f.pressure.share(), f.pressure.pauses()
	nearly := used > share*3/4 || used > share/2 && f.pressure.left() < share/4 || pauses // others may have filled it
	full := used > share/2 && !now.Before(f.rested) || nearly && !now.Before(f.nothing) && (pauses || !now.Before(f.little) || f.grown())
	f.horizon = max(f.pressure.horizon(used), 2*ahead)
	gives := full && f.gives(share, nearly, pauses)
	f.kept = !now.Before(f.looked) && f.keeps(now, ahead, gives)
	f.copies = false
	switch {
	case f.kept:
		f.urgent = true
	case full && !f.squeezed && f.core.Runs().Squeeze(share/squeezeShare):
		f.squeezing, f.before = true, used
		return false
	case gives:
		f.squeezed = false
		f.target, f.gathered, f.rested = share*3/8, 0, now.Add(flushRest)
		if used <= share/2 { // others fill memory
			f.target = used / 2
		}
	case f.again:
		f.copies, f.again = true, false
	case full:
		f.squeezed, f.rested, f.nothing = false, now.Add(flushRest), now.Add(time.Second)
		return false
	default:
		return false
	}
	return true
}

// keeps reports whether a flush begins for records that ingress has to keep. It is of all records beyond
// the horizon, once the oldest is nearly as old as it may be. Or it is of the old records alone. Three
// quarters of the least age begin a flush for age, so another may come a quarter of it later. Memory
// that is full goes first. What is old waits for nothing: under a flood memory is full for hours.
func (f *flush) keeps(now time.Time, ahead time.Duration, full bool) bool {
	f.looked = now.Add(leastAged)
	kept := f.behind()
	f.horizon = max(min(f.horizon, f.pressure.age), 2*ahead)
	f.near = min(f.horizon, max(shortest, 2*ahead))
	rest := max(f.pressure.age/4, leastAged)
	switch {
	case kept.Aged && !full && !now.Before(f.aged):
		f.aged = now.Add(rest)
	case kept.Long || kept.Old && !now.Before(f.old):
		f.horizon = math.MaxInt64
	default:
		return false
	}
	f.old = now.Add(min(rest, mostOld))
	return true
}

// behind says what ingress keeps that is nearly as old or as far back as it may be. What has used up its
// part of the retention is in it, too.
func (f *flush) behind() purgatory.Kept {
	f.pressure.age = mostAge
	return f.core.Runs().Behind(func(ingress string) purgatory.Limits {
		part := f.cfg.Runs.Retention(ingress) / mostShare
		age := mostAge
		if part > 0 {
			age = min(mostAge, part)
		}
		f.pressure.age = min(f.pressure.age, age)
		return purgatory.Limits{AgeMs: (age * 3 / 4).Milliseconds(), OldMs: max(part, 0).Milliseconds()}
	}, max(mostSpan/int64(max(f.cfg.Runs.Partitions(), 1)), leastSpan))
}

// offer produces copies; more says that there are others. With all in flight that may be, answers come
// before others. What ingress has to keep is not held back: it might be deleted there.
func (f *flush) offer(now time.Time) (more bool) {
	r, most := f.core.Runs(), f.cfg.Runs.InFlight
	if f.urgent = f.urgent && r.Underway(); !f.urgent {
		most = f.throttle.most(now, most, f.pressure.whole(), f.pressure.share())
	}
	room := max(most-r.Answering(), 0)
	f.moves = r.Offer(f.moves[:0], min(copyBudget, room))
	f.throttle.full = f.throttle.full || len(f.moves) == room
	for i := range f.moves {
		f.produce(&f.moves[i], now)
	}
	return len(f.moves) == copyBudget
}

// produce produces a copy. Its key, value and headers alias the store until the answer is in.
func (f *flush) produce(move *purgatory.Move, now time.Time) {
	s := f.slot(move.ID)
	key, value, headers := f.out.decode(move.Body)
	c := runs.Copy{
		Origin:     runs.Origin{TopicID: move.TopicID, Offset: move.Offset, LeaderEpoch: move.LeaderEpoch, TimestampMs: move.TimestampMs},
		DeadlineMs: move.DeadlineMs, Writer: move.Writer, Run: move.Run,
	}
	s.headers, s.added = runs.AppendCopy(append(slices.Grow(s.headers[:0], len(headers)+1), headers...), s.added[:0], f.identity(move.ClusterID, move.TopicPartition), &c, key, value)
	*s.record = kgo.Record{Key: key, Value: value, Headers: s.headers, Timestamp: now}
	s.size = int64(len(move.Body) + len(s.added))
	f.cfg.Runs.Runs.Copy(move.TopicPartition, s.record, s.promise)
}

// slot returns the slot of an id.
func (f *flush) slot(id int32) *copySlot {
	for int(id) >= len(f.slots) {
		n := int32(len(f.slots))
		f.slots = append(f.slots, copySlot{record: new(kgo.Record), promise: func(offset int64, err error) {
			f.box.put(func(m *mail) {
				m.moved = append(m.moved, purgatory.Answer{ID: n, Acked: err == nil, Offset: offset, TooLarge: errors.Is(err, runs.ErrTooLarge)})
			})
		}})
	}
	return &f.slots[id]
}

// identity names the runs partition of an ingress partition.
func (f *flush) identity(clusterID string, at offsets.TopicPartition) runs.Identity {
	if f.clusterID != clusterID || f.ingress != at.Topic {
		f.clusterID, f.ingress, f.owner = clusterID, at.Topic, runs.OwnerOf(clusterID, f.cfg.Group, at.Topic)
	}
	return runs.Identity{Owner: f.owner, Partition: at.Partition}
}

// land takes the answers to copies. Slots let go of the store's bytes. With the last answer all of
// them go: they count as used memory, and reading would pause for them until the next flush.
func (f *flush) land(now purgatory.Clock, answers []purgatory.Answer) {
	for i := range answers {
		s := &f.slots[answers[i].ID]
		answers[i].Bytes = s.size
		clear(s.headers)
		*s.record = kgo.Record{}
	}
	if f.core.Runs().Moved(now, answers); f.core.Runs().Flying() == 0 {
		f.slots = nil
	}
}

// list produces the directories of flushes that have ended.
func (f *flush) list() {
	f.listings = f.core.Runs().Listings(f.listings[:0])
	for _, l := range f.listings {
		value, err := runs.AppendDirectory(nil, f.identity(l.ClusterID, l.TopicPartition), &l.Directory)
		if err != nil {
			panic(err) // the core lists no run that a directory cannot have
		}
		f.cfg.Runs.Runs.Copy(l.TopicPartition, &kgo.Record{Value: value, Timestamp: time.Now()}, func(offset int64, err error) {
			f.box.order(runsListed{l, offset, err})
		})
	}
}

// clear has records deleted that are finished.
func (f *flush) clear(now time.Time, topic func(offsets.Assignment) (offsets.TopicID, bool)) {
	if now.Before(f.cleared) {
		return
	}
	f.cleared = now.Add(time.Second)
	f.deletes = f.core.Runs().Deletions(f.deletes[:0])
	for _, d := range f.deletes {
		if id, ok := topic(d.Assignment); ok {
			f.cfg.Runs.Runs.Delete(d.TopicPartition, id, d.LeaderEpoch, d.Below, func(err error) { f.box.order(runsDeleted{d, err}) })
		}
	}
}
