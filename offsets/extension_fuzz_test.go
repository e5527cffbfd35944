package offsets

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// modelExtension reads an extension as the package comment describes it, with numbers
// without a bound. It knows nothing of the code under test.
func modelExtension(b []byte) (e Extension) {
	if len(b) < 8 {
		return e
	}
	e.Incarnation = binary.BigEndian.Uint64(b)
	if len(b) < 28 || e.Incarnation == 0 {
		return e
	}
	from, rest := modelNumber(b[28:])
	distance, rest := modelNumber(rest)
	if from == nil || distance == nil {
		return e
	}
	if to := new(big.Int).Add(from, distance); to.IsInt64() {
		e.Journal = JournalRange{TopicID: TopicID(b[8:24]), Sum: binary.BigEndian.Uint32(b[24:]), From: from.Int64(), To: to.Int64()}
	}
	again, rest := modelNumber(rest)
	if again == nil {
		return e
	}
	if again.IsInt64() {
		e.Again = again.Int64()
	}
	if r, ok := modelRunsState(rest, TopicID(b[8:24])); ok {
		e.Runs = r
	}
	return e
}

// modelRunsState takes the numbers one after the other: a leader epoch, offsets, and a due
// time.
func modelRunsState(b []byte, journal TopicID) (r RunsState, ok bool) {
	if len(b) < 17 || TopicID(b) == (TopicID{}) {
		return r, false
	}
	r.TopicID = TopicID(b)
	flags := b[16]
	b = b[17:]
	ok = true
	offset := func(before int64) int64 {
		n, rest := modelNumber(b)
		b = rest
		if n == nil || !n.Add(n, big.NewInt(before)).IsInt64() {
			ok = false
			return 0
		}
		return n.Int64()
	}
	epoch, rest := modelNumber(b)
	if b = rest; epoch == nil || epoch.BitLen() > 31 {
		return r, false
	}
	r.LeaderEpoch = int32(epoch.Int64())
	r.Low = offset(0)
	r.Known = offset(r.Low)
	r.DueMs = math.MaxInt64
	if flags%2 == 0 {
		n, rest := modelNumber(b)
		if b = rest; n == nil {
			return r, false
		}
		odd := n.Bit(0) == 1
		r.DueMs = n.Rsh(n, 1).Int64()
		if odd {
			r.DueMs = -r.DueMs - 1
		}
	}
	r.DirectoryEnd = offset(0)
	if ok && flags&2 > 0 {
		if flags&4 > 0 {
			if len(b) < 16 {
				return r, false
			}
			journal, b = TopicID(b), b[16:]
		}
		if len(b) < 4 {
			return r, false
		}
		r.Journal = JournalRange{TopicID: journal, Sum: binary.BigEndian.Uint32(b)}
		b = b[4:]
		r.Journal.From = offset(0)
		r.Journal.To = offset(r.Journal.From)
	}
	if ok && flags&8 > 0 {
		if r.Sure = offset(r.Low); r.Sure <= r.Low {
			return r, false
		}
	}
	return r, ok
}

// FuzzAnExtensionIsReadAsDocumented compares the reader with the model. What was read is
// written, and read as the same again, in no more bytes than numbers and ids take.
func FuzzAnExtensionIsReadAsDocumented(f *testing.F) {
	for _, ext := range []Extension{
		{}, {Incarnation: 1}, {Incarnation: 1, Again: 9}, longest,
		{Incarnation: 7, Journal: JournalRange{TopicID: journalTopic, From: 1, To: 3, Sum: 9}, Runs: someRuns}, {Incarnation: 7, Runs: someRuns},
		{Incarnation: 7, Runs: RunsState{TopicID: runsTopic, LeaderEpoch: math.MaxInt32, Low: 1 << 40, Known: 1 << 41, DueMs: math.MaxInt64, DirectoryEnd: 3}},
		{Incarnation: 7, Runs: RunsState{TopicID: runsTopic, Low: -1, Known: -2, DueMs: -3, DirectoryEnd: -4}},
		{Incarnation: 7, Runs: RunsState{TopicID: runsTopic, LeaderEpoch: -1, DueMs: math.MaxInt64}},
	} {
		b := ext.append(nil)
		b = b[numberSize(uint64(len(b))):]
		for _, holds := range []bool{false, true} {
			f.Add(b, holds)
			f.Add(b[:len(b)/2], holds)
			f.Add(append(b[:len(b):len(b)], 1, 2, 3), holds)
			f.Add(append(b[:len(b)-len(b)/4:len(b)], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), holds)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, holds bool) {
		if len(b) > 1<<14 {
			t.Skip("a limit of 64 KiB may be too low for it")
		}
		want, versions := modelExtension(b), "2.1"
		if want.Runs.Holds = holds; holds {
			versions = "2.2"
		}
		_, got, err := DecodeAll(forge(versions, testIdentity, 5, b), testIdentity, 5)
		if err != nil || got != want {
			t.Fatalf("%x: got %+v, %v; want %+v", b, got, err, want)
		}
		mustComeBack(t, got)
	})
}

// mustComeBack checks that an extension with values in their bounds is read as it was
// written, within its bound.
func mustComeBack(t *testing.T, ext Extension) {
	t.Helper()
	w := NewWindow(5)
	w.FinishRange(7, 9)
	enc := Encode(w, testIdentity, ext, MaxMetadata)
	read, got, err := DecodeAll(enc.Metadata, testIdentity, 5)
	if err != nil || got != ext || read.Above() != 2 {
		t.Fatalf("got %+v and %d offsets, %v; want %+v", got, read.Above(), err, ext)
	}
	if n := len(ext.append(nil)); n > 2+longestExtension {
		t.Fatalf("%d bytes", n)
	}
}

// TestEveryExtensionComesBack writes extensions whose values are at random, of every
// magnitude, and each there or not.
func TestEveryExtensionComesBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	offset := func(before int64) int64 {
		return before + min(rng.Int64()>>rng.IntN(64), math.MaxInt64-before)
	}
	topics := []TopicID{{1}, {2}, {15: 3}}
	topic := func() TopicID { return topics[rng.IntN(len(topics))] }
	journal := func() (j JournalRange) {
		if rng.IntN(3) > 0 {
			j = JournalRange{TopicID: topic(), From: offset(0), Sum: rng.Uint32()}
			j.To = offset(j.From)
		}
		return j
	}
	for range 20_000 {
		ext := Extension{Incarnation: 1 + rng.Uint64()>>1, Journal: journal()}
		if rng.IntN(2) > 0 {
			ext.Again = offset(0)
		}
		if rng.IntN(4) > 0 {
			ext.Runs = RunsState{TopicID: topic(), Low: offset(0), DueMs: int64(rng.Uint64()) >> rng.IntN(64), DirectoryEnd: offset(0), Journal: journal()}
			ext.Runs.LeaderEpoch = rng.Int32() >> rng.IntN(32)
			ext.Runs.Known = offset(ext.Runs.Low)
			if sure := offset(ext.Runs.Low); sure > ext.Runs.Low {
				ext.Runs.Sure = sure
			}
			if rng.IntN(3) == 0 {
				ext.Runs.DueMs = math.MaxInt64
			}
		}
		ext.Runs.Holds = rng.IntN(2) > 0
		mustComeBack(t, ext)
	}
}
