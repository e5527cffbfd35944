package delay

import (
	"bytes"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxMessageBytes is what the longest message takes: the value is cut, and
// everything else in it is ours.
const maxMessageBytes = 400

func FuzzParse(f *testing.F) {
	const now = 1_772_370_000_000
	for _, v := range append(delaySeeds(), instantSeeds()...) {
		f.Add([]byte(v), true, []byte(nil), false, []byte("orders"), true, int64(now), int64(now), int64(0))
		f.Add([]byte("5s"), true, []byte(v), true, []byte(nil), false, int64(now), int64(now), int64(0))
		f.Add([]byte(nil), false, []byte(v), true, []byte("eu.orders"), true, int64(-1), int64(now), int64(1e9))
	}
	f.Add([]byte("9223372036854775807"), true, []byte(nil), false, []byte("__x"), true, int64(math.MaxInt64), int64(math.MinInt64), int64(math.MaxInt64))
	f.Add([]byte(nil), false, []byte(nil), false, []byte(nil), true, int64(math.MinInt64), int64(math.MaxInt64), int64(5))
	targets, err := NewTargets("ready", []string{"orders", "eu.*"}, []string{"eu.dlq"}, nil)
	if err != nil {
		f.Fatal(err)
	}

	f.Fuzz(func(t *testing.T, delay []byte, hasDelay bool, at []byte, hasAt bool, to []byte, hasTo bool, ts, now, deflt int64) {
		var in []kgo.RecordHeader
		add := func(has bool, name string, value []byte) {
			if has {
				in = append(in, kgo.RecordHeader{Key: name, Value: value})
			}
		}
		add(hasDelay, "X-Delay", delay)
		add(hasAt, "x-Deliver-At", at)
		add(hasTo, "x-deliver-to", to)
		// A default beyond what a float64 holds exactly would be the model's fault.
		r := &Rules{DefaultDelay: time.Duration(deflt % 1e15), MaxDelay: 6 * day, Targets: targets}

		d, inv := r.parse(in, ts, now)
		want, reason := modelParse(r, in, ts, now)
		if inv != nil {
			checkInvalid(t, inv)
			ofTarget := inv.Reason == ReasonTargetNotAllowed
			if ofTarget != (reason == "") || !ofTarget && inv.Reason != reason {
				t.Fatalf("%q ts %d now %d: got %v, want %q", in, ts, now, inv, reason)
			}
			if ofTarget && (!hasTo || bytes.Equal(to, []byte("orders")) || bytes.Equal(to, []byte("ready"))) {
				t.Fatalf("%q: refused the target", in)
			}
			return
		}
		if reason != "" {
			t.Fatalf("%q ts %d now %d: got %+v, want %q", in, ts, now, d, reason)
		}
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if want.Cmp(big.NewInt(d.DeadlineMs)) != 0 {
			t.Fatalf("%q ts %d: got a deadline of %d, want %v", in, ts, d.DeadlineMs, want)
		}
		if hasTo && d.Target != string(to) || !hasTo && d.Target != "ready" || d.Target == "eu.dlq" {
			t.Fatalf("%q: got target %q", in, d.Target)
		}
		if !d.Delayed && (d.Ambiguous || d.PastDue) || d.Delayed && d.Immediate {
			t.Fatalf("%q: contradiction in %+v", in, d)
		}
	})
}

func checkInvalid(t *testing.T, inv *Invalid) {
	t.Helper()
	if len(inv.Message) > maxMessageBytes || !modelText.MatchString(inv.Message) {
		t.Fatalf("message of %d bytes: %q", len(inv.Message), inv.Message)
	}
}

// A duration is what rational arithmetic says, rounded up, and never less.
func FuzzDuration(f *testing.F) {
	for _, v := range delaySeeds() {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || len(text) > 300 || !isText([]byte(text)) {
			return
		}
		got, flt := parseDuration([]byte(text))
		exact, rounded, parts, ok := modelDuration(text)
		if ok != (flt == fine) {
			t.Fatalf("%q: got %v %q, want valid: %v", text, got, flt, ok)
		}
		if ok {
			if rounded.Cmp(big.NewInt(int64(got))) != 0 {
				t.Fatalf("%q: got %d ns, want %v", text, got, rounded)
			}
			over := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(got)), exact)
			if got > 0 && (over.Sign() < 0 || over.Cmp(big.NewRat(int64(parts), 1)) >= 0) {
				t.Fatalf("%q: got %d ns, which is %v more than exact", text, got, over)
			}
		}
		// All that Go reads we read, but for a bare zero with a plus, and for
		// values out of range. Go does not notice that 1<<63 ns twice over is such a
		// value.
		if d, err := time.ParseDuration(text); err == nil && flt == faultDelay {
			if n, _, isNumber, _ := parseInteger([]byte(text)); !(isNumber && n == 0) && text != "+0" {
				t.Fatalf("%q: Go reads %v", text, d)
			}
		}
	})
}

