package delay

import (
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// modelMap is the vocabulary of FuzzMappedHeaders in the order in which it wins, each line one
// source with its instants first.
var modelMap = []struct{ name, format string }{
	{"m-at", "rfc3339"}, {"m-epoch", "epoch_ms"}, {"m-wait", "s"}, {"m-ms", "ms"}, {"m-to", "target"}, {"m-key", "key"}, {"m-id", "id"}, {"m-try", "attempt"}, {"m-end", "expire_at"},
	{"scheduler-epoch", "epoch_s"}, {"scheduler-target-topic", "target"}, {"scheduler-target-key", "key"},
	{"_watermill_delayed_until", "rfc3339"}, {"_watermill_delayed_for", "duration"},
	{"retry_topic-backoff-timestamp", "bigint_ms"},
	{"x-timebridge-when", "rfc3339"}, {"x-timebridge-where", "target"},
	{"x-opt-delivery-time", "epoch_ms"}, {"x-opt-delivery-delay", "ms"},
	{"ce_expirytime", "expire_at"},
}

var modelRoles = map[string]string{"target": "x-deliver-to", "id": "x-delay-id", "expire_at": "x-expire-at", "key": "key", "attempt": "x-delay-attempt"}

// modelMapped translates the headers of a record to Layover's own, as the documents say, and
// returns what else they ask for. when is the winner among the mapped ones that say when.
func modelMapped(last map[string][]byte) (own map[string][]byte, when struct{ name, format string }, ambiguous bool) {
	own = make(map[string][]byte)
	_, hasDelay := last["x-delay"]
	_, hasAt := last["x-deliver-at"]
	for _, name := range []string{"x-delay", "x-deliver-at", "x-deliver-to", "x-delay-id", "x-delay-cancel", "x-expire-at", "layover-cancel-of", "x-delay-attempt", "layover-due", "layover-id", "layover-hops"} {
		if value, ok := last[name]; ok {
			own[name] = value
		}
	}
	ambiguous = hasDelay && hasAt
	for _, m := range modelMap {
		value, ok := last[m.name]
		if !ok {
			continue
		}
		role, names := modelRoles[m.format]
		switch {
		case !names:
			ambiguous = ambiguous || hasDelay || hasAt || when.name != ""
			if when.name == "" {
				when = m
			}
		default:
			if _, there := own[role]; there {
				ambiguous = true
			} else {
				own[role] = value
			}
		}
	}
	return own, when, ambiguous
}

// FuzzMappedHeaders reads whole lists of headers, ours and mapped ones, in any case, repeated,
// null. The decision is what the model makes of the same headers in Layover's own names.
func FuzzMappedHeaders(f *testing.F) {
	for _, text := range []string{
		"", "m-wait=60", "M-WAIT=60\x00m-wait", "m-ms=1\x00m-at=2026-03-01T14:00:00Z", "scheduler-epoch=1772373600\x00scheduler-target-topic=orders", "scheduler-epoch=1772373600\x00x-delay-id=a",
		"_watermill_delayed_for=1h0m0s\x00_watermill_delayed_until=2026-03-01T14:00:00Z", "retry_topic-backoff-timestamp=\x01\x9c\xa9\xb2\xe7\x01", "ce_expirytime=2026-03-01T14:00:00Z\x00x-expire-at=0",
		"m-to=orders\x00x-timebridge-where=eu.x", "m-id=a\x00x-delay-cancel=true", "m-id=a\x00x-delay-cancel=true\x00m-end=0", "x-opt-delivery-time=1772373600\x00m-key=k", "x-delay=5s\x00m-at=bad", "m-try=3\x00m-try=x", "m-try=2", "x-delay=auto\x00m-try=2\x00layover-due=2026-03-01T14:00:00Z", "layover-id=a\x00layover-hops=2", "x-delay-cancel=true", "x-deliver-at=bad\x00m-wait=1",
	} {
		f.Add(text, []byte("key"), false, noon)
		f.Add(text, []byte("key"), true, noon)
		f.Add(text, []byte{}, true, int64(0))
	}
	r := withNames(f, "m-wait=s,m-at=rfc3339,m-ms=ms,M-Epoch=epoch_ms,m-to=target,m-key=key,m-id=id,m-try=attempt,m-end=expire_at", "etf1", "watermill", "native", "spring", "timebridge", "amqp", "cloudevents")
	r.Backoff, r.TopicBackoff, r.MaxHops = backoffOf(f, "10s..10m max=3"), backoffOf(f, "1s..1h"), 2
	f.Fuzz(func(t *testing.T, text string, key []byte, null bool, ts int64) {
		in := script(text)
		if len(key) == 0 {
			key = nil
		}
		record := &kgo.Record{Key: key, Value: []byte("v"), Headers: in, Timestamp: time.UnixMilli(ts)}
		if null {
			record.Value = nil
		}
		ts = record.Timestamp.UnixMilli()
		d, inv := r.Parse(record, noon)
		own, when, ambiguous := modelMapped(modelLast(in))
		_, cancels := own["x-delay-cancel"]
		native := slices.ContainsFunc(in, func(h kgo.RecordHeader) bool {
			return slices.Contains(append([]string{"x-expire-at", "x-delay-attempt"}, controlNames...), asciiLower(h.Key))
		})
		back := has(own, "layover-id") || has(own, "layover-hops")
		schedule := !native && (when.name == "scheduler-epoch" || when.name == "" && null && !back)
		if _, named := own["x-delay-id"]; schedule && !named && key != nil {
			own["x-delay-id"] = key
		}
		delete(own, "key")
		if schedule && null {
			id, named := own["x-delay-id"]
			own = map[string][]byte{"x-delay-cancel": []byte("true")}
			if named {
				own["x-delay-id"] = id
			}
			cancels, ambiguous = true, false
		} else if when.name != "" && !has(own, "x-deliver-at") && !has(own, "x-delay") {
			modelWhen(t, own, when.format, modelLast(in)[when.name], ts)
		}
		checkTranslated(t, r, own, ts, d, inv)
		if inv == nil && (d.Cancel != cancels || !d.Cancel && d.Ambiguous != ambiguous) {
			t.Fatalf("%q: cancel %v, ambiguous %v, want %v, %v", in, d.Cancel, d.Ambiguous, cancels, ambiguous)
		}
		checkKept(t, r, in)
	})
}

// has tells a null from none.
func has(own map[string][]byte, name string) bool {
	_, there := own[name]
	return there
}

// modelWhen puts what a mapped header says of the wait into Layover's own headers.
func modelWhen(t *testing.T, own map[string][]byte, format string, value []byte, ts int64) {
	t.Helper()
	ms, at, ok := modelDeclared(format, value)
	name := map[bool]string{true: "x-deliver-at", false: "x-delay"}[formats[mustFormat(format)].instant]
	switch {
	case !ok || !ms.IsInt64():
		own[name] = []byte("bad")
	case at && ms.Sign() > 0 && len(ms.String()) <= 11: // ours takes no such number; it is past all the same
		own[name] = []byte(FormatTime(ms.Int64()))
	case at && ms.Cmp(big.NewInt(maxInstantMs)) > 0: // ours may take it for another unit
		own[name] = []byte("99999999999999")
	default:
		own[name] = []byte(ms.String())
	}
}

func mustFormat(word string) Format {
	f, ok := FormatOf(word)
	if !ok {
		panic(word)
	}
	return f
}

// checkTranslated compares a decision with that about the same headers of Layover's own.
func checkTranslated(t *testing.T, r *Rules, own map[string][]byte, ts int64, d Decision, inv *Invalid) {
	t.Helper()
	var hs []kgo.RecordHeader
	for name, value := range own {
		hs = append(hs, kgo.RecordHeader{Key: name, Value: value})
	}
	plain := *r
	plain.Names = nil
	want, wantInv := plain.Parse(&kgo.Record{Headers: hs, Timestamp: time.UnixMilli(ts)}, noon)
	if (inv == nil) != (wantInv == nil) || inv != nil && inv.Reason != wantInv.Reason {
		t.Fatalf("%v: %+v, %v, want %+v, %v", hs, d, inv, want, wantInv)
	}
	d.IDHeader, want.IDHeader, d.Ambiguous, want.Ambiguous = 0, 0, false, false
	if !reflect.DeepEqual(d, want) {
		t.Fatalf("%v: %+v, want %+v", hs, d, want)
	}
}

// checkKept looks at what is left of the headers on a delivery, and on a dead letter.
func checkKept(t *testing.T, r *Rules, in []kgo.RecordHeader) {
	t.Helper()
	gone := append(slices.Clone(controlNames), stampedNames...)
	for _, m := range modelMap {
		if m.format != "expire_at" {
			gone = append(gone, m.name)
		}
	}
	kept, last := without(in, gone...), modelLast(in)
	if had, ok := modelAttempts(map[string][]byte{"x-delay-attempt": last["m-try"]}); ok && had > 0 && !has(last, "x-delay-attempt") {
		kept = append(kept, kgo.RecordHeader{Key: "x-delay-attempt", Value: []byte(strconv.FormatInt(had, 10))})
	}
	got := without(r.AppendDelivered(nil, in, origin, noon, Bare|Refused, nil), "layover-hops")
	if len(got) != len(kept) || len(kept) > 0 && !reflect.DeepEqual(got, kept) {
		t.Fatalf("%q is delivered with %q, want %q", in, got, kept)
	}
	startsWith(t, AppendErrors(nil, in, origin, "g", Invalid{}, noon), without(in, errorNames...), errorNames)
}
