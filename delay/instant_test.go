package delay

import (
	"math"
	"strings"
	"testing"
	"time"
)

// noon is 2026-03-01T13:00:00Z, computed by nothing of this package.
var noon = time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC).UnixMilli()

var goodInstants = map[string]int64{
	"2026-03-01T13:00:00Z":                  noon,
	"2026-03-01T14:00:00+01:00":             noon,
	"2026-03-01T07:30:00-05:30":             noon,
	"2026-03-01T13:00:00+00:00":             noon,
	"2026-03-01T13:00:00-00:00":             noon,
	"2026-03-02T12:59:00+23:59":             noon,
	"2026-03-01T13:00:00.5Z":                noon + 500,
	"2026-03-01T13:00:00.123Z":              noon + 123,
	"2026-03-01T13:00:00.1230000000000000Z": noon + 123,
	"2026-03-01T13:00:00.123000001Z":        noon + 124,
	"2026-03-01T13:00:00.1230000000000001Z": noon + 124,
	"2026-03-01T13:00:00.9999+00:00":        noon + 1000,
	"2024-02-29T00:00:00Z":                  time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC).UnixMilli(),
	"2000-02-29T00:00:00Z":                  time.Date(2000, 2, 29, 0, 0, 0, 0, time.UTC).UnixMilli(),
	"1970-01-01T00:00:00Z":                  0,
	"1969-12-31T23:59:59.9999Z":             0,
	"1969-12-31T23:59:59.998Z":              -2,
	"0000-01-01T00:00:00Z":                  minInstantMs,
	"0000-01-01T00:00:00+23:59":             minInstantMs,
	"9999-12-31T23:59:59.999Z":              maxInstantMs,
	"9999-12-31T23:59:59.9991Z":             maxInstantMs + 1,
	"9999-12-31T23:59:59-23:59":             maxInstantMs - 999 + 86_340_000,
	"1772370000000":                         1772370000000,
	"01772370000000":                        1772370000000,
	"100000000000":                          1e11,
	"999999999999999":                       999999999999999,
	"10000000000000000":                     1e16,
	"999999999999999999":                    999999999999999999,
	"0":                                     0,
	"-0":                                    0,
	"000000000000000":                       0,
	"-5":                                    -5,
	"-1772370000":                           -1772370000,
	"-9223372036854775808":                  minInstantMs,
	"\x01\x9c\xa9\x7b\xf8\x80":              noon,
	"\x00\x01\x9c\xa9\x7b\xf8\x80":          noon,
	"\x00\x00\x01\x9c\xa9\x7b\xf8\x80":      noon,
	"\x00\x00\x00\x00\x00\x00":              0,
	"\x00\x00\x00\x00\x00\x00\x00\x00":      0,
	"\x00\x00\x00\x17\x48\x76\xe8\x00":      1e11,
}

