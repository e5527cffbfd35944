package delay

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// How much of a record's time in intake does deciding about it take, with two
// control headers behind three of others? It is to stay below 200 ns on a core
// of its own, so that one core decides about millions of records a second.
func BenchmarkParse(b *testing.B) { benchParse(b, nil) }

// What do all presets cost a record that has none of their headers? They are to add a fifth of
// BenchmarkParse at most.
func BenchmarkParseWithAllPresets(b *testing.B) {
	names, err := NewNames(nil, Presets())
	if err != nil {
		b.Fatal(err)
	}
	benchParse(b, names)
}

func benchParse(b *testing.B, names *Names) {
	r := testRules(b)
	r.Backoff, r.MaxHops, r.Names = backoffOf(b, "1s..1h"), 1000, names
	for name, control := range map[string][]kgo.RecordHeader{
		"none":      headers("x-other-1", "a", "ce_id", "b"),
		"number":    headers("x-delay", "30000", "x-deliver-to", "orders"),
		"go":        headers("x-delay", "1h30m", "x-deliver-to", "orders"),
		"iso":       headers("x-delay", "P1DT2H", "x-deliver-to", "orders"),
		"rfc3339":   headers("x-deliver-at", "2026-03-01T14:30:00.500+01:00", "x-deliver-to", "eu.orders"),
		"bigendian": headers("x-deliver-at", "\x01\x9c\xa9\x7b\xf8\x80", "x-deliver-to", "eu.orders"),
		"id":        headers("x-delay", "30000", "x-deliver-to", "orders", "x-delay-id", "01J9ZQ4N7E8W3X2K5M6P"),
		"expiry":    headers("x-delay", "30000", "x-deliver-to", "orders", "x-expire-at", "2026-03-01T14:30:00Z"),
		"auto":      headers("x-delay", "auto", "x-delay-attempt", "7", "layover-id", "delayed-0-17", "layover-due", "2026-03-01T13:00:00.000Z", "layover-hops", "7"),
		"backoff":   headers("x-delay", "1s..1h x1.5 jitter=20% max=16", "x-delay-attempt", "7"),
		"longest":   headers("x-delay", "1ns..6d x1.01 max=0", "x-delay-attempt", "3400"),
		"cancel":    headers("x-delay-id", "01J9ZQ4N7E8W3X2K5M6P", "x-delay-cancel", "true"),
	} {
		hs := append(headers("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate", "a=b", "ce_type", "order"), control...)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			record := &kgo.Record{Headers: hs, Value: []byte{}, Timestamp: time.UnixMilli(noon)}
			for b.Loop() {
				if _, inv := r.Parse(record, noon); inv != nil {
					b.Fatal(inv)
				}
			}
		})
	}
}

// What does a record of another product cost, with all presets?
func BenchmarkParseMapped(b *testing.B) {
	names, err := NewNames(nil, Presets())
	if err != nil {
		b.Fatal(err)
	}
	r := testRules(b)
	r.Names = names
	for name, mapped := range map[string][]kgo.RecordHeader{
		"spring":    headers("retry_topic-backoff-timestamp", "\x01\x9c\xa9\x7b\xf8\x80"),
		"etf1":      headers("scheduler-epoch", "1772370000", "scheduler-target-topic", "orders", "scheduler-target-key", "k"),
		"watermill": headers("_watermill_delayed_until", "2026-03-01T13:00:00Z", "_watermill_delayed_for", "1h0m0s"),
		"http":      headers("retry-after", "Sun, 01 Mar 2026 13:00:00 GMT"),
		"http850":   headers("retry-after", "Sunday, 01-Mar-26 13:00:00 GMT"),
	} {
		hs := append(headers("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate", "a=b", "ce_type", "order"), mapped...)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			record := &kgo.Record{Key: []byte("order-1"), Value: []byte{}, Headers: hs, Timestamp: time.UnixMilli(noon)}
			for b.Loop() {
				if _, inv := r.Parse(record, noon); inv != nil {
					b.Fatal(inv)
				}
			}
		})
	}
}

// What do the headers of a delivery cost, as a lane fills them: all, by default, or what
// LAYOVER_ADDED_HEADERS leaves of them? Nothing is allocated. None is the floor: what a record
// had is passed on, and a count of 0 says that it was delivered. Times are formatted where they
// are wanted alone, so that id is near to that.
func BenchmarkAppendDelivered(b *testing.B) {
	in := headers("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "x-delay", "30000", "ce_type", "order")
	for name, added := range map[string]Added{"all": AddAll, "id": AddID, "none": 0} {
		b.Run(name, func(b *testing.B) {
			r, dst, text := &Rules{LeaveOut: AddAll &^ added}, make([]kgo.RecordHeader, 0, 20), make([]byte, 0, 200)
			b.ReportAllocs()
			for b.Loop() {
				r.AppendDelivered(dst, in, origin, noon, Whole, &text)
			}
		})
	}
}
