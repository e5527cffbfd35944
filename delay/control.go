package delay

import "github.com/twmb/franz-go/pkg/kgo"

// control finds the last header of each kind of a record. Places take half the bytes that
// values would: it is cleared for every record.
type control struct {
	headers []kgo.RecordHeader
	last    [kinds]int32 // index + 1 in headers; 0: none

	mapped *mapped // nil: no other product's headers count
}

// read fills c, which is zero.
func (c *control) read(headers []kgo.RecordHeader) {
	c.headers = headers
	for i := range headers {
		if k := kindOf(headers[i].Key); k != kindOther {
			c.last[k] = int32(i) + 1
		}
	}
}

func (c *control) has(k kind) bool { return c.last[k] > 0 }

// index returns the place of the header in the headers given. The record has one.
func (c *control) index(k kind) int { return int(c.last[k]) - 1 }

// value returns the header's value, which may be null. The record has such a header.
func (c *control) value(k kind) []byte { return c.headers[c.index(k)].Value }
