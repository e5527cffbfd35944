package delay

import (
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// modelDeclared reads a value of a declared format a second time, with regular expressions, big
// integers and the standard library's reader of HTTP dates.
func modelDeclared(format string, value []byte) (ms *big.Int, at, ok bool) {
	text, n := string(value), new(big.Int)
	number := modelInteger.MatchString(text)
	if number {
		n.SetString(text, 10)
	}
	thousand := new(big.Int).Mul(n, big.NewInt(1000))
	floor := big.NewInt(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	digits := len(n.String())
	switch format {
	case "ms":
		return n, false, number && n.IsInt64()
	case "s":
		return thousand, false, number && thousand.IsInt64()
	case "duration":
		if strings.Contains(text, "P") {
			return nil, false, false
		}
		return modelCeil(strings.NewReplacer("\u00b5s", "us", "\u03bcs", "us").Replace(text))
	case "iso8601":
		if !strings.HasPrefix(text, "P") {
			return nil, false, false
		}
		return modelCeil(text)
	case "be32_ms", "be64_ms":
		size := map[string]int{"be32_ms": 4, "be64_ms": 8}[format]
		return n.SetBytes(value), false, len(value) == size && value[0] < 0x80
	case "bigint_ms":
		if len(value) == 0 || len(value) > 8 {
			return nil, false, false
		}
		if n.SetBytes(value); value[0] >= 0x80 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(value))))
		}
		return modelMax(n, floor), true, true
	case "epoch_ms":
		return modelMax(n, floor), true, number && n.IsInt64() && (n.Sign() <= 0 || digits > 11 && digits != 16 && digits != 19)
	case "epoch_s":
		return modelMax(thousand, floor), true, number && (n.Sign() <= 0 || digits >= 9 && digits <= 11)
	case "rfc3339":
		m, ok := modelTime(text, true)
		return modelMax(big.NewInt(m), floor), true, ok
	}
	panic(format)
}

func modelCeil(text string) (ms *big.Int, at, ok bool) {
	_, ns, _, ok := modelDuration(text)
	if !ok {
		return nil, false, false
	}
	return ceilRat(new(big.Rat).SetFrac(ns, big.NewInt(1e6))), false, true
}

func modelMax(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

// FuzzValuesOfDeclaredFormats reads one value in every format.
func FuzzValuesOfDeclaredFormats(f *testing.F) {
	for _, values := range declaredValues {
		for value := range values {
			f.Add([]byte(value))
		}
	}
	for _, text := range append(delaySeeds(), instantSeeds()...) {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for i, declared := range formats {
			if declared.parse == nil || Format(i) == FormatRetryAfter {
				continue
			}
			ms, at, fault := declared.parse(value, noon)
			want, wantAt, ok := modelDeclared(declared.name, value)
			if ok != (fault == fine) || ok && (ms != want.Int64() || !want.IsInt64() || at != wantAt || at != declared.instant) {
				t.Fatalf("%s %q: %d, instant %v, %q, want %v, %v, %v", declared.name, value, ms, at, fault, want, wantAt, ok)
			}
		}
	})
}

var modelRetrySeconds = regexp.MustCompile(`^[0-9]+$`)

// FuzzRetryAfter reads values of Retry-After. A date that is taken is the one that the standard
// library reads, but for the leap second and the century of two digits. Of each date all three
// forms are taken, and mean it.
func FuzzRetryAfter(f *testing.F) {
	for value := range declaredValues[FormatRetryAfter] {
		f.Add(value, noon/1000, noon)
	}
	for _, seconds := range []int64{0, -1, 951782400, 4102444800, 253402300799, -62135596800} {
		f.Add("", seconds, seconds*1000)
	}
	f.Fuzz(func(t *testing.T, text string, seconds, baseMs int64) {
		ms, at, fault := declaredRetryAfter([]byte(text), baseMs)
		switch {
		case modelRetrySeconds.MatchString(text):
			want, _ := new(big.Int).SetString(text+"000", 10)
			if at || want.IsInt64() != (fault == fine) || fault == fine && ms != want.Int64() {
				t.Fatalf("%q: %d, %v, %q", text, ms, at, fault)
			}
		case fault == fine && !strings.Contains(text, ":60"):
			want, err := http.ParseTime(text)
			if err != nil || !at {
				t.Fatalf("%q: %d, and the library says %v", text, ms, err)
			}
			got := time.UnixMilli(ms).UTC()
			if strings.Contains(text, "-") { // of RFC 850
				if ahead := got.AddDate(-50, 0, 0); baseMs > minInstantMs/2 && baseMs < maxInstantMs/2 && ahead.After(time.UnixMilli(baseMs).AddDate(0, 0, 2)) {
					t.Fatalf("%q: %v, over 50 years after %v", text, got, time.UnixMilli(baseMs))
				}
				want = want.AddDate(got.Year()-want.Year(), 0, 0)
			}
			if !got.Equal(want) {
				t.Fatalf("%q: %v, and the library says %v", text, got, want)
			}
		}
		date := time.Unix(seconds, 0).UTC()
		if date.Year() < 1 || date.Year() > 9999 {
			return
		}
		for _, layout := range []string{http.TimeFormat, time.ANSIC} {
			if ms, at, fault := declaredRetryAfter([]byte(date.Format(layout)), baseMs); fault != fine || !at || ms != seconds*1000 {
				t.Fatalf("%q: %d, %v, %q, want %d", date.Format(layout), ms, at, fault, seconds*1000)
			}
		}
		of850 := date.Format("Monday, 02-Jan-06 15:04:05 GMT") // read when it is now, it is that year
		if ms, at, fault := declaredRetryAfter([]byte(of850), seconds*1000); fault != fine || !at || ms != seconds*1000 {
			t.Fatalf("%q: %d, %v, %q, want %d", of850, ms, at, fault, seconds*1000)
		}
	})
}
