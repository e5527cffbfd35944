package purgatory

import "math"

// Share is the bytes that wait for one target, or for all targets that one glob allows. All
// cores together have one share of memory for them.
type Share struct {
	TargetName            // the target, or the glob as Name
	Own        ShareBytes // of this core
	Elsewhere  ShareBytes // of all others
}

// ShareBytes is the bytes that count against a share, by why they wait. Each count has a share of
// its own: a silent partition ends nothing behind a refusal, and a refusal gives up nothing that is held.
type ShareBytes struct {
	Held     int64 // held records; of the dead-letter topic all letters that wait
	Rejected int64 // records behind refused ones that are not held
}

// shares compares waiting bytes, here and elsewhere, with the share of memory.
type shares struct {
	families  families
	checkedMs int64      // wall clock of the last look
	first     int        // the target among the busy ones with which the next look begins to give up records
	cleared   []Share    // of which nothing waits any more, not told yet
	oldest    heldQueues // of the target that giveUp looked at last: only its memory is kept
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

// tell appends to out the bytes that wait here, by share, where they are looked at now. Targets
// for which none wait any more come with 0 at once.
func (s *shares) tell(out []Share, now Clock, busy []*target, dir *directory) []Share {
	out = append(out, s.cleared...)
	s.cleared = s.cleared[:0]
	if !s.due(now.WallMs) {
		return out
	}
	for _, t := range busy {
		if own := t.share(dir, now.MonotonicMs); own != (ShareBytes{}) || t.shared {
			t.shared = own != ShareBytes{}
			out = append(out, Share{TargetName: t.key, Own: own})
		}
	}
	s.families.addUp(busy, dir.dead, now.MonotonicMs)
	for label, f := range s.families {
		if f.own != (ShareBytes{}) || f.shared {
			f.shared = f.own != ShareBytes{}
			out = append(out, Share{TargetName: TargetName{Name: label}, Own: f.own})
		}
	}
	return out
}

// clear notes that nothing waits for a target any more.
func (s *shares) clear(t *target) {
	if t.shared {
		t.shared = false
		s.cleared = append(s.cleared, Share{TargetName: t.key})
	}
}

// hear takes the bytes that wait in other cores. Of a target for which none wait here it
// keeps none: tell is silent about it from now on, and they would grow old.
func (s *shares) hear(told []Share, known *directory) {
	for i := range told {
		h := &told[i]
		if t := known.byKey[h.TargetName]; t != nil {
			if t.elsewhere = h.Elsewhere; !t.shared {
				t.elsewhere = ShareBytes{}
			}
		} else if f := s.families[h.Name]; f != nil && h.Ingress == "" {
			f.elsewhere = h.Elsewhere
		}
	}
}

// share returns the bytes that count against a target's share.
func (t *target) share(dir *directory, nowMs int64) (own ShareBytes) {
	if t == dir.dead {
		return ShareBytes{Held: dir.letters()}
	}
	_, own.Held = t.held()
	own.Rejected = t.rejected(nowMs)
	return own
}

// full reports whether what waits behind refusals takes more than a share of limit bytes: for the target, or for
// all that its glob allows. The latter is as of the last look.
func (s *shares) full(t *target, limit, nowMs int64) bool {
	f := s.families[t.label]
	return t.rejected(nowMs)+t.elsewhere.Rejected > limit || f != nil && f.own.Rejected+f.elsewhere.Rejected > limit
}

// partOf returns how much of a share is for own bytes here. Where all bytes take more than the share it is in
// proportion, so that no core alone gives up the excess of all.
func partOf(share, own, elsewhere int64) int64 {
	if all := own + elsewhere; all > share {
		return int64(float64(share) * float64(own) / float64(all))
	}
	return math.MaxInt64
}

// burden notes whether dead letters take more than a target's share of memory, which is limit.
// Until half of it is free again reading pauses. The dead-letter topic may be silent, which is
// known only later, and the letters would take the memory of all.
func (s *shares) burden(dir *directory, limit int64) {
	own := dir.letters()
	if s.overburdened {
		limit /= 2
	}
	s.overburdened = own > 0 && own+dir.dead.elsewhere.Held > limit
}
