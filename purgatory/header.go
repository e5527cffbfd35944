package purgatory

import "encoding/binary"

// header stands in front of a parked record's body. Its fields are varints:
// with fixed widths it took twice as much, 36 bytes, and ten million records are
// parked more often than a header is read.
type header struct {
	slot        uint32 // partition's slot in the core
	target      uint32 // index of the target, below 2^31
	atOnce      bool   // due whatever deadlineMs says, which only tells when it should have been
	size        uint32 // bytes of the body
	offset      int64
	deadlineMs  int64
	timestampMs int64 // kept as its distance from the deadline, which is short

	// length is how many bytes the header takes; encode and readHeader say so.
	length int
}

// maxHeader bounds the encoded size of a header in bytes.
const maxHeader = 3*binary.MaxVarintLen32 + 3*binary.MaxVarintLen64

// encode writes the header to b. Sweeping looks at the first field alone.
func (h *header) encode(b *[maxHeader]byte) []byte {
	target := h.target << 1
	if h.atOnce {
		target |= 1
	}
	out := binary.AppendUvarint(b[:0], uint64(h.slot))
	out = binary.AppendUvarint(out, uint64(target))
	out = binary.AppendUvarint(out, uint64(h.size))
	out = binary.AppendUvarint(out, uint64(h.offset))
	out = binary.AppendVarint(out, h.deadlineMs)
	out = binary.AppendVarint(out, h.deadlineMs-h.timestampMs) // wraps, and wraps back
	h.length = len(out)
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
	h.target, h.atOnce = target>>1, target&1 != 0
	h.size = uint32(next())
	h.offset = int64(next())
	h.deadlineMs = zigzag(next())
	h.timestampMs = h.deadlineMs - zigzag(next())
	return h
}

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
