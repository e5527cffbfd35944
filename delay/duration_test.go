package delay

import (
	"math"
	"strings"
	"testing"
	"time"
)

var goodGo = map[string]time.Duration{
	"1500ms":     1500 * time.Millisecond,
	"1500.0ms":   1500 * time.Millisecond,
	"1m30s":      90 * time.Second,
	"1h30m":      90 * time.Minute,
	"1.5h":       90 * time.Minute,
	".5s":        500 * time.Millisecond,
	"5.s":        5 * time.Second,
	"+5s":        5 * time.Second,
	"-5s":        -5 * time.Second,
	"-1h30m":     -90 * time.Minute,
	"0s":         0,
	"1d":         24 * time.Hour,
	"1.5d":       36 * time.Hour,
	"1w":         7 * 24 * time.Hour,
	"1d12h":      36 * time.Hour,
	"1w2d3h4m5s": 9*24*time.Hour + 3*time.Hour + 4*time.Minute + 5*time.Second,
	"100us":      100 * time.Microsecond,
	"1ns":        1,
	"0.1ns":      1,
	"30s1m":      90 * time.Second, // Go asks for no order of units
	"1h.5m":      time.Hour + 30*time.Second,
	"0.33333333333333333333333333333333333333h": 20 * time.Minute, // but for the last ns, rounded up
	"9223372036854775807ns":                     math.MaxInt64,
	"-9223372036854775808ns":                    math.MinInt64,
	"0000000000000000000000000000000005s":       5 * time.Second,
}

var goodISO = map[string]time.Duration{
	"PT5M":             5 * time.Minute,
	"P1DT2H":           26 * time.Hour,
	"P1W":              7 * 24 * time.Hour,
	"P1W1D":            8 * 24 * time.Hour,
	"P2D":              48 * time.Hour,
	"PT36H":            36 * time.Hour,
	"PT1H30M15S":       time.Hour + 30*time.Minute + 15*time.Second,
	"PT1H15S":          time.Hour + 15*time.Second,
	"PT1.5S":           1500 * time.Millisecond,
	"PT1,5S":           1500 * time.Millisecond,
	"PT0.0000000001S":  1,
	"PT0S":             0,
	"P0D":              0,
	"P1W2DT3H4M5.678S": 9*24*time.Hour + 3*time.Hour + 4*time.Minute + 5678*time.Millisecond,
	"PT05M":            5 * time.Minute,
}

// badDelays are refused as x-delay, each for itself.
var badDelays = []string{
	"", " ", " 5s", "5s ", " 1500", "1500 ", "\t5s", "5s\n", "1 h", "1h 30m",
	"abc", "1.5", "1e3", "0x10", "1_000", "+5", "+0", "-", "+", ".", "--5", "-+5s",
	"5S", "5H", "5M", "1D", "1W", "1y", "1mo", "5x", "5sec", "s", ".s", "1h30", "1..5s", "1.5.5s", "1,5s", "5min",
	"1\xc2\xb5s", "\xff", "\x00\x00\x05\xdc", "\x00\x00\x00\x00\x00\x05\xdc", "\x00\x00\x00\x00\x00\x00\x00\x05\xdc",
	"\xff\xff\xff\xff\xff\xff\xff\xff", "\x80\x00\x00\x00\x00\x00\x00\x00",
	"9223372036854775808", "-9223372036854775809", "99999999999999999999999999999",
	"9223372036854775808ns", "-9223372036854775809ns", "9223372036854775807.1ns", "300y", "15251w", "106752d", "2562048h", "-2562048h",
	"9223372036854775807ns1ns", "9223372036854775808ns9223372036854775808ns", "99999999999999999999ns", "18446744073709551616ns",
	"P", "PT", "P1", "PT5", "P1DT", "PT1HT5M", "PTT5M", "PT1H1H", "P1D1D",
	"P1M", "P1Y", "P1Y2M", "P1M1D", "P1.5M", "pt5m", "PT5m", "pT5M", "Pt5M", "PT5s", "p1d",
	"P1.5D", "P0.5W", "PT1.5H", "PT1.5M", "PT1.S", "PT.5S", "PT1.5", "PT1.2.3S", "PT1,2,3S",
	"-PT5M", "+PT5M", "PT-5M", "PT+5M", "P-1D", "PT5M1H", "PT5S1M", "P1D1W", "P5H", "P5S", "PT1D", "PT1W", "PT1Y",
	"PT5M ", " PT5M", "P 1D", "PT5M5", "P1DT2H3", "PT9223372037S", "P15251W", "PT99999999999999999999S", "P106751DT86400S",
	"30501w", "5124096h", "P30501W", "PT5124096H", // a little over 2^64 ns, and so small where it wraps
	"P0001-00-00T00:00:00", "2026-03-01T13:00:00Z", "true", "null", "NaN", "Inf",
}

