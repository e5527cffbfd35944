package delay

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

func backoffOf(t testing.TB, text string) Backoff {
	t.Helper()
	b, err := ParseBackoff(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The texts with their canonical form.
var goodBackoffs = map[string]string{
	"1s..1h x2 jitter=20% max=16":             "1s..1h x2 jitter=20% max=16",
	"1s..1h":                                  "1s..1h x2 jitter=20% max=16",
	"5m..5m x1":                               "5m..5m x1 jitter=20% max=16",
	"1m30s..1d12h x1.5":                       "1m30s..1d12h x1.5 jitter=20% max=16",
	"1500ms..1w x1.05 jitter=0%":              "1s500ms..7d x1.05 jitter=0% max=16",
	"1s..1h  x10.00   jitter=100%  max=0":     "1s..1h x10 jitter=100% max=0",
	"1s..1h jitter=5%":                        "1s..1h x2 jitter=5% max=16",
	"1s..1h max=1000000":                      "1s..1h x2 jitter=20% max=1000000",
	"1s..1h x3 max=1":                         "1s..1h x3 jitter=20% max=1",
	"PT1.5S..PT1H x2.50":                      "1s500ms..1h x2.5 jitter=20% max=16",
	".5s..1h":                                 "500ms..1h x2 jitter=20% max=16",
	"1.5s..2.5h":                              "1s500ms..2h30m x2 jitter=20% max=16",
	"1ns..106751d x010 jitter=007% max=00016": "1ns..106751d x10 jitter=7% max=16",
}

// What is none, by what has to be said of it.
var badBackoffs = map[string]fault{
	"": faultBackoff, "auto": faultBackoff, "1s": faultBackoff, "1s 1h": faultBackoff, "1s.1h": faultBackoff, "x2": faultBackoff,
	" 1s..1h": faultBackoff, "1s..1h ": faultBackoff, "1s..1h\tx2": faultBackoff, "1s..1h\x00": faultBackoff,
	"..1h": faultBackoffFirst, "0s..1h": faultBackoffFirst, "-1s..1h": faultBackoffFirst, "1000..1h": faultBackoffFirst, "1y..1h": faultBackoffFirst,
	"1s..": faultBackoffLast, "1s..0s": faultBackoffLast, "1s..3600000": faultBackoffLast, "1h..1s": faultBackoffLast, "1s.. 1h": faultBackoffLast,
	"1s...1h": faultBackoffLast, "1s...9h": faultBackoffLast, "1s....1h": faultBackoffLast, "1s..P1M": faultBackoffLast, "1s..200000d": faultBackoffLast, "1s..1h,x2": faultBackoffLast, "1s..1h..2h": faultBackoffLast,
	"1s..1h x": faultBackoffFactor, "1s..1h x0.99": faultBackoffFactor, "1s..1h x10.01": faultBackoffFactor, "1s..1h x11": faultBackoffFactor,
	"1s..1h x2.": faultBackoffFactor, "1s..1h x.5": faultBackoffFactor, "1s..1h x1.234": faultBackoffFactor, "1s..1h x1,5": faultBackoffFactor,
	"1s..1h x-2": faultBackoffFactor, "1s..1h x99999999999999999999": faultBackoffFactor,
	"1s..1h jitter=20": faultBackoffJitter, "1s..1h jitter=%": faultBackoffJitter, "1s..1h jitter=101%": faultBackoffJitter, "1s..1h jitter=1.5%": faultBackoffJitter,
	"1s..1h jitter=-1%": faultBackoffJitter, "1s..1h max=": faultBackoffMax, "1s..1h max=1000001": faultBackoffMax, "1s..1h max=-1": faultBackoffMax,
	"1s..1h max=1e3": faultBackoffMax, "1s..1h max=16 x2": faultBackoffPart, "1s..1h jitter=5% x2": faultBackoffPart, "1s..1h x2 x2": faultBackoffPart,
	"1s..1h X2": faultBackoffPart, "1s..1h Max=3": faultBackoffPart, "1s..1h 2": faultBackoffPart, "1s..1h max=3 auto": faultBackoffPart,
}

func TestABackoffIsReadAndPrintsWithAllItsParts(t *testing.T) {
	for text, want := range goodBackoffs {
		b, err := ParseBackoff(text)
		if err != nil || b.String() != want {
			t.Errorf("%q: %q, %v, want %q", text, b, err, want)
		}
		if again := backoffOf(t, b.String()); again != b {
			t.Errorf("%q: reads again as %+v, was %+v", text, again, b)
		}
	}
	for text, want := range badBackoffs {
		b, err := ParseBackoff(text)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+string(want)) || !b.IsZero() {
			t.Errorf("%q: %v, %v, want %q", text, b, err, want)
		}
	}
	if new(Backoff).String() != "" {
		t.Error("none has a text")
	}
}

// Each row was worked out by hand, as powers of the factor that are rounded up to a
// millisecond, and held against rational numbers.
func TestTheFirstTwentyWaits(t *testing.T) {
	const hour = 3_600_000
	for text, want := range map[string][]int64{
		"1s..1h x2": {1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_024_000, 2_048_000,
			hour, hour, hour, hour, hour, hour, hour, hour},
		"1s..1h x1.5": {1000, 1500, 2250, 3375, 5063, 7594, 11_391, 17_086, 25_629, 38_444,
			57_666, 86_498, 129_747, 194_620, 291_930, 437_894, 656_841, 985_262, 1_477_892, 2_216_838},
		"1s..1h x1.1":  {1000, 1100, 1210, 1331, 1465, 1611, 1772, 1949, 2144, 2358, 2594, 2854, 3139, 3453, 3798, 4178, 4595, 5055, 5560, 6116},
		"1s..1h x1.01": {1000, 1010, 1021, 1031, 1041, 1052, 1062, 1073, 1083, 1094, 1105, 1116, 1127, 1139, 1150, 1161, 1173, 1185, 1197, 1209},
		"1ms..1d x10": {1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 24 * hour, 24 * hour, 24 * hour, 24 * hour,
			24 * hour, 24 * hour, 24 * hour, 24 * hour, 24 * hour, 24 * hour, 24 * hour, 24 * hour},
		"100us..100us x1": slices.Repeat([]int64{1}, 20),
		"5m..5m":          slices.Repeat([]int64{300_000}, 20),
	} {
		b := backoffOf(t, text+" jitter=0%")
		for i, ms := range want {
			if got := b.Wait(int64(i)+1, 1<<53-1); got != ms {
				t.Errorf("%s: attempt %d waits %d ms, want %d", text, i+1, got, ms)
			}
		}
	}
}

func TestAWaitEndsAtTheLastWhateverTheAttempt(t *testing.T) {
	for _, text := range []string{"1ns..106751d x10", "1ns..106751d x1.01", "106751d..106751d x10", "1s..6d x1.01", "1s..1s x1"} {
		b := backoffOf(t, text+" jitter=0% max=0")
		last := ceilMs(b.Last())
		for _, n := range []int64{5000, 100_000, MaxAttempts} {
			if got := b.Wait(n, 0); got != last {
				t.Errorf("%s: attempt %d waits %d ms, want %d", text, n, got, last)
			}
		}
		before := int64(0)
		for n := int64(1); n < 5000; n++ {
			got := b.Wait(n, 0)
			if got < before || got > last {
				t.Fatalf("%s: attempt %d waits %d ms, the one before %d", text, n, got, before)
			}
			before = got
		}
	}
}

func TestJitterTakesUpToItsShareAndNeverAll(t *testing.T) {
	const most = 1<<53 - 1
	for text, want := range map[string][3]int64{ // for a draw of nothing, of a half, of the most
		"10s..1h jitter=0%":            {10_000, 10_000, 10_000},
		"10s..1h jitter=20%":           {10_000, 9000, 8001},
		"10s..1h jitter=100%":          {10_000, 5000, 1},
		"1ns..1ns jitter=1%":           {1, 1, 1},
		"106751d..106751d jitter=100%": {106_751 * 86_400_000, 53_375*86_400_000 + 43_200_000, 1}, // 1 us
	} {
		b := backoffOf(t, text)
		for i, draw := range []uint64{0, 1 << 52, most} {
			if got := b.Wait(1, draw); got != want[i] {
				t.Errorf("%s: with a draw of %#x %d ms, want %d", text, draw, got, want[i])
			}
		}
	}
}

// FuzzBackoff reads any bytes as the model does, and prints what it read. It waits as long
// as rational numbers say, never less, and a microsecond more at most.
func FuzzBackoff(f *testing.F) {
	for text := range goodBackoffs {
		f.Add([]byte(text), int64(3), uint64(1<<52))
	}
	for text := range badBackoffs {
		f.Add([]byte(text), int64(1), uint64(0))
	}
	f.Add([]byte("1ns..106751d x1.01 max=0"), int64(MaxAttempts), uint64(1<<53-1))
	f.Add([]byte("1ns..106751d x1.01 max=0"), int64(4300), uint64(1))
	f.Add([]byte("7ms..6d x1.37 jitter=33%"), int64(40), uint64(12345678901234))
	f.Add([]byte("+1s..+1h x9.99"), int64(7), uint64(0))
	f.Fuzz(func(t *testing.T, value []byte, n int64, draw uint64) {
		if len(value) > 300 {
			return
		}
		b, flt := parseBackoff(value)
		model, ok := readModelBackoff(value)
		if ok != (flt == fine) || flt != fine && !b.IsZero() {
			t.Fatalf("%q: %v, %q, want valid: %v", value, b, flt, ok)
		}
		if !ok {
			return
		}
		if again, err := ParseBackoff(b.String()); err != nil || again != b {
			t.Fatalf("%q: prints as %q, which is %+v, %v", value, b, again, err)
		}
		if !looksLikeBackoff(value) {
			t.Fatalf("%q does not look like what it is", value)
		}
		n, draw = 1+(n&0xfffff)%MaxAttempts, draw%(1<<53)
		got := big.NewInt(b.Wait(n, draw))
		exact, _ := model.wait(n, draw).Rat(nil)
		inMs := func(ns *big.Rat) *big.Int { return ceilRat(new(big.Rat).Quo(ns, big.NewRat(1_000_000, 1))) }
		if got.Cmp(inMs(exact)) < 0 || got.Cmp(inMs(new(big.Rat).Add(exact, big.NewRat(1000, 1)))) > 0 || got.Sign() <= 0 {
			t.Fatalf("%q: attempt %d with %#x waits %v ms, want %v ns", value, n, draw, got, exact.FloatString(6))
		}
		shortest := new(big.Rat).SetFrac(new(big.Int).Mul(model.first, big.NewInt(100-model.jitter)), big.NewInt(100))
		if got.Cmp(inMs(shortest)) < 0 || got.Int64() > ceilMs(time.Duration(model.last.Int64())) {
			t.Fatalf("%q: attempt %d waits %v ms", value, n, got)
		}
	})
}
