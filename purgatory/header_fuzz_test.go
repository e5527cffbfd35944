package purgatory

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
)

// FuzzHeaderOfAParkedRecordRoundTrips reads back what encode wrote, with
// readHeader and number by number with encoding/binary, and finds where the body
// begins whatever its bytes are.
func FuzzHeaderOfAParkedRecordRoundTrips(f *testing.F) {
	f.Add(uint32(0), uint32(0), false, uint32(0), int64(0), int64(0), int64(0), []byte{})
	f.Add(uint32(3), uint32(7), false, uint32(200), int64(1_000_000), int64(1_772_370_030_000), int64(1_772_370_000_000), []byte("\x00key"))
	f.Add(uint32(math.MaxUint32), uint32(math.MaxInt32), true, uint32(math.MaxUint32), int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64), []byte{0x80})
	f.Add(uint32(math.MaxUint32), uint32(math.MaxInt32), true, uint32(math.MaxUint32), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), []byte{0xff, 0xff})
	for _, n := range []int64{127, 128, 16_383, 16_384, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<35 - 1, 1<<49 - 1, 1 << 56, 1<<62 - 1, 1 << 62} {
		f.Add(uint32(n), uint32(n), n%2 == 0, uint32(n), n, -n, n, []byte{byte(n)})
		f.Add(uint32(n), uint32(n), n%2 == 0, uint32(n), n, n, int64(-1), []byte{byte(n)})
	}
	f.Fuzz(func(t *testing.T, slot, target uint32, atOnce bool, size uint32, offset, deadlineMs, timestampMs int64, behind []byte) {
		in := header{slot: slot, target: target >> 2, atOnce: atOnce, size: size, offset: offset, deadlineMs: deadlineMs, timestampMs: timestampMs}
		var b [maxHeader]byte
		encoded := append(in.encode(&b), behind...)
		if in.length != len(encoded)-len(behind) || in.length > maxHeader {
			t.Fatalf("%d bytes long, says %d", len(encoded)-len(behind), in.length)
		}
		if got := readHeader(encoded); got != in {
			t.Fatalf("got %+v, want %+v", got, in)
		}

		r := bytes.NewReader(encoded)
		var numbers [4]uint64
		for i := range numbers {
			numbers[i], _ = binary.ReadUvarint(r)
		}
		due, _ := binary.ReadVarint(r)
		wait, _ := binary.ReadVarint(r)
		if numbers != [4]uint64{uint64(slot), uint64(target>>2)<<2 | numbers[1]&1, uint64(size), uint64(offset)} ||
			numbers[1]&1 == 1 != atOnce || due != deadlineMs || wait != deadlineMs-timestampMs || r.Len() != len(behind) {
			t.Fatalf("numbers %d, due %d after %d, %d bytes behind, of %+v", numbers, due, wait, r.Len(), in)
		}
	})
}
