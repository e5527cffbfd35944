package delay

import (
	"bytes"
	"time"
)

// declaredRetryAfter reads Retry-After of RFC 9110, section 10.2.3: whole seconds without a
// sign, or an HTTP date, which is an instant.
func declaredRetryAfter(value []byte, baseMs int64) (ms int64, at bool, f fault) {
	if f = textFault(value); f != fine {
		return 0, false, f
	}
	if isDigit(value[0]) {
		ms, f = declaredSeconds(value)
		return ms, false, f
	}
	ms, f = parseHTTPDate(value, baseMs)
	return ms, true, f
}

// httpDate is the parts of an HTTP date, as they are written.
type httpDate struct{ weekday, day, month, year, clock []byte }

// parseHTTPDate reads the three forms of RFC 9110, section 5.6.7, as Unix milliseconds. All
// are in UTC, and in the letters that stand here:
//
//	Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate
//	Sunday, 06-Nov-94 08:49:37 GMT    of RFC 850
//	Sun Nov  6 08:49:37 1994          of C's asctime
func parseHTTPDate(text []byte, baseMs int64) (ms int64, f fault) {
	long := true
	d, ok := splitRFC850(text)
	if !ok {
		long = false
		if d, ok = splitIMF(text); !ok {
			d, ok = splitAsctime(text)
		}
	}
	if !ok {
		return 0, faultForm
	}
	return d.instant(long, baseMs)
}

func splitIMF(text []byte) (d httpDate, ok bool) {
	if len(text) != 29 || !hasShape(text[3:], ", dd ") || !hasShape(text[11:], " dddd dd:dd:dd GMT") {
		return d, false
	}
	return httpDate{text[:3], text[5:7], text[8:11], text[12:16], text[17:25]}, true
}

func splitRFC850(text []byte) (d httpDate, ok bool) {
	weekday, rest, ok := bytes.Cut(text, []byte(","))
	if !ok || len(rest) != 23 || !hasShape(rest, " dd-") || !hasShape(rest[7:], "-dd dd:dd:dd GMT") {
		return d, false
	}
	return httpDate{weekday, rest[1:3], rest[4:7], rest[8:10], rest[11:19]}, true
}

func splitAsctime(text []byte) (d httpDate, ok bool) {
	if len(text) != 24 || text[3] != ' ' || text[7] != ' ' || !hasShape(text[9:], "d dd:dd:dd dddd") {
		return d, false
	}
	day := text[8:10]
	if day[0] == ' ' {
		day = day[1:]
	} else if !isDigit(day[0]) {
		return d, false
	}
	return httpDate{text[:3], day, text[4:7], text[20:24], text[11:19]}, true
}

// instant returns the Unix milliseconds of a date with a whole weekday's name, or with its
// first three letters. The day of the week has to be the date's. The second 60 of 23:59 is the
// leap second, which Unix time counts as the first of the next day.
func (d httpDate) instant(long bool, baseMs int64) (ms int64, f fault) {
	month, ok := monthOf(d.month)
	day, hour, minute, second := decimal(d.day), decimal(d.clock[0:2]), decimal(d.clock[3:5]), decimal(d.clock[6:8])
	leap := second == 60 && hour == 23 && minute == 59
	if !ok || hour > 23 || minute > 59 || second > 59 && !leap {
		return 0, faultForm
	}
	year := decimal(d.year)
	if len(d.year) == 2 {
		year = century(year, month, day, hour, minute, second, baseMs)
	}
	date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	if date.Day() != day { // 30 February has become 2 March
		return 0, faultForm
	}
	name := date.Weekday().String()
	if !long {
		name = name[:3]
	}
	if string(d.weekday) != name {
		if isWeekday(string(d.weekday), long) {
			return 0, faultWeekday
		}
		return 0, faultForm
	}
	return (date.Unix() + int64(hour*3600+minute*60+second)) * 1000, fine
}

// century completes a year of two digits to one that is at most 50 years after baseMs. It
// is the latest such year, as RFC 9110 has it. The record's timestamp, which baseMs is,
// makes the same of it whenever the record is read.
func century(year int, month time.Month, day, hour, minute, second int, baseMs int64) int {
	limit := time.UnixMilli(min(max(baseMs, minInstantMs), maxInstantMs)).UTC().AddDate(50, 0, 0)
	year += limit.Year() - limit.Year()%100
	if time.Date(year, month, day, hour, minute, second, 0, time.UTC).After(limit) {
		year -= 100
	}
	return year
}

func monthOf(name []byte) (time.Month, bool) {
	for m := time.January; m <= time.December; m++ {
		if string(name) == m.String()[:3] {
			return m, true
		}
	}
	return 0, false
}

func isWeekday(name string, long bool) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if whole := d.String(); long && name == whole || !long && name == whole[:3] {
			return true
		}
	}
	return false
}
