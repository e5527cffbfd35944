package runs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// record is a record as Kafka keeps it.
type record struct {
	key, value []byte
	headers    []kgo.RecordHeader
}

func (r record) clone() record {
	r.key, r.value, r.headers = bytes.Clone(r.key), bytes.Clone(r.value), slices.Clone(r.headers)
	for i := range r.headers {
		r.headers[i].Value = bytes.Clone(r.headers[i].Value)
	}
	return r
}

func (r record) same(o record) bool { return reflect.DeepEqual(r, o) }

// made makes a copy of a record, with memory of its own.
func made(id Identity, c Copy, r record) record {
	r.headers, _ = AppendCopy(r.headers, nil, id, &c, r.key, r.value)
	return r.clone()
}

func read(id Identity, r record) (Copy, record, error) {
	c, own, err := ReadCopy(id, r.key, r.value, r.headers)
	r.headers = own
	return c, r, err
}

func usualCopy() Copy {
	return Copy{Origin: Origin{TopicID: testTopic, Offset: 123_456_789, LeaderEpoch: 17, TimestampMs: 1_790_000_000_123}, DeadlineMs: 1_790_000_000_123 + 30*24*3_600_000, Writer: 1 << 63, Run: 1300}
}

// usualRecord has a header of its own of the name, as one that was written back to ingress.
func usualRecord() record {
	return record{[]byte("key"), []byte("some value"), []kgo.RecordHeader{{Key: "x-delay", Value: []byte("30d")}, {Key: Header, Value: []byte("mine")}, {Key: "n"}, {Key: "e", Value: []byte{}}}}
}

func TestAnyRecordSurvivesTheRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	field := func() []byte {
		if rng.IntN(4) == 0 {
			return nil
		}
		b := make([]byte, rng.IntN(1<<rng.IntN(9)))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	number := func() int64 { return int64(rng.Uint64() >> rng.IntN(64)) }
	for range 20_000 {
		r := record{key: field(), value: field(), headers: []kgo.RecordHeader{}}
		for range rng.IntN(4) {
			r.headers = append(r.headers, kgo.RecordHeader{Key: []string{Header, "", "traceparent", string(field())}[rng.IntN(4)], Value: field()})
		}
		id := Identity{Owner(rng.Uint64()), int32(number() & (1<<31 - 1))}
		c := Copy{Origin: Origin{testTopic, number() & (1<<63 - 1), int32(number()&(1<<31-1)) - rng.Int32N(2), number()}, DeadlineMs: number(), Writer: rng.Uint64(), Run: rng.Uint64() >> rng.IntN(64)}
		m := made(id, c, r)
		got, own, err := read(id, m)
		if err != nil || got != c || !own.same(r) {
			t.Fatalf("%+v of %+v: %+v of %+v, %v", c, r, got, own, err)
		}
		if size := len(m.headers[len(m.headers)-1].Value); size > MaxHeader {
			t.Fatalf("%+v: %d bytes, want at most %d", c, size, MaxHeader)
		}
		again, own2, err := read(id, made(id, got, made(id, c, r))) // a copy that was written back and copied
		if err != nil || again != c || !own2.same(m) {
			t.Fatalf("a copy's copy: %+v of %+v, %v", again, own2, err)
		}
	}
}

func TestAUsualHeaderIsSmall(t *testing.T) {
	m := made(testID, usualCopy(), usualRecord())
	size := len(m.headers[len(m.headers)-1].Value)
	t.Logf("%d bytes, and %d of the name", size, len(Header))
	if size > 64 {
		t.Errorf("%d bytes", size)
	}
}

// TestAHeaderIsNotWrittenOverByWhatFollows: the buffer goes from one copy to the next.
func TestAHeaderIsNotWrittenOverByWhatFollows(t *testing.T) {
	buf, c, r := make([]byte, 0, 1000), usualCopy(), usualRecord()
	first, buf := AppendCopy(nil, buf, testID, &c, r.key, r.value)
	second, _ := AppendCopy(nil, buf, testID, &c, nil, r.value)
	_ = append(first[0].Value, "something"...)
	if _, _, err := ReadCopy(testID, r.key, r.value, first); err != nil {
		t.Error(err)
	}
	if _, _, err := ReadCopy(testID, nil, r.value, second); err != nil {
		t.Error(err)
	}
	headers := r.headers[:3:4]
	_, own, err := ReadCopy(testID, r.key, r.value, append(headers, made(testID, c, record{r.key, r.value, headers}).headers[3]))
	if err != nil {
		t.Fatal(err)
	}
	if _ = append(own, kgo.RecordHeader{Key: "new"}); r.headers[:4][3].Key == "new" {
		t.Error("a header that is appended to a record's own writes over ours")
	}
}

// TestNoBitCanBeFlipped: each one makes the copy damaged, or no copy where it is in the
// header's name.
func TestNoBitCanBeFlipped(t *testing.T) {
	sound := made(testID, usualCopy(), usualRecord())
	refused := 0
	flip := func(what string, b []byte, m *record, want error) {
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			if _, _, err := read(testID, *m); !errors.Is(err, want) {
				t.Errorf("%s, bit %d: %v, want %v", what, bit, err, want)
			}
			b[bit/8] ^= 1 << (bit % 8)
			refused++
		}
	}
	m := sound.clone()
	flip("key", m.key, &m, ErrDamaged)
	flip("value", m.value, &m, ErrDamaged)
	for i := range m.headers {
		flip("value of header "+m.headers[i].Key, m.headers[i].Value, &m, ErrDamaged)
		for bit := range 8 * len(m.headers[i].Key) {
			name := []byte(sound.headers[i].Key)
			name[bit/8] ^= 1 << (bit % 8)
			m.headers[i].Key = string(name)
			// The last one's loss leaves the record's own, which is not the last.
			if _, _, err := read(testID, m); !errors.Is(err, ErrDamaged) {
				t.Errorf("name of header %d, bit %d: %v", i, bit, err)
			}
			refused++
		}
		m.headers[i].Key = sound.headers[i].Key
	}
	if _, _, err := read(testID, m); err != nil || refused != 872 {
		t.Errorf("%d bits flipped, and back: %v", refused, err)
	}
}

