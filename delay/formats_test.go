package delay

import (
	"slices"
	"strings"
	"testing"
)

// reading is what a value of a declared format says, or how the words of its mistake begin.
type reading struct {
	ms    int64
	at    bool // an instant
	fault string
}

func waits(ms int64) reading   { return reading{ms: ms} }
func instant(ms int64) reading { return reading{ms: ms, at: true} }
func bad(fault string) reading { return reading{fault: fault} }

// The values are written by hand from the definition of each format, bytes as \x.., and the
// milliseconds beside them too. The record is of 2026-03-01T13:00:00Z.
var declaredValues = map[Format]map[string]reading{
	FormatMs: {
		"0": waits(0), "1500": waits(1500), "-5": waits(-5), "007": waits(7), "9223372036854775807": waits(9223372036854775807),
		"9223372036854775808": bad("out of range"), "": bad("no value"), "1.5": bad("want milli"), "1500ms": bad("want milli"), "+5": bad("want milli"),
		" 5": bad("spaces"), "5\n": bad("not printable"), "PT5S": bad("want milli"), "0x10": bad("want milli"), "\x00\x00\x05\xdc": bad("not printable"),
	},
	FormatS: {
		"0": waits(0), "30": waits(30_000), "-1": waits(-1000), "86400": waits(86_400_000), "9223372036854775": waits(9223372036854775000),
		"9223372036854776": bad("out of range"), "1.5": bad("want whole seconds"), "30s": bad("want whole seconds"), "": bad("no value"), "30 ": bad("spaces"),
	},
	FormatDurationText: {
		// as time.Duration.String prints them
		"0s": waits(0), "1h0m0s": waits(3_600_000), "1m30s": waits(90_000), "1.5s": waits(1500), "250ms": waits(250), "-1.5s": waits(-1500), "100\u00b5s": waits(1), "1.5\u00b5s": waits(1), "3ns": waits(1),
		"2562047h47m16.854775807s": waits(9223372036855),
		// as time.ParseDuration and x-delay take them besides
		"100us": waits(1), "100\u03bcs": waits(1), "+2h": waits(7_200_000), "2d": waits(172_800_000), "1w": waits(604_800_000), ".5s": waits(500),
		"2562047h47m16.854775808s": bad("out of range"), "30": bad("want a duration"), "0": bad("want a duration"), "PT5M": bad("want a duration"), "1h 5m": bad("want a duration"), "": bad("no value"), "-": bad("want a duration"), "1\xb5s": bad("want a duration"),
	},
	FormatISO8601: {
		"PT5M": waits(300_000), "P1DT2H": waits(93_600_000), "PT1.5S": waits(1500), "PT0S": waits(0), "P1W": waits(604_800_000), "PT1,5S": waits(1500),
		"P1M": bad("months and years"), "P1Y": bad("months and years"), "PT": bad("want ISO"), "P": bad("want ISO"), "5m": bad("want ISO"), "-PT5M": bad("want ISO"), "": bad("no value"), "300": bad("want ISO"), "PT9223372037S": bad("out of range"),
	},
	FormatBE32Ms: {
		"\x00\x00\x00\x00": waits(0), "\x00\x00\x05\xdc": waits(1500), "\x7f\xff\xff\xff": waits(2147483647), "    ": waits(538976288), "1500": waits(0x31353030),
		"\x80\x00\x00\x00": bad("a negative number"), "\xff\xff\xff\xff": bad("a negative number"), "\x05\xdc": bad("want 4 bytes"), "\x00\x00\x00\x05\xdc": bad("want 4 bytes"), "": bad("no value"),
	},
	FormatBE64Ms: {
		"\x00\x00\x00\x00\x00\x00\x05\xdc": waits(1500), "\x7f\xff\xff\xff\xff\xff\xff\xff": waits(9223372036854775807), "1500.0ms": waits(0x313530302e306d73),
		"\xff\xff\xff\xff\xff\xff\xff\xff": bad("a negative number"), "\x00\x00\x05\xdc": bad("want 8 bytes"), "1500": bad("want 8 bytes"), "": bad("no value"),
	},
	FormatRetryAfter: {
		"0": waits(0), "120": waits(120_000), "0120": waits(120_000), "9223372036854776": bad("out of range"), "-1": bad("want seconds"), "1.5": bad("want seconds"), "": bad("no value"), " 1": bad("spaces"),
		// The three forms of one instant, as RFC 9110 has them.
		"Sun, 06 Nov 1994 08:49:37 GMT": instant(784111777_000), "Sunday, 06-Nov-94 08:49:37 GMT": instant(784111777_000), "Sun Nov  6 08:49:37 1994": instant(784111777_000),
		"Sun, 01 Mar 2026 13:00:00 GMT": instant(1772370000_000), "Sunday, 01-Mar-26 13:00:00 GMT": instant(1772370000_000), "Sun Mar  1 13:00:00 2026": instant(1772370000_000), "Thu Dec 31 00:00:00 2026": instant(1798675200_000),
		// The year of two digits that is more than 50 years ahead is in the past: 2076 and 1976.
		"Sunday, 01-Mar-76 13:00:00 GMT": instant(3350293200_000), "Monday, 01-Mar-76 13:00:01 GMT": instant(194533201_000),
		"Sat, 31 Dec 2016 23:59:60 GMT": instant(1483228800_000), "Sat, 31 Dec 2016 22:59:60 GMT": bad("want seconds"), "Sat, 31 Dec 2016 24:00:00 GMT": bad("want seconds"), "Sat, 31 Dec 2016 23:60:00 GMT": bad("want seconds"),
		"Mon, 06 Nov 1994 08:49:37 GMT": bad("another day of the week"), "Monday, 06-Nov-94 08:49:37 GMT": bad("another day of the week"), "Mon Nov  6 08:49:37 1994": bad("another day of the week"),
		"sun, 06 Nov 1994 08:49:37 GMT": bad("want seconds"), "Sun, 06 nov 1994 08:49:37 GMT": bad("want seconds"), "Sun, 06 Nov 1994 08:49:37 UTC": bad("want seconds"), "Sun, 06 Nov 1994 08:49:37 +0000": bad("want seconds"),
		"Sun, 6 Nov 1994 08:49:37 GMT": bad("want seconds"), "Sun, 06 Nov 94 08:49:37 GMT": bad("want seconds"), "Sun, 06-Nov-94 08:49:37 GMT": bad("want seconds"), "Sunday, 06 Nov 1994 08:49:37 GMT": bad("want seconds"),
		"Sun Nov 06 08:49:37 1994": instant(784111777_000), "Sun Nov 6 08:49:37 1994": bad("want seconds"), "Sun Nov  6 08:49:37 1994 GMT": bad("want seconds"), "Tue, 30 Feb 2026 12:00:00 GMT": bad("want seconds"), "Tue, 00 Mar 2026 12:00:00 GMT": bad("want seconds"),
		"2026-03-01T13:00:00Z": bad("want seconds"),
	},
	FormatEpochMs: {
		"1772370000000": instant(1772370000000), "100000000000": instant(100000000000), "0": instant(0), "-1": instant(-1), "-9223372036854775808": instant(minInstantMs),
		"1772370000": bad("looks like seconds"), "99999999999": bad("too small"), "30": bad("too small"), "1772370000000000": bad("looks like micro"), "1772370000000000000": bad("looks like nano"),
		"9223372036854775808": bad("out of range"), "2026-03-01T13:00:00Z": bad("want Unix milli"), "": bad("no value"), "\x01\x9c\xa9\x7b\xf8\x80": bad("not printable"),
	},
	FormatEpochS: {
		"1772370000": instant(1772370000_000), "1893456000": instant(1893456000_000), "100000000": instant(100000000_000), "0": instant(0), "-1": instant(-1000), "-9223372036854775808": instant(minInstantMs),
		"99999999": bad("too small"), "30": bad("too small"), "1772370000000": bad("looks like milli"), "100000000000": bad("looks like milli"), "99999999999": instant(99999999999_000), "9223372036854775807": bad("looks like milli"), "9223372036854775808": bad("looks like milli"),
		"1772370000.5": bad("want Unix seconds"), "": bad("no value"), "2026-03-01T13:00:00Z": bad("want Unix seconds"),
	},
	FormatRFC3339: {
		"2026-03-01T13:00:00Z": instant(1772370000_000), "2026-03-01T14:00:00+01:00": instant(1772370000_000), "2026-03-01T13:00:00.0001Z": instant(1772370000_001), "2026-03-01T13:00:00.999999999Z": instant(1772370001_000), "0000-01-01T00:00:00+23:59": instant(minInstantMs),
		"2026-03-01T13:00:00": bad("want RFC 3339"), "2026-03-01 13:00:00Z": bad("want RFC 3339"), "1772370000000": bad("want RFC 3339"), "2026-02-29T13:00:00Z": bad("want RFC 3339"), "": bad("no value"), " 2026-03-01T13:00:00Z": bad("spaces"),
	},
	FormatBigIntMs: {
		// BigInteger.toByteArray of 0, 1, 127, 128, 255, 256, 32767, 32768, 2^39-1, 2^39, 2^40
		"\x00": instant(0), "\x01": instant(1), "\x7f": instant(127), "\x00\x80": instant(128), "\x00\xff": instant(255), "\x01\x00": instant(256), "\x7f\xff": instant(32767), "\x00\x80\x00": instant(32768),
		"\x7f\xff\xff\xff\xff": instant(549755813887), "\x00\x80\x00\x00\x00\x00": instant(549755813888), "\x01\x00\x00\x00\x00\x00": instant(1099511627776),
		// of 1772370000000, and of -1, -128, -129, -256
		"\x01\x9c\xa9\x7b\xf8\x80": instant(1772370000000), "\xff": instant(-1), "\x80": instant(-128), "\xff\x7f": instant(-129), "\xff\x00": instant(-256),
		// not minimal, as a long: of the same and of -1
		"\x00\x00\x01\x9c\xa9\x7b\xf8\x80": instant(1772370000000), "\xff\xff\xff\xff\xff\xff\xff\xff": instant(-1),
		"\x7f\xff\xff\xff\xff\xff\xff\xff": instant(9223372036854775807), "\x80\x00\x00\x00\x00\x00\x00\x00": instant(minInstantMs),
		"": bad("no value"), "\x00\x00\x00\x01\x9c\xa9\x7b\xf8\x80": bad("want 1 to 8 bytes"), "1772370000000": bad("want 1 to 8 bytes"),
	},
}

