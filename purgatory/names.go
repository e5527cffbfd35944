package purgatory

// name gives a record a name that stays when its bytes are moved.
func (s *store) name(l location) location { return named | location(s.slots.Add(uint64(l))) }

// place returns where the bytes of a record with a name are.
func (s *store) place(l location) location { return location(s.slots.Get(uint32(l))) }

// entomb ends the life of a record with a name, but not the name: a queue still has an entry
// for it.
func (s *store) entomb(l location, size int) {
	s.move(l, nowhere, 0) // squeeze walks over what is left there
	s.discard(s.place(l), size)
	s.slots.Set(uint32(l), uint64(gone))
}

// isGone says whether a record was cancelled while a queue has an entry for it.
func (s *store) isGone(l location) bool {
	return l&named != 0 && s.place(l) == gone
}

// bury ends the name of a record that was cancelled.
func (s *store) bury(l location) { s.slots.Remove(uint32(l)) }

// fly notes that somebody reads a record's bytes, until land: they are not moved.
func (s *store) fly(l location) { s.pin(l, 1) }

func (s *store) land(l location) { s.pin(l, -1) }

func (s *store) pin(l location, n int32) {
	if l&named == 0 {
		return
	}
	no := int(s.place(l) >> locationBits)
	ch := s.chunks[no]
	if ch.flying += n; n < 0 {
		s.thinned(no)
	}
}

// thinned notes that a chunk is to be compacted, if it is: less than half of it is live.
func (s *store) thinned(no int) {
	ch := s.chunks[no]
	if ch.class != idClass || ch.thin || ch.flying > 0 || int(ch.used)*2 >= cap(ch.buf) || s.classes[idClass].open == no {
		return
	}
	ch.thin = true
	s.thin = append(s.thin, no)
}

// nextThin returns the number of a chunk to be compacted.
func (s *store) nextThin() (no int, ok bool) {
	for n := len(s.thin); n > 0; n-- {
		no, s.thin = s.thin[n-1], s.thin[:n-1]
		ch := s.chunks[no]
		switch {
		case ch == nil || !ch.thin: // dropped since, and another may have its number
		case ch.flying > 0:
			ch.thin = false // land comes back to it
		default:
			return no, true
		}
	}
	return 0, false
}

// carry moves the bytes of a record with a name into the open chunk of a class.
func (s *store) carry(l location, classNo int) {
	old := s.place(l)
	h := readHeader(s.at(old))
	size := int(h.total())
	to, dst := s.alloc(classNo, size)
	from := s.at(old)
	copy(dst, from[:size])
	spot{where: nowhere}.put(spotOf(from)) // squeeze walks over what is left there
	s.slots.Set(uint32(l), uint64(to))
	s.discard(old, size)
}

// exempt moves a record to the chunks that are not compacted, if its id may be that of
// another record now. Compacting would not find its name.
func (s *store) exempt(l location) {
	if l&named == 0 || s.chunks[s.place(l)>>locationBits].class != idClass {
		return
	}
	if p := s.spot(l); p.superseded || p.where == lettered {
		s.carry(l, 0)
	}
}
