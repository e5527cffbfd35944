package purgatory

import (
	"iter"
	"slices"

	"layover/offsets"
)

// partitions is the table of the partitions that a core has. One that is gone keeps its slot
// until nothing of it is in flight.
type partitions struct {
	list    []*partition                          // by slot; nil: free
	byTopic map[offsets.TopicPartition]*partition // without those that are gone
}

func newPartitions() partitions {
	return partitions{byTopic: make(map[offsets.TopicPartition]*partition)}
}

// free returns the number of a free slot.
func (ps *partitions) free() uint32 {
	slot := slices.Index(ps.list, nil)
	if slot < 0 {
		slot = len(ps.list)
		ps.list = append(ps.list, nil)
	}
	return uint32(slot)
}

// add puts a partition into the slot of its source.
func (ps *partitions) add(p *partition) {
	ps.list[p.src.slot] = p
	ps.byTopic[p.TopicPartition] = p
}

// find returns the partition if its assignment is still the one of that epoch.
func (ps *partitions) find(tp offsets.TopicPartition, epoch uint64) *partition {
	if p := ps.byTopic[tp]; p != nil && p.Epoch == epoch {
		return p
	}
	return nil
}

// here goes over the partitions that are not gone, by slot.
func (ps *partitions) here() iter.Seq[*partition] {
	return func(yield func(*partition) bool) {
		for _, p := range ps.list {
			if p != nil && !p.src.gone && !yield(p) {
				return
			}
		}
	}
}

// some reports whether a test is true of any partition that is here.
func (ps *partitions) some(is func(*partition) bool) bool {
	for p := range ps.here() {
		if is(p) {
			return true
		}
	}
	return false
}

// retire frees the slot of a partition that is gone once nothing of it is in flight.
func (ps *partitions) retire(s *source) {
	if p := ps.list[s.slot]; s.gone && s.inFlight+s.moving == 0 && p != nil && p.src == s {
		ps.list[s.slot] = nil
	}
}