func TestADeclaredFormatTakesItsOwnFormAlone(t *testing.T) {
	for format, declared := range formats {
		values := declaredValues[Format(format)]
		if (declared.parse != nil) != (len(values) > 0) {
			t.Errorf("%s has %d values in the table", declared.name, len(values))
		}
		for value, want := range values {
			ms, isInstant, f := declared.parse([]byte(value), noon)
			if want.fault != "" {
				if said := string(Format(format).complain(f)); f == fine || !strings.HasPrefix(said, want.fault) || !strings.HasSuffix(said, declared.want) {
					t.Errorf("%s %q: %q, want %q and what is wanted", declared.name, value, said, want.fault)
				}
				continue
			}
			if f != fine || ms != want.ms || isInstant != want.at {
				t.Errorf("%s %q: %d ms, instant %v, %q; want %+v", declared.name, value, ms, isInstant, f, want)
			}
		}
	}
}

func TestANullIsAValueOfNoDeclaredFormat(t *testing.T) {
	for i, declared := range formats {
		if declared.parse == nil {
			continue
		}
		if _, _, f := declared.parse(nil, noon); f != faultEmpty {
			t.Errorf("%s: %q", Format(i), f)
		}
	}
}

// TestAYearOfTwoDigitsMeansTheSameWheneverItIsRead: it hangs on the record's timestamp.
func TestAYearOfTwoDigitsMeansTheSameWheneverItIsRead(t *testing.T) {
	names, err := NewNames(nil, []string{"http"})
	if err != nil {
		t.Fatal(err)
	}
	r := testRules(t)
	r.Names = names
	hs := headers("Retry-After", "Monday, 02-Mar-26 13:00:00 GMT")
	for _, later := range []int64{0, 1000, 60 * 365 * 86_400_000} {
		if d, inv := r.parse(hs, noon, noon+later); inv != nil || d.DeadlineMs != noon+86_400_000 {
			t.Errorf("read %d ms later it is due %d, %v", later, d.DeadlineMs, inv)
		}
	}
}

func TestTheWordsOfFormatsAreThoseOfTheDocuments(t *testing.T) {
	want := strings.Fields("ms s duration iso8601 be32_ms be64_ms retry_after epoch_ms epoch_s rfc3339 bigint_ms target key id attempt expire_at")
	if got := Formats(); !slices.Equal(got, want) {
		t.Errorf("formats %q, want %q", got, want)
	}
	for i, word := range want {
		for _, spelt := range []string{word, strings.ToUpper(word)} {
			if f, ok := FormatOf(spelt); !ok || int(f) != i || f.String() != word {
				t.Errorf("%s is %v, %v", spelt, f, ok)
			}
		}
	}
	if f, ok := FormatOf("native"); ok {
		t.Errorf("native is the format %v", f)
	}
}
