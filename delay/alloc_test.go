//go:build !race

package delay

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// The race detector allocates, so that these run without it.

func TestParseOfAValidRecordAllocatesNothing(t *testing.T) {
	r := testRules(t)
	for _, value := range []string{"30000", "1d12h", "PT1.5S", "\x00\x00\x00\x00\x00\x00\x05\xdc"} {
		guard(t, r, headers("traceparent", "00-1-1-01", "X-Delay", value, "x-deliver-to", "eu.orders", "a", "b"))
	}
	for _, value := range []string{"2026-03-01T14:30:00.5+01:00", "1772373600000", "\x01\x9c\xa9\x7b\xf8\x80"} {
		guard(t, r, headers("x-deliver-at", value, "x-deliver-to", "orders"))
	}
	guard(t, r, nil)
	r.ExpireAfter = time.Hour
	guard(t, r, headers("X-Delay-ID", "größe-1", "x-delay", "30s", "x-expire-at", "2026-03-01T14:30:00.5+01:00"))
	guard(t, r, headers("x-delay-id", "order-1", "x-delay-cancel", "true", "layover-cancel-of", "order-1/3"))
}

func guard(t *testing.T, r *Rules, hs []kgo.RecordHeader) {
	t.Helper()
	allocs := testing.AllocsPerRun(100, func() {
		if _, inv := r.parse(hs, noon, noon); inv != nil {
			t.Fatal(inv)
		}
	})
	if allocs != 0 {
		t.Errorf("%q: %v allocations", hs, allocs)
	}
}

func TestAppendDeliveredAllocatesItsTextAtMost(t *testing.T) {
	in, dst := mixed(), make([]kgo.RecordHeader, 0, 20)
	allocs := testing.AllocsPerRun(100, func() { new(Rules).AppendDelivered(dst, in, origin, noon, false, nil) })
	if allocs != 1 {
		t.Errorf("%v allocations", allocs)
	}
	var text []byte
	if allocs = testing.AllocsPerRun(100, func() { new(Rules).AppendDelivered(dst, in, origin, noon, false, &text) }); allocs != 0 {
		t.Errorf("%v allocations with text to write over", allocs)
	}
	if allocs = testing.AllocsPerRun(100, func() { new(Rules).AppendDelivered(dst, in, origin, noon, true, nil) }); allocs != 0 {
		t.Errorf("%v allocations where nothing is stamped", allocs)
	}
}
