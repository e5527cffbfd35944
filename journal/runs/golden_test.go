package runs

import (
	"encoding/hex"
	"errors"
	"hash/crc32"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/offsets"
)

var (
	testID    = Identity{Owner: OwnerOf("cluster", "group", "orders"), Partition: 3}
	testTopic = offsets.TopicID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
)

// The fields of fixed size of testID and testTopic, and a writer.
const (
	hexOwner  = "7e9d7d03cc5d4c7b"
	hexTopic  = "0102030405060708090a0b0c0d0e0f10"
	hexWriter = "0102030405060708"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// length writes a length as the package comment has it, with the bytes behind it.
func length(b []byte) []byte {
	if b == nil {
		return []byte{0xff, 0xff, 0xff, 0xff}
	}
	n := len(b)
	return append([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, b...)
}

// crc is the checksum of all parts as one piece.
func crc(parts ...[]byte) []byte {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	n := crc32.Checksum(all, crc32.MakeTable(crc32.Castagnoli))
	return []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

// sealCopy puts the checksum into the value of a copy's header, at bytes 2 to 5.
func sealCopy(own, key, value []byte, others ...kgo.RecordHeader) []byte {
	parts := [][]byte{own[:2], own[6:], length(key), length(value), length(make([]byte, len(others)))[:4]}
	for _, h := range others {
		parts = append(parts, length([]byte(h.Key)), length(h.Value))
	}
	copy(own[2:], crc(parts...))
	return own
}

// sealDirectory puts the checksum into a directory, at bytes 4 to 7.
func sealDirectory(value []byte) []byte {
	copy(value[4:], crc(value[:4], value[8:]))
	return value
}

func TestTheOwnerIsPinned(t *testing.T) {
	for want, got := range map[Owner]Owner{
		0x7e9d7d03cc5d4c7b: testID.Owner,
		0x81d23fd7003c2305: OwnerOf("", "", ""),
	} {
		if got != want {
			t.Errorf("owner %#x, want %#x", uint64(got), uint64(want))
		}
	}
}

func TestNoTwoOwnersAreConfused(t *testing.T) {
	seen := make(map[Owner][3]string)
	parts := []string{"", "a", "b", "ab", "ba", "a\x00", "\x00\x00\x00\x00\x00\x00\x00\x01a"}
	for _, cluster := range parts {
		for _, group := range parts {
			for _, ingress := range parts {
				o, is := OwnerOf(cluster, group, ingress), [3]string{cluster, group, ingress}
				if was, ok := seen[o]; ok {
					t.Errorf("%q and %q have the same owner", was, is)
				}
				seen[o] = is
			}
		}
	}
}

// TestCopiesAreTheBytesOfTheFormat has headers written by hand.
func TestCopiesAreTheBytesOfTheFormat(t *testing.T) {
	fixed := hexOwner + hexTopic + hexWriter
	usual := Copy{Origin: Origin{TopicID: testTopic, Offset: 300, LeaderEpoch: 4, TimestampMs: 1000}, DeadlineMs: 61000, Writer: 0x0102030405060708, Run: 2}
	for name, test := range map[string]struct {
		hex        string
		key, value []byte
		others     []kgo.RecordHeader
		partition  int32
		want       Copy
	}{
		"the example, with the checksum by hand": {
			"0101 b4dd98cc" + fixed + "03 ac02 05 d00f c0a907 02 00", []byte("k"), []byte("value"), []kgo.RecordHeader{{Key: "a", Value: []byte("b")}}, 3, usual,
		},
		"the least of everything": {
			"0101 00000000" + fixed + "00 00 00 00 00 00 00", nil, nil, nil, 0,
			Copy{Origin: Origin{TopicID: testTopic, LeaderEpoch: -1}, Writer: 0x0102030405060708},
		},
		"the most of everything": {
			"0101 00000000" + fixed + "ffffffff07 ffffffffffffffff7f 8080808008 feffffffffffffffff01 01 ffffffffffffffffff01 00", []byte{}, []byte{}, nil, 1<<31 - 1,
			Copy{Origin: Origin{TopicID: testTopic, Offset: 1<<63 - 1, LeaderEpoch: 1<<31 - 1, TimestampMs: 1<<63 - 1}, DeadlineMs: 1<<63 - 2, Writer: 0x0102030405060708, Run: 1<<64 - 1},
		},
		"negative and wrapping around": {
			"0101 00000000" + fixed + "03 ac02 05 01 ffffffffffffffffff01 02 00", nil, []byte("v"), nil, 3,
			Copy{Origin: Origin{TopicID: testTopic, Offset: 300, LeaderEpoch: 4, TimestampMs: -1}, DeadlineMs: 1<<63 - 1, Writer: 0x0102030405060708, Run: 2},
		},
		"a header of its own of the name, null": {
			"0101 00000000" + fixed + "03 ac02 05 d00f c0a907 02 00", []byte("k"), nil, []kgo.RecordHeader{{Key: Header}, {Key: "", Value: []byte{}}}, 3, usual,
		},
	} {
		t.Run(name, func(t *testing.T) {
			own, id := unhex(t, test.hex), Identity{testID.Owner, test.partition}
			if !strings.Contains(name, "by hand") {
				sealCopy(own, test.key, test.value, test.others...)
			}
			headers, _ := AppendCopy(test.others, nil, id, &test.want, test.key, test.value)
			if got := headers[len(headers)-1]; got.Key != "layover-run" || string(got.Value) != string(own) {
				t.Errorf("written %q\n%x, want\n%x", got.Key, got.Value, own)
			}
			got, others, err := ReadCopy(id, test.key, test.value, append(test.others[:len(test.others):len(test.others)], kgo.RecordHeader{Key: Header, Value: own}))
			if err != nil || got != test.want || len(others)+len(test.others) > 0 && !reflect.DeepEqual(others, test.others) {
				t.Errorf("read %+v with %v, %v, want %+v", got, others, err, test.want)
			}
		})
	}
}

// TestDirectoriesAreTheBytesOfTheFormat has directories written by hand.
func TestDirectoriesAreTheBytesOfTheFormat(t *testing.T) {
	const begin = "4c52 0101 00000000" + hexOwner + hexWriter
	const writer = 0x0102030405060708
	first := Run{Writer: writer, Number: 7, First: 40, Last: 56, Position: 42, Count: 17, Bytes: 1600, EarliestMs: 1000, LatestMs: 2000}
	for i := range first.steps {
		first.steps[i] = 16
	}
	// Copies at 57 and 59, with one of somebody's between, due at 1000 and 1040. Sixteenths
	// 0 to 7 begin with the first, the others with the second.
	second := Run{Writer: 9, Number: 6, First: 57, Last: 59, Position: 57, Count: 2, Bytes: 5, EarliestMs: 1000, LatestMs: 1040}
	for i := 7; i < 15; i++ {
		second.foreign[i] = 1
	}
	second.steps[7] = 26 // 40, in four bits
	for name, test := range map[string]struct {
		hex  string
		want Directory
	}{
		"no runs":  {begin + "03 00 00 00 00", Directory{Writer: writer}},
		"far away": {begin + "03 ffffffffffffffff7f ffffffff07 00 00", Directory{Writer: writer, End: 1<<63 - 1, LeaderEpoch: 1<<31 - 1}},
		"one run": {
			begin + "03 38 05 00 01" + "00 0e 28 02 10 00 c00c d00f e807" + strings.Repeat("10", 15),
			Directory{Writer: writer, End: 56, LeaderEpoch: 5, Runs: []Run{first}},
		},
		"two writers, and foreign offsets": {
			begin + "03 3c ac02 00 02" + "00 0e 28 02 10 00 c00c d00f e807" + strings.Repeat("10", 15) +
				"01 0000000000000009 01 10 00 01 01 05 00 28" + strings.Repeat("00", 7) + "1a" + strings.Repeat("00", 7) + strings.Repeat("00", 7) + "01" + strings.Repeat("00", 7),
			Directory{Writer: writer, End: 60, LeaderEpoch: 300, Runs: []Run{first, second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			value := sealDirectory(unhex(t, test.hex))
			if got, err := AppendDirectory(nil, testID, &test.want); err != nil || string(got) != string(value) {
				t.Errorf("written %v\n%x, want\n%x", err, got, value)
			}
			if got, err := ReadDirectory(testID, nil, value, nil); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("read %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
	at := []int64{57, 59}
	r, err := NewRun(9, 6, 2, 5, func(i int64) (int64, int64) { return at[i], 1000 + 40*i })
	if err != nil || r != second {
		t.Errorf("made %+v, %v, want %+v", r, err, second)
	}
}

// TestALaterVersionIsReadAndANewerOneIsNot: the second number decides, and only for
// records of the owner.
func TestALaterVersionIsReadAndANewerOneIsNot(t *testing.T) {
	fixed := hexOwner + hexTopic + hexWriter
	other := Identity{testID.Owner + 1, 3}
	for name, test := range map[string]struct {
		versions string
		id       Identity
		want     error
	}{
		"a later one, with an extension": {"ff01", testID, nil},
		"a newer one":                    {"0202", testID, ErrNewer},
		"a newer one of another owner":   {"0202", other, ErrForeign},
		"another owner's":                {"0101", other, ErrForeign},
		"another partition's":            {"0101", Identity{testID.Owner, 4}, ErrForeign},
		"no version":                     {"0000", testID, ErrDamaged},
		"for no reader":                  {"0100", testID, ErrDamaged},
		"for readers of a later one":     {"0102", testID, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			own := sealCopy(unhex(t, test.versions+"00000000"+fixed+"03 ac02 05 d00f c0a907 02 03 ffffff"), nil, nil)
			if c, _, err := ReadCopy(test.id, nil, nil, []kgo.RecordHeader{{Key: Header, Value: own}}); !errors.Is(err, test.want) || err == nil && c.Run != 2 {
				t.Errorf("copy: %+v, %v, want %v", c, err, test.want)
			}
			value := sealDirectory(unhex(t, "4c52"+test.versions+"00000000"+hexOwner+hexWriter+"03 38 05 03 ffffff 00"))
			if d, err := ReadDirectory(test.id, nil, value, nil); !errors.Is(err, test.want) || err == nil && (d.End != 56 || d.LeaderEpoch != 5) {
				t.Errorf("directory: %+v, %v, want %v", d, err, test.want)
			}
		})
	}
}