// badInstants are refused, with a message that has the words beside them.
var badInstants = map[string]string{
	"":                                     "no value",
	" ":                                    "spaces around it",
	" 2026-03-01T13:00:00Z":                "spaces around it",
	"2026-03-01T13:00:00Z ":                "spaces around it",
	"1772370000000 ":                       "spaces around it",
	"tomorrow":                             wantInstant,
	"2026-03-01":                           wantInstant,
	"2026-03-01T13:00:00":                  wantInstant, // no zone
	"2026-03-01T13:00:00.5":                wantInstant,
	"2026-03-01T13:00:00.Z":                wantInstant,
	"2026-03-01T13:00:00,5Z":               wantInstant,
	"2026-03-01 13:00:00Z":                 wantInstant,
	"2026-03-01t13:00:00Z":                 wantInstant,
	"2026-03-01T13:00:00z":                 wantInstant,
	"2026-03-01T1:00:00Z":                  wantInstant,
	"2026-3-01T13:00:00Z":                  wantInstant,
	"2026-03-01T13:00Z":                    wantInstant,
	"2026-03-01T24:00:00Z":                 wantInstant,
	"2026-03-01T13:60:00Z":                 wantInstant,
	"2026-03-01T13:00:60Z":                 wantInstant,
	"2026-00-01T13:00:00Z":                 wantInstant,
	"2026-13-01T13:00:00Z":                 wantInstant,
	"2026-03-00T13:00:00Z":                 wantInstant,
	"2026-03-32T13:00:00Z":                 wantInstant,
	"2026-02-29T13:00:00Z":                 wantInstant,
	"1900-02-29T13:00:00Z":                 wantInstant,
	"2026-04-31T13:00:00Z":                 wantInstant,
	"2026-03-01T13:00:00+24:00":            wantInstant,
	"2026-03-01T13:00:00+01:60":            wantInstant,
	"2026-03-01T13:00:00+0100":             wantInstant,
	"2026-03-01T13:00:00+01":               wantInstant,
	"2026-03-01T13:00:00+1:00":             wantInstant,
	"2026-03-01T13:00:00*01:00":            wantInstant,
	"2026-03-01T13:00:00+0a:00":            wantInstant,
	"2026-03-01T13:00:00+01:0a":            wantInstant,
	"2026-03-01T13:00:00+01-00":            wantInstant,
	"2026-03-01T13:00:0!Z":                 wantInstant,
	"2026-03-01T1!:00:00Z":                 wantInstant,
	"2026-03-0!T13:00:00Z":                 wantInstant,
	"202a-03-01T13:00:00Z":                 wantInstant,
	"2026-03-01T13:00:00 UTC":              wantInstant,
	"2026-03-01T13:00:00Z[UTC]":            wantInstant,
	"2026-03-01T13:00:00ZZ":                wantInstant,
	"12026-03-01T13:00:00Z":                wantInstant,
	"+2026-03-01T13:00:00Z":                wantInstant,
	"-2026-03-01T13:00:00Z":                wantInstant,
	"Sun, 01 Mar 2026 13:00:00":            wantInstant,
	"+1772370000000":                       wantInstant,
	"1772370000000.5":                      wantInstant,
	"1.77237e12":                           wantInstant,
	"0x19ca9883a80":                        wantInstant,
	"5s":                                   wantInstant,
	"PT5M":                                 wantInstant,
	"-":                                    wantInstant,
	"1":                                    "too small",
	"123456":                               "too small", // six bytes that print are text
	"999999999":                            "too small",
	"1000000000":                           "looks like seconds",
	"1772370000":                           "looks like seconds",
	"01772370000":                          "looks like seconds",
	"9999999999":                           "looks like seconds",
	"10000000000":                          "too small",
	"99999999999":                          "too small",
	"1000000000000000":                     "looks like microseconds",
	"1772370000000000":                     "looks like microseconds",
	"9999999999999999":                     "looks like microseconds",
	"1000000000000000000":                  "looks like nanoseconds",
	"1772370000000000000":                  "looks like nanoseconds",
	"9223372036854775807":                  "looks like nanoseconds",
	"9223372036854775808":                  "looks like nanoseconds",
	"9999999999999999999":                  "looks like nanoseconds",
	"09999999999999999999":                 "looks like nanoseconds",
	"10000000000000000000":                 "out of range",
	"10999999999999999999":                 "out of range",
	"010999999999999999999":                "out of range",
	"-9223372036854775809":                 "out of range",
	"-9999999999999999999":                 "out of range",
	"2026-03-01T13:00:00Z\n":               "6 to 8 bytes",
	"\x01":                                 "6 to 8 bytes",
	"\x00\x00\x00\x00\x01":                 "6 to 8 bytes",
	"\x00\x00\x00\x01\x9c\xa9\x7b\xf8\x80": "6 to 8 bytes",
	"\x81\x9c\xa9\x88\x3a\x80":             "negative",
	"\xff\xff\xff\xff\xff\xff\xff":         "negative",
	"\xff\xff\xff\xff\xff\xff\xff\xff":     "negative",
	"\x80\x00\x00\x00\x00\x00\x00\x00":     "negative",
	"\x00\x00\x00\x00\x00\x01":             "too small",
	"\x00\x00\x69\xa4\x39\xd0":             "looks like seconds",
	"\x00\x00\x00\x17\x48\x76\xe7\xff":     "too small", // 10^11 - 1
	"\x00\x06\x4b\xed\x4d\xee\x24\x00":     "looks like microseconds",
	"\x7f\xff\xff\xff\xff\xff\xff\xff":     "looks like nanoseconds",
}

