package purgatory

import (
	"math"
	"slices"

	"layover/offsets"
	"layover/purgatory/far"
)

// renewal is what is left of an index whose log was truncated or made again. Copies that are in
// memory are delivered all the same.
type renewal struct {
	// stale counts the copies in memory, by offset, that are in the log no more: what they
	// finish is nothing. Another copy may stand there, and is finished by the last of them.
	stale map[int64]int
	// carried are the copies in memory that the log still has; true: they have ended since.
	carried map[int64]bool
	// open bounds the finished copies that no journal has: of the index before, and those of carried that have ended.
	open int64
	left *offsets.Window // see Left
	// halted are the copies, each one more than its offset, that stay unfinished and are in memory no more. The
	// index knows them as taken, so that they are not read again before somebody begins with the partition.
	halted offsets.Window
	// there is where the log of what is left ended, as it was last heard: below, all is counted that
	// is gone since.
	there  int64
	doubts []far.Doubt // copies that may be gone, for the next index to compare
	// leftEpoch is the highest leader epoch that the index knew.
	leftEpoch int32
}

// Renewed takes the news that the runs topic has another id: it was made again.
func (r *Runs) Renewed(a offsets.Assignment, topic offsets.TopicID) {
	p := r.parts.find(a.TopicPartition, a.Epoch)
	if p == nil || p.moved.topic == topic {
		return
	}
	if m := &p.moved; m.index != nil {
		r.renew(p, 0, m.index.Beyond(0))
		m.doubts = nil // all of them are gone, and counted
	} else {
		r.lose(p, m.cut(0))
	}
}

// RenewedBy is Renewed for the answer to a visit. False: nobody waits for that any more, as the index is another
// one by now.
func (r *Runs) RenewedBy(v *Visit, topic offsets.TopicID) bool {
	if r.visited(v) == nil {
		return false
	}
	r.Renewed(v.Assignment, topic)
	return true
}

// renew gives up the index of a partition whose log ended at an offset: what it knows from there
// on is gone. The copies count again with the next Begin. lost is how many are gone.
func (r *Runs) renew(p *partition, end, lost int64) {
	m := &p.moved
	if m.stale == nil {
		m.stale = make(map[int64]int)
	}
	m.carried = make(map[int64]bool)
	for offset := range m.index.Taken {
		m.carried[offset] = false
	}
	p.Runs, _ = p.saidOfRuns()
	p.Runs.Holds = true
	m.open = m.index.Open()
	m.left, m.leftEpoch, m.there, m.doubts = m.index.Left(end), m.index.LeaderEpoch(), end, m.index.Doubts()
	m.index, m.visiting, m.listing, m.doubtful, m.asks = nil, false, false, false, false
	r.lose(p, lost+m.cut(end))
	r.scatter(p, math.MaxInt64)
}

// cut notes that the log of what is left ends at an offset. lost is how many offsets are gone that were
// neither finished nor taken, or halted.
func (m *moved) cut(end int64) (lost int64) {
	if end < m.there {
		for at := m.left.NextUnfinished(end); at < m.there; at = m.left.NextUnfinished(at + 1) {
			if _, taken := m.carried[at]; !taken {
				lost++
			}
		}
	}
	m.doubts = slices.DeleteFunc(m.doubts, func(d far.Doubt) bool { return d.Offset >= end && d.Offset < m.there })
	m.there = min(m.there, end)
	for offset, ended := range m.carried {
		if offset < end {
			continue
		}
		if delete(m.carried, offset); !ended && !m.halted.Finished(offset+1) {
			m.stale[offset]++
		}
	}
	lost += m.halted.ClipAbove(end + 1)
	if m.left != nil {
		m.left = far.Clip(m.left, end)
	}
	return lost
}

// LeftEpoch returns the leader epoch that Left is about; ok is false where nothing is left, and
// the journal has what is finished.
func (r *Runs) LeftEpoch(a offsets.Assignment) (epoch int32, ok bool) {
	p := r.parts.find(a.TopicPartition, a.Epoch)
	if p == nil || p.moved.left == nil {
		return 0, false
	}
	return p.moved.leftEpoch, true
}

// Left returns the finished copies with which the next Begin begins, where a log was truncated
// or made again. The topic has this id now, and the log of LeftEpoch ends at end.
func (r *Runs) Left(a offsets.Assignment, topic offsets.TopicID, end int64) *offsets.Window {
	p := r.parts.find(a.TopicPartition, a.Epoch)
	m := &p.moved
	if topic != m.topic {
		end = 0
	}
	r.lose(p, m.cut(end))
	return m.left
}

// stays notes that what is at a place stays unfinished, and is in memory no more: its partition is halted. A stale
// copy is lost by that, or with the refusal of a copy of it that is on its way. It is not taken for one where another
// copy in memory stands at its offset.
func (r *Runs) stays(p *partition, at place) {
	m := &p.moved
	copyAt, ok := at.inRuns()
	if !ok {
		return
	}
	if m.stale[copyAt] == 0 || m.holds(copyAt) {
		m.halted.Finish(copyAt + 1)
	} else if c := r.givenUp(p, at); c != nil {
		c.stays = true
	} else {
		m.ended(copyAt)
		r.lose(p, 1)
	}
}

// holds reports whether a copy in memory may be the one that stands at an offset of the log.
func (m *moved) holds(copyAt int64) bool {
	if m.index != nil {
		return m.index.Holds(copyAt)
	}
	_, ok := m.carried[copyAt]
	return ok
}

// firstHalted returns the first copy that stays unfinished, math.MaxInt64 where none does.
func (m *moved) firstHalted() (copyAt int64) {
	copyAt = math.MaxInt64
	m.halted.Each(func(from, _ int64) bool {
		copyAt = from - 1
		return false
	})
	return copyAt
}

// carriedSize is the memory of a copy in one of the maps, about.
const carriedSize = 32

// bytes returns the memory of all that.
func (n *renewal) bytes() (b int64) {
	b = int64(len(n.stale)+len(n.carried))*carriedSize + n.halted.Bytes() + int64(cap(n.doubts))*far.DoubtSize
	if n.left != nil {
		b += n.left.Bytes()
	}
	return b
}

// ended reports whether the outcome of a copy is about none that the index knows.
func (m *moved) ended(copyAt int64) bool {
	if n := m.stale[copyAt]; n > 0 {
		if m.stale[copyAt]--; n == 1 {
			delete(m.stale, copyAt)
		}
		return true
	}
	if m.index == nil {
		m.carried[copyAt] = true
		m.open++
		return true
	}
	return false
}

// resume tells the next index, of a topic with this id, of the copies in memory, and of those that may be
// gone. lost is how many of them are.
func (m *moved) resume(index *far.Index, topic offsets.TopicID) (lost int64) {
	if m.stale != nil && topic != m.topic {
		lost = m.cut(0)
		lost, m.doubts = lost+int64(len(m.doubts)), nil
	}
	for offset, ended := range m.carried {
		switch {
		case ended:
			index.Finish(offset)
		case !index.Finished(offset):
			index.Carry(offset)
		}
	}
	lost += index.Doubt(m.doubts)
	m.carried, m.open = nil, 0
	m.left, m.there, m.doubts = nil, 0, nil
	return lost
}