func FuzzInstant(f *testing.F) {
	for _, v := range instantSeeds() {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) > 300 {
			return
		}
		floor, flt := parseInstant(value, down)
		if want, ok := modelInstant(value, false); ok != (flt == fine) || ok && floor != max(want, minInstantMs) {
			t.Fatalf("%q rounded down: got %d %q, want %d %v", value, floor, flt, want, ok)
		}
		got, flt := parseInstant(value, up)
		want, ok := modelInstant(value, true)
		if ok != (flt == fine) || ok && got != max(want, minInstantMs) {
			t.Fatalf("%q: got %d %q, want %d %v", value, got, flt, want, ok)
		}
	})
}

// What send writes, Parse reads as the deadline that was asked for.
func FuzzHeadersRoundTrip(f *testing.F) {
	for _, v := range []int64{0, 1, -1, 1e6, 1e6 + 1, 30e9, 6 * 86400e9, math.MaxInt64, math.MinInt64} {
		f.Add(v, true, int64(1_772_370_000_000)+v/1e6, v%2 == 0)
	}
	f.Add(int64(0), false, int64(maxInstantMs), true)
	f.Add(int64(0), false, int64(minInstantMs), true)
	f.Fuzz(func(t *testing.T, delayNs int64, hasDelay bool, atMs int64, hasAt bool) {
		const ts = 1_772_370_000_000
		atMs = max(min(atMs, maxInstantMs), minInstantMs)
		var delay *time.Duration
		var at *int64
		wantMs := int64(ts)
		if hasDelay {
			delay = (*time.Duration)(&delayNs)
			ns := new(big.Rat).SetFrac(big.NewInt(delayNs), big.NewInt(1e6))
			wantMs += max(0, ceilRat(ns).Int64())
		}
		if hasAt {
			at, wantMs = &atMs, atMs
		}
		r := &Rules{MaxDelay: math.MaxInt64, Targets: mustTargets(t, "ready", []string{"orders"}, nil)}
		// Nothing in range is over this maximum but what begins at the year 2318.
		d, inv := r.parse(Headers(delay, at, "orders"), ts, ts)
		if inv != nil {
			if over := wantMs-ts > math.MaxInt64/1_000_000+1; !over || inv.Reason != ReasonDelayTooLong {
				t.Fatalf("delay %d at %d: %v", delayNs, atMs, inv)
			}
			return
		}
		if d.DeadlineMs != wantMs || d.Target != "orders" {
			t.Fatalf("delay %d at %d: got %+v, want %d", delayNs, atMs, d, wantMs)
		}
	})
}

func delaySeeds() []string {
	var seeds []string
	for _, table := range []map[string]time.Duration{goodGo, goodISO} {
		for v := range table {
			seeds = append(seeds, v)
		}
	}
	return append(append(seeds, badDelays...), "1500", "0", "-0", "-5", "\x00\x00\x00\x00\x00\x00\x05\xdc",
		"999999.5ns0.5ns", "9223372036854775807ns9223372036854775807ns", "-9223372036854775808ns")
}

func instantSeeds() []string {
	var seeds []string
	for v := range goodInstants {
		seeds = append(seeds, v)
	}
	for v := range badInstants {
		seeds = append(seeds, v)
	}
	return seeds
}
