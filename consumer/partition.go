package consumer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"
)

// partition is one assigned partition on its way to the handler. It has no lock, asks
// nobody and knows no clock: its methods take answers, and move it on to the next stage.
//
//	needsBounds ─► needsOffset ─► needsStart ─► needsJournal ─► needsEpoch ─► ready
//	  id, log       committed      start          journal         leader
//	  bounds        offset         offset                         epoch
type partition struct {
	facts.Assigned
	id    facts.Identity
	at    cluster.Bounds
	named offsets.JournalRange // the journal records that its commit names

	stage   stage
	fetched bool // the committed offset is known, or that there is none
	was     *offsets.Committed
	// outdated: the topic may have been deleted and made again since its committed offset
	// was told. The offset is asked for once more, by the topic id that bounds came with.
	outdated bool
	epoch    int32          // highest leader epoch that its log is known to have, by its journal; see formerLeader
	believes bool           // what a leader of a lower epoch says is taken, where that may be the truth
	from     *offsets.Start // that was resumed, until it is logged
	checked  bool           // its leader epoch was checked

	asked bool      // an answer is awaited
	due   time.Time // of the next question
	err   error     // the last error
	told  string    // text of err in the table

	code   Reason // why it is not to be read
	reason string
}

// stage is what a partition waits for.
type stage uint8

const (
	needsBounds  stage = iota // topic id and log bounds
	needsOffset               // the group's committed offset
	needsStart                // a start, because nothing is committed
	needsJournal              // the records of its journal
	needsEpoch                // whether the log still is the one that was read
	ready                     // nothing: it can be read, or must not be
)

// next moves the partition on to a stage.
func (p *partition) next(s stage) { p.stage, p.asked, p.err, p.due = s, false, nil, time.Time{} }

// refuse makes the partition ready, and not to be read: an operator has to act.
func (p *partition) refuse(code Reason, reason string) {
	p.code, p.reason = code, reason
	p.next(ready)
}

// retry has the present question asked again, not before due.
func (p *partition) retry(err error, due time.Time) { p.asked, p.err, p.due = false, err, due }

// unbounded notes that the question for bounds had no answer.
func (p *partition) unbounded() { p.outdated = true }

// bounded takes bounds. A partition that is complete wanted its leader alone. After an error bounds have to be asked
// for again.
func (p *partition) bounded(at cluster.Bounds, group string) error {
	id := offsets.Identity{ClusterID: at.ClusterID, TopicID: at.TopicID, Partition: p.Partition}
	if p.Facts != nil && id == p.id.Identity {
		p.at = at
		p.next(needsEpoch)
		return p.formerLeader(p.LeaderEpoch)
	}
	p.outdated = p.outdated || p.id.TopicID != (offsets.TopicID{}) && p.id.TopicID != id.TopicID
	if p.id.Identity != id {
		p.epoch = 0
	}
	p.Facts = nil // of another log: nothing is complete until the stages are gone through again
	p.at, p.id = at, facts.Identity{Identity: id, Group: group}
	p.StableEnd, p.TopicID, p.ClusterID = at.Stable, at.TopicID, at.ClusterID
	if !p.fetched || p.outdated {
		p.next(needsOffset)
		return nil
	}
	return p.locate()
}

// committed takes the group's committed offset, nil for none. After an error bounds have to be asked for again.
func (p *partition) committed(was *offsets.Committed) error {
	p.fetched, p.outdated, p.was = true, false, was
	return p.locate()
}

// locate decides how a partition goes on whose bounds and committed offset are known.
func (p *partition) locate() error {
	if p.was == nil || p.was.Metadata == offsets.Unstarted {
		p.next(needsStart)
		return nil
	}
	from, err := offsets.Resume(*p.was, p.id.Identity, offsets.Bounds{Start: p.at.Start, End: p.at.End})
	former := p.formerLeader(from.LeaderEpoch)
	switch {
	case former != nil:
		return former
	case errors.Is(err, offsets.ErrBeyondEnd):
		p.refuse(Truncated, fmt.Sprintf("%v: the log was truncated or is another one; set the group's offset for this partition, then restart", err))
	case err != nil:
		p.refuse(NewerVersion, fmt.Sprintf("its committed metadata cannot be read by this version: %v", err))
	default:
		p.from = &from
		p.Window, p.Next, p.LeaderEpoch, p.Again = from.Window, from.Next, from.LeaderEpoch, from.Again
		p.id.Incarnation, p.named, p.Runs = from.Incarnation, from.Journal, from.Runs
		p.next(needsJournal)
	}
	return nil
}