func TestDurationIsReadInGosUnitsAndDaysAndWeeks(t *testing.T) { checkDurations(t, goodGo) }

func TestDurationIsReadInISO8601(t *testing.T) { checkDurations(t, goodISO) }

func checkDurations(t *testing.T, table map[string]time.Duration) {
	for text, want := range table {
		got, f := parseDuration([]byte(text))
		if f != fine || got != want {
			t.Errorf("%q: got %v %q, want %v", text, got, f, want)
		}
		if api, err := ParseDelay(text); err != nil || api != want {
			t.Errorf("ParseDelay %q: got %v %v, want %v", text, api, err, want)
		}
	}
}

func TestDelayThatIsBadIsRefusedAndNeverGuessed(t *testing.T) {
	for _, text := range badDelays {
		if ms, f := parseDelay([]byte(text)); f == fine {
			t.Errorf("%q: was read as %d ms", text, ms)
		}
		if d, err := ParseDelay(text); err == nil {
			t.Errorf("ParseDelay %q: was read as %v", text, d)
		} else if !strings.Contains(err.Error(), wantDelay) {
			t.Errorf("ParseDelay %q: message %q does not say what is right", text, err)
		}
	}
	if _, f := parseDelay(nil); f == fine {
		t.Error("null was read")
	}
}

func TestDelayAsANumberIsMilliseconds(t *testing.T) {
	tests := map[string]struct {
		value string
		want  int64
	}{
		"text":                            {"1500", 1500},
		"text of one digit":               {"5", 5},
		"text with leading zeros":         {"0005", 5},
		"zero":                            {"0", 0},
		"minus zero":                      {"-0", 0},
		"negative text":                   {"-5", -5},
		"largest":                         {"9223372036854775807", math.MaxInt64},
		"smallest":                        {"-9223372036854775808", math.MinInt64},
		"binary":                          {"\x00\x00\x00\x00\x00\x00\x05\xdc", 1500},
		"binary zero":                     {"\x00\x00\x00\x00\x00\x00\x00\x00", 0},
		"binary, largest":                 {"\x7f\xff\xff\xff\xff\xff\xff\xff", math.MaxInt64},
		"eight bytes that print are text": {"1500.0ms", 1500},
		"eight digits are text":           {"00001500", 1500},
		"seven printable and one that does not print are binary": {"1500000\n", 0x313530303030300a},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, f := parseDelay([]byte(tt.value)); f != fine || got != tt.want {
				t.Errorf("got %d %q, want %d", got, f, tt.want)
			}
		})
	}
}

func TestDelayBelowAMillisecondIsRoundedUp(t *testing.T) {
	for text, want := range map[string]int64{
		"1ns": 1, "100us": 1, "999999ns": 1, "1ms": 1, "1000001ns": 2, "1.0000000001ms": 2, "PT0.0010000000001S": 2,
		"-1ns": 0, "-1ms": -1, "-1.5ms": -1, "9223372036854775807ns": 9223372036855,
	} {
		if got, f := parseDelay([]byte(text)); f != fine || got != want {
			t.Errorf("%q: got %d %q, want %d", text, got, f, want)
		}
	}
}

func TestDelayThatIsRefusedIsToldWhatIsWrong(t *testing.T) {
	for text, words := range map[string]string{
		"": "no value", " 5s": "spaces around it", "5s ": "spaces around it", " ": "spaces around it",
		"9223372036854775808": "out of range", "30501w": "out of range", "\xff": "8 bytes",
		"\xff\xff\xff\xff\xff\xff\xff\xff": "negative", "soon": wantDelay,
	} {
		if _, f := parseDelay([]byte(text)); !strings.Contains(string(f), words) {
			t.Errorf("%q: fault is %q, want %q in it", text, f, words)
		}
	}
}

func TestDelayInMonthsAndYearsIsRefusedByName(t *testing.T) {
	for _, text := range []string{"P1M", "P2Y", "P1W1M", "P1DT1H1Y"} {
		_, f := parseDelay([]byte(text))
		if want := text != "P1DT1H1Y"; strings.Contains(string(f), "months and years") != want {
			t.Errorf("%q: %q", text, f)
		}
	}
}

func TestParseDelayReadsMillisecondsUpToTheLastDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1500": 1500 * time.Millisecond, "-5": -5 * time.Millisecond, "0": 0,
		"9223372036854": 9223372036854 * time.Millisecond, "-9223372036854": -9223372036854 * time.Millisecond,
	} {
		if got, err := ParseDelay(text); err != nil || got != want {
			t.Errorf("%q: got %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"9223372036855", "-9223372036855", "9223372036854775807", "9223372036854775808"} {
		if got, err := ParseDelay(text); err == nil || !strings.Contains(err.Error(), "out of range") {
			t.Errorf("%q: got %v %v, want it out of range", text, got, err)
		}
	}
}
