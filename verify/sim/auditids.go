package sim

import (
	"fmt"
	"maps"
	"slices"

	"layover/purgatory"
)

// asks is what an entry asks for beside its delivery, for people.
func (e *entry) asks(nowMs int64) (s string) {
	switch {
	case e.cancel:
		s = " cancels " + e.id
	case e.id != "":
		s = " is " + e.id
	}
	if e.expires {
		s += fmt.Sprintf(" expires in %d ms", e.expireMs-nowMs)
	}
	return s
}

// finishedBefore is a record that was finished before its assignment, or is jumped over. Its
// command may count again.
func (in *instance) finishedBefore(reader purgatory.Reader, own *partition, e *entry, want purgatory.Want) bool {
	in.effects() // a jump
	if want == purgatory.Nothing && own.read == e.offset {
		in.hopped(own, e.offset)
	}
	own.read = max(own.read, e.offset+1)
	if now := in.clock().WallMs; want == purgatory.Commanded && e.commands() && !e.tooFar(now) {
		in.w.say("%s reads the command %v again", in.member, e)
		if e.counts(now) {
			own.shown[e.offset] = e
		}
		if reader.Command(e.arrivalAgain()); e.counts(now) {
			in.command(own, e, true)
		}
	}
	return in.w.err == nil
}

// hopped holds the core to the commands that count again: none is passed over while a record
// of its id waits.
func (in *instance) hopped(own *partition, offset int64) {
	if offset >= own.log.end() || offset < own.again {
		return
	}
	if c := own.log.entries[offset]; c.commands() && own.isDone(offset) && own.newest[c.id] != nil {
		in.w.fail("the command %v counts again, and is passed over while %v waits", c, own.newest[c.id])
	}
}

// reading is news about reading for the core.
func (in *instance) reading(a Action) bool {
	own := in.partition(a.P)
	switch {
	case a.N == 2 && (own == nil || own.loading != nil || !own.stopped || own.toldStop):
		return false
	case a.N == 2:
		own.toldStop = true
		in.core.Replays().Stopped(partitionOf(a.P), own.epoch)
	case in.paused == (a.N == 1):
		return false
	default:
		in.paused = a.N == 1
		in.core.Replays().Reading(in.paused)
	}
	return true
}

// entries returns how many entries the core should have for so many open offsets. A cancel
// that waits has none, and an event may have one for two offsets. Of loose events nothing
// tells whether they are there still: all that they would finish is finished.
func (own *partition) entries(open int) (most, loose int) {
	for _, waiting := range own.by {
		for _, c := range waiting {
			if c.cancel && !own.isDone(c.offset) {
				open--
			}
		}
	}
	for _, h := range own.events {
		n := 0
		for _, e := range h.finishes() {
			if !own.isDone(e.offset) {
				n++
			}
		}
		if open += 1 - n; n == 0 {
			loose++
		}
	}
	return open, loose
}

// checkIDs holds the number of ids that a core has to those of its assignments.
func (in *instance) checkIDs(s *purgatory.Snapshot) {
	n, cancels := 0, 0
	for _, own := range in.partitions {
		if own == nil || own.halted {
			if own != nil {
				return
			}
			continue
		}
		n += len(own.newest)
		for _, waiting := range own.by {
			for _, c := range waiting {
				if c.cancel && !own.isDone(c.offset) {
					cancels++
				}
			}
		}
	}
	gone := 0
	for _, f := range in.flying {
		if in.still(f.part, f.epoch) == nil {
			gone++
		}
	}
	if s.IDs < n || s.IDs > n+gone {
		in.w.fail("%s knows %d ids, want %d, or up to %d more", in.member, s.IDs, n, gone)
	}
	if gone == 0 && s.Waiting != cancels {
		in.w.fail("%s has %d cancels that wait, want %d", in.member, s.Waiting, cancels)
	}
}

// encodeIDs writes what an assignment knows of ids.
func (own *partition) encodeIDs(s *scribe, nowMs int64) {
	if own.newest == nil {
		return
	}
	if s.flags(own.over); !own.over || own.again > own.read {
		s.flags(own.toldStop)
		s.num(int64(own.why), own.again, own.stableEnd, min(nowMs-own.readMs, 30_000))
	}
	for o := own.low; o < own.read; o++ {
		s.flags(own.unsure[o], own.lettered[o], own.ended[o], own.misses[o])
		for _, c := range own.by[o] {
			s.num(c.offset)
		}
		if e := own.held[o]; e != nil {
			s.flags(e.called >= own.epoch)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(own.newest)) {
		s.num(own.newest[id].offset)
	}
	for _, text := range slices.Sorted(maps.Keys(own.events)) {
		s.text(text)
	}
}
