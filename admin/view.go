package admin

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"layover/purgatory"
)

// view is a sample with its consequences: the lanes added up and the two
// accounts of each partition brought together. Every answer is made from one.
type view struct {
	Sample
	now   time.Time
	total totals
	parts parts
	sick  []Sickness // the most severe first
	past  []moment   // for the page's lines

	lettersWait bool // there is a dead-letter topic that takes none, or not all
}

func look(s Sample, now time.Time) *view {
	v := glance(s, now, s.Settings)
	v.sick = v.findSick(false)
	return v
}

// glance is a look without what is sick. A counter that no lane has is 0 there if set asks for it.
func glance(s Sample, now time.Time, set Settings) *view {
	v := &view{Sample: s, now: now, total: sum(s.Lanes, set), parts: join(s.Group.Partitions, s.Lanes)}
	if len(v.parts) == 0 { // there is nothing whose reading could pause for memory
		v.Pauses = slices.DeleteFunc(slices.Clone(v.Pauses), func(p Pause) bool { return p.Reason == PauseBytes })
	}
	v.lettersWait = v.deadLetterSick()
	v.explainSilence()
	return v
}

// totals are the lanes added up. Counters have a key, at 0, for every
// combination of configured label values, so that a rate exists from the start.
type totals struct {
	purgatory.Stats // its maps and counters; Parked is left 0

	parked, due, inFlight int64 // records; parked includes due
	bytes                 int64
	chunkBytes, liveBytes int64            // of bytes: chunks of records, and the part of them in use
	nextDueMs             int64            // 0: nothing waits, in memory or in runs
	furthestMs            map[string]int64 // by ingress topic: the latest deadline, 0: nothing is parked
	dueWithin             [len(purgatory.Horizons)]int64
	overdue               int64 // late or about to be, wherever they are
	oldestOverdueMs       int64 // 0: nothing is due
	heldByLabel           map[string]heldTotal
	catchingUp            map[string]catchUpTotal // by target or glob
	heldRest              int                     // held targets that no lane describes
	recentMs              []int32                 // sorted
	missed                purgatory.Missed
	ids, idBytes          int64 // records that a command would find, and the memory of that
	namedBytes            int64 // of liveBytes, of records with an id
	waitingCancels        int64
	barred                int64            // of parked: they wait until their partition is read
	givenUp               map[string]int64 // by target: dead letters of those that no lane holds records for
	moving                int64            // copies in flight to runs topics
	inRuns                runsTotals
}

type heldTotal struct{ records, bytes int64 }

func outcomes() []purgatory.Outcome {
	return []purgatory.Outcome{
		purgatory.Parked, purgatory.Passed, purgatory.Immediate, purgatory.PastDue, purgatory.Invalid, purgatory.Skipped, purgatory.Cancel,
	}
}

// sum adds up the lanes. The cost grows with counters, partitions and targets.
func sum(lanes []*purgatory.Snapshot, set Settings) totals {
	t := zero(set)
	for _, l := range lanes {
		if l != nil {
			t.add(l)
		}
	}
	slices.Sort(t.recentMs)
	for i := range t.dueWithin { // as of an earlier instant than parked is
		t.dueWithin[i] = min(t.dueWithin[i], t.waiting())
	}
	return t
}

// waiting returns how many records wait, in memory, in runs, and on their way there.
func (t *totals) waiting() int64 { return t.parked + t.Gathered + t.inRuns.records }

