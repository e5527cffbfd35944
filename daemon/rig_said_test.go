package daemon

import (
	"fmt"
	"slices"
	"time"

	"layover/offsets"
)

// sayings is since when each offset of a partition is said to be finished, by a commit
// or by the journal.
type sayings struct {
	low    int64       // everything below is, and stays so
	since  []time.Time // by offset; zero: it is not said now
	first  []time.Time // by offset; zero: it never was
	past   map[int64][]period
	looked time.Time // last
}

// period is a time, both ends included.
type period struct{ from, to time.Time }

// take notes what was seen in one look.
func (s *sayings) take(v *view, now time.Time) {
	end := max(v.end(), int64(len(s.since)))
	for int64(len(s.since)) < end {
		s.since, s.first = append(s.since, time.Time{}), append(s.first, time.Time{})
	}
	for o := s.low; o < end; o++ {
		switch says := v.says(o); {
		case says && s.since[o].IsZero():
			s.since[o] = now
			if s.first[o].IsZero() {
				s.first[o] = now
			}
		case !says:
			s.unsay(o)
		}
	}
	s.low, s.looked = max(s.low, v.commit.Low()), now // a committed low offset does not go back
}

// unsay ends a saying, at the last look.
func (s *sayings) unsay(o int64) {
	if !s.since[o].IsZero() {
		s.past[o] = append(s.past[o], period{s.since[o], s.looked})
		s.since[o] = time.Time{}
	}
}

// at says whether an offset certainly was said to be finished at a time.
func (s *sayings) at(o int64, t time.Time) bool {
	if s == nil || o >= int64(len(s.since)) {
		return false
	}
	if from := s.since[o]; !from.IsZero() && from.Before(t) {
		return true
	}
	return slices.ContainsFunc(s.past[o], func(p period) bool { return p.from.Before(t) && t.Before(p.to) })
}

// by says whether an offset was said to be finished at some time up to t.
func (s *sayings) by(o int64, t time.Time) bool {
	return s != nil && o < int64(len(s.first)) && !s.first[o].IsZero() && !s.first[o].After(t)
}

// watchCommits looks at the group's commits and the journal whenever a commit was
// taken, until nobody rings any more. An offset that they call finished stays finished.
// Where it does not, somebody wrote who no longer had the partition.
func (r *rig) watchCommits() {
	defer close(r.looked)
	last := make(map[logPlace]*view) // by topic, partition and number of truncations
	for range r.look {
		r.withBrokers(func() { r.lookAtCommits(last) })
	}
}

// lookAtCommits is one look; last is what the one before saw.
func (r *rig) lookAtCommits(last map[logPlace]*view) {
	harms, harming := r.harmed()
	before := r.Broker.TopicInfo(ingress)
	info := r.Broker.GroupInfo(group)
	after := r.Broker.TopicInfo(ingress)
	if info == nil || before == nil || after == nil || before.TopicID != after.TopicID {
		return // what was seen cannot be told apart from another topic's
	}
	for p, c := range info.Commits[ingress] {
		at := logPlace{topic: before.TopicID, partition: p}
		log := at
		log.offset = r.truncatedSoFar(p) // what was seen before is of another log
		now, err := r.readView(offsets.Identity{ClusterID: clusterID, TopicID: before.TopicID, Partition: p}, c, harms)
		if err != nil {
			r.fault("%v", err)
			continue
		}
		if harming {
			now.journal, now.named = nil, nil // nobody can rely on it
		}
		if *rigLooks {
			r.note("look at %s/%d: committed at %d with %d characters, life %x, %v", ingress, p, c.Offset, len(c.Metadata), now.life, now)
		}
		if text := r.compare(p, last[log], now); text != "" {
			r.retract(p, text)
			now.named = nil // what is named from now on stands
		}
		if r.noteView(at, now) {
			last[log] = now
		}
	}
}

// noteView notes what was seen, unless the journal was harmed meanwhile.
func (r *rig) noteView(at logPlace, v *view) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.harms != v.harms {
		return false
	}
	s := r.said[at]
	if s == nil {
		s = &sayings{past: make(map[int64][]period)}
		r.said[at] = s
	}
	s.take(v, time.Now())
	r.names[at.partition] = v.names
	return true
}

// compare looks for what was finished and is not any more, and says what. Where a set
// does not fit, its end may come and go, as long as the journal does not have it. It has none
// that a commit has taken back from there, when the set was small, and that has outgrown it since.
// Behind a commit that was overtaken all of the set may come and go.
func (r *rig) compare(p int32, old, now *view) string {
	if old == nil {
		return ""
	}
	r.mu.Lock()
	stale, lowest, cut := r.stale(p, time.Now()), r.truncations.lowest[p], r.truncations.number[p] > 0
	r.mu.Unlock()
	if stale {
		return ""
	}
	if now.commit.Low() < old.commit.Low() {
		r.fault("committed offset of %s/%d went back from %d to %d", ingress, p, old.commit.Low(), now.commit.Low())
	}
	if old.life != now.life {
		if old.life != 0 && r.plan.roomy() {
			r.fault("the offset of %s/%d began a new life at %d", ingress, p, now.commit.Low())
		}
		return ""
	}
	if old.harms != now.harms || now.partial() {
		return ""
	}
	for offset, end := now.commit.Low(), old.end(); offset < end && now.journal != nil; offset++ {
		said := old.named != nil && old.named.Finished(offset) || now.whole && old.commit.Finished(offset)
		if said && !now.holds(offset) && !(cut && offset >= lowest) { // facts of a truncated log are taken back
			return fmt.Sprintf("offset %d of %s/%d was finished by a commit at %d and its journal, and is not by later ones at %d",
				offset, ingress, p, old.commit.Low(), now.commit.Low())
		}
	}
	return ""
}

// retraction is something that was said and is not any more. Only an assignment that began
// without all of its journal may do that.
type retraction struct {
	partition int32
	at        time.Time
	text      string
}

// retract notes a retraction, and begins anew with what is named.
func (r *rig) retract(p int32, text string) {
	if l := r.journals[p]; l != nil {
		l.named = commitsNamed{}
	}
	r.note("said no more: %s", text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retractions = append(r.retractions, retraction{p, time.Now(), text})
}

// roomy says whether commits have room for what names the journal.
func (p *plan) roomy() bool { return p.metadata == 0 || p.metadata >= 256 }

// harmed returns how often the journal was harmed, and whether it is being harmed now.
func (r *rig) harmed() (harms int, now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.harms, r.harming > 0
}

// harm begins something that takes from the journal what it says, until the returned
// function is called. What was said may come again.
func (r *rig) harm() (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	began := time.Now()
	r.harms++
	r.harming++
	r.lastHarm = began
	r.sum.journal.harms++
	for _, s := range r.said {
		for o := s.low; o < int64(len(s.since)); o++ {
			s.unsay(o)
		}
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.harms++
		r.harming--
		r.lastHarm = time.Now()
		r.troubles = append(r.troubles, period{began, time.Now()})
	}
}

// trouble notes that something happens, for so long, that may keep a daemon from
// writing to the journal or from reading it.
func (r *rig) trouble(for_ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.troubles = append(r.troubles, period{time.Now(), time.Now().Add(for_)})
}

// calm says whether no trouble was in a time. Callers hold mu.
func (r *rig) calm(from, to time.Time) bool {
	return !slices.ContainsFunc(r.troubles, func(p period) bool { return p.from.Before(to) && from.Before(p.to) })
}

// recovery is how long after a trouble a daemon may still feel it. The daemon asks for
// topics every second, tries again after up to 5 s, and finds a leader's move within as
// long.
const recovery = 20 * time.Second
