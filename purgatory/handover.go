package purgatory

import (
	"slices"

	"layover/offsets"
)

const (
	// takeOverMs is about how long the next owner takes from a sweep until it knows which log it begins. Of 640 joins of
	// a third member about a deletion, 5 had records that nobody counted without it, and none has with it. Both owners
	// counted some after 45 of them; with 5 s after 293.
	takeOverMs = 1000
	// maxHandovers bounds the entries that are remembered: one for each topic of a sweep.
	maxHandovers = 1000
)

// handover counts the records of one topic, as it was then, that one sweep left to the next owners.
type handover struct {
	topic   string
	id      offsets.TopicID
	atMs    int64 // monotonic
	records int64 // without copies, which stand in a runs topic
}

// handovers remembers the last sweeps, oldest first. Their topics may have been made again before, and be
// known to have been only later.
type handovers []*handover

// of returns the entry of a partition that is swept now.
func (hs *handovers) of(p *partition, nowMs int64) *handover {
	for _, h := range slices.Backward(*hs) {
		if h.atMs != nowMs {
			break
		}
		if h.topic == p.Topic && h.id == p.TopicID {
			return h
		}
	}
	h := &handover{topic: p.Topic, id: p.TopicID, atMs: nowMs}
	*hs = append(*hs, h)
	*hs = slices.Delete(*hs, 0, max(0, len(*hs)-maxHandovers))
	return h
}

// takeLost returns how many records were swept of a topic's former log since an instant. It returns each once.
func (hs handovers) takeLost(topic string, id offsets.TopicID, sinceMs int64) (n int64) {
	for _, h := range hs {
		if h.topic == topic && another(h.id, id) && h.atMs >= sinceMs {
			n += h.records
			h.records = 0
		}
	}
	return n
}

// another reports whether both ids are known and differ.
func another(one, other offsets.TopicID) bool {
	none := offsets.TopicID{}
	return one != none && other != none && one != other
}

// MadeAgain takes the id that an ingress topic has now, and when an answer last had the former one. Records in
// memory of one with another id are delivered as long as their assignment lasts. With its end they are lost.
//
// Records that were swept since the former id was last seen are lost at once: their next owner begins the new
// log. Those swept earlier are that owner's to count. The sweep could not know which they were. For takeOverMs
// before that instant both may count them, as it would be worse if nobody did.
//
// MadeAgain returns what it has counted as lost.
func (c *Core) MadeAgain(topic string, id offsets.TopicID, formerUntilMs int64) []Loss {
	before := slices.Clone(c.stats.Losses)
	sinceMs := formerUntilMs - takeOverMs
	for _, p := range c.parts.list { // also those that are gone and have records in flight
		if p != nil && p.Topic == topic && (p.left == nil || p.left.atMs >= sinceMs) {
			p.madeAgain = another(p.TopicID, id)
		}
	}
	c.stats.lose(topic, false, c.handovers.takeLost(topic, id, sinceMs), c.now.WallMs)
	return c.stats.lostSince(before)
}
