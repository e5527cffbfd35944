package consumer

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ownership is this member's identity in the group, and the table of the partitions that
// are assigned to it. Any goroutine may use it.
type ownership struct {
	lease lease // for how long the group certainly counts on this member

	mu         sync.Mutex
	rows       map[offsets.TopicPartition]*owned
	epochs     uint64 // assignments so far
	memberID   string
	generation int32
	joined     bool // a join has completed, and its membership is not lost since
	rebalances int64
}

// owned is one row of the ownership table.
type owned struct {
	offsets.Assignment
	member   string // id under which it was assigned, and which it does not outlive
	topicID  offsets.TopicID
	assigned time.Time // when
	claimed  bool      // a loading has it
	loaded   bool      // offset and finished set are known, and the handler has it
	fetched  bool      // a fetch was answered
	next     int64
	epoch    int32 // highest leader epoch that was committed or read, -1: none
	end      int64 // of its log as last told, or endUnknown
	unread   unreadRecord
	open     openTransaction
	stands   standstill
	// refetches are those of a batch that the client could not read, and its broker has whole.
	refetches refetches
	// lastRead is when a poll last had records of it.
	lastRead time.Time
	stoppage
}

// endUnknown is the end of a log that nobody has told yet.
const endUnknown = -1

func newOwnership() *ownership {
	return &ownership{rows: make(map[offsets.TopicPartition]*owned)}
}

// row returns an assignment's row, nil when the assignment is over. Callers hold mu.
func (t *ownership) row(a offsets.Assignment) *owned {
	if o := t.rows[a.TopicPartition]; o != nil && o.Epoch == a.Epoch {
		return o
	}
	return nil
}

// identify takes member id and generation. Callers run inside a rebalance callback,
// where both belong to the table as it is.
func (t *ownership) identify(memberID string, generation int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.memberID, t.generation = memberID, generation
}

// identity returns member id and generation.
func (t *ownership) identity() (memberID string, generation int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.memberID, t.generation
}

// leave notes that the membership is lost.
func (t *ownership) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.joined = false
}

// outlived returns the partitions that were assigned to an earlier member id. A client
// that the group has dropped may hear of it only by joining again. It then has a new id,
// and silently keeps its partitions. Meanwhile another member may have owned them, and
// finished and committed more.
func (t *ownership) outlived() map[string][]int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string][]int32)
	for tp, o := range t.rows {
		if o.member != t.memberID {
			out[tp.Topic] = append(out[tp.Topic], tp.Partition)
		}
	}
	return out
}

// add begins an assignment for each partition that a join has added, and returns how many
// there are in all.
func (t *ownership) add(parts map[string][]int32) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rebalances++
	t.joined = true
	for topic, partitions := range parts {
		for _, p := range partitions {
			tp := offsets.TopicPartition{Topic: topic, Partition: p}
			t.epochs++
			t.rows[tp] = &owned{Assignment: offsets.Assignment{TopicPartition: tp, Epoch: t.epochs}, assigned: time.Now(), member: t.memberID, end: endUnknown}
		}
	}
	return len(t.rows)
}

// forget ends the assignments of partitions, whichever they are.
func (t *ownership) forget(parts map[string][]int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for topic, partitions := range parts {
		for _, p := range partitions {
			delete(t.rows, offsets.TopicPartition{Topic: topic, Partition: p})
		}
	}
}

// loadedOf returns the assignments of partitions that the handler has.
func (t *ownership) loadedOf(parts map[string][]int32) (out []offsets.Assignment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for topic, partitions := range parts {
		for _, p := range partitions {
			if o := t.rows[offsets.TopicPartition{Topic: topic, Partition: p}]; o != nil && o.loaded {
				out = append(out, o.Assignment)
			}
		}
	}
	return out
}

// loaded returns all assignments that the handler has.
func (t *ownership) loaded() map[offsets.TopicPartition]offsets.Assignment {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[offsets.TopicPartition]offsets.Assignment)
	for tp, o := range t.rows {
		if o.loaded {
			out[tp] = o.Assignment
		}
	}
	return out
}

// is says whether an assignment is not over.
func (t *ownership) is(a offsets.Assignment) bool { return t.while(a, func(*owned) {}) }

// owns says whether a partition is assigned.
func (t *ownership) owns(tp offsets.TopicPartition) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[tp] != nil
}

// isOf says whether an assignment's topic has that id.
func (t *ownership) isOf(a offsets.Assignment, id offsets.TopicID) (same bool) {
	t.while(a, func(o *owned) { same = o.topicID == id })
	return same
}

// isFormer says whether a leader in that epoch, -1 for unknown, is a former one of an assignment's partition. Without
// topic ids it may be of a topic that was made again: see formerLeader.
func (t *ownership) isFormer(a offsets.Assignment, epoch int32) (former bool) {
	t.while(a, func(o *owned) { former = epoch >= 0 && epoch < o.epoch && o.topicID != (offsets.TopicID{}) })
	return former
}

// position returns the first offset not yet handed over, -1 when the assignment is over.
func (t *ownership) position(a offsets.Assignment) int64 {
	at := int64(-1)
	t.while(a, func(o *owned) { at = o.next })
	return at
}

// while calls f with an assignment's row, unless the assignment is over: it cannot end,
// and its partition not be assigned again, until f returns. f may call the client.
func (t *ownership) while(a offsets.Assignment, f func(*owned)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.row(a)
	if o != nil {
		f(o)
	}
	return o != nil
}

