package purgatory

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"layover/purgatory/ids"
)

// index finds records by ingress partition and id. Each name stands for the newest record of
// its id. A record leaves it when it ends, or when a newer one has its id.
//
// Invariant: a live record in a chunk of idClass is in the index, or in flight.
type index struct {
	store *store
	table ids.Table
	seed  maphash.Seed
}

func newIndex(s *store) index { return index{store: s, seed: maphash.MakeSeed()} }

// hash mixes the partition's slot into the hash of an id, so that an id's records in
// different partitions are apart. The seed keeps producers from choosing ids that collide.
func (x *index) hash(slot uint32, id []byte) uint64 {
	return maphash.Bytes(x.seed, id) ^ uint64(slot)*0x9e3779b97f4a7c15
}

// find returns the record of an id, compared by its bytes.
func (x *index) find(slot uint32, id []byte) (l location, ok bool) {
	n, ok := x.table.Find(x.hash(slot, id), func(n uint32) bool {
		h, body := x.store.read(named | location(n))
		return h.slot == slot && bytes.Equal(idIn(body, &h), id)
	})
	return named | location(n), ok
}

// add puts a record in, in place of another one or of none.
func (x *index) add(slot uint32, id []byte, l location, instead location) {
	hash := x.hash(slot, id)
	if instead == 0 {
		x.table.Add(hash, uint32(l))
	} else {
		x.table.Replace(hash, uint32(instead), uint32(l))
	}
}

// remove takes out a record that ends, if it is there.
func (x *index) remove(l location) {
	h, body := x.store.read(l)
	x.table.Remove(x.hash(h.slot, idIn(body, &h)), uint32(l))
}

// idIn returns the id in a body: its length and one as an unsigned varint, and its bytes.
func idIn(body []byte, h *header) []byte {
	size, n := binary.Uvarint(body[h.idAt:])
	at := int(h.idAt) + n
	return body[at : at+int(size)-1]
}

// idOf returns the id of a record, nil for none. It is good until the record's bytes go.
func (x *index) idOf(l location, h *header) []byte {
	if h.marks&hasID == 0 {
		return nil
	}
	_, body := x.store.read(l)
	return idIn(body, h)
}

// squeeze moves the live records out of one chunk of which less than half is live.
func (x *index) squeeze(no int) {
	ch := x.store.chunks[no]
	for at := 0; at < len(ch.buf); {
		b := ch.buf[at:]
		h := readHeader(b)
		end := h.length + int(h.size)
		if readSpot(spotOf(b)).where != nowhere {
			here := location(uint64(no)<<locationBits | uint64(at))
			id := idIn(b[h.length:end], &h)
			n, ok := x.table.Find(x.hash(h.slot, id), func(n uint32) bool { return location(x.store.slots.Get(n)) == here })
			if !ok {
				panic("purgatory: a record with an id is in no index")
			}
			x.store.carry(named|location(n), idClass)
		}
		at += end
	}
}

// compact gives back the memory of cancelled records. Its cost is that of the chunks of
// which half has ended since the last call.
func (x *index) compact() {
	for {
		no, ok := x.store.nextThin()
		if !ok {
			return
		}
		x.squeeze(no)
	}
}

// bytes is the memory of the index.
func (x *index) bytes() int64 { return x.table.Bytes() + x.store.slots.Bytes() }
