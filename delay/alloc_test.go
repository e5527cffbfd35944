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
	r.Backoff, r.MaxHops = backoffOf(t, "1s..1h"), 1000
	guard(t, r, headers("x-delay", "auto", "x-delay-attempt", "15", "layover-id", "delayed-0-1", "layover-due", "2026-03-01T13:30:00.000Z", "layover-hops", "15"))
	guard(t, r, headers("x-delay", "1s..1h x1.5 jitter=20% max=16"))
	r.TopicBackoff = r.Backoff
	guard(t, r, headers("x-delay-attempt", "15"))
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
	allocs := testing.AllocsPerRun(100, func() { new(Rules).AppendDelivered(dst, in, origin, noon, Whole, nil) })
	if allocs != 1 {
		t.Errorf("%v allocations", allocs)
	}
	r := &Rules{TopicBackoff: backoffOf(t, "1s..1h")}
	retried := headers("a", "b", "x-delay-attempt", "3", "layover-id", "delayed-0-1", "layover-hops", "3")
	if allocs = testing.AllocsPerRun(100, func() { r.AppendDelivered(dst, retried, origin, noon, Whole, nil) }); allocs != 1 {
		t.Errorf("%v allocations for a retry", allocs)
	}
	var text []byte
	if allocs = testing.AllocsPerRun(100, func() { new(Rules).AppendDelivered(dst, in, origin, noon, Whole, &text) }); allocs != 0 {
		t.Errorf("%v allocations with text to write over", allocs)
	}
	for _, leaveOut := range []Added{AddAll, AddDue | AddOriginalTimestamp} {
		r.LeaveOut = leaveOut
		for _, one := range [][]kgo.RecordHeader{in, retried} {
			if allocs = testing.AllocsPerRun(100, func() { r.AppendDelivered(dst, one, origin, noon, Whole, &text) }); allocs != 0 {
				t.Errorf("%v allocations without %s", allocs, leaveOut)
			}
		}
	}
	fresh := headers("a", "b", "x-delay", "5s")
	if allocs = testing.AllocsPerRun(100, func() { new(Rules).AppendDelivered(dst, fresh, origin, noon, Bare, nil) }); allocs != 0 {
		t.Errorf("%v allocations where nothing is stamped", allocs)
	}
}
