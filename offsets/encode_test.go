package offsets

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// forge writes metadata as the package comment describes it, with nothing of
// the code under test: versions is "1.1", and pairs are gaps and lengths.
func forge(versions string, id Identity, low int64, extension []byte, pairs ...uint64) string {
	const hashStart, hashPrime = 0xcbf29ce484222325, 0x100000001b3 // FNV-1a 64.
	hash := uint64(hashStart)
	for _, b := range []byte(id.ClusterID) {
		hash = (hash ^ uint64(b)) * hashPrime
	}
	fields := binary.BigEndian.AppendUint64(nil, hash)
	fields = append(fields, id.TopicID[:]...)
	fields = binary.BigEndian.AppendUint32(fields, uint32(id.Partition))
	fields = binary.AppendUvarint(fields, uint64(len(extension)))
	fields = append(fields, extension...)
	for _, n := range pairs {
		fields = binary.AppendUvarint(fields, n-1)
	}
	return seal(versions, id, low, fields)
}

// seal puts the header and a checksum, bit by bit, in front of fields.
func seal(versions string, id Identity, low int64, fields []byte) string {
	header := "layover." + versions + "."
	covered := append([]byte(header), fields...)
	covered = append(covered, id.ClusterID...)
	covered = binary.BigEndian.AppendUint64(covered, uint64(low))
	sum := ^uint32(0)
	for _, b := range covered {
		sum ^= uint32(b)
		for range 8 {
			sum = sum>>1 ^ sum&1*0x82f63b78
		}
	}
	body := binary.BigEndian.AppendUint32(nil, ^sum)
	return header + base64.RawURLEncoding.EncodeToString(append(body, fields...))
}

// TestFormatVersion1IsPinned holds what is stored at brokers: this text has to
// be written, and read, by every release of format version 1.
func TestFormatVersion1IsPinned(t *testing.T) {
	const golden = "layover.1.1.QTFR069j3kyGAe_yAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQEAAA"
	id := Identity{ClusterID: "c", Partition: 0}
	w := NewWindow(42)
	for _, offset := range []int64{44, 45, 47} {
		w.Finish(offset)
	}
	if got := w.Encode(id, MaxMetadata).Metadata; got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
	read, err := Decode(golden, id, 42)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(42)
	m.finishRange(44, 46)
	m.finish(47)
	compare(t, read, m)
}

func TestEncodeWritesTheDocumentedFormat(t *testing.T) {
	for name, test := range map[string]struct {
		low   int64
		id    Identity
		pairs []uint64
	}{
		"nothing above low":  {low: 9, id: testIdentity},
		"no identity at all": {low: 0, pairs: []uint64{1, 1}},
		"one byte each":      {low: 1 << 40, id: testIdentity, pairs: []uint64{128, 128, 1, 1}},
		"two bytes each":     {low: 5, id: testIdentity, pairs: []uint64{129, 129, 16384, 16384}},
		"a run of pages":     {low: 4097, id: testIdentity, pairs: []uint64{1, 3_000_000_000, 70_000, 5000, 1, 4096}},
		"to the end":         {low: 1 << 62, id: testIdentity, pairs: []uint64{1<<61 + 7, 1<<61 - 8}},
		"negative partition": {low: 2, id: Identity{ClusterID: "é", Partition: -1}, pairs: []uint64{3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWindow(test.low)
			at, total := test.low, int64(0)
			for i := 0; i < len(test.pairs); i += 2 {
				at += int64(test.pairs[i])
				total += w.FinishRange(at, at+int64(test.pairs[i+1]))
				at += int64(test.pairs[i+1])
			}
			want := forge("1.1", test.id, test.low, nil, test.pairs...)
			got := w.Encode(test.id, MaxMetadata)
			if got != (Encoded{Metadata: want, Complete: true, Covered: total}) {
				t.Errorf("got %+v, want the metadata %s and %d covered", got, want, total)
			}
			read, err := Decode(want, test.id, test.low)
			if err != nil {
				t.Fatal(err)
			}
			if again := read.Encode(test.id, MaxMetadata); again != got || read.Above() != total {
				t.Errorf("read back as %+v with %d above", again, read.Above())
			}
			checkInvariants(t, read)
		})
	}
}

func TestLimitedEncodingHoldsTheLongestPrefixThatFits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		low := rng.Int64N(1 << 40)
		w, m := NewWindow(low), newModel(low)
		longest := int64(1) << rng.IntN(12)
		at := low
		for range 1 + rng.IntN(40) {
			at += 1 + rng.Int64N(longest)
			to := at + 1 + rng.Int64N(longest)
			w.FinishRange(at, to)
			m.finishRange(at, to)
			at = to
		}
		for _, limit := range []int{-1, 0, 7, 54, 55, 56, 57, 58, 59, 60, 61, 55 + rng.IntN(150), MaxMetadata} {
			checkPrefix(t, w, m, limit)
		}
	}
}

