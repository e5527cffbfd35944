package purgatory

import "encoding/binary"

// header stands in front of a parked record's body. Its fields are varints. With
// fixed widths the header took twice as much, 36 bytes, and ten million records
// are parked more often than a header is read.
type header struct {
	slot        uint32 // partition's slot in the core
	target      uint32 // index of the target, below 2^30
	atOnce      bool   // due whatever deadlineMs says, which only tells when it should have been
	size        uint32 // bytes of the body
	offset      int64
	deadlineMs  int64
	timestampMs int64 // kept as its distance from the deadline, which is short

	// Of few records, behind the others. Which of these there are is in marks.
	marks    marks
	idAt     uint32 // where in the body the id stands, as the body's owner wrote it
	expireMs int64  // it is not handed out from then on
	by       int64  // of an event: the offset of the command, -1 for none
	copyAt   int64  // of a copy: its offset in the runs partition
	epoch    int32  // of a copy: the leader epoch of its origin, -1 for unknown

	// length is how many bytes the header takes; encode and readHeader say so.
	length int
}

// marks says which of the fields a record has that few have, and what it is.
type marks uint8

const (
	hasID      marks = 1 << iota // it is found by its id, and has a spot
	hasExpiry                    // expireMs
	isEvent                      // it says what became of a record, and by
	finishesBy                   // the event's end finishes by, too
	// unsure: an attempt may have been written. What became of it is known with the answer to
	// another one. It is added while the record is parked or due: see doubt.
	unsure
	// wasPutBack: it waits in the wheel for its instant of the catch-up, or has. It is added
	// to records with an id: what takes one out of the wheel does not see its payload.
	wasPutBack
	// isCopy: it was read from the runs topic. Offset and epoch are those of its origin, and
	// copyAt is the offset that its outcome finishes.
	isCopy
)

// maxHeader bounds the encoded size of a header in bytes.
const maxHeader = 5*binary.MaxVarintLen32 + 6*binary.MaxVarintLen64 + 1 + spotBytes

// fireMs is when a record is to leave the wheel: at its deadline, or now where none matters. A
// record that expires up to its deadline expires when it is read.
func (h *header) fireMs(nowMs int64) int64 {
	if h.waits() {
		return h.deadlineMs
	}
	return min(h.deadlineMs, nowMs)
}

// waits is the waits of the record's Arrival.
func (h *header) waits() bool {
	return !h.atOnce && !(h.marks&hasExpiry != 0 && h.expireMs <= h.deadlineMs)
}

// hasExpired says whether a record is not to be handed out any more. Nobody knows what became
// of one that may have been written, so it is sent again.
func (h *header) hasExpired(nowMs int64) bool {
	return h.marks&(hasExpiry|unsure) == hasExpiry && h.expireMs <= max(nowMs, h.deadlineMs)
}

// encode writes the header to b. Sweeping looks at the first field alone.
func (h *header) encode(b *[maxHeader]byte) []byte {
	target := h.target << 2
	if h.atOnce {
		target |= 1
	}
	if h.marks != 0 {
		target |= 2
	}
	out := binary.AppendUvarint(b[:0], uint64(h.slot))
	out = binary.AppendUvarint(out, uint64(target))
	out = binary.AppendUvarint(out, uint64(h.size))
	out = binary.AppendUvarint(out, uint64(h.offset))
	out = binary.AppendVarint(out, h.deadlineMs)
	out = binary.AppendVarint(out, h.deadlineMs-h.timestampMs) // wraps, and wraps back
	if h.marks != 0 {
		out = h.encodeMarked(out)
	}
	h.length = len(out)
	return out
}

// encodeMarked writes the fields that few records have.
func (h *header) encodeMarked(out []byte) []byte {
	out = append(out, byte(h.marks))
	if h.marks&hasID != 0 {
		out = append(out, make([]byte, spotBytes)...)
		out = binary.AppendUvarint(out, uint64(h.idAt))
	}
	if h.marks&hasExpiry != 0 {
		out = binary.AppendVarint(out, h.expireMs-h.deadlineMs)
	}
	if h.marks&isEvent != 0 {
		out = binary.AppendVarint(out, h.by)
	}
	if h.marks&isCopy != 0 {
		out = binary.AppendUvarint(out, uint64(h.copyAt))
		out = binary.AppendUvarint(out, uint64(int64(h.epoch)+1))
	}
	return out
}

// readHeader reads a header that encode wrote.
func readHeader(b []byte) (h header) {
	next := func() uint64 {
		if v := b[h.length]; v < 0x80 {
			h.length++
			return uint64(v)
		}
		v, n := binary.Uvarint(b[h.length:])
		h.length += n
		return v
	}
	h.slot = uint32(next())
	target := uint32(next())
	h.target, h.atOnce = target>>2, target&1 != 0
	h.size = uint32(next())
	h.offset = int64(next())
	h.deadlineMs = zigzag(next())
	h.timestampMs = h.deadlineMs - zigzag(next())
	if target&2 != 0 {
		h.readMarked(b)
	}
	return h
}

// readMarked reads what encodeMarked wrote, from h.length on.
func (h *header) readMarked(b []byte) {
	h.marks = marks(b[h.length])
	h.length++
	if h.marks&hasID != 0 {
		h.length += spotBytes
		v, n := binary.Uvarint(b[h.length:])
		h.idAt, h.length = uint32(v), h.length+n
	}
	if h.marks&hasExpiry != 0 {
		v, n := binary.Varint(b[h.length:])
		h.expireMs, h.length = h.deadlineMs+v, h.length+n
	}
	if h.marks&isEvent != 0 {
		v, n := binary.Varint(b[h.length:])
		h.by, h.length = v, h.length+n
	}
	if h.marks&isCopy != 0 {
		v, n := binary.Uvarint(b[h.length:])
		h.copyAt, h.length = int64(v), h.length+n
		v, n = binary.Uvarint(b[h.length:])
		h.epoch, h.length = int32(int64(v)-1), h.length+n
	}
}

// place is what a record's outcome finishes: an offset of the ingress partition, or, below
// noPlace, one of the runs partition.
type place int64

// noPlace is what nothing has to be finished for.
const noPlace place = -1

// place returns what the record's outcome finishes.
func (h *header) place() place {
	if h.marks&isCopy != 0 {
		return copyPlace(h.copyAt)
	}
	return place(h.offset)
}

// copyPlace returns the place of a copy.
func copyPlace(offset int64) place { return noPlace - 1 - place(offset) }

// inRuns returns the offset in the runs partition, ok where the place is one.
func (at place) inRuns() (offset int64, ok bool) { return int64(noPlace - 1 - at), at < noPlace }

// zigzag is the signed number that binary.AppendVarint wrote as an unsigned one.
func zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// total is how many bytes of a chunk the record takes.
func (h *header) total() int32 { return int32(h.length) + int32(h.size) }

// read returns the header of a record and the bytes that follow it.
func (s *store) read(l location) (header, []byte) {
	b := s.at(l)
	h := readHeader(b)
	end := h.length + int(h.size)
	return h, b[h.length:end:end]
}