// zero returns totals with every configured key at 0.
func zero(set Settings) totals {
	t := totals{heldByLabel: make(map[string]heldTotal), catchingUp: make(map[string]catchUpTotal), furthestMs: make(map[string]int64), givenUp: make(map[string]int64)}
	t.Consumed = make(map[purgatory.TopicOutcome]int64)
	t.Invalid, t.DeadLettered = make(map[purgatory.TopicReason]int64), make(map[purgatory.TopicReason]int64)
	t.Delivered = make(map[purgatory.TopicTarget]int64)
	t.Dropped, t.Ambiguous = make(map[string]int64), make(map[string]int64)
	t.ProduceErrors = make(map[purgatory.TargetKind]int64)
	t.Future = make(map[string]int64)
	t.zeroCommands(&set)
	t.zeroRuns(&set)
	t.Late, t.Requested = make(map[string]*purgatory.Histogram), make(map[string]*purgatory.Histogram)
	t.Attempts = make(map[string]*purgatory.Histogram)
	for _, topic := range set.Ingress {
		t.Dropped[topic], t.Ambiguous[topic], t.Future[topic] = 0, 0, 0
		t.furthestMs[topic] = 0
		t.Requested[topic], t.Attempts[topic] = new(purgatory.Histogram), new(purgatory.Histogram)
		for _, o := range outcomes() {
			t.Consumed[purgatory.TopicOutcome{Topic: topic, Outcome: o}] = 0
		}
		for _, reason := range set.Reasons {
			t.Invalid[purgatory.TopicReason{Topic: topic, Reason: reason}] = 0
			t.DeadLettered[purgatory.TopicReason{Topic: topic, Reason: reason}] = 0
		}
		for _, target := range set.Targets {
			t.Delivered[purgatory.TopicTarget{Topic: topic, Target: target}] = 0
		}
	}
	for _, target := range set.Targets {
		t.Late[target] = new(purgatory.Histogram)
		t.catchingUp[target] = catchUpTotal{}
	}
	for _, target := range set.producedTo() {
		t.heldByLabel[target] = heldTotal{}
		for _, kind := range []string{"retriable", "fatal"} {
			t.ProduceErrors[purgatory.TargetKind{Target: target, Kind: kind}] = 0
		}
	}
	return t
}

