package batches

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// sealed returns the bytes of a batch, as a producer and a broker make it.
func sealed(b kmsg.RecordBatch, records []byte) []byte {
	b.Records = records
	b.Length = int32(headerBytes - atEpoch + len(records))
	out := b.AppendTo(nil)
	binary.BigEndian.PutUint32(out[atChecksum:], crc32.Checksum(out[atAttributes:], castagnoli))
	return out
}

func TestAHeaderIsRead(t *testing.T) {
	good := sealed(kmsg.RecordBatch{FirstOffset: 40, PartitionLeaderEpoch: 7, Magic: 2, Attributes: 0x14, LastOffsetDelta: 4, ProducerID: 99, NumRecords: 3, FirstTimestamp: 500, MaxTimestamp: 700}, []byte("compressed"))
	h, rest, ok := Parse(append(good, "behind"...))
	want := Header{First: 40, Last: 44, Records: 3, LeaderEpoch: 7, Bytes: len(good), Codec: 4, ProducerID: 99, Transactional: true, FirstMs: 500, MostMs: 700}
	if !ok || h != want || string(rest) != "behind" || h.Codec.String() != "zstd" {
		t.Errorf("%+v, %q, %v; want %+v", h, rest, ok, want)
	}
	for name, test := range map[string]struct {
		change func(b []byte) []byte
		damage error
		behind bool // what follows is known
	}{
		"a flipped bit of a record":   {func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, ErrChecksum, true},
		"a flipped bit of the header": {func(b []byte) []byte { b[atRecords+3] ^= 1; return b }, ErrChecksum, true},
		"cut in its records":          {func(b []byte) []byte { return b[:len(b)-1] }, ErrCut, false},
		"cut in its header":           {func(b []byte) []byte { return b[:headerBytes-1] }, ErrCut, false},
		"an old format":               {func(b []byte) []byte { b[atMagic] = 1; return b }, ErrLayout, true},
		"a length that is too short":  {func(b []byte) []byte { binary.BigEndian.PutUint32(b[atLength:], 5); return b }, ErrLayout, true},
		"a negative length":           {func(b []byte) []byte { binary.BigEndian.PutUint32(b[atLength:], 1<<31); return b }, ErrLayout, false},
		"a length beyond its end":     {func(b []byte) []byte { binary.BigEndian.PutUint32(b[atLength:], 1<<31-1); return b }, ErrCut, false},
		"an end below its beginning":  {func(b []byte) []byte { binary.BigEndian.PutUint32(b[atLastDelta:], 1<<31); return b }, ErrChecksum, true},
		"no more than a length":       {func(b []byte) []byte { return b[:atMagic+1] }, ErrCut, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, rest, ok := Parse(test.change(append([]byte(nil), good...)))
			if !ok || !errors.Is(h.Damage, test.damage) || h.First != 40 || rest != nil != test.behind {
				t.Errorf("%+v, %q, %v", h, rest, ok)
			}
		})
	}
	if _, _, ok := Parse(good[:atMagic]); ok {
		t.Error("there is a batch without a length")
	}
	lies := sealed(kmsg.RecordBatch{FirstOffset: 40, Magic: 2, LastOffsetDelta: 1, NumRecords: 3}, nil)
	if h, _, _ := Parse(lies); h.Damage != ErrLayout {
		t.Errorf("more records than offsets: %+v", h)
	}
}

func TestATimestampIsOfARecordThatIsNotRead(t *testing.T) {
	for name, test := range map[string]struct {
		attributes int16
		first      int64 // timestamp of the first record; the latest is 700
		from, want int64
	}{
		"from the first record on":               {0, 500, 40, 500},
		"from before it":                         {0, 500, 7, 500},
		"from within: nobody knows which it has": {0, 500, 42, 700},
		"stamped by the broker":                  {logAppendTime, 500, 40, 700},
		"without timestamps":                     {0, -1, 40, -1},
	} {
		t.Run(name, func(t *testing.T) {
			h, _, _ := Parse(sealed(kmsg.RecordBatch{FirstOffset: 40, Magic: 2, Attributes: test.attributes, LastOffsetDelta: 4, NumRecords: 5,
				FirstTimestamp: test.first, MaxTimestamp: 700}, nil))
			if got := h.TimestampFrom(test.from); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

func FuzzASoundHeaderFitsItsBytes(f *testing.F) {
	f.Add(sealed(kmsg.RecordBatch{FirstOffset: 40, Magic: 2, LastOffsetDelta: 4, NumRecords: 3}, []byte("compressed")))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, ok := Parse(b)
		if ok && h.Damage == nil && (h.Last < h.First || h.Bytes+len(rest) != len(b) || h.Records > h.Last-h.First+1) {
			t.Errorf("%+v, %d of %d bytes left", h, len(rest), len(b))
		}
	})
}
