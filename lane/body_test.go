package lane

import (
	"bytes"
	"testing"
	"unsafe"

	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// roundTrip encodes a record's body as the core does, and decodes it.
func roundTrip(t *testing.T, in *kgo.Record) {
	t.Helper()
	b := &body{in}
	dst := bytes.Repeat([]byte{0xAA}, b.Size()+8)
	b.Put(dst[:b.Size():b.Size()])
	if !bytes.Equal(dst[b.Size():], bytes.Repeat([]byte{0xAA}, 8)) {
		t.Fatal("Put wrote beyond Size")
	}
	encoded := dst[:b.Size()]
	var out outbound
	key, value, headers := out.decode(encoded)
	same := func(what string, got, want []byte) {
		t.Helper()
		if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s %q (null %v), want %q (null %v)", what, got, got == nil, want, want == nil)
		}
	}
	same("key", key, in.Key)
	same("value", value, in.Value)
	same("Key", Key(encoded, nil), in.Key)
	if len(headers) != len(in.Headers) {
		t.Fatalf("%d headers, want %d", len(headers), len(in.Headers))
	}
	for i, h := range headers {
		if h.Key != in.Headers[i].Key {
			t.Errorf("header %d is called %q, want %q", i, h.Key, in.Headers[i].Key)
		}
		same("header", h.Value, in.Headers[i].Value)
	}
	if cap(value) > len(value) {
		t.Error("who appends to the value writes over the headers")
	}
}

func TestBodiesRoundTripWithNullsAndEmptiesApart(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 1<<15)
	for name, r := range map[string]*kgo.Record{
		"nothing":           {},
		"empties":           {Key: []byte{}, Value: []byte{}, Headers: []kgo.RecordHeader{{Key: "", Value: []byte{}}}},
		"a tombstone":       {Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: "a"}}},
		"repeated headers":  {Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte("2")}, {Key: "a"}}},
		"lengths of a byte": {Key: long[:126], Value: long[:127], Headers: []kgo.RecordHeader{{Key: string(long[:128]), Value: long[:126]}}},
		"lengths of two":    {Key: long[:1<<14-2], Value: long[:1<<14-1], Headers: []kgo.RecordHeader{{Key: string(long[:1<<14]), Value: long[:1<<14-2]}}},
		"long ones":         {Key: long, Value: long, Headers: []kgo.RecordHeader{{Key: string(long), Value: long}}},
	} {
		t.Run(name, func(t *testing.T) { roundTrip(t, r) })
	}
}

func FuzzBodiesRoundTrip(f *testing.F) {
	f.Add([]byte("key"), []byte("value"), "name", []byte("text"), byte(0))
	f.Add([]byte{}, []byte{}, "", []byte{}, byte(0xFF))
	f.Add([]byte(nil), []byte(nil), "x-delay", []byte("30s"), byte(0x13)) // a tombstone without a key
	f.Add([]byte("k"), []byte("v"), "name", []byte(nil), byte(0xF4))
	for _, n := range []int{126, 127, 128} { // a length, and one more than it, at the end of a varint
		long := bytes.Repeat([]byte{0x80}, n)
		f.Add(long, long, string(long), long, byte(0x20))
	}
	f.Fuzz(func(t *testing.T, key, value []byte, name string, text []byte, flags byte) {
		r := &kgo.Record{Key: key, Value: value}
		if flags&1 > 0 {
			r.Key = nil
		}
		if flags&2 > 0 {
			r.Value = nil
		}
		for i := range int(flags >> 4) {
			h := kgo.RecordHeader{Key: name[:len(name)/(i+1)], Value: text}
			if i%2 > 0 && flags&4 > 0 {
				h.Value = nil
			}
			r.Headers = append(r.Headers, h)
		}
		roundTrip(t, r)
	})
}

func TestWhatIsKeptOfARecordPinsNothingOfItsFetch(t *testing.T) {
	in := &kgo.Record{Key: []byte("key"), Value: []byte("value")}
	b := &body{in}
	dst := make([]byte, b.Size())
	b.Put(dst)
	copy(in.Value, "XXXXX")
	if _, value, _ := new(outbound).decode(dst); string(value) != "value" || unsafe.SliceData(value) == unsafe.SliceData(in.Value) {
		t.Errorf("value %q aliases the fetched record", value)
	}
}

var _ purgatory.Body = (*body)(nil)