// stamp copies the identity into each commit, under the lock that checks its ownership.
// Commits of assignments that are over are in refused.
func (t *ownership) stamp(commits []offsets.Commit) (stamped []offsets.Commit, refused []offsets.CommitResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range commits {
		o := t.rows[m.TopicPartition]
		if o == nil || o.Epoch != m.Epoch || o.member != t.memberID {
			refused = append(refused, resultOf(m, errNotOwned))
			continue
		}
		m.MemberID, m.Generation, m.TopicID = t.memberID, t.generation, o.topicID
		stamped = append(stamped, m)
	}
	return stamped, refused
}

// claim returns the assignments that a loading is to begin: those that none has, and that
// are not stopped for good. They are that loading's until begin, refuse or release.
func (t *ownership) claim() (out []offsets.Assignment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.rows {
		if !o.loaded && !o.claimed && !o.final() {
			o.claimed = true
			out = append(out, o.Assignment)
		}
	}
	return out
}

// release lets another loading claim assignments.
func (t *ownership) release(claimed []offsets.Assignment) {
	for _, a := range claimed {
		t.while(a, func(o *owned) { o.claimed = false })
	}
}

// begin completes the row of an assignment that the handler is about to get. end is that
// of its log. It returns false where the assignment is over.
func (t *ownership) begin(a *facts.Assigned, end int64) bool {
	return t.while(a.Assignment, func(o *owned) {
		o.stoppage.clear()
		o.claimed, o.loaded, o.topicID, o.next, o.epoch, o.end = false, true, a.TopicID, a.Next, a.LeaderEpoch, end
	})
}

// refuse stops an assignment before it begins. It returns false where the assignment is
// over.
func (t *ownership) refuse(a *facts.Assigned, code Reason, reason string) bool {
	return t.while(a.Assignment, func(o *owned) {
		o.stoppage.clear()
		o.claimed, o.topicID = false, a.TopicID
		o.stop(code, reason, 0, time.Now())
	})
}

// ended reports whether an assignment's reading has ended.
func (t *ownership) ended(a offsets.Assignment) (ended bool) {
	t.while(a, func(o *owned) { ended = o.final() })
	return ended
}

// await notes why an assignment has not begun in time.
func (t *ownership) await(a offsets.Assignment, why string) {
	t.while(a, func(o *owned) {
		if !o.loaded && !o.final() {
			o.stoppage.await(why, time.Now())
		}
	})
}

// noteFetch notes a poll's answer for a partition, and returns its assignment; ok is false
// where nobody is to get the records. strayed says that the client began to read below the
// position, which is from. The client takes no offset for a partition that it does not know yet.
func (t *ownership) noteFetch(f *kgo.FetchTopicPartition) (a offsets.Assignment, from int64, strayed, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.rows[offsets.TopicPartition{Topic: f.Topic, Partition: f.Partition}]
	if o == nil || !o.loaded || o.stopped() {
		return a, 0, false, false
	}
	n := len(f.Records)
	from, strayed = o.next, !o.fetched && n > 0 && f.Records[0].Offset < o.next
	if n > 0 {
		o.lastRead = time.Now()
		o.next = max(o.next, f.Records[n-1].Offset+1)
		o.epoch = max(o.epoch, f.Records[n-1].LeaderEpoch)
	}
	o.fetched = o.fetched || n > 0 || f.Err != nil
	if f.Err == nil {
		o.answered()
		if f.HighWatermark > 0 {
			o.end = f.HighWatermark
		}
	}
	return o.Assignment, from, strayed, true
}

// noteEnd notes where the log of an assignment's partition ends now.
func (t *ownership) noteEnd(a offsets.Assignment, end int64) {
	t.while(a, func(o *owned) {
		if end >= 0 {
			o.end = end
		}
		if o.end >= 0 && o.next >= o.end {
			o.quiet(time.Now())
		}
	})
}

// status returns a copy of the table, by partition, and the member's identity.
func (t *ownership) status(now time.Time) Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Status{MemberID: t.memberID, Generation: t.generation, Joined: t.joined, Rebalances: t.rebalances}
	for _, o := range t.rows {
		v := View{Assignment: o.Assignment, Loaded: o.loaded, Next: o.next, End: o.end, OldestUnread: o.oldestUnread(), Open: o.behind()}
		v.Stopped, v.Reason, v.Since, v.Trying = o.why(now)
		if o.stopped() && o.loaded {
			v.Next = o.at
		}
		s.Partitions = append(s.Partitions, v)
	}
	slices.SortFunc(s.Partitions, func(a, b View) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return s
}

// why returns why the partition is not read, for Status; "" where it is, or nothing is known of it. An assignment that
// no loading has waits for the client, which asks for the offset again and again and says nothing.
func (o *owned) why(now time.Time) (text string, code Reason, since time.Time, trying bool) {
	if text, code, since, trying = o.said(now); text != "" {
		return text, code, since, trying
	}
	if !o.loaded && !o.claimed && now.Sub(o.assigned) >= loadGrace {
		return whereToBegin + "the group's offset is not told, as while a transaction holds it", NotBegun, o.assigned, true
	}
	if found := o.stands.said(o.next); found != "" {
		return "nothing is read, trying again: " + found, Failing, o.stands.since, true
	}
	return "", "", time.Time{}, false
}