// producedTo returns the labels of all topics that records are written to.
func (set *Settings) producedTo() []string {
	out := slices.Clone(set.Targets)
	for _, name := range []string{set.DeadLetter, set.Events} {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

func (t *totals) add(l *purgatory.Snapshot) {
	addCounts(t.Consumed, l.Consumed)
	addCounts(t.Invalid, l.Invalid)
	addCounts(t.Delivered, l.Delivered)
	addCounts(t.DeadLettered, l.DeadLettered)
	addCounts(t.Dropped, l.Dropped)
	addCounts(t.Ambiguous, l.Ambiguous)
	addCounts(t.ProduceErrors, l.ProduceErrors)
	addCounts(t.Future, l.Future)
	t.addCommands(l)
	t.addHistograms(l)
	t.addOutlook(&l.Outlook)
	t.addOverdue(l)
	t.addCatchUp(l)
	t.addRuns(l)
	t.addLosses(l)
	t.missed.Add(&l.Missed)
	addCounts(t.givenUp, l.GivenUp)
	t.HandedOver += l.HandedOver
	t.Referred += l.Referred
	t.Unfinished += l.Unfinished
	t.LostToRetention += l.LostToRetention
	t.Jumped += l.Jumped
	t.Commits += l.Commits
	t.CommitErrors += l.CommitErrors
	t.MetadataOverflows += l.MetadataOverflows
	t.Journal.Add(l.Journal)
	t.Restored += l.Restored
	t.LastDeliveryMs = max(t.LastDeliveryMs, l.LastDeliveryMs)
	t.LastCommitMs = max(t.LastCommitMs, l.LastCommitMs)

	t.parked += int64(l.Parked + l.Due)
	t.due += int64(l.Due)
	t.inFlight += int64(l.InFlight)
	t.bytes += l.Bytes
	t.chunkBytes += l.ChunkBytes
	t.liveBytes += l.LiveBytes
	t.nextDueMs = earliest(t.nextDueMs, earliest(l.NextDueMs, l.Outlook.Runs.NextDueMs))
	for i := range l.Partitions {
		p := &l.Partitions[i]
		t.moving += int64(p.Moving)
		t.furthestMs[p.Topic] = max(t.furthestMs[p.Topic], p.FurthestMs)
	}
	for label, h := range l.HeldRest {
		sum := t.heldByLabel[label]
		t.heldByLabel[label] = heldTotal{sum.records + int64(h.Records), sum.bytes + h.Bytes}
		t.heldRest += h.Targets
	}
	for _, h := range l.Held {
		sum := t.heldByLabel[h.Label]
		t.heldByLabel[h.Label] = heldTotal{sum.records + int64(h.Records), sum.bytes + h.Bytes}
	}
}

func addCounts[K comparable](dst, src map[K]int64) {
	for k, n := range src {
		dst[k] += n
	}
}

func (t *totals) addHistograms(l *purgatory.Snapshot) {
	t.recentMs = append(t.recentMs, l.RecentMs...)
	addHistograms(t.Late, l.Late)
	addHistograms(t.Requested, l.Requested)
	addHistograms(t.Attempts, l.Attempts)
	t.TickLag.Add(&l.TickLag)
	t.Produced.Add(&l.Produced)
	t.Committed.Add(&l.Committed)
}

func addHistograms(dst, src map[string]*purgatory.Histogram) {
	for label, from := range src {
		if dst[label] == nil {
			dst[label] = new(purgatory.Histogram)
		}
		dst[label].Add(from)
	}
}

func (t *totals) addOutlook(o *purgatory.Outlook) {
	for i, n := range o.DueWithin {
		t.dueWithin[i] += n
	}
}

// addOverdue adds what is overdue in a lane. The oldest is as of an earlier instant than the number: where that is 0,
// the lane has delivered it meanwhile.
func (t *totals) addOverdue(l *purgatory.Snapshot) {
	if n := overdue(l); n > 0 {
		t.overdue, t.oldestOverdueMs = t.overdue+n, earliest(t.oldestOverdueMs, l.Outlook.OldestOverdueMs)
	}
}

// furthest returns the latest deadline of all ingress topics, 0: nothing is parked.
func (t *totals) furthest() (ms int64) {
	for _, topicMs := range t.furthestMs {
		ms = max(ms, topicMs)
	}
	return ms
}

// skipped returns how many records were read that were finished before.
func (t *totals) skipped() int64 {
	var n int64
	for k, v := range t.Consumed {
		if k.Outcome == purgatory.Skipped {
			n += v
		}
	}
	return n
}

// unaccounted returns the difference of the two sides of the equation in the
// package comment. Invariant: 0.
func (t *totals) unaccounted() int64 {
	return all(t.Consumed) + t.Loaded - all(t.Delivered) - all(t.DeadLettered) - all(t.Dropped) - all(t.Ended) - all(t.Cancels) - t.waitingCancels + t.EventsWaiting -
		t.parked - t.inFlight - t.Referred - t.HandedOver - t.skipped() - t.Unfinished - t.Moved - t.Gathered
}

func all[K comparable](counts map[K]int64) int64 {
	var n int64
	for _, v := range counts {
		n += v
	}
	return n
}

// part is one partition, as the group member and as the core sees it. At least
// one of the two is there. The member alone knows a partition that is being
// loaded, the core alone one that is being handed over.
type part struct {
	topic     string
	partition int32
	member    *Assignment
	core      *purgatory.PartitionView
}

type partitionKey struct {
	topic     string
	partition int32
}

// parts are all partitions, ordered by name.
type parts []part

// join brings the two accounts of each partition together.
func join(assigned []Assignment, lanes []*purgatory.Snapshot) parts {
	byKey := make(map[partitionKey]part)
	for i := range assigned {
		a := &assigned[i]
		byKey[partitionKey{a.Topic, a.Partition}] = part{topic: a.Topic, partition: a.Partition, member: a}
	}
	for _, l := range lanes {
		if l == nil {
			continue
		}
		for i := range l.Partitions {
			v := &l.Partitions[i]
			k := partitionKey{v.Topic, v.Partition}
			p := byKey[k]
			if p.core == nil || p.core.Epoch < v.Epoch { // of two assignments, the one that goes on
				p.topic, p.partition, p.core = v.Topic, v.Partition, v
				byKey[k] = p
			}
		}
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b part) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
}

// next returns the first offset that was not read yet; ok is false while the
// partition is being loaded and nobody knows.
func (p *part) next() (offset int64, ok bool) {
	if p.core != nil {
		return p.core.Next, true
	}
	return p.member.Next, p.member.Loaded
}

// stop is why and where a partition is not read any more.
type stop struct {
	offset int64
	why    string
	code   string
	halted bool // by the policy for invalid records
	begun  bool // else nothing of it was read, and offset says nothing
}

func (p *part) stop() (stop, bool) {
	if p.core != nil && p.core.Halted != "" {
		return stop{p.core.HaltedAt, p.core.Halted, reasonHalted, true, true}, true
	}
	if p.member != nil && p.member.Stopped != "" {
		return stop{p.member.Next, p.member.Stopped, p.member.Reason, false, p.core != nil || p.member.Loaded}, true
	}
	return stop{}, false
}
