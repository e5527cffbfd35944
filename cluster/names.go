package cluster

import (
	"slices"
	"strings"
	"time"
)

// names are the topics that headers chose under a glob, and the order in which they are
// asked about. It has no lock and no clock: a Watcher holds its own lock around every call.
//
// Whoever may write to an ingress topic may invent names. So their number is bounded,
// a request has a bounded share of them, and each kind of them has its turn:
//
//	fresh       never asked about: at once, in the order in which they came
//	active      exist and had a record of late: a healthy target learns what changes
//	unanswered  asked about without an answer
//	idle        missing, forbidden, or without a record of late
//
// Each kind but the fresh ones has a bounded number of requests a second. Names whose last
// request is the longest ago come first.
type names struct {
	limit  int // names known at a time
	known  map[string]*Topic
	bytes  int64 // memory that the known ones are accounted with
	queues [kinds]queue
	turn   int // of rota, the last one that was served

	full    time.Time // since when names are refused for want of room; zero: none is
	refused time.Time // when one was last refused
}

// queue holds the names of one kind that are to be asked about. requests is the number of
// requests that they have until the next plan.
type queue struct {
	topics   []*Topic
	requests int
}

// Kinds of names.
const (
	fresh = iota
	active
	unanswered
	idle
	kinds
)

// rota is the order in which kinds with waiting names are served.
var rota = [...]int{active, fresh, active, fresh, unanswered, idle}

// Bounds of the names.
const (
	// MaxNames is how many names chosen by headers are known at a time. With all of them
	// in use, long names, and a request of 20 ms, each is asked about within 10 s. Those
	// that exist are within 5 s.
	MaxNames = 10_000

	requestNames = 500      // names in one request
	requestBytes = 64 << 10 // of their names in one request
	nameOverhead = 4        // bytes of a request for each name beside its letters

	// Requests a second: at the limit a round of names with 249 letters is 39 requests.
	activeRequests     = 8
	unansweredRequests = 4
	idleRequests       = 4

	usedLately  = time.Minute
	forgetAfter = 10 * time.Minute // a name that nobody asked for

	// While names are refused, names make room that do not exist, or may not be described,
	// if they were known for this long. At most a tenth of the limit goes in a second. So a
	// name that does exist is found among any number of others.
	leastStay = 10 * time.Second
	roomShare = 10

	// refusedFor is for how long a refused name counts. A held target is tried every
	// 2 s, so that a name that still waits for room is refused again by then.
	refusedFor = 10 * time.Second
)

// newNames returns names of which none is known yet.
func newNames(limit int) *names { return &names{limit: limit, known: make(map[string]*Topic)} }

// lookup returns a name, and nil where there is no room for it. added says that the name
// is new.
func (n *names) lookup(name string, now time.Time) (t *Topic, added bool) {
	t = n.known[name]
	if t == nil {
		if len(n.known) >= n.limit {
			if n.refused = now; n.full.IsZero() {
				n.full = now
			}
			return nil, false
		}
		name = strings.Clone(name)
		t = &Topic{Name: name, MaxBatchBytes: defaultMaxBatch, added: now}
		n.known[name] = t
		n.bytes += t.bytes()
		n.queues[fresh].topics = append(n.queues[fresh].topics, t)
		added = true
	}
	t.used = now
	return t, added
}

func (n *names) drop(t *Topic) {
	n.bytes -= t.bytes()
	delete(n.known, t.Name)
}

// plan is called once a second: it forgets names, and gives each kind its requests of
// the next second.
func (n *names) plan(now time.Time) {
	if now.Sub(n.refused) > refusedFor {
		n.full = time.Time{}
	}
	for i := range n.queues {
		if i != fresh {
			n.queues[i].topics = n.queues[i].topics[:0]
		}
	}
	for _, t := range n.known {
		switch k := t.kind(now); {
		case now.Sub(t.used) > forgetAfter:
			n.drop(t)
		case k != fresh && now.Sub(t.asked) >= askEvery/2:
			n.queues[k].topics = append(n.queues[k].topics, t)
		}
	}
	for i, requests := range [kinds]int{fresh: n.limit, active: activeRequests, unanswered: unansweredRequests, idle: idleRequests} {
		n.queues[i].requests = requests
		if i != fresh {
			slices.SortFunc(n.queues[i].topics, before)
		}
	}
	if !n.full.IsZero() && len(n.known) >= n.limit {
		n.makeRoom(now)
	}
}

// kind says in which queue a name is.
func (t *Topic) kind(now time.Time) int {
	switch {
	case t.asked.IsZero():
		return fresh
	case t.State == Pending:
		return unanswered
	case t.misses > 0 || t.State == Usable && now.Sub(t.used) < usedLately:
		return active
	default:
		return idle
	}
}

// before orders topics: those in doubt first, then the longest not asked about.
func before(a, b *Topic) int {
	if a.misses != b.misses {
		return int(b.misses) - int(a.misses)
	}
	return a.asked.Compare(b.asked)
}

// makeRoom forgets names that do not exist or may not be described, the longest known
// first.
func (n *names) makeRoom(now time.Time) {
	var out []*Topic
	for _, t := range n.known {
		if (t.State == Missing || t.State == Forbidden) && now.Sub(t.added) >= leastStay {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *Topic) int { return a.added.Compare(b.added) })
	for _, t := range out[:min(len(out), max(n.limit/roomShare, 1))] {
		n.drop(t)
	}
}

// next returns the names of the next request, nil where none is due. They count as asked
// about from now on.
func (n *names) next(now time.Time) []*Topic {
	for range rota {
		n.turn = (n.turn + 1) % len(rota)
		if batch := n.cut(&n.queues[rota[n.turn]], now); len(batch) > 0 {
			return batch
		}
	}
	return nil
}

// cut takes one request's names from the front of a queue.
func (n *names) cut(q *queue, now time.Time) (batch []*Topic) {
	if q.requests == 0 {
		return nil
	}
	limit, size := requestNames, 0
	for ; len(q.topics) > 0; q.topics = q.topics[1:] {
		t := q.topics[0]
		if n.known[t.Name] != t { // forgotten
			continue
		}
		if t.batchLimit > 0 {
			limit = min(limit, int(t.batchLimit))
		}
		if size += len(t.Name) + nameOverhead; len(batch) >= limit || size > requestBytes {
			break
		}
		t.asked = now
		batch = append(batch, t)
	}
	if len(batch) > 0 {
		q.requests--
	}
	return batch
}

// waiting says whether next has something to return.
func (n *names) waiting() bool {
	return slices.ContainsFunc(n.queues[:], func(q queue) bool { return len(q.topics) > 0 && q.requests > 0 })
}

// failed notes that a request got no answer. Each of its names goes into smaller
// requests until there is an answer. So a name that spoils its request is soon alone.
func (n *names) failed(batch []*Topic) {
	for _, t := range batch {
		t.batchLimit = uint16(max(len(batch)/2, 1))
	}
}