// formerLeader compares the leader epoch of the bounds with the highest one of commit and journal. Where it is lower,
// formerLeader returns an error, and bounds are asked for again. They come from a leader that was cut off from the
// controller, and has not heard of its end. Its log may end below offsets that are finished. -1 is no epoch, and
// nothing is compared.
//
// Leader epochs of one log never fall: an unclean election raises them, too. A topic that is made again begins at 0,
// and has another id, so that its commit counts without an epoch. Only brokers that know no topic ids cannot tell it
// from the former one. What they say is believed after believeAfter. Otherwise there is no bound: a leader may be cut
// off for hours, and an operator who has restored old brokers sets the group's offset, which has no epoch.
func (p *partition) formerLeader(epoch int32) error {
	epoch = max(epoch, p.epoch)
	if p.at.LeaderEpoch < 0 || p.at.LeaderEpoch >= epoch || p.believes && p.id.TopicID == (offsets.TopicID{}) {
		return nil
	}
	p.next(needsBounds)
	return fmt.Errorf("log bounds: %w: broker %d leads in epoch %d, and epoch %d was read", errFormerLeader, p.at.Leader, p.at.LeaderEpoch, epoch)
}

// started takes the start of a partition without a committed offset.
func (p *partition) started(offset int64) {
	p.Window, p.Next, p.LeaderEpoch, p.Again = offsets.NewWindow(offset), offset, -1, 0
	p.next(needsJournal)
}

// unjournalled goes on without a journal. An offset without an incarnation is new, or an operator has set it: it gets one.
// A new one was committed with those of other partitions, by a member of this generation. A copy of that request may
// arrive behind commits of this one, and would take them back.
func (p *partition) unjournalled() {
	if p.id.Incarnation == 0 {
		p.id.Incarnation, p.Overtaken = rand.Uint64()|1, true
	}
	if !p.named.IsZero() { // what its records hold is not known
		p.Again = 0
	}
	p.makeWriter(facts.Restored{})
}

// restored takes the journal's answer. It returns an error where its facts are of a later leader epoch than the bounds:
// these have cut them off, and have to be asked for again.
func (p *partition) restored(a facts.Answer) error {
	p.epoch = max(p.epoch, a.LeaderEpoch)
	if err := p.formerLeader(p.LeaderEpoch); err != nil {
		return err
	}
	switch {
	case errors.Is(a.Err, facts.ErrTruncated):
		p.refuse(Truncated, fmt.Sprintf("%v: set the group's offset for this partition, then restart", a.Err))
	case a.Err != nil:
		p.refuse(NewerVersion, fmt.Sprintf("its journal cannot be read by this version: %v", a.Err))
	default:
		p.LeaderEpoch, p.Again = a.LeaderEpoch, a.Again(p.Again)
		p.Next = max(p.Next, p.Window.Low())
		p.makeWriter(a.Restored)
	}
	return nil
}

func (p *partition) makeWriter(r facts.Restored) {
	p.Facts = facts.NewWriter(p.id, rand.Uint64()|1, r, p.Window)
	p.next(needsEpoch)
}

var errFormerLeader = errors.New("only a former leader answers, which has not heard of an election")

// leadsIn is the leader epoch to ask its leader in, -1 where that is not known, or was only believed.
func (p *partition) leadsIn() int32 {
	if p.at.LeaderEpoch < p.LeaderEpoch {
		return -1
	}
	return p.at.LeaderEpoch
}

// unchecked leaves the question for the leader epoch to the client, which asks for
// partitions that begin with the assignment. Without an epoch there is none.
func (p *partition) unchecked() {
	p.checked = p.LeaderEpoch < 0
	p.next(ready)
}

// ended takes the end of its leader epoch. It returns an error where the question has to
// be asked again, of the leader that bounds come with.
func (p *partition) ended(end cluster.EpochEnd) error {
	switch {
	case end.TooOld: // the client does not ask such a broker either
	case end.Err != nil: // another broker may lead it by now
		p.stage = needsBounds
		return end.Err
	case end.Offset >= 0 && end.Offset < p.Next:
		p.refuse(Truncated, truncatedBelow(end.Offset, p.Next))
		return nil
	}
	p.checked = true
	p.next(ready)
	return nil
}

// truncatedBelow says that a log ends below the read position.
func truncatedBelow(end, next int64) string {
	return fmt.Sprintf("the log was truncated at %d, and all up to %d counts as finished: set the group's offset for this partition, then restart", end, next)
}
