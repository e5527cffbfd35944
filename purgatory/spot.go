package purgatory

import "encoding/binary"

// where says in which part of the core a record with an id is.
type where uint8

const (
	nowhere       where = iota // it has ended
	inWheel                    // at is its handle
	inWaiting                  // with its source, for membership
	behindBarrier              // with its source, until its partition is read
	inQueue                    // with its target
	inOverflow                 // with a partition of its target: at
	inFlight                   // at is its id among flights
	lettered                   // bound for the dead-letter topic: no command finds it
)

// spot is where a record with an id is, so that a command ends it in place. It stands in
// the record's header. But for the marks unsure and wasPutBack nothing else of a header changes.
type spot struct {
	where where
	// superseded: a command waits for the record's answer, or a newer record has its id.
	superseded bool
	at         uint64 // below 2^52
}

// spotBytes is the encoded size of a spot.
const spotBytes = 7

// The bits of a spot: three of where, a flag, and at.
const (
	spotAtBits     = 52
	spotSuperseded = 1 << spotAtBits
	spotWhere      = spotAtBits + 1
)

func (s spot) put(b []byte) {
	v := s.at | uint64(s.where)<<spotWhere
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
	return spot{where: where(v >> spotWhere), superseded: v&spotSuperseded != 0, at: v & (1<<spotAtBits - 1)}
}

// marksOf returns a record from its marks on, if it has any.
func marksOf(record []byte) []byte {
	n := 0
	for range 6 { // the fields in front
		for record[n] >= 0x80 {
			n++
		}
		n++
	}
	return record[n:]
}

// spotOf returns where the spot of a record with an id stands in its header.
func spotOf(record []byte) []byte { return marksOf(record)[1 : 1+spotBytes] }

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

// markSuperseded notes that a command waits for a record's answer, or that there is a newer one.
func (s *store) markSuperseded(l location) {
	b := spotOf(s.at(l))
	p := readSpot(b)
	p.superseded = true
	p.put(b)
}

// doubt notes that a record may have been written, whatever its answer says. It matters to
// records with an id or an expiry alone, and those have marks.
func (s *store) doubt(l location) {
	b := s.at(l)
	if h := readHeader(b); h.marks != 0 {
		marksOf(b)[0] |= byte(unsure)
	}
}

// markPutBack notes that a record with an id was put back.
func (s *store) markPutBack(l location) { marksOf(s.at(l))[0] |= byte(wasPutBack) }
