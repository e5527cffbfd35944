package purgatory

// Share is the bytes held for one target, or for all targets that one glob allows. All
// cores together have one share of memory for it.
type Share struct {
	TargetName       // the target, or the glob as Name
	Own        int64 // bytes that this core holds
	Elsewhere  int64 // bytes that all others hold
}

// shares compares held bytes, here and elsewhere, with the share of memory.
type shares struct {
	families  families
	checkedMs int64   // wall clock of the last look
	cleared   []Share // of which nothing is held any more, not told yet
	// overburdened: dead letters that wait take more than their share of memory.
	overburdened bool
}

// checkEveryMs is how often patience and shares are looked at, in milliseconds.
const checkEveryMs = 100

// due reports whether they are looked at now. A clock that was stepped back is no reason
// to wait.
func (s *shares) due(nowMs int64) bool {
	since := nowMs - s.checkedMs
	return since < 0 || since >= checkEveryMs
}

// tell appends to out the bytes held here, by share, where they are looked at now. Targets
// that hold nothing any more come with 0 at once.
func (s *shares) tell(out []Share, nowMs int64, busy []*target, dead *target) []Share {
	out = append(out, s.cleared...)
	s.cleared = s.cleared[:0]
	if !s.due(nowMs) {
		return out
	}
	for _, t := range busy {
		if own := t.share(t == dead); own > 0 || t.shared {
			t.shared = own > 0
			out = append(out, Share{TargetName: t.key, Own: own})
		}
	}
	s.families.addUp(busy, dead)
	for label, f := range s.families {
		if f.own > 0 || f.shared {
			f.shared = f.own > 0
			out = append(out, Share{TargetName: TargetName{Name: label}, Own: f.own})
		}
	}
	return out
}

// clear notes that nothing is held for a target any more.
func (s *shares) clear(t *target) {
	if t.shared {
		t.shared = false
		s.cleared = append(s.cleared, Share{TargetName: t.key})
	}
}

// hear takes the bytes that other cores hold. Of a target for which nothing is held here it
// keeps none: tell is silent about it from now on, and they would grow old.
func (s *shares) hear(told []Share, known *directory) {
	for i := range told {
		h := &told[i]
		if t := known.byKey[h.TargetName]; t != nil {
			if t.elsewhere = h.Elsewhere; !t.shared {
				t.elsewhere = 0
			}
		} else if f := s.families[h.Name]; f != nil && h.Ingress == "" {
			f.elsewhere = h.Elsewhere
		}
	}
}

// share returns the bytes that count against a target's share: those of held records, or of records behind
// refused ones if that is more. For the dead-letter topic they are those of all letters that wait.
func (t *target) share(dead bool) (own int64) {
	if dead {
		return t.waiting()
	}
	_, held := t.held()
	return max(t.rejected(), held)
}

// burden notes whether dead letters take more than a target's share of memory, which is limit.
// Until half of it is free again reading pauses. The dead-letter topic may be silent, which is
// known only later, and the letters would take the memory of all.
func (s *shares) burden(dead *target, limit int64) {
	own := dead.waiting()
	if s.overburdened {
		limit /= 2
	}
	s.overburdened = own > 0 && own+dead.elsewhere > limit
}
