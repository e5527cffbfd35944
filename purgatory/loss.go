package purgatory

import "slices"

// Loss is what is gone of an ingress topic, or of its runs topic, since the core was made.
type Loss struct {
	Topic    string
	FromRuns bool
	Offsets  int64
	LastMs   int64 // wall clock when the last of them was noticed
}

// LossOf returns the entry of a topic, or of its runs topic, and appends it where there is none.
func LossOf(all *[]Loss, topic string, fromRuns bool) *Loss {
	i := slices.IndexFunc(*all, func(l Loss) bool { return l.Topic == topic && l.FromRuns == fromRuns })
	if i < 0 {
		i = len(*all)
		*all = append(*all, Loss{Topic: topic, FromRuns: fromRuns})
	}
	return &(*all)[i]
}

// lose counts offsets that are gone. Losses has one for each configured topic at most.
func (s *Stats) lose(topic string, fromRuns bool, offsets, nowMs int64) {
	if offsets == 0 {
		return
	}
	if fromRuns {
		s.LostFromRuns += offsets
	} else {
		s.LostToRetention += offsets
	}
	l := LossOf(&s.Losses, topic, fromRuns)
	l.Offsets, l.LastMs = l.Offsets+offsets, nowMs
}

// orphaned counts records that were handed over of a partition, as lost where its topic was made
// again: nobody will read them. A copy is read from its runs topic.
func (s *Stats) orphaned(p *partition, h *header, records, nowMs int64) {
	switch {
	case h.marks&isCopy != 0:
	case p.madeAgain:
		s.lose(p.Topic, false, records, nowMs)
	default:
		p.left.records += records
	}
}

// lostSince returns what was lost since Losses was like before.
func (s *Stats) lostSince(before []Loss) (out []Loss) {
	for i, l := range s.Losses { // topics are only ever appended
		if i < len(before) {
			l.Offsets -= before[i].Offsets
		}
		if l.Offsets > 0 {
			out = append(out, l)
		}
	}
	return out
}

// lose counts offsets of a partition's runs topic that are gone.
func (r *Runs) lose(p *partition, offsets int64) { r.stats.lose(p.Topic, true, offsets, r.now.WallMs) }
