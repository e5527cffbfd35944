package delay

import (
	"errors"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// MaxID is the largest size of an id, in bytes.
const MaxID = 256

// cancelValue is the only value of x-delay-cancel. Another spelling would be a guess at
// what ends a record for good.
const cancelValue = "true"

const (
	wantID = "want 1 to 256 bytes of UTF-8 without control characters"

	faultIDEmpty   fault = "no value; " + wantID
	faultIDLong    fault = "too long; " + wantID
	faultIDUTF8    fault = "not UTF-8; " + wantID
	faultIDControl fault = "a control character in it; " + wantID

	faultCancelValue  fault = "want " + cancelValue
	faultCancelNoID   fault = "no " + HeaderDelayID + " beside it; want the id of the record to cancel"
	faultCancelBeside fault = " beside it; want a cancel without a delay, a target and an expiry"
)

// CheckID refuses what no x-delay-id may be, with the id in the error: anything but 1 to
// MaxID bytes of UTF-8 without control characters.
func CheckID(id string) error {
	value := []byte(id)
	if f := idFault(value); f != fine {
		return errors.New(quote(value) + ": " + string(f))
	}
	return nil
}

// idFault looks for control characters of Unicode's class Cc: those below the space,
// the delete character, and U+0080 to U+009F.
func idFault(value []byte) fault {
	switch {
	case len(value) == 0:
		return faultIDEmpty
	case len(value) > MaxID:
		return faultIDLong
	case isText(value): // nearly every id
		return fine
	case !utf8.Valid(value):
		return faultIDUTF8
	}
	for rest := value; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if unicode.IsControl(r) {
			return faultIDControl
		}
		rest = rest[size:]
	}
	return fine
}

// parseID completes d with the record's id. The record has x-delay-id, or a mapped header in
// its place.
func (c *control) parseID(d *Decision) *Invalid {
	name, index := HeaderDelayID, c.index(kindDelayID)
	if o := c.other(roleID); index < 0 && o != nil {
		name, index = c.word(o).name, o.index()
	}
	value := c.headers[index].Value
	if f := idFault(value); f != fine {
		return malformed(ReasonMalformedID, name, value, f)
	}
	d.ID, d.IDHeader = value, index
	return nil
}

// parseCancel completes d for a record with x-delay-cancel. It waits for nothing and goes
// nowhere, so that no default matters to it.
func (c *control) parseCancel(d *Decision) *Invalid {
	d.Cancel = true
	value, f := c.value(kindDelayCancel), fine
	switch {
	case string(value) != cancelValue:
		f = faultCancelValue
	case !c.has(kindDelayID) && c.other(roleID) == nil:
		f = faultCancelNoID
	default:
		f = c.besideCancel()
	}
	if f != fine {
		return malformed(ReasonMalformedCancel, HeaderDelayCancel, value, f)
	}
	d.CancelOf = c.has(kindCancelOf)
	return c.parseID(d)
}

// besideCancel names a header that a cancel must not have. A producer that writes one may
// have meant to replace a record, and cancelling it would end it.
func (c *control) besideCancel() fault {
	for _, other := range [...]struct {
		kind kind
		name fault
	}{{kindDelay, HeaderDelay}, {kindDeliverAt, HeaderDeliverAt}, {kindDeliverTo, HeaderDeliverTo}, {kindExpireAt, HeaderExpireAt}} {
		if c.has(other.kind) {
			return other.name + faultCancelBeside
		}
	}
	for _, r := range [...]role{roleWhen, roleTarget, roleExpiry} {
		if o := c.other(r); o != nil {
			return fault(c.word(o).name) + faultCancelBeside
		}
	}
	return fine
}

// IDHeaders returns the headers of a record with an id that expires at expireMs (in Unix
// milliseconds). An empty id or a nil expireMs adds no header. Parse reads the same
// instant from the headers, for years 0 to 9999.
func IDHeaders(id string, expireMs *int64) []kgo.RecordHeader {
	var headers []kgo.RecordHeader
	if id != "" {
		headers = append(headers, textHeader(HeaderDelayID, id))
	}
	if expireMs != nil {
		headers = append(headers, textHeader(HeaderExpireAt, FormatTime(*expireMs)))
	}
	return headers
}

// CancelHeaders returns the headers of a cancel of id. Where copies of it are written to
// more than one partition, each says so.
func CancelHeaders(id string, copies int) []kgo.RecordHeader {
	headers := []kgo.RecordHeader{textHeader(HeaderDelayID, id), textHeader(HeaderDelayCancel, cancelValue)}
	if copies > 1 {
		headers = append(headers, textHeader(HeaderCancelOf, id+"/"+strconv.Itoa(copies)))
	}
	return headers
}
