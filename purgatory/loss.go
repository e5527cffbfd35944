package purgatory

import "slices"

// Loss is what is gone of an ingress topic, or of its runs topic, since the core was made.
type Loss struct {
	Topic    string
	FromRuns bool
	Offsets  int64
	LastMs   int64 // wall clock when the last of them was noticed
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
	i := slices.IndexFunc(s.Losses, func(l Loss) bool { return l.Topic == topic && l.FromRuns == fromRuns })
	if i < 0 {
		i = len(s.Losses)
		s.Losses = append(s.Losses, Loss{Topic: topic, FromRuns: fromRuns})
	}
	s.Losses[i].Offsets += offsets
	s.Losses[i].LastMs = nowMs
}

// lose counts offsets of a partition's runs topic that are gone.
func (r *Runs) lose(p *partition, offsets int64) { r.stats.lose(p.Topic, true, offsets, r.now.WallMs) }
