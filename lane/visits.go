package lane

import (
	"slices"
	"time"

	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// runsLook is the least time between two looks for copies that are due.
	runsLook = 200 * time.Millisecond

	mostAhead  = 10 * time.Minute
	leastAhead = 2 * time.Second
	// leastSoon is how long before a copy is due its visit begins at least, beside what three visits take at worst.
	// One that fails is begun again after a second, another may go first, and both wait for a look.
	leastSoon = time.Second + 2*runsLook

	// leastVisit is the bytes that a visit reads at least, if there are as many: those of a batch.
	leastVisit = 64 << 10
	// roomShare is the part of the share that has to be free before one visit follows another at once.
	roomShare = 64

	// The read-ahead looks back on so many visits, and for so long.
	recentVisits = 64
	recentFor    = 10 * time.Minute
)

// records are those of a visit, as they stood in ingress.
type records = []*kgo.Record

// topicOf returns the runs topic's id that an assignment's index is of.
type topicOf = func(offsets.Assignment) (offsets.TopicID, bool)

// visits reads copies back before they are due.
type visits struct {
	core      *purgatory.Core
	box       *mailbox
	cfg       *Config
	pressure  *pressure
	published *published // its outlook
	in        *intake    // its rules and scratch

	looked time.Time // when the core was asked last
	due    time.Time // of the next look
	news   bool      // something has happened since that a look may find
	ahead  time.Duration
	soon   time.Duration // how long before a copy is due its visit begins
	paced  time.Time     // no adaptation of ahead before
	recent []duration    // of visits, the latest last, at most recentVisits
	seen   purgatory.RunsPace

	loaded    time.Time                        // when the last run was loaded that is to be moved again; zero: none is
	cleaned   time.Time                        // no look for such before
	stays     time.Time                        // what an earlier flush has left is not to be moved before
	spare     int64                            // bytes for others than what an earlier flush has left
	lateSince time.Time                        // when such a look first found something late; zero: the last one has not
	whole     map[offsets.Assignment]time.Time // when each visit under way began that loads one

	again   []offsets.Assignment // a visit of each was answered since the last turn, and took something
	starved []offsets.Assignment // each once: there was no room for what comes next, the longest wait first
	resumed offsets.Assignment   // of those the one whose visit is under way, since the last look; zero: none

	wanted []purgatory.Visit // scratch
	taken  []int             // the same
}

// duration is how long a visit took.
type duration struct {
	at           time.Time     // of its answer
	took, waited time.Duration // waited for its turn, before that
	failed       bool
}

// look begins the visits that are due.
func (v *visits) look(now time.Time, topic topicOf, wake *alarm) {
	v.pace(now)
	v.goOn(topic)
	at := v.due
	if v.news {
		at = v.looked.Add(runsLook)
	}
	if now.Before(at) {
		wake.by(at)
		return
	}
	v.looked, v.news, v.soon = now, false, v.urgency(now)
	v.resumed = offsets.Assignment{} // its broker may be silent, and no others are to wait for that
	r, soon := v.core.Runs(), v.soon.Milliseconds()
	v.wanted = r.Visits(v.wanted[:0], soon, v.ahead.Milliseconds())
	v.begin(topic)
	v.starved = slices.DeleteFunc(v.starved, v.over)
	v.due = now.Add(maxSleep)
	if ms, ok := r.NextVisit(soon); ok {
		if wait := time.Duration(ms-v.cfg.Wall(now).UnixMilli()) * time.Millisecond; wait < maxSleep {
			v.due = now.Add(max(wait, runsLook))
		}
	}
	wake.by(v.due)
}

// goOn begins the next visit of each partition whose last one has just taken something, if a look would begin it.
// With a look for each of many runs, the last would be late. Where there is hardly any room, a visit would be for a
// record or two: the partition waits until room returns, or for the look. Those that wait go on one at a time, as the
// room is one for all of them.
func (v *visits) goOn(topic topicOf) {
	if len(v.again)+len(v.starved) == 0 {
		return
	}
	v.wanted = v.wanted[:0]
	if v.pressure.room() < v.pressure.share()/roomShare {
		for _, a := range v.again {
			v.starve(a)
		}
	} else {
		for _, a := range v.again {
			v.want(a)
		}
		for len(v.starved) > 0 && v.resumed == (offsets.Assignment{}) {
			if a := v.starved[0]; v.want(a) {
				v.resumed = a
			}
			v.starved = slices.Delete(v.starved, 0, 1)
		}
	}
	v.again = v.again[:0]
	v.begin(topic)
}

