package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

var sentAt = time.Date(2030, 1, 2, 3, 4, 5, 6e6, time.UTC)

const (
	ingress = "delayed"
	ready   = "ready"
	dead    = "dead-letters"
)

// sample is a record with all that is easily changed on the way. It has a name
// twice, null and empty values, a control header in another case, and stamps of an
// earlier passage.
func sample(id string) Sent {
	return Sent{
		ID: id, To: ready, Due: sentAt.Add(time.Minute), Dead: []string{"target_unavailable"},
		Record: Record{
			Topic: ingress, Timestamp: sentAt, Key: []byte("key"), Value: []byte("value"),
			Headers: []Header{
				{"dup", []byte("1")}, {"X-Delay", []byte("1m")}, {IDHeader, []byte(id)}, {"null", nil}, {"dup", []byte{}},
				{"layover-id", []byte("old")}, {"layover.errors.reason", []byte("older")},
			},
		},
	}
}

// delivery is what the sample looks like where it belongs.
func delivery(id string, partition int32, offset int64) Record {
	return Record{
		Topic: ready, Partition: 1, Offset: 77, Timestamp: sentAt.Add(time.Minute), Key: []byte("key"), Value: []byte("value"),
		Headers: []Header{
			{"dup", []byte("1")}, {IDHeader, []byte(id)}, {"null", nil}, {"dup", []byte{}}, {"layover.errors.reason", []byte("older")},
			{"layover-hops", []byte("1")},
			{"layover-id", fmt.Appendf(nil, "delayed-%d-%d", partition, offset)},
			{"layover-due", []byte("2030-01-02T03:05:05.006Z")},
			{"layover-original-timestamp", []byte("2030-01-02T03:04:05.006Z")},
		},
	}
}

// deadLetter is what it looks like as a dead letter.
func deadLetter(id string, partition int32, offset int64, reason string) Record {
	headers := slices.Clone(sample(id).Record.Headers[:6])
	for _, h := range [][2]string{
		{"topic", ingress}, {"partition", fmt.Sprint(partition)}, {"offset", fmt.Sprint(offset)}, {"group", "g"},
		{"reason", reason}, {"message", "why"}, {"timestamp", "2030-01-02T03:05:05.006Z"},
	} {
		headers = append(headers, Header{"layover.errors." + h[0], []byte(h[1])})
	}
	return Record{Topic: dead, Offset: 5, Timestamp: sentAt.Add(time.Minute), Key: []byte("key"), Value: []byte("value"), Headers: headers}
}

// bare is a dead letter whose value its topic did not take.
func bare(letter Record) Record {
	letter.Headers, letter.Value = append(letter.Headers, Header{dropped, []byte("dropped")}), nil
	return letter
}

// one returns a ledger with one acknowledged record at delayed/3@42.
func one() *Ledger {
	l := NewLedger(dead)
	l.Enter(sample("a"))
	l.Acked("a", 3, 42)
	return l
}

// set returns headers with one value replaced.
func set(headers []Header, name, value string) []Header {
	out := slices.Clone(headers)
	for i := range out {
		if out[i].Name == name {
			out[i].Value = []byte(value)
		}
	}
	return out
}

