package sim

import (
	"fmt"
	"slices"

	"layover/offsets"
)

// metadataSlack is how many characters a commit may leave unused although more
// facts are there. One run takes at most two varints of ten bytes, in base64.
const metadataSlack = 30

// smallestLimit is what a core that learns of a broker's limit by halving its own
// still uses, unless the broker takes even less.
const smallestLimit = 256

// audit holds a commit that was just built to what is finished, and to what it has
// to say. It has to say all that is finished, or the longest prefix that fits.
func (in *instance) audit(own *partition, c *commitMsg) {
	w := in.w
	id := offsets.Identity{ClusterID: cluster, TopicID: offsets.TopicID{own.topicID}, Partition: int32(c.part)}
	set, err := offsets.Decode(c.Metadata, id, c.Low)
	if err != nil {
		w.fail("the commit of partition %d at %d cannot be read back: %v", c.part, c.Low, err)
		return
	}
	c.facts = setOf(set)
	if want := own.factsEpoch(); c.LeaderEpoch != want {
		w.fail("a commit of partition %d names leader epoch %d, want %d", c.part, c.LeaderEpoch, want)
	}
	if c.Low < own.lastLow {
		w.fail("the low offset of partition %d goes back from %d to %d", c.part, own.lastLow, c.Low)
	}
	own.lastLow = c.Low
	whole := true
	for o, end := min(own.low, c.facts.low), max(own.read, c.facts.end(), own.highest()); o < end; o++ {
		switch {
		case c.facts.has(o) && !own.isDone(o):
			w.fail("LOST: a commit of partition %d calls %d finished, which is not", c.part, o)
		case !c.facts.has(o) && own.isDone(o):
			if !c.Journal.IsZero() {
				return // the journal has it, or bounded finds that it has not
			}
			whole = false
		case c.facts.has(o) && !whole:
			w.fail("a commit of partition %d leaves out what is below %d", c.part, o)
		}
	}
	if !whole && w.group.maxMetadata >= smallestLimit && len(c.Metadata)+metadataSlack < smallestLimit {
		w.fail("a commit of partition %d leaves facts out, and has only %d characters", c.part, len(c.Metadata))
	}
}

// highest is one past the highest offset that is finished.
func (own *partition) highest() (end int64) {
	for o, done := range own.done {
		if done {
			end = max(end, o+1)
		}
	}
	return end
}

// check holds an instance's core to what a dumb reader of the rules believes. Every
// offset below the read position is finished, parked, due or in flight, and exactly
// one of them. Nothing above that position is finished but what the assignment came
// with.
func (in *instance) check() {
	if !in.up || in.w.err != nil {
		return
	}
	if in.w.steps%4 == 0 {
		in.bounded()
	}
	snapshot := in.core.Snapshot()
	in.checkIDs(&snapshot)
	if n := snapshot.LostFromRuns; n > 0 && !in.w.runs.harmed && !in.w.journal.harmed {
		in.w.fail("%s counts %d as lost from the runs topic, and nothing was taken", in.member, n)
	}
	for i := range snapshot.Partitions {
		v := &snapshot.Partitions[i]
		p := int(v.Partition)
		own := in.still(p, v.Epoch)
		if own == nil {
			in.w.fail("the core still has partition %d in epoch %d", p, v.Epoch)
			return
		}
		open := 0
		for o, end := own.low, max(own.read, own.highest()); o < end; o++ {
			if own.isDone(o) != own.window.Finished(o) {
				in.w.fail("%d@%d is finished: %v, want %v", p, o, own.window.Finished(o), own.isDone(o))
			}
			if o < own.read && !own.isDone(o) {
				open++
			}
		}
		flying := 0
		for _, f := range in.flying {
			if f.part == p && f.epoch == own.epoch {
				flying++
			}
		}
		if v.Next != own.read && !own.halted {
			in.w.fail("partition %d is read up to %d, want %d", p, v.Next, own.read)
		}
		open, loose := own.entries(open + len(own.loaded))
		loose += int(snapshot.Gathered)
		if has := v.Parked + v.Due + v.InFlight; v.InFlight != flying || !own.halted && (has > open || has < open-loose) {
			in.w.fail("of partition %d %d are parked, %d due, %d in flight: want %d in flight and %d in all", p, v.Parked, v.Due, v.InFlight, flying, open)
		}
	}
}

// punctual says whether the loop, asleep until NextDeadline, would be awake in time. It looks
// after what is gathered itself.
func (in *instance) punctual() {
	if in.steppedBack || in.core.Snapshot().Gathered > 0 { // then what is due waits in queues for its deadline to come again
		return
	}
	next, ok := in.core.NextDeadline()
	now := in.clock().WallMs
	for _, own := range in.partitions {
		if own == nil || own.halted {
			continue
		}
		for o, e := range own.held {
			parked := !own.isDone(o) && !own.invalid(e) && !e.large && !e.passed && !(e.cancel) && !own.ended[o] && !e.unsent() && e.deadlineMs > now
			switch {
			case parked && !ok:
				in.w.fail("%v is parked, and the loop would sleep for ever", e)
			case parked && next > e.deadlineMs:
				in.w.fail("%v is parked, and the loop would sleep until %d ms after its deadline", e, next-e.deadlineMs)
			}
		}
	}
}

func (f doneSet) String() string {
	above := make([]int64, 0, len(f.above))
	for o := range f.above {
		above = append(above, o)
	}
	slices.Sort(above)
	return fmt.Sprintf("low %d, finished above %v", f.low, above)
}