// want adds the next visit of a partition to those that are wanted, if there is one.
func (v *visits) want(a offsets.Assignment) bool {
	w, ok := v.core.Runs().VisitOf(a, v.soon.Milliseconds(), v.ahead.Milliseconds())
	if ok {
		v.wanted = append(v.wanted, w)
	}
	return ok
}

// over reports whether an assignment is.
func (v *visits) over(a offsets.Assignment) bool {
	_, ok := v.core.Loader(a)
	return !ok
}

// starve lets a partition wait until room returns.
func (v *visits) starve(a offsets.Assignment) {
	if !slices.Contains(v.starved, a) {
		v.starved = append(v.starved, a)
	}
}

// begin begins the visits that are wanted. Those for copies end once they have read what has room.
func (v *visits) begin(topic topicOf) {
	room := max(v.pressure.room(), leastVisit)
	for _, w := range v.wanted {
		switch {
		case w.Due:
			w.Most = room
		case w.Whole:
			w.Most = max(v.roomAgain(), leastVisit)
		}
		if id, ok := topic(w.Assignment); ok {
			if w.Whole {
				v.whole[w.Assignment] = time.Now()
			}
			v.cfg.Runs.Runs.Visit(w, id, func(answer purgatory.Visited, found []*kgo.Record) { v.box.order(runsRead{answer, found}) })
		}
	}
}

// pace adapts the read-ahead once a second: what is due within it takes at most a quarter of the
// share.
func (v *visits) pace(now time.Time) {
	if now.Before(v.paced) {
		return
	}
	v.paced = now.Add(time.Second)
	v.recent = slices.DeleteFunc(v.recent, func(d duration) bool { return now.Sub(d.at) > recentFor })
	horizon := v.pressure.horizon(v.pressure.used())
	must, most := v.mustAhead(), min(mostAhead, horizon/2)
	least := max(must, min(v.leastAhead(), most))
	quarter := v.pressure.share() / 4
	loaded := v.pressure.loaded()
	due := func(ahead time.Duration) int64 {
		return loaded + v.core.Runs().DueBy(v.cfg.Wall(now).Add(ahead).UnixMilli()).Bytes
	}
	for range 2 { // with one step a second, a herd behind a crowd begins to be read too late
		if v.ahead >= most || due(v.ahead*3/2) > quarter {
			break // each question takes some milliseconds where there are very many runs
		}
		v.ahead = v.ahead * 3 / 2
	}
	v.ahead = max(min(v.ahead, most), least)
	for v.ahead > must && due(v.ahead) > quarter {
		v.ahead = max(v.ahead*2/3, must)
	}
	v.seen.AheadMs, v.seen.HorizonMs = v.ahead.Milliseconds(), max(horizon, 2*must).Milliseconds()
}

// urgency returns how long before a copy is due its visit begins: twice what the visits of all runs with something due
// take. It is leastSoon and three of the worst visits at least, and a quarter of the read-ahead. It is half of the
// read-ahead at most, or all of the least one. A visit that begins later takes more copies and costs about as much.
// Without room for what is read ahead it is the least one, too.
func (v *visits) urgency(now time.Time) time.Duration {
	most := max(min(v.leastAhead(), v.ahead), v.ahead/2)
	if v.pressure.roomAhead() <= 0 {
		most = min(v.mustAhead(), v.ahead)
	}
	if len(v.recent) == 0 {
		return most
	}
	mean := time.Duration(0)
	for _, d := range v.recent {
		mean += d.took / time.Duration(len(v.recent))
	}
	_, worst := v.worst(true)
	due := v.core.Runs().RunsDueBy(v.cfg.Wall(now).Add(v.ahead + maxSleep).UnixMilli()) // no look may come before maxSleep is over
	each := 2 * mean * time.Duration(v.cfg.Runs.Beside)
	return min(max(leastSoon+3*worst, v.ahead/4, time.Duration(due)*each), most)
}

// leastAhead is the least read-ahead where memory holds it: one more of the worst visits than a visit begins before its
// copies are due.
func (v *visits) leastAhead() time.Duration {
	_, worst := v.worst(true)
	return min(max(leastAhead, leastSoon+4*worst), mostAhead)
}

// mustAhead is the least read-ahead where memory does not: it holds one wait for a turn, not four. What is read further
// ahead takes the room of what waits to be read and is due sooner. What is due within it is not moved. Visits that
// failed do not count: each takes ten seconds where a leader is silent, and reading others earlier mends nothing.
func (v *visits) mustAhead() time.Duration {
	took, worst := v.worst(false)
	return min(max(leastAhead, 4*took, leastSoon+worst), mostAhead)
}

