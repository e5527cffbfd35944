package purgatory

import "encoding/binary"

// where says in which part of the core a record with an id is.
type where uint8

const (
	nowhere  where = iota // it has ended
	inWheel               // at is its handle
	waiting               // with its source, for membership
	behind                // with its source, behind the replay barrier
	queued                // with its target
	spilled               // with a partition of its target: at
	inFlight              // at is its id among flights
	lettered              // bound for the dead-letter topic: no command finds it
)

// spot is where a record with an id is, so that a command ends it in place. It stands in
// the record's header, and is the only part of a header that changes.
type spot struct {
	where where
	// unsure: an attempt may have been written. What became of it is known with the answer
	// to another one.
	unsure bool
	// superseded: a command waits for that answer, or a newer record has its id.
	superseded bool
	at         uint64 // below 2^51
}

// spotBytes is the encoded size of a spot.
const spotBytes = 7

// The bits of a spot: three of where, two flags, and at.
const (
	spotAtBits     = 51
	spotUnsure     = 1 << (spotAtBits + 1)
	spotSuperseded = 1 << spotAtBits
	spotWhere      = spotAtBits + 2
)

func (s spot) put(b []byte) {
	v := s.at | uint64(s.where)<<spotWhere
	if s.unsure {
		v |= spotUnsure
	}
	if s.superseded {
		v |= spotSuperseded
	}
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], v)
	copy(b[:spotBytes], all[:])
}

func readSpot(b []byte) spot {
	var all [8]byte
	copy(all[:], b[:spotBytes])
	v := binary.LittleEndian.Uint64(all[:])
	return spot{where: where(v >> spotWhere), unsure: v&spotUnsure != 0, superseded: v&spotSuperseded != 0, at: v & (1<<spotAtBits - 1)}
}

// spotOf returns where the spot of a record with an id stands in its header.
func spotOf(record []byte) []byte {
	n := 0
	for range 6 { // the fields in front
		for record[n] >= 0x80 {
			n++
		}
		n++
	}
	n++ // marks
	return record[n : n+spotBytes]
}

// spot returns where a record with an id is.
func (s *store) spot(l location) spot { return readSpot(spotOf(s.at(l))) }

// move notes where a record is now. Records without an id are not looked for.
func (s *store) move(l location, w where, at uint64) {
	if l&named == 0 {
		return
	}
	b := spotOf(s.at(l))
	p := readSpot(b)
	p.where, p.at = w, at
	p.put(b)
}

// change changes the spot of a record with an id.
func (s *store) change(l location, f func(*spot)) {
	b := spotOf(s.at(l))
	p := readSpot(b)
	f(&p)
	p.put(b)
}
