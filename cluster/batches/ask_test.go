package batches

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAReaderIsPastWhatHasNothingForIt: its header tells, and where the reader stands.
func TestAReaderIsPastWhatHasNothingForIt(t *testing.T) {
	for name, test := range map[string]struct {
		found            Found
		passable, behind bool // the latter for a reader at 12
	}{
		"records":                  {Found{Header: Header{First: 12, Last: 14, Records: 3}}, false, false},
		"records behind it":        {Found{Header: Header{First: 13, Last: 14, Records: 2}}, false, false},
		"records in front alone":   {cut(11, 14, 11), false, true},
		"records in front, too":    {cut(11, 14, 11, 12), false, false},
		"what cannot be read":      {broken(cut(11, 14, 11)), false, false},
		"none":                     {Found{Header: Header{First: 12, Last: 14}}, true, true},
		"markers":                  {Found{Header: Header{First: 12, Last: 12, Records: 1, Control: true}}, true, true},
		"an aborted transaction's": {Found{Header: Header{First: 12, Last: 12, Records: 1}, Aborted: true}, true, true},
		"an aborted one broken":    {aborted(broken(cut(11, 14, 11))), true, false},
		"a codec that nobody has":  {Found{Header: Header{First: 11, Last: 14, Codec: 7}}, false, false},
		"a wrong checksum":         {Found{Header: Header{First: 11, Last: 14, Damage: ErrChecksum}}, false, false},
		"markers that are damaged": {Found{Header: Header{First: 12, Last: 12, Records: 1, Control: true, Damage: ErrChecksum}}, false, false},
	} {
		if passable, behind := test.found.Passable(), test.found.IsBehind(offsets.TopicPartition{Topic: "t"}, 12, 1000); passable != test.passable || behind != test.behind {
			t.Errorf("%s: passable %v, behind %v", name, passable, behind)
		}
	}
}

// cut is a batch of the offsets from first to last, of which compaction has left some records.
func cut(first, last int64, left ...int64) Found {
	var records []byte
	for _, offset := range left {
		r := kmsg.Record{OffsetDelta: int32(offset - first), Value: []byte("value")}
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		records = append(records, r.AppendTo(nil)...)
	}
	raw := sealed(kmsg.RecordBatch{FirstOffset: first, Magic: 2, LastOffsetDelta: int32(last - first), NumRecords: int32(len(left))}, records)
	h, _, _ := Parse(raw)
	return Found{Header: h, Raw: raw}
}

// broken is one that nobody can read.
func broken(f Found) Found {
	raw := sealed(kmsg.RecordBatch{FirstOffset: f.First, Magic: 2, Attributes: 1, LastOffsetDelta: int32(f.Last - f.First), NumRecords: int32(f.Records)}, []byte("not gzip"))
	h, _, _ := Parse(raw)
	return Found{Header: h, Raw: raw}
}

// aborted is one of an aborted transaction.
func aborted(f Found) Found {
	f.Aborted = true
	return f
}

// TestAMessageOfAnOldFormatIsReadAsAMemberReadsIt: of magic 0 and 1, where it is whole.
func TestAMessageOfAnOldFormatIsReadAsAMemberReadsIt(t *testing.T) {
	whole := old(7, "value")
	cutOff, damaged := whole[:len(whole)-1], bytes.Clone(whole)
	damaged[len(damaged)-1] ^= 1
	for name, test := range map[string]struct {
		raw  []byte
		want string // its value, "" where it cannot be read
	}{
		"whole": {whole, "value"}, "cut off": {cutOff, ""}, "damaged": {damaged, ""}, "of a length that it has not": {old(7, "")[:20], ""},
	} {
		h, _, _ := Parse(test.raw)
		f := Found{Header: h, Raw: test.raw}
		switch records, err := f.Read(offsets.TopicPartition{Topic: "t"}, 1000); {
		case test.want == "":
			if err == nil {
				t.Errorf("%s: read %d records", name, len(records))
			}
		case err != nil || len(records) != 1 || records[0].Offset != 7 || string(records[0].Value) != test.want:
			t.Errorf("%s: %+v, %v", name, records, err)
		}
	}
}

// old is a message of magic 1.
func old(offset int64, value string) []byte {
	m := kmsg.MessageV1{Offset: offset, Magic: 1, Value: []byte(value)}
	m.MessageSize = int32(len(m.AppendTo(nil)) - 12)
	raw := m.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[12:], crc32.ChecksumIEEE(raw[16:]))
	return raw
}