// worst returns how long a visit took at most, of recent ones, and the same with the wait for its turn. With failed,
// visits that failed count, too.
func (v *visits) worst(failed bool) (took, whole time.Duration) {
	for _, d := range v.recent {
		if d.failed && !failed {
			continue
		}
		took, whole = max(took, d.took), max(whole, d.waited+d.took)
	}
	return took, whole
}

// note counts a visit, and how long it took. One of no offset has read nothing.
func (v *visits) note(a *purgatory.Visited, late bool) {
	if a.From == a.To {
		return
	}
	if len(v.recent) == recentVisits {
		v.recent = slices.Delete(v.recent, 0, 1)
	}
	v.recent = append(v.recent, duration{time.Now(), a.Took, a.Waited, a.Err != nil})
	v.seen.Observe(a.Took.Milliseconds(), late)
}

// read takes the answer to a visit, and parks the copies that are due. It returns true where the
// log is another one, so that the index begins anew.
func (v *visits) read(a *purgatory.Visited, found records) (anew bool) {
	r := v.core.Runs()
	v.news = true
	if a.Assignment == v.resumed {
		v.resumed = offsets.Assignment{}
	}
	if a.Whole {
		delete(v.whole, a.Assignment)
	}
	if a.TopicID != (offsets.TopicID{}) {
		return r.RenewedBy(&a.Visit, a.TopicID)
	}
	if a.Start > 0 {
		r.LogStart(&a.Visit, a.Start)
	}
	if a.Err != nil {
		v.note(a, false)
		r.Unread(a.Visit)
		return false
	}
	now := v.cfg.Wall(time.Now()).UnixMilli()
	ahead, room := v.takes(a, now)
	if v.taken, anew = r.Take(a, ahead.Milliseconds(), room, v.taken[:0]); anew {
		return true
	}
	late := slices.ContainsFunc(v.taken, func(i int) bool { return a.Found[i].DeadlineMs < now })
	if late {
		v.seen.LastLateMs = now
	}
	v.note(a, late)
	loader, ok := v.core.Loader(a.Assignment)
	switch {
	case len(v.taken) == 0:
		if a.Due && room <= 0 { // others have taken it meanwhile
			v.starve(a.Assignment)
		}
	case a.Whole:
		v.loaded = time.Now()
	default:
		v.again = append(v.again, a.Assignment)
	}
	for _, i := range v.taken {
		if ok {
			v.in.load(loader, found[i], &a.Found[i], a.Whole)
		}
	}
	return false
}

// takes returns how far ahead copies of an answer are due at most that are parked now, and how many bytes that may be.
// What is due soon may take more than what is read ahead, and then comes alone.
func (v *visits) takes(a *purgatory.Visited, nowMs int64) (ahead time.Duration, room int64) {
	if a.Whole {
		return v.ahead, v.roomAgain()
	}
	must, bytes := min(v.mustAhead(), v.ahead), int64(0)
	for i := range a.Found {
		if a.Found[i].DeadlineMs <= nowMs+must.Milliseconds() {
			bytes += a.Found[i].Bytes
		}
	}
	if room = v.pressure.roomAhead(); bytes < room {
		return v.ahead, room
	}
	return must, v.pressure.room()
}

// load parks a record that was read from a runs topic; again: to be moved again.
func (in *intake) load(reader purgatory.Reader, r *kgo.Record, f *far.Found, again bool) {
	rules := in.rules(r.Topic)
	d, invalid := rules.ParseAgain(r, f.DeadlineMs)
	in.body.record = r
	a := purgatory.Arrival{Offset: r.Offset, TimestampMs: r.Timestamp.UnixMilli(), DeadlineMs: f.DeadlineMs, LeaderEpoch: r.LeaderEpoch, Reloaded: again, Body: &in.body}
	if invalid != nil {
		a.Target, a.Label, _ = rules.Targets.Default()
		if in.onInvalid != purgatory.Deliver { // else its deadline stays, and outbound.stamp finds the reason again
			a.Reason, a.Message = string(invalid.Reason), message(r.Topic, r.Partition, r.Offset, invalid)
		}
	} else {
		a.Target, a.Label, a.Expires, a.ExpireMs = d.Target, d.Label, d.Expires, d.ExpireMs
	}
	reader.Load(f.Offset, &a)
	in.body.record = nil
}
