package runs

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// usualDirectory has n runs of 76,000 copies of 150 bytes over 30 days, which is 100
// million in 1,300 runs. foreign of 1000 offsets are none of a run's; each run is of one
// of so many writers.
func usualDirectory(t testing.TB, n, foreign, writers int) Directory {
	rng := rand.New(rand.NewPCG(9, 10))
	d := Directory{Writer: 1 << 60, End: 1 << 40, LeaderEpoch: 300}
	at := int64(9_000_000_000)
	for i := range n {
		m := newModel(rng, 0, 1000, foreign, shapes["uniform"])
		first, count := at, int64(70_000+rng.IntN(12_000))
		r, err := NewRun(1<<60+uint64(i%writers), uint64(i), count, count*150, func(i int64) (int64, int64) {
			j := i * 999 / max(count-1, 1)
			return first + i + (m.offsets[j]-j)*count/1000, m.deadlines[j]
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Position += rng.Int64N(count)
		d.Runs, at = append(d.Runs, r), r.Last+2+rng.Int64N(3)
	}
	return d
}

// TestAFullDirectoryIsSmall: it is one record, far below a batch's bound.
func TestAFullDirectoryIsSmall(t *testing.T) {
	long.Only(t)
	for _, test := range []struct {
		name             string
		foreign, writers int
		most             int
	}{
		{"one writer, nothing between its copies", 0, 1, 176 << 10},
		{"100 writers in turn, nothing between", 0, 100, 208 << 10},
		{"one writer, 5 foreign in 1000", 5, 1, 256 << 10},
	} {
		d := usualDirectory(t, MaxRuns, test.foreign, test.writers)
		value, err := AppendDirectory(nil, testID, &d)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes, %.1f a run", test.name, len(value), float64(len(value))/MaxRuns)
		if len(value) > test.most {
			t.Errorf("%s: %d bytes, want at most %d", test.name, len(value), test.most)
		}
		if got, err := ReadDirectory(testID, nil, value, nil); err != nil || !reflect.DeepEqual(got, d) {
			t.Errorf("%s: read another: %v", test.name, err)
		}
	}
}

func TestAnyDirectorySurvivesTheRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	number := func() int64 { return int64(rng.Uint64() >> (1 + rng.IntN(63))) }
	for range 500 {
		d, id := Directory{Writer: rng.Uint64N(3), End: number(), LeaderEpoch: rng.Int32() >> rng.IntN(32)}, Identity{Owner(rng.Uint64()), int32(number() & (1<<31 - 1))}
		at := int64(0)
		for range rng.IntN(8) {
			for _, due := range shapes { // one of them
				m := newModel(rng, at+number()>>2, 1+rng.IntN(100), []int{0, 20, 900}[rng.IntN(3)], due)
				at = m.offsets[0] + 1
				if m.offsets[len(m.offsets)-1] > maxOffset {
					break
				}
				r := m.run(t, rng.Uint64N(3), rng.Uint64()>>rng.IntN(64))
				r.Position = m.offsets[rng.IntN(len(m.offsets))]
				d.Runs = append(d.Runs, r)
				break
			}
		}
		value, err := AppendDirectory([]byte("before"), id, &d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadDirectory(id, nil, value[len("before"):], nil)
		if err != nil || !reflect.DeepEqual(got, d) {
			t.Fatalf("%+v: %+v, %v", d, got, err)
		}
	}
}

// TestNoBitOfADirectoryCanBeFlipped, and it cannot be cut.
func TestNoBitOfADirectoryCanBeFlipped(t *testing.T) {
	d := usualDirectory(t, 5, 50, 2)
	value, err := AppendDirectory(nil, testID, &d)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(value) {
		want := ErrDamaged
		if bit/8 < len(magic) {
			want = ErrNoDirectory
		}
		value[bit/8] ^= 1 << (bit % 8)
		if got, err := ReadDirectory(testID, nil, value, nil); !errors.Is(err, want) || got.Runs != nil {
			t.Errorf("bit %d: %v, want %v", bit, err, want)
		}
		value[bit/8] ^= 1 << (bit % 8)
	}
	for size := range value {
		want := ErrDamaged
		if size < len(magic) {
			want = ErrNoDirectory
		}
		if got, err := ReadDirectory(testID, nil, value[:size], nil); !errors.Is(err, want) || got.Runs != nil {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
		if size < endDirWriter {
			continue
		}
		cut := sealDirectory(append([]byte(nil), value[:size]...))
		if _, err := ReadDirectory(testID, nil, cut, nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes with their checksum: %v", size, err)
		}
	}
	if _, err := ReadDirectory(testID, nil, sealDirectory(append(value, 0)), nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte more: %v", err)
	}
}

// TestADirectoryIsToldFromACopy whatever the record in the copy is.
func TestADirectoryIsToldFromACopy(t *testing.T) {
	d := usualDirectory(t, 2, 0, 1)
	value, err := AppendDirectory(nil, testID, &d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDirectory(testID, nil, value, []kgo.RecordHeader{{Key: "traceparent"}}); err != nil {
		t.Errorf("with a header of others: %v", err)
	}
	c := usualCopy()
	headers, _ := AppendCopy(nil, nil, testID, &c, nil, value)
	if _, _, err := ReadCopy(testID, nil, value, headers); err != nil {
		t.Errorf("a copy with a directory in it: %v", err)
	}
	for name, test := range map[string]struct {
		key, value []byte
		headers    []kgo.RecordHeader
	}{
		"a copy with a directory in it": {nil, value, headers},
		"a key":                         {[]byte("k"), value, nil},
		"an empty key":                  {[]byte{}, value, nil},
		"null":                          {nil, nil, nil},
		"a fact of the journal":         {nil, []byte("LJ\x01\x01"), nil},
	} {
		if _, err := ReadDirectory(testID, test.key, test.value, test.headers); err != ErrNoDirectory {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDirectoriesThatNoReleaseWritesAreRefused: they are not written, and values with the
// right checksum are not read.
func TestDirectoriesThatNoReleaseWritesAreRefused(t *testing.T) {
	sound := usualDirectory(t, 3, 50, 1)
	for name, change := range map[string]func(d *Directory){
		"end below 0":             func(d *Directory) { d.End = -1 },
		"leader epoch below 0":    func(d *Directory) { d.LeaderEpoch = -1 },
		"the least leader epoch":  func(d *Directory) { d.LeaderEpoch = math.MinInt32 },
		"too many runs":           func(d *Directory) { d.Runs = make([]Run, MaxRuns+1) },
		"a run twice":             func(d *Directory) { d.Runs[1] = d.Runs[0] },
		"runs descending":         func(d *Directory) { d.Runs[1], d.Runs[2] = d.Runs[2], d.Runs[1] },
		"a run of nothing":        func(d *Directory) { d.Runs[1] = Run{First: d.Runs[1].First, Last: d.Runs[1].Last} },
		"position below first":    func(d *Directory) { d.Runs[1].Position = d.Runs[1].First - 1 },
		"position above last":     func(d *Directory) { d.Runs[1].Position = d.Runs[1].Last + 1 },
		"last below first":        func(d *Directory) { d.Runs[1].Last = d.Runs[1].First - 1 },
		"last below first, far":   func(d *Directory) { d.Runs[1].Last = math.MinInt64 },
		"too few offsets":         func(d *Directory) { d.Runs[1].Last = d.Runs[1].First + d.Runs[1].Count - 2 },
		"too many copies":         func(d *Directory) { d.Runs[1].Count = math.MaxInt64 },
		"bytes below 0":           func(d *Directory) { d.Runs[1].Bytes = -1 },
		"earliest below 0":        func(d *Directory) { d.Runs[1].EarliestMs = -1 },
		"latest before earliest":  func(d *Directory) { d.Runs[1].LatestMs = d.Runs[1].EarliestMs - 1 },
		"steps beyond the latest": func(d *Directory) { d.Runs[1].steps[14] = openStep },
		"foreign descending":      func(d *Directory) { d.Runs[1].foreign[3] = d.Runs[1].foreign[2] - 1 },
		"foreign beyond the last": func(d *Directory) { d.Runs[1].foreign[14] = d.Runs[1].others() + 1 },
	} {
		d := sound
		d.Runs = append([]Run(nil), sound.Runs...)
		change(&d)
		if out, err := AppendDirectory([]byte("before"), testID, &d); err == nil || string(out) != "before" {
			t.Errorf("%s: written", name)
		} else {
			t.Log(name, "|", err)
		}
	}
	const ok = "28 02 10 00 c00c d00f e807"
	tens, zeros := strings.Repeat("10", 15), strings.Repeat("00", 15)
	for name, fields := range map[string]string{
		"leader epoch beyond 31 bits": "38 8080808008 00 00",
		"leader epoch of 33 bits":     "38 8080808010 00 00",
		"leader epoch too long":       "38 8500 00 00",
		"no leader epoch":             "38 00 00",
		"more runs than 4,096":        "38 05 00 8120",
		"more runs than bytes":        "38 05 00 8020" + strings.Repeat("00", 24*4096-1),
		"a kind of writer":            "38 05 00 01 02 0e" + ok + tens,
		"a writer said twice":         "38 05 00 01 01" + hexWriter + "0e" + ok + tens,
		"first offset beyond 2^62":    "38 05 00 01 00 0e 8180808080808080c000 00 00 00 00 00 00" + zeros,
		"first offset above 2^62":     "38 05 00 01 00 0e 818080808080808040 00 00 00 00 00 00" + zeros,
		"position above last":         "38 05 00 01 00 0e 28 11 10 00 c00c d00f e807" + tens,
		"last offset beyond 2^62":     "38 05 00 01 00 0e 808080808080808040 00 01 00 00 00 00" + zeros,
		"foreign beyond 2^62":         "38 05 00 01 00 0e 28 00 00 ffffffffffffffff7f 00 00 00" + zeros + zeros,
		"copies beyond 2^50":          "38 05 00 01 00 0e 28 00 8080808080808002 00 00 00 00" + zeros,
		"an earliest below 0":         "38 05 00 01 00 0e 28 02 10 00 c00c 01 e807" + tens,
		"a latest beyond 63 bits":     "38 05 00 01 00 0e 28 02 10 00 c00c d00f ffffffffffffffff7f" + tens,
		"steps beyond the latest":     "38 05 00 01 00 0e" + ok + strings.Repeat("21", 15),
		"more foreign than between":   "38 05 00 01 00 0e 28 02 10 02 c00c d00f e807" + tens + "0102" + strings.Repeat("00", 13),
		"a step between no copies":    "38 05 00 01 00 0e 28 00 01 00 05 d00f e807" + "10" + strings.Repeat("00", 14),
		"two deadlines of one copy":   "38 05 00 01 00 0e 28 00 00 00 05 d00f e807" + zeros,
		"foreign between no copies":   "38 05 00 01 00 0e 28 00 01 02 05 d00f e807" + zeros + "01" + strings.Repeat("00", 14),
	} {
		value := sealDirectory(unhex(t, "4c52 0101 00000000"+hexOwner+hexWriter+"03"+fields))
		if got, err := ReadDirectory(testID, nil, value, nil); !errors.Is(err, ErrDamaged) || !reflect.DeepEqual(got, Directory{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		} else {
			t.Log(name, "|", err)
		}
	}
}

// TestMemoryIsByTheBytesThatAreThere whatever number of runs a directory claims.
func TestMemoryIsByTheBytesThatAreThere(t *testing.T) {
	for _, claimed := range []string{"8020", "ffffffffffffffffff01", "01"} {
		value := sealDirectory(unhex(t, "4c52 0101 00000000"+hexOwner+hexWriter+"03 38 05 00"+claimed+strings.Repeat("00", 23)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			if _, err := ReadDirectory(testID, nil, value, nil); err == nil {
				t.Fatal(claimed)
			}
		}
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) / 100; n > 2000 {
			t.Errorf("%s runs: %d bytes", claimed, n)
		}
	}
	if got := reflect.TypeFor[Run]().Size(); got != 208 {
		t.Errorf("a run takes %d bytes, and its comment says 208", got)
	}
}
