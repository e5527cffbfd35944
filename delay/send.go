package delay

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ParseDelay reads a delay in any of the text forms of x-delay. It refuses the same
// texts as x-delay, in the same words, and more milliseconds than a time.Duration
// holds, which is 292 years.
func ParseDelay(text string) (time.Duration, error) {
	value := []byte(text)
	f := delayTextFault(value)
	var d time.Duration
	if f == fine {
		var ms int64
		switch ms, f = parseDelayMs(value); {
		case f == faultDelay:
			d, f = parseDuration(value)
		case ms > math.MaxInt64/int64(time.Millisecond) || ms < math.MinInt64/int64(time.Millisecond):
			f = faultDelayRange
		default:
			d = time.Duration(ms) * time.Millisecond
		}
	}
	if f == faultDelayBinary {
		f = faultDelay // there is no binary on a command line
	}
	if f != fine {
		return 0, errors.New(quote(value) + ": " + string(f))
	}
	return d, nil
}

// shortBelowMs is the delay below which a bare number is probably meant in seconds.
const shortBelowMs = 1000

// Hint returns a note about a delay that is a bare number of less than a second:
// "5 ms; write 5s for seconds". Few mean such a delay. The note is empty for every other value.
func Hint(value []byte) string {
	n, _, ok, overflow := parseInteger(value)
	if !ok || overflow || n <= 0 || n >= shortBelowMs {
		return ""
	}
	return fmt.Sprintf("%d ms; write %ds for seconds", n, n)
}

// HintOf is the Hint of the delay that counts for a record; empty where none does.
func HintOf(headers []kgo.RecordHeader) string {
	var c control
	c.read(headers)
	if !c.has(kindDelay) || c.has(kindDeliverAt) {
		return ""
	}
	return Hint(c.value(kindDelay))
}

// ParseInstant reads an instant in any of the text forms of x-deliver-at, as
// Unix milliseconds, rounded up. It refuses the same texts as x-deliver-at, in the
// same words.
func ParseInstant(text string) (ms int64, err error) { return parseInstantArgument(text, up) }

// ParseExpiry reads an instant in any of the text forms of x-expire-at, as Unix
// milliseconds, rounded down. It refuses the same texts as x-expire-at, in the same
// words.
func ParseExpiry(text string) (ms int64, err error) { return parseInstantArgument(text, down) }

func parseInstantArgument(text string, r rounding) (ms int64, err error) {
	value := []byte(text)
	f := faultInstant
	switch {
	case len(value) == 0:
		f = faultInstantEmpty
	case isText(value):
		ms, f = parseInstantText(value, r)
	}
	if f != fine {
		return 0, errors.New(quote(value) + ": " + string(f))
	}
	return ms, nil
}

// Headers returns the control headers that ask for a wait of delay, for
// delivery not before at (in Unix milliseconds), and for the target to. A nil or
// empty argument adds no header.
//
// A delay is written in whole milliseconds, rounded up. An instant is written as
// RFC 3339, which is plain to read; a small number would be refused as seconds.
// Parse reads the same deadline from the headers, for at in the years 0 to 9999.
func Headers(delay *time.Duration, at *int64, to string) []kgo.RecordHeader {
	var headers []kgo.RecordHeader
	if delay != nil {
		headers = append(headers, textHeader(HeaderDelay, strconv.FormatInt(ceilMs(*delay), 10)))
	}
	if at != nil {
		headers = append(headers, textHeader(HeaderDeliverAt, FormatTime(*at)))
	}
	if to != "" {
		headers = append(headers, textHeader(HeaderDeliverTo, to))
	}
	return headers
}
