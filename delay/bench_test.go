package delay

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// How much of a record's time in intake does deciding about it take, with two
// control headers behind three of others? It is to stay below 200 ns on a core
// of its own, so that one core decides about millions of records a second.
func BenchmarkParse(b *testing.B) {
	r := testRules(b)
	for name, control := range map[string][]kgo.RecordHeader{
		"none":      headers("x-other-1", "a", "ce_id", "b"),
		"number":    headers("x-delay", "30000", "x-deliver-to", "orders"),
		"go":        headers("x-delay", "1h30m", "x-deliver-to", "orders"),
		"iso":       headers("x-delay", "P1DT2H", "x-deliver-to", "orders"),
		"rfc3339":   headers("x-deliver-at", "2026-03-01T14:30:00.500+01:00", "x-deliver-to", "eu.orders"),
		"bigendian": headers("x-deliver-at", "\x01\x9c\xa9\x7b\xf8\x80", "x-deliver-to", "eu.orders"),
		"id":        headers("x-delay", "30000", "x-deliver-to", "orders", "x-delay-id", "01J9ZQ4N7E8W3X2K5M6P"),
		"expiry":    headers("x-delay", "30000", "x-deliver-to", "orders", "x-expire-at", "2026-03-01T14:30:00Z"),
		"cancel":    headers("x-delay-id", "01J9ZQ4N7E8W3X2K5M6P", "x-delay-cancel", "true"),
	} {
		hs := append(headers("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate", "a=b", "ce_type", "order"), control...)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			record := &kgo.Record{Headers: hs, Timestamp: time.UnixMilli(noon)}
			for b.Loop() {
				if _, inv := r.Parse(record, noon); inv != nil {
					b.Fatal(inv)
				}
			}
		})
	}
}

// What does stamping cost a delivered record, beside its allocation?
func BenchmarkAppendDelivered(b *testing.B) {
	in, dst := mixed(), make([]kgo.RecordHeader, 0, 20)
	b.ReportAllocs()
	for b.Loop() {
		new(Rules).AppendDelivered(dst, in, origin, noon, false, nil)
	}
}