// TestWhatIsCutOrMixedUpIsDamaged has changes beyond single bits.
func TestWhatIsCutOrMixedUpIsDamaged(t *testing.T) {
	sound := made(testID, usualCopy(), usualRecord())
	last := len(sound.headers) - 1
	other := usualCopy()
	other.Offset++
	changes := map[string]func(m *record){
		"null for an empty header":      func(m *record) { m.headers[3].Value = nil },
		"an empty header for null":      func(m *record) { m.headers[2].Value = []byte{} },
		"no key":                        func(m *record) { m.key = nil },
		"an empty key":                  func(m *record) { m.key = []byte{} },
		"no value":                      func(m *record) { m.value = nil },
		"key and value divided anew":    func(m *record) { m.key, m.value = []byte("keys"), []byte("ome value") },
		"key and value changed over":    func(m *record) { m.key, m.value = m.value, m.key },
		"a header less":                 func(m *record) { m.headers = m.headers[1:] },
		"a header more":                 func(m *record) { m.headers = slices.Insert(m.headers, 0, kgo.RecordHeader{Key: "x"}) },
		"an empty header more":          func(m *record) { m.headers = slices.Insert(m.headers, 0, kgo.RecordHeader{}) },
		"headers changed over":          func(m *record) { m.headers[2], m.headers[3] = m.headers[3], m.headers[2] },
		"a header behind it":            func(m *record) { m.headers = append(m.headers, kgo.RecordHeader{Key: "traceparent"}) },
		"twice":                         func(m *record) { m.headers = append(m.headers, m.headers[last]) },
		"the header of another record":  func(m *record) { m.headers[last] = made(testID, other, record{value: []byte("x")}).headers[0] },
		"null":                          func(m *record) { m.headers[last].Value = nil },
		"name and value of one divided": func(m *record) { m.headers[0] = kgo.RecordHeader{Key: "x-delay3", Value: []byte("0d")} },
		"a byte more":                   func(m *record) { m.headers[last].Value = append(m.headers[last].Value, 0) },
	}
	for size := range sound.headers[last].Value {
		changes["cut "+strconv.Itoa(size)] = func(m *record) { m.headers[last].Value = m.headers[last].Value[:size] }
	}
	for size := range sound.value {
		changes["value cut "+strconv.Itoa(size)] = func(m *record) { m.value = m.value[:size] }
	}
	for name, change := range changes {
		m := sound.clone()
		change(&m)
		if c, own, err := read(testID, m); !errors.Is(err, ErrDamaged) || c != (Copy{}) || own.headers != nil {
			t.Errorf("%s: %+v, %v, %v", name, c, own.headers, err)
		}
	}
}

func TestARecordWithoutTheHeaderIsNoCopy(t *testing.T) {
	for name, headers := range map[string][]kgo.RecordHeader{
		"none": nil, "others": {{Key: "a"}}, "another case": {{Key: "Layover-Run"}}, "a longer name": {{Key: "layover-runs"}},
	} {
		if _, _, err := ReadCopy(testID, nil, nil, headers); err != ErrNoCopy {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestACopyOfOthersIsForeign: each part of the owner counts.
func TestACopyOfOthersIsForeign(t *testing.T) {
	m := made(testID, usualCopy(), usualRecord())
	for name, id := range map[string]Identity{
		"cluster":   {OwnerOf("clusters", "group", "orders"), 3},
		"group":     {OwnerOf("cluster", "g", "orders"), 3},
		"ingress":   {OwnerOf("cluster", "group", "order"), 3},
		"partition": {testID.Owner, 2},
	} {
		if _, _, err := read(id, m); !errors.Is(err, ErrForeign) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// TestFieldsThatNoReleaseWritesAreRefused has headers with the right checksum.
func TestFieldsThatNoReleaseWritesAreRefused(t *testing.T) {
	for name, fields := range map[string]string{
		"partition of 32 bits":      "8080808008 00 00 00 00 00 00",
		"partition in a long form":  "8300 00 00 00 00 00 00",
		"offset of 64 bits":         "03 80808080808080808001 00 00 00 00 00",
		"offset of 70 bits":         "03 ffffffffffffffffff7f 00 00 00 00 00",
		"leader epoch too high":     "03 00 8180808008 00 00 00 00",
		"nothing behind the offset": "03 00",
		"an open number":            "03 00 00 00 00 80",
		"no extension":              "03 00 00 00 00 00",
		"an extension that is cut":  "03 00 00 00 00 00 02 ff",
		"an extension of 2^63":      "03 00 00 00 00 00 80808080808080808001",
		"a byte behind it":          "03 00 00 00 00 00 00 00",
	} {
		own := sealCopy(unhex(t, "0101 00000000"+hexOwner+hexTopic+hexWriter+fields), nil, nil)
		if c, _, err := ReadCopy(testID, nil, nil, []kgo.RecordHeader{{Key: Header, Value: own}}); !errors.Is(err, ErrDamaged) || c != (Copy{}) {
			t.Errorf("%s: %+v, %v", name, c, err)
		} else {
			t.Log(name, "|", err)
		}
	}
}
