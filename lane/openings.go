package lane

import (
	"context"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"
)

// openings begins with the runs of each assignment, and again where their topic is made anew.
type openings struct {
	core   *purgatory.Core
	box    *mailbox
	cfg    *Config
	topics map[string]RunsTopic // by ingress topic, as they were told
	parts  map[offsets.Assignment]*opening
	took   bool // whether moves were allowed at the last look
}

// openAgain is the pause before an opening is asked for again whose topic is another one than that which was told.
const openAgain = time.Second

// opening is the way of one assignment to its index.
type opening struct {
	said   offsets.RunsState
	topic  offsets.TopicID // of the index; zero: there is none yet
	asking context.CancelFunc
}

// assigned takes an assignment that has begun.
func (o *openings) assigned(a *facts.Assigned) {
	o.parts[a.Assignment] = &opening{said: a.Runs}
	o.open(a.Assignment)
}

// revoked ends an assignment's opening.
func (o *openings) revoked(a offsets.Assignment) {
	if x := o.parts[a]; x != nil && x.asking != nil {
		x.asking()
	}
	delete(o.parts, a)
}

// told takes the state of a runs topic.
func (o *openings) told(ingress string, t RunsTopic) {
	o.topics[ingress] = t
	for a, x := range o.parts {
		if a.Topic != ingress {
			continue
		}
		if t.TopicID != (offsets.TopicID{}) && x.topic != (offsets.TopicID{}) && x.topic != t.TopicID {
			o.core.Runs().Renewed(a, t.TopicID)
			o.again(a)
		} else {
			o.open(a)
		}
	}
	o.core.Runs().Usable(ingress, t.Usable && o.took)
}

// allow takes whether records may be moved at all.
func (o *openings) allow(moves bool) {
	if moves == o.took {
		return
	}
	o.took = moves
	for ingress, t := range o.topics {
		o.core.Runs().Usable(ingress, t.Usable && moves)
	}
}

// again begins anew with the runs of an assignment: their log is another one.
func (o *openings) again(a offsets.Assignment) {
	if x := o.parts[a]; x != nil {
		x.topic = offsets.TopicID{}
		o.open(a)
	}
}

// open asks what is known of an assignment's runs, if their topic exists and nobody asks.
func (o *openings) open(a offsets.Assignment) {
	x := o.parts[a]
	if x == nil || o.topics[a.Topic].TopicID == (offsets.TopicID{}) || x.asking != nil || x.topic != (offsets.TopicID{}) {
		return
	}
	ask := far.Ask{Assignment: a, Said: x.said}
	if epoch, ok := o.core.Runs().LeftEpoch(a); ok {
		ask.LeftEpoch, ask.Left = epoch, func(ctx context.Context, topic offsets.TopicID, end int64) *offsets.Window {
			reply := make(chan *offsets.Window, 1)
			if !o.box.order(runsLeft{a, topic, end, reply}) {
				return nil
			}
			select {
			case w := <-reply:
				return w
			case <-ctx.Done():
				return nil
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background()) // revoked ends it
	x.asking = cancel
	o.cfg.Runs.Runs.Open(ctx, ask, func(opening *far.Opening) { o.box.order(runsOpened{a, opening}) })
}

// left returns the finished copies with which an index begins that takes another one's place.
func (o *openings) left(a offsets.Assignment, topic offsets.TopicID, end int64) *offsets.Window {
	if _, ok := o.core.Runs().LeftEpoch(a); !ok {
		return nil
	}
	return o.core.Runs().Left(a, topic, end)
}

// opened begins with the runs of an assignment.
func (o *openings) opened(a offsets.Assignment, found *far.Opening) {
	x := o.parts[a]
	if x == nil || x.asking == nil {
		return
	}
	x.asking()
	x.asking = nil
	if found == nil {
		return
	}
	t := o.topics[a.Topic]
	if t.TopicID != (offsets.TopicID{}) && t.TopicID != found.TopicID { // it was made again, and one of both is older
		time.AfterFunc(openAgain, func() { o.box.order(runsUnclear{a}) })
		return
	}
	index, lost := far.Open(found)
	x.topic = found.TopicID
	if _, left := o.core.Runs().LeftEpoch(a); !left && x.said.IsZero() && index.Low() < found.Log.End {
		o.cfg.Log.Warn("the group's offset says nothing of runs, as one of a topic that was made again, or that was set by hand: records that were moved from it on may come twice", "topic", a.Topic, "partition", a.Partition)
	}
	o.core.Runs().Begin(a, found.TopicID, index, lost)
	o.core.Runs().Usable(a.Topic, t.Usable && o.took)
	o.cfg.Log.Debug("partition begins with its runs", "topic", a.Topic, "partition", a.Partition, "known", index.Known(), "low", index.Low(), "lost", lost)
}

// topicOf returns the runs topic's id that an assignment's index is of; ok is false where there is
// no index.
func (o *openings) topicOf(a offsets.Assignment) (id offsets.TopicID, ok bool) {
	x := o.parts[a]
	if x == nil || x.topic == (offsets.TopicID{}) {
		return offsets.TopicID{}, false
	}
	return x.topic, true
}

// stop ends all openings.
func (o *openings) stop() {
	for a := range o.parts {
		o.revoked(a)
	}
}
