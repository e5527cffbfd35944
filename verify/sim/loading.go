package sim

import (
	"layover/journal/facts"
	"layover/offsets"
)

// illness is why Kafka does not answer for an ingress partition as it should.
type illness uint8

const (
	well       illness = iota
	leaderless         // nothing is written or read, and its log cannot be asked about
	forbidden          // it may not be described or read, and no commit is taken
	deleted            // its topic is gone; the next one is another topic
	illnesses
)

func (i illness) String() string {
	return [...]string{"well", "without a leader", "forbidden", "deleted"}[i]
}

// hasLeader says whether somebody else can still write and read.
func (i illness) hasLeader() bool { return i == well || i == forbidden }

// takesCommits says whether the coordinator still stores offsets of the partition, and
// tells them.
func (i illness) takesCommits() bool { return i == well || i == leaderless }

// sicken makes a partition sick that is well, or well again. A partition that has a
// leader again may have another one.
func (w *World) sicken(p int, as illness) bool {
	log := w.logs[p]
	if (log.sick == well) == (as == well) {
		return false
	}
	switch {
	case as == deleted:
		w.remake(p)
	case log.sick == leaderless:
		log.epoch++
	}
	w.logs[p].sick = as
	w.say("partition %d is %v", p, as)
	return true
}

// stage is the question that a loading asks next.
type stage uint8

const (
	askBounds  stage = iota // topic id, start and end of the log
	askOffset               // the committed offset
	askJournal              // the finished offsets that the journal has
	askEpoch                // where the log of the committed leader epoch ends
	enter                   // no question is left: the core takes the partition over
)

// loading is a partition that has an owner whose core does not have it yet. Where it
// begins is asked one question at a time; everything may happen between two of them.
type loading struct {
	stage stage
	slow  bool // the client has got a place that it does not read from
	late  bool // its bounds were asked for in vain

	// The committed offset, and the topic that it is of. nil: there is none.
	fetched bool
	was     *committed
	of      byte

	bounds    offsets.Bounds
	stableEnd int64
	start     offsets.Start
	writer    *facts.Writer
	journal   int64 // the end of the journal when it was read
}

// assign gives the instance a partition. The client fetches the committed offset with it
// where it can. With slowly the other questions are asked by Load, as they are where the
// partition is sick; otherwise all of them are answered now.
func (in *instance) assign(p int, slowly bool) {
	w := in.w
	w.epochs++
	own := &partition{epoch: w.epochs, log: w.logs[p], topicID: w.logs[p].topicID, loading: &loading{slow: slowly || w.logs[p].sick != well}}
	w.group.owner[p], in.partitions[p] = in.member, own
	if own.log.sick.takesCommits() {
		own.loading.fetch(w, p)
	}
	// Without topic ids in the request nothing tells of which topic the offset is.
	atOnce := !slowly || w.group.byName && own.log.sick == well
	for atOnce && in.load(p) && !(slowly && own.loading.stage > askBounds) {
	}
}

func (l *loading) fetch(w *World, p int) {
	l.fetched, l.was, l.of = true, w.group.offsets[p], w.logs[p].topicID
}

// load asks the next question about where a partition begins, or lets it begin. It
// returns false when nothing came of it.
func (in *instance) load(p int) bool {
	own, log := in.partition(p), in.w.logs[p]
	if own == nil || own.loading == nil || own.stopped || own.revoking {
		return false
	}
	l := own.loading
	if l.stage != askBounds && own.log != log { // it waits until it is assigned anew
		return false
	}
	switch l.stage {
	case askBounds:
		return own.locate(log)
	case askOffset:
		if !l.fetched && (!log.sick.takesCommits() || in.w.group.pending[p] != nil) {
			return false
		}
		if !l.fetched {
			l.fetch(in.w, p)
		}
		in.resume(p, own)
	case askJournal:
		if log.sick != well {
			return false
		}
		in.readJournal(p, own)
	case askEpoch:
		switch {
		case log.sick != well: // another broker may lead it by now
			l.stage, l.late = askBounds, true
		case l.slow && log.endOf(l.start.LeaderEpoch) < l.start.Next: // otherwise the client asks
			in.refuse(p, own, "the log was truncated")
		default:
			l.stage = enter
		}
	case enter:
		in.begin(p, own)
	}
	return true
}

// locate asks where the log lies. An offset that may be of another topic, or older than
// a sickness, is asked for again.
func (own *partition) locate(log *partitionLog) bool {
	l := own.loading
	if log.sick != well {
		again := l.late
		l.late = true
		return !again
	}
	if l.late || l.of != log.topicID {
		l.fetched = false
	}
	own.log, own.topicID = log, log.topicID
	l.bounds, l.stableEnd, l.stage = offsets.Bounds{Start: log.start, End: log.end()}, log.stable(), askOffset
	return true
}

// resume decides where the partition goes on.
func (in *instance) resume(p int, own *partition) {
	l, at := own.loading, offsets.Committed{Offset: own.loading.bounds.Start, LeaderEpoch: -1}
	if l.was != nil {
		at = l.was.Committed
	}
	var err error
	if l.start, err = offsets.Resume(at, in.w.identity(p), l.bounds); err != nil {
		in.refuse(p, own, err.Error())
		return
	}
	l.stage = askJournal
}

func (in *instance) readJournal(p int, own *partition) {
	l := own.loading
	var err error
	if l.writer, err = in.restore(p, &l.start, l.bounds); err != nil {
		in.refuse(p, own, err.Error())
		return
	}
	l.journal = in.w.journal.logs[p].end()
	l.stage = askEpoch
}

// refuse ends a loading: an operator has to act.
func (in *instance) refuse(p int, own *partition, why string) {
	in.w.say("%s does not read %d: %s", in.member, p, why)
	own.stopped, own.loading = true, nil
}

// begin gives the partition to the core.
func (in *instance) begin(p int, own *partition) {
	w, l := in.w, own.loading
	own.loading = nil
	own.begin(w, w.group.owner[p] == in.member, l.was, l.start)
	own.again, own.stableEnd, own.readMs = l.start.Again, l.stableEnd, in.clock().AnsweredMs
	own.over = l.start.Next >= l.stableEnd
	if w.group.owner[p] == in.member {
		w.covers(p, setOf(l.start.Window).upTo(w.logs[p].endOf(l.start.LeaderEpoch)), own.again, "an assignment")
	}
	own.validate(l.start.Next, l.start.LeaderEpoch)
	w.say("%s is assigned %d, epoch %d: %s, reads from %d", in.member, p, own.epoch, setOf(l.start.Window), l.start.Next)
	in.core.Assign(facts.Assigned{
		Assignment: offsets.Assignment{TopicPartition: partitionOf(p), Epoch: own.epoch}, TopicID: w.topicID(p), ClusterID: cluster,
		Window: l.start.Window, Facts: l.writer, Next: l.start.Next, StableEnd: l.stableEnd, LeaderEpoch: l.start.LeaderEpoch,
		Again: l.start.Again, Runs: l.start.Runs,
	})
	if w.cfg.Runs {
		own.said, own.opening = l.start.Runs, &opening{}
	}
	in.effects()
}

func (l *loading) encode(s *scribe) {
	s.num(int64(l.stage), int64(l.of), l.bounds.Start, l.bounds.End, l.stableEnd, l.start.Next, int64(l.start.LeaderEpoch), l.journal)
	s.flags(l.late, l.fetched, l.was != nil)
	if l.was != nil {
		s.num(l.was.Offset, int64(l.was.LeaderEpoch))
		s.text(l.was.Metadata)
	}
}