func TestWhatArrivedAsItShouldIsFine(t *testing.T) {
	for name, arrived := range map[string]Record{
		"delivered":                       delivery("a", 3, 42),
		"dead-lettered":                   deadLetter("a", 3, 42, "target_unavailable"),
		"dead-lettered without its value": bare(deadLetter("a", 3, 42, "target_unavailable")),
	} {
		t.Run(name, func(t *testing.T) {
			if err := Check(one(), []Record{arrived}).Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEveryKindOfFaultIsFound(t *testing.T) {
	type judged struct {
		ledger  *Ledger
		arrived []Record
	}
	first := func(w *judged) *Record { return &w.arrived[0] }
	for name, c := range map[string]struct {
		spoil func(w *judged)
		kind  Kind
		text  string
	}{
		"nothing came":        {func(w *judged) { w.arrived = nil }, Lost, "a, sent to delayed/3@42 for ready"},
		"a millisecond early": {func(w *judged) { first(w).Timestamp = sentAt.Add(time.Minute - time.Millisecond) }, Early, "1ms before"},
		"received early":      {func(w *judged) { first(w).Received = sentAt.Add(time.Minute - time.Millisecond) }, Early, "received 1ms before"},
		"early as a dead letter": {func(w *judged) {
			w.arrived[0] = deadLetter("a", 3, 42, "target_unavailable")
			first(w).Timestamp = sentAt
		}, Early, "1m0s before"},
		"twice": {func(w *judged) {
			again := delivery("a", 3, 42)
			again.Offset = 99
			w.arrived = append(w.arrived, again)
		}, Repeated, "ready/1@77 at 2030-01-02T03:05:05.006Z, ready/1@99"},
		"delivered and dead-lettered": {func(w *judged) {
			w.arrived = append(w.arrived, deadLetter("a", 3, 42, "target_unavailable"))
		}, Repeated, "dead-letters/0@5"},
		"another target":         {func(w *judged) { first(w).Topic = "other" }, Wrong, "belongs to ready"},
		"another key":            {func(w *judged) { first(w).Key = []byte("kez") }, Wrong, `key "kez", want "key"`},
		"null key":               {func(w *judged) { first(w).Key = nil }, Wrong, "key null"},
		"another value":          {func(w *judged) { first(w).Value = []byte("valuf") }, Wrong, "value"},
		"null value":             {func(w *judged) { first(w).Value = nil }, Wrong, "value null"},
		"a header changed":       {func(w *judged) { first(w).Headers[0].Value = []byte("2") }, Wrong, `header 0 is dup="2"`},
		"null header made empty": {func(w *judged) { first(w).Headers[2].Value = []byte{} }, Wrong, `header 2 is null="", want null=null`},
		"empty header made null": {func(w *judged) { first(w).Headers[3].Value = nil }, Wrong, `want dup=""`},
		"headers out of order": {func(w *judged) {
			h := first(w).Headers
			h[0], h[3] = h[3], h[0]
		}, Wrong, "header 0"},
		"a duplicate gone":       {func(w *judged) { first(w).Headers = slices.Delete(first(w).Headers, 3, 4) }, Wrong, "header 3"},
		"headers cut off":        {func(w *judged) { first(w).Headers = first(w).Headers[:3] }, Wrong, "header 3, dup, is missing"},
		"control header left":    {func(w *judged) { first(w).Headers = append(first(w).Headers, Header{"X-DELAY", nil}) }, Wrong, "still there"},
		"a header too many":      {func(w *judged) { first(w).Headers = append(first(w).Headers, Header{"extra", nil}) }, Wrong, "extra=null is not expected"},
		"stamped twice":          {func(w *judged) { first(w).Headers = append(first(w).Headers, first(w).Headers[6]) }, Wrong, "layover-id"},
		"id of another offset":   {func(w *judged) { first(w).Headers = set(first(w).Headers, "layover-id", "delayed-3-41") }, Wrong, `want "delayed-3-42"`},
		"id missing":             {func(w *judged) { first(w).Headers = slices.Delete(first(w).Headers, 6, 7) }, Wrong, "layover-id is missing"},
		"due header wrong":       {func(w *judged) { first(w).Headers = set(first(w).Headers, "layover-due", "2030-01-02T03:05:05.007Z") }, Wrong, "layover-due"},
		"own timestamp wrong":    {func(w *judged) { first(w).Headers = set(first(w).Headers, "layover-original-timestamp", "x") }, Wrong, "original"},
		"no id of the ledger":    {func(w *judged) { w.arrived = append(w.arrived, Record{Topic: ready}) }, Strange, "carries no id"},
		"an id that nobody sent": {func(w *judged) { w.arrived = append(w.arrived, delivery("b", 0, 1)) }, Strange, `"b", which nobody sent`},
		"refused and there all the same": {func(w *judged) {
			w.ledger.Enter(sample("b"))
			w.ledger.Refused("b")
			w.arrived = append(w.arrived, delivery("b", 0, 1))
		}, Strange, "sending failed"},
		"dead-lettered though valid": {func(w *judged) { w.arrived[0] = deadLetter("a", 3, 42, "too_large") }, Wrong, `"too_large" (why), want one of ["target_unavailable"]`},
		"dead letter without its reason": {func(w *judged) {
			w.arrived[0] = deadLetter("a", 3, 42, "target_unavailable")
			first(w).Headers = without(first(w).Headers, "layover.errors.reason")
		}, Wrong, "layover.errors.reason is missing"},
		"dead letter of another offset": {func(w *judged) { w.arrived[0] = deadLetter("a", 3, 41, "target_unavailable") }, Wrong, `want "delayed-3-42"`},
		"dead letter without its control header": {func(w *judged) {
			w.arrived[0] = deadLetter("a", 3, 42, "target_unavailable")
			first(w).Headers = slices.Delete(first(w).Headers, 1, 2)
		}, Wrong, "header 1 is ledger-id"},
		"dead letter without its value": {func(w *judged) {
			w.arrived[0] = deadLetter("a", 3, 42, "target_unavailable")
			first(w).Value = nil
		}, Wrong, "value null"},
		"dead letter that has the value it says was dropped": {func(w *judged) {
			w.arrived[0] = bare(deadLetter("a", 3, 42, "target_unavailable"))
			first(w).Value = []byte("value")
		}, Wrong, "value"},
		"delivery that says its value was dropped": {func(w *judged) {
			first(w).Headers = append(first(w).Headers, Header{dropped, []byte("dropped")})
		}, Wrong, "is not expected"},
		"dead letter without a time": {func(w *judged) {
			w.arrived[0] = deadLetter("a", 3, 42, "target_unavailable")
			first(w).Headers = set(first(w).Headers, "layover.errors.timestamp", "now")
		}, Wrong, "layover.errors.timestamp"},
		"dead letter without a group": {func(w *judged) {
			w.arrived[0] = deadLetter("a", 3, 42, "target_unavailable")
			first(w).Headers = set(first(w).Headers, "layover.errors.group", "")
		}, Wrong, "empty"},
		"unknown, and with an id of another topic": {func(w *judged) {
			w.ledger.Enter(sample("b"))
			b := delivery("b", 0, 1)
			b.Headers = set(b.Headers, "layover-id", "other-0-1")
			w.arrived = append(w.arrived, b)
		}, Wrong, "layover-id"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &judged{one(), []Record{delivery("a", 3, 42)}}
			c.spoil(w)
			r := Check(w.ledger, w.arrived)
			if r.Count(c.kind) != 1 || len(r.counts) != 1 {
				t.Fatalf("want one that is %s and nothing else:\n%s", c.kind, r)
			}
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("the error does not say %q: %v", c.text, err)
			}
		})
	}
}