// checkPrefix checks everything Encode promises of one limit.
func checkPrefix(t *testing.T, w *Window, m *model, limit int) {
	t.Helper()
	got := w.Encode(testIdentity, limit)
	if len(got.Metadata) > max(limit, 0) {
		t.Fatalf("%d characters, limit %d", len(got.Metadata), limit)
	}
	if got.Covered+got.Left != w.Above() {
		t.Fatalf("covered %d, left %d, above %d", got.Covered, got.Left, w.Above())
	}
	smallest := len(forge("1.1", testIdentity, m.low, nil))
	if limit < smallest {
		if got != (Encoded{Left: w.Above()}) {
			t.Fatalf("limit %d gives %+v", limit, got)
		}
		return
	}
	if got.Complete != (got.Left == 0) {
		t.Fatalf("complete is %v with %d left", got.Complete, got.Left)
	}
	read, err := Decode(got.Metadata, testIdentity, m.low)
	if err != nil {
		t.Fatal(err)
	}
	want, left := newModel(m.low), got.Covered
	for offset := m.low; left > 0; offset++ {
		if m.finished[offset] {
			want.finish(offset)
			left--
		}
	}
	compare(t, read, want)
	if next, ok := m.nextFinished(want.highest() + 1); ok {
		read.Finish(next)
		if longer := read.Encode(testIdentity, maxText).Metadata; len(longer) <= limit {
			t.Fatalf("%d finished offsets in %d characters, but %d fit in %d", got.Covered, limit, read.Above(), len(longer))
		}
	}
}

func TestARunThatDoesNotFitIsCutToTheLongestPart(t *testing.T) {
	one := func(f func(from, to int64) bool) { f(1, 1<<40) }
	for room, want := range map[int]int64{1: 0, 2: 1 << 7, 3: 1 << 14, 4: 1 << 21, 6: 1 << 35, 7: 1<<40 - 1} {
		out, covered, end := AppendRuns(nil, 0, room, one)
		if covered != want || len(out) > room || want > 0 && end != 1+want {
			t.Errorf("room for %d bytes: %d offsets to %d in %d bytes, want %d", room, covered, end, len(out), want)
		}
	}
}

func TestWhatIsBehindTheFirstRunThatDoesNotFitIsNotLookedAt(t *testing.T) {
	for room, fit := range map[int]int{0: 0, 1: 0, 2: 1, 9: 4, 10: 5} {
		looked := 0
		_, covered, _ := AppendRuns(nil, 0, room, func(f func(from, to int64) bool) {
			for at := int64(1); at < 2000; at += 2 {
				if looked++; !f(at, at+1) {
					return
				}
			}
		})
		if covered != int64(fit) || looked != fit+1 {
			t.Errorf("room for %d bytes: %d runs fit and %d were looked at, want %d and one more", room, covered, looked, fit)
		}
	}
}

func TestTheLimitIsCappedWhereDecodeStopsReading(t *testing.T) {
	w := NewWindow(0)
	for offset := int64(1); offset < 400_000; offset += 2 {
		w.Finish(offset)
	}
	encoded := w.Encode(testIdentity, math.MaxInt)
	if encoded.Complete || len(encoded.Metadata) < maxText-4 {
		t.Fatalf("complete %v in %d characters", encoded.Complete, len(encoded.Metadata))
	}
	read, err := Decode(encoded.Metadata, testIdentity, 0)
	if err != nil || read.Above() != encoded.Covered {
		t.Errorf("%v, %d read back, %d covered", err, read.Above(), encoded.Covered)
	}
}

func FuzzEncodeDecodeRoundTrips(f *testing.F) {
	f.Add(int64(42), "c", int32(0), 4096, []byte{1, 0, 2, 0, 1, 0, 1, 0})
	f.Add(int64(0), "", int32(-1), 60, []byte{255, 9, 255, 250})
	f.Add(int64(1<<62), "cluster", int32(7), 53, []byte{1, 16, 1, 16, 1, 255, 1, 255})
	f.Add(int64(math.MaxInt64), "cluster", int32(7), 64, []byte{1, 0, 1, 0})
	f.Fuzz(func(t *testing.T, low int64, cluster string, partition int32, limit int, input []byte) {
		id := Identity{ClusterID: cluster, Partition: partition, TopicID: TopicID{3: byte(partition)}}
		w := NewWindow(low)
		at := w.Low()
		for ; len(input) >= 4; input = input[4:] { // Gap and length, each a byte shifted by a byte.
			at = add(at, 1+int64(input[0])<<(input[1]%48))
			to := add(at, 1+int64(input[2])<<(input[3]%48))
			w.FinishRange(at, to)
			at = to
		}
		encoded := w.Encode(id, limit)
		if len(encoded.Metadata) > max(limit, 0) || encoded.Covered+encoded.Left != w.Above() {
			t.Fatalf("%+v with limit %d of %d", encoded, limit, w.Above())
		}
		read, err := Decode(encoded.Metadata, id, w.Low())
		if err != nil || read.Above() != encoded.Covered {
			t.Fatalf("%d of %d read back, %v", read.Above(), encoded.Covered, err)
		}
		checkInvariants(t, read)
		wrote, got, left := runsOf(w), runsOf(read), encoded.Covered
		for i := 0; i < len(got); i += 2 {
			if got[i] != wrote[i] || got[i+1] != min(wrote[i+1], wrote[i]+left) {
				t.Fatalf("run %d is %d, was %d with %d covered from there", i/2, got[i:i+2], wrote[i:i+2], left)
			}
			left -= got[i+1] - got[i]
		}
	})
}