func TestInstantIsReadInEveryForm(t *testing.T) {
	for value, want := range goodInstants {
		if got, f := parseInstant([]byte(value), up); f != fine || got != want {
			t.Errorf("%q: got %d %q, want %d", value, got, f, want)
		}
		if !isText([]byte(value)) {
			continue
		}
		if got, err := ParseInstant(value); err != nil || got != want {
			t.Errorf("ParseInstant %q: got %d %v, want %d", value, got, err, want)
		}
	}
}

func TestInstantThatIsBadIsRefusedAndNeverGuessed(t *testing.T) {
	for value, words := range badInstants {
		ms, f := parseInstant([]byte(value), up)
		if f == fine {
			t.Errorf("%q: was read as %d", value, ms)
		}
		if !strings.Contains(string(f), words) || !strings.Contains(string(f), wantInstant) {
			t.Errorf("%q: fault is %q, want %q in it", value, f, words)
		}
		ms, err := ParseInstant(value)
		if err == nil || !strings.HasSuffix(err.Error(), wantInstant) {
			t.Errorf("ParseInstant %q: got %d %v", value, ms, err)
		} else if isText([]byte(value)) && !strings.Contains(err.Error(), words) {
			t.Errorf("ParseInstant %q: %v, want %q in it", value, err, words)
		}
	}
	if _, f := parseInstant(nil, up); f == fine {
		t.Error("null was read")
	}
}

func TestParseInstantTakesNoBinary(t *testing.T) {
	if ms, err := ParseInstant("\x01\x9c\xa9\x7b\xf8\x80"); err == nil {
		t.Errorf("was read as %d", ms)
	}
	if d, err := ParseDelay("\x00\x00\x00\x00\x00\x00\x05\xdc"); err == nil {
		t.Errorf("was read as %v", d)
	}
}

func TestEveryMillisecondOfADayIsReadBack(t *testing.T) {
	for ms := noon; ms < noon+86_400_000; ms += 997 {
		text := time.UnixMilli(ms).UTC().Format(time.RFC3339Nano)
		if got, f := parseInstant([]byte(text), up); f != fine || got != ms {
			t.Fatalf("%s: got %d %q, want %d", text, got, f, ms)
		}
	}
}

func TestSumsStayAtTheEndsOfTheirRange(t *testing.T) {
	for _, tt := range [][3]int64{
		{1, 2, 3}, {math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{math.MinInt64, -1, math.MinInt64}, {math.MinInt64, math.MaxInt64, -1}, {math.MaxInt64, math.MinInt64, -1},
		{math.MaxInt64 - 1, 1, math.MaxInt64}, {0, math.MinInt64, math.MinInt64},
	} {
		if got := addSat(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%d + %d: got %d, want %d", tt[0], tt[1], got, tt[2])
		}
	}
	for _, tt := range [][3]int64{
		{3, 2, 1}, {math.MaxInt64, -1, math.MaxInt64}, {math.MinInt64, 1, math.MinInt64}, {-5, math.MaxInt64, math.MinInt64},
		{0, math.MinInt64, math.MaxInt64}, {-1, math.MinInt64, math.MaxInt64}, {math.MinInt64, math.MinInt64, 0},
		{-1, math.MaxInt64, math.MinInt64}, {math.MaxInt64, math.MaxInt64, 0},
	} {
		if got := subSat(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%d - %d: got %d, want %d", tt[0], tt[1], got, tt[2])
		}
	}
}
