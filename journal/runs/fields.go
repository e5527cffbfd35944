package runs

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	tables     = sliced(castagnoli)
)

// sliced returns the tables of the sum of one byte with 0 to 3 zero bytes behind it.
func sliced(table *crc32.Table) (tables [4]crc32.Table) {
	tables[0] = *table
	for b := range table {
		for i := 1; i < len(tables); i++ {
			before := tables[i-1][b]
			tables[i][b] = table[byte(before)] ^ before>>8
		}
	}
	return tables
}

// sum is a running CRC-32C.
type sum uint32

func (s sum) bytes(b []byte) sum { return sum(crc32.Update(uint32(s), castagnoli, b)) }

// number adds four bytes, most significant first, without memory for them: what is passed
// to crc32 escapes.
func (s sum) number(n uint32) sum { return s.word(bits.ReverseBytes32(n)) }

// word adds four bytes, least significant first, by four tables (Sarwate's algorithm,
// sliced by four).
func (s sum) word(w uint32) sum {
	w ^= uint32(^s)
	return ^sum(tables[3][byte(w)] ^ tables[2][byte(w>>8)] ^ tables[1][byte(w>>16)] ^ tables[0][w>>24])
}

func (s sum) byte(b byte) sum { return ^sum(castagnoli[byte(^s)^b] ^ uint32(^s)>>8) }

// text adds a length and a name. Names are short, so tables are fast enough.
func (s sum) text(name string) sum {
	s = s.number(uint32(len(name)))
	for ; len(name) >= 4; name = name[4:] {
		s = s.word(uint32(name[0]) | uint32(name[1])<<8 | uint32(name[2])<<16 | uint32(name[3])<<24)
	}
	for i := range len(name) {
		s = s.byte(name[i])
	}
	return s
}

// field adds a length and bytes. Null is not empty.
func (s sum) field(b []byte) sum {
	if b == nil {
		return s.number(1<<32 - 1)
	}
	return s.number(uint32(len(b))).bytes(b)
}

// fields takes fields from the front of a value. After the first that is not there, or
// that no release writes, all are 0.
type fields struct {
	b     []byte
	at    int
	wrong error
}

// number takes a number of at most most.
func (f *fields) number(name string, most uint64) uint64 {
	n, size := binary.Uvarint(f.b[f.at:])
	shortest := size > 0 && (size == 1 || f.b[f.at+size-1] != 0)
	if !shortest || n > most {
		f.fail("%s: want a number of at most %d in its shortest form", name, most)
		return 0
	}
	f.at += size
	return n
}

// signed takes a number that may be negative.
func (f *fields) signed(name string) int64 {
	n := f.number(name, 1<<64-1)
	return int64(n>>1) ^ -int64(n&1)
}

// bytes takes size bytes.
func (f *fields) bytes(name string, size uint64) []byte {
	left := len(f.b) - f.at
	if size > uint64(left) {
		f.fail("%s: %d bytes, want %d", name, left, size)
		return nil
	}
	f.at += int(size)
	return f.b[f.at-int(size) : f.at]
}

// fixed takes 8 bytes as a number.
func (f *fields) fixed(name string) uint64 {
	if b := f.bytes(name, 8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// end checks that nothing follows.
func (f *fields) end() {
	if left := len(f.b) - f.at; left > 0 {
		f.fail("the end: %d bytes follow, want none", left)
	}
}

func (f *fields) fail(format string, args ...any) {
	if f.wrong == nil {
		f.wrong = fmt.Errorf("byte %d, %s: %w", f.at, fmt.Sprintf(format, args...), ErrDamaged)
	}
	f.b, f.at = nil, 0
}

// checkOwner checks a sound record's owner and versions. versions begins with the two
// numbers.
func checkOwner(owner Owner, id Identity, versions []byte) error {
	version, needed := versions[0], versions[1]
	switch {
	case owner != id.Owner:
		return fmt.Errorf("owner %016x, want %016x: another cluster, group or ingress topic: %w", uint64(owner), uint64(id.Owner), ErrForeign)
	case needed < 1 || needed > version:
		return fmt.Errorf("format version %d for readers of version %d, want 1 up to the format's: %w", version, needed, ErrDamaged)
	case needed > formatVersion:
		return fmt.Errorf("format version %d wants a reader of version %d, this one is %d: %w", version, needed, formatVersion, ErrNewer)
	}
	return nil
}

// partition takes the partition, which a record does not leave.
func (f *fields) partition(id Identity) {
	n := f.number("partition", 1<<31-1)
	if f.wrong == nil && n != uint64(id.Partition) {
		f.wrong = fmt.Errorf("written for partition %d, this is %d: %w", n, id.Partition, ErrForeign)
	}
}
