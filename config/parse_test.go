package config

import (
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	modelDuration = regexp.MustCompile(`^\+?((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h|d|w))+$`)
	modelPart     = regexp.MustCompile(`(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h|d|w)`)
	modelUnits    = map[string]int64{
		"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9,
		"m": 60e9, "h": 3600e9, "d": 86400e9, "w": 604800e9,
	}
	modelSize   = regexp.MustCompile(`^(\d+)(Ki|Mi|Gi|Ti)?$`)
	modelPowers = map[string]uint{"": 0, "Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4}
)

// durationModel reads a duration by a regular expression and exact fractions.
func durationModel(text string) (time.Duration, bool) {
	if !modelDuration.MatchString(text) {
		return 0, false
	}
	total := new(big.Int)
	for _, part := range modelPart.FindAllStringSubmatch(text, -1) {
		if len(part[2]) > 9 {
			return 0, false
		}
		exact, ok := new(big.Rat).SetString("0" + part[1] + "." + part[2] + "0")
		if !ok {
			return 0, false
		}
		exact.Mul(exact, new(big.Rat).SetInt64(modelUnits[part[3]]))
		total.Add(total, new(big.Int).Quo(exact.Num(), exact.Denom()))
	}
	return time.Duration(total.Int64()), total.IsInt64()
}

func FuzzDurationAgainstExactFractions(f *testing.F) {
	for _, seed := range []string{
		"0s", "1ns", "1.5h", "1d12h", "6d", "2w", "1h30m", "250ms", "+3s", ".5s", "5.s", "1us1µs1μs", "0.1ns",
		"0.333333333w", "0.999999999ns", "1.0000000001s", "007s", "106751d", "106752d", "9223372036854775807ns",
		"9223372036854775808ns", "15250w1d23h47m16.854775807s", "15250w1d23h47m16.854775808s",
		"9223372036854775807ns0.9ns", "9223372036854775807ns1ns", "99999999999999999999w",
		"30", "0", "1.5", "-5s", "", "+", "-", ".", ".s", "1..s", "1.2.3s", "s", "5D", "1h-1m", "1 h", "1h 2m", "1hh",
		"1e3s", "1h2", "٣s", "1µ", "\xb5s", "1\xb5s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseDuration(text)
		want, ok := durationModel(text)
		if (err == nil) != ok || (ok && got != want) {
			t.Fatalf("%q: got %d, %v, want %d, %v", text, got, err, want, ok)
		}
		if ok && got < 0 {
			t.Fatalf("%q is negative: %d", text, got)
		}
	})
}

func FuzzSizeAgainstBigNumbers(f *testing.F) {
	for _, seed := range []string{
		"0", "1", "010", "268435456", "256Mi", "1Ki", "1Gi", "1Ti", "8388607Ti", "8388608Ti", "9223372036854775807",
		"9223372036854775808", "9007199254740991Ki", "9007199254740992Ki", "99999999999999999999",
		"", "Mi", "-1", "+1", "1.5Gi", "1_0", "0x10", "1M", "1MB", "1mi", "1MiB", "1 Mi", "1Mi1Ki", "1k", "1Pi", "٣", "1e6",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseSize(text)
		want, ok := new(big.Int), false
		if m := modelSize.FindStringSubmatch(text); m != nil {
			want.SetString(m[1], 10)
			want.Mul(want, new(big.Int).Exp(big.NewInt(1024), big.NewInt(int64(modelPowers[m[2]])), nil))
			ok = want.IsInt64()
		}
		if (err == nil) != ok || (ok && got != want.Int64()) {
			t.Fatalf("%q: got %d, %v, want %s, %v", text, got, err, want, ok)
		}
		plain, err := parseNumber(text)
		if ok = ok && modelPowers[modelSize.FindStringSubmatch(text)[2]] == 0; (err == nil) != ok || (ok && plain != got) {
			t.Fatalf("%q as a number: got %d, %v, want %d, %v", text, plain, err, got, ok)
		}
	})
}

func TestDurationsAgreeWithGoWhereGoKnowsTheUnits(t *testing.T) {
	for _, text := range []string{"1ns", "1us", "1µs", "1μs", "1ms", "1s", "1m", "1h", "1h30m", "1.5h", ".5s", "5.s", "+3s", "1m1m", "2562047h47m16.854775807s"} {
		want, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := parseDuration("2562047h47m16.854775807s"); err != nil || got != math.MaxInt64 {
		t.Errorf("the longest duration: got %d, %v", got, err)
	}
}

func TestHintsSayWhatToWriteInstead(t *testing.T) {
	tests := map[string]struct {
		parse func(string) error
		text  string
		hint  string
	}{
		"seconds or milliseconds": {durationError, "30", "did you mean 30s or 30ms?"},
		"a bare fraction":         {durationError, "1.5", "did you mean 1.5s or 1.5ms?"},
		"a bare novel":            {durationError, strings.Repeat("1", 21), "has no unit"},
		"a unit at the end":       {durationError, "1h30", "without a unit"},
		"the units there are":     {durationError, "1D", "ns, us, ms, s, m, h, d and w"},
		"too fine":                {durationError, "1.0000000001s", "9 digits"},
		"a negative duration":     {durationError, "-1s", "negative"},
		"too long":                {durationError, "999999999w", "too large"},
		"decimal units":           {sizeError, "256MB", "Ki, Mi, Gi and Ti"},
		"a fraction of a size":    {sizeError, "1.5Gi", "1536Mi"},
		"a negative size":         {sizeError, "-1Mi", "negative"},
		"too many bytes":          {sizeError, "8388608Ti", "too large"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.parse(test.text); err == nil || !strings.Contains(err.Error(), test.hint) {
				t.Errorf("%q: error %v, want %q", test.text, err, test.hint)
			}
		})
	}
}

func durationError(text string) error { _, err := parseDuration(text); return err }
func sizeError(text string) error     { _, err := parseSize(text); return err }

func TestAutoReadsAndPrintsItself(t *testing.T) {
	tests := map[string]struct {
		want    Auto
		printed string
	}{
		"auto":  {Auto{Mode: AutoAuto}, "auto"},
		"OFF":   {Auto{Mode: AutoOff}, "off"},
		"4":     {Auto{AutoValue, 4}, "4"},
		"512Mi": {Auto{AutoValue, 512 << 20}, "536870912"},
	}
	for text, test := range tests {
		var got Auto
		if err := got.UnmarshalText([]byte(text)); err != nil || got != test.want || got.String() != test.printed {
			t.Errorf("%q: got %+v (%s), %v, want %+v (%s)", text, got, got, err, test.want, test.printed)
		}
	}
	kept := Auto{AutoValue, 4}
	for _, text := range []string{"set", "", "on", "-1"} {
		if err := kept.UnmarshalText([]byte(text)); err == nil || kept != (Auto{AutoValue, 4}) {
			t.Errorf("%q: %v, and the value is %+v", text, err, kept)
		}
	}
}
