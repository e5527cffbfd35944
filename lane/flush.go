package lane

import (
	"time"

	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	gatherBudget = 4096 // records looked at in one turn
	copyBudget   = 1024 // copies produced in one turn

	// flushRest is the least time between two flushes for memory. With memory nearly full there is
	// none, but behind one that found nothing to move.
	flushRest = 10 * time.Second

	// What is older, or further back, ingress need not keep as long as records may be moved: mostAge,
	// mostSpan offsets, or its retention divided by mostShare.
	mostAge   = time.Hour
	mostSpan  = 5_000_000
	mostShare = 4
	// leastAged is the least time between two looks for what is old, whatever the retention.
	leastAged = time.Second
)

// flush moves records that are due far off to the runs topics. One flush takes records out of the
// wheel, the farthest first, then writes them as copies in the order of their deadlines, then a
// directory. There is one at a time.
type flush struct {
	core     *purgatory.Core
	box      *mailbox
	cfg      *Config
	pressure pressure
	out      *outbound // its decoder of bodies

	gathering bool  // it takes records out of the wheel
	target    int64 // bytes at which that ends
	horizon   time.Duration
	again     bool      // runs were loaded that are to be moved again
	rested    time.Time // no flush for memory before
	nothing   time.Time // nor one for memory that is nearly full: the last found nothing to move
	aged      time.Time // no flush for age before
	cleared   time.Time // no deletion before

	slots    []copySlot // of copies in flight, by id
	moves    []purgatory.Move
	listings []purgatory.Listing
	deletes  []purgatory.RunsDelete
}

// copySlot belongs to one copy in flight: its record, and room for its headers.
type copySlot struct {
	record  *kgo.Record
	headers []kgo.RecordHeader
	added   []byte
}

// turn does one budget's worth; more says that something is left that need not be waited for.
// Nothing is moved that is due within twice the read-ahead.
func (f *flush) turn(now time.Time, ahead time.Duration, wake *alarm) (more bool) {
	r := f.core.Runs()
	begins := !f.gathering && !r.Moving() && f.begins(now, ahead)
	if begins {
		r.FromFarthest()
	}
	if begins || f.gathering {
		f.gather(now)
	}
	more = f.gathering || f.offer(now)
	f.list()
	if r.Moving() {
		wake.by(now.Add(soon))
	}
	return more
}

// gather takes records out of the wheel.
func (f *flush) gather(now time.Time) {
	f.gathering = false
	size := f.pressure.used() - f.target
	if size > 0 {
		_, f.gathering = f.core.Runs().Gather(f.cfg.Wall(now).Add(f.horizon).UnixMilli(), size, gatherBudget)
	}
	if !f.gathering && !f.core.Runs().Moving() {
		f.nothing = now.Add(time.Second)
		f.rested = f.nothing
	}
}

// begins says whether a flush begins: for memory, for the age of what ingress has to keep, or for
// what was loaded to be moved again.
func (f *flush) begins(now time.Time, ahead time.Duration) bool {
	used, share := f.pressure.used(), f.pressure.share()
	f.horizon = max(f.pressure.horizon(used), 2*ahead)
	switch {
	case used > share/2 && !now.Before(f.rested), used > share*3/4 && !now.Before(f.nothing): // it may have filled since the last one
		f.target, f.rested = share*3/8, now.Add(flushRest)
	case f.again:
		f.target, f.again = 0, false
	case !now.Before(f.aged):
		behind, rest := f.behind()
		f.aged = now.Add(min(rest, flushRest))
		if !behind {
			return false
		}
		f.target, f.aged = 0, now.Add(rest)
	default:
		return false
	}
	return true
}

// behind reports whether ingress keeps records that are nearly as old as they may be, and how long
// a flush for age may come after another: a quarter of the least age, as three quarters begin one.
func (f *flush) behind() (is bool, rest time.Duration) {
	least := mostAge
	is = f.core.Runs().Behind(func(ingress string) int64 {
		limit := f.mostAge(ingress)
		least = min(least, limit)
		return (limit * 3 / 4).Milliseconds()
	}, mostSpan*3/4)
	return is, max(least/4, leastAged)
}

// mostAge is how old a record of a topic may become that can be moved.
func (f *flush) mostAge(ingress string) time.Duration {
	if keeps := f.cfg.Runs.Retention(ingress); keeps > 0 {
		return min(mostAge, keeps/mostShare)
	}
	return mostAge
}

// offer produces copies; more says that there are others. With all in flight that may be, answers come
// before others.
func (f *flush) offer(now time.Time) (more bool) {
	r := f.core.Runs()
	f.moves = r.Offer(f.moves[:0], max(min(copyBudget, f.cfg.Runs.InFlight-r.Flying()), 0))
	for i := range f.moves {
		f.produce(&f.moves[i], now)
	}
	return len(f.moves) == copyBudget
}

// produce produces a copy. Its key, value and headers alias the store until the answer is in.
func (f *flush) produce(move *purgatory.Move, now time.Time) {
	for int(move.ID) >= len(f.slots) {
		f.slots = append(f.slots, copySlot{record: new(kgo.Record)})
	}
	s := &f.slots[move.ID]
	key, value, headers := f.out.decode(move.Body)
	c := runs.Copy{
		Origin:     runs.Origin{TopicID: move.TopicID, Offset: move.Offset, LeaderEpoch: move.LeaderEpoch, TimestampMs: move.TimestampMs},
		DeadlineMs: move.DeadlineMs, Writer: move.Writer, Run: move.Run,
	}
	s.headers, s.added = runs.AppendCopy(append(s.headers[:0], headers...), s.added[:0], f.identity(move.ClusterID, move.TopicPartition), &c, key, value)
	*s.record = kgo.Record{Key: key, Value: value, Headers: s.headers, Timestamp: now}
	id, size := move.ID, int64(len(move.Body)+len(s.added))
	f.cfg.Runs.Runs.Copy(move.TopicPartition, s.record, func(offset int64, err error) {
		f.box.put(func(m *mail) {
			m.moved = append(m.moved, purgatory.Answer{ID: id, Acked: err == nil, Offset: offset, Bytes: size})
		})
	})
}

// identity names the runs partition of an ingress partition.
func (f *flush) identity(clusterID string, at offsets.TopicPartition) runs.Identity {
	return runs.Identity{Owner: runs.OwnerOf(clusterID, f.cfg.Group, at.Topic), Partition: at.Partition}
}

// land takes the answers to copies. Slots let go of the store's bytes. With the last answer all of
// them go: they count as used memory, and reading would pause for them until the next flush.
func (f *flush) land(now purgatory.Clock, answers []purgatory.Answer) {
	for _, a := range answers {
		s := &f.slots[a.ID]
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
			f.cfg.Runs.Runs.Delete(d.TopicPartition, id, d.Below, func(err error) { f.box.order(runsDeleted{d, err}) })
		}
	}
}
