package delay

import (
	"strings"
	"testing"
)

var (
	controlNames = []string{"x-delay", "x-deliver-at", "x-deliver-to", "x-delay-id", "x-delay-cancel"}
	stampedNames = []string{"layover-id", "layover-due", "layover-original-timestamp", "layover-hops"}
	errorNames   = []string{
		"layover.errors.topic", "layover.errors.partition", "layover.errors.offset", "layover.errors.group",
		"layover.errors.reason", "layover.errors.message", "layover.errors.timestamp",
	}
	// Some letters alone have these.
	rareErrorNames = []string{"layover.errors.last_offset", "layover.errors.records", "layover.errors.value"}
)

func TestHeaderNamesAreKnownWithoutRegardToCase(t *testing.T) {
	classes := []struct {
		names []string
		is    func(string) bool
	}{{controlNames, IsControl}, {stampedNames, IsStamped}, {append(rareErrorNames, errorNames...), IsError}, {[]string{"x-expire-at"}, IsExpireAt}}
	for i, class := range classes {
		for _, name := range class.names {
			for _, spelt := range []string{name, strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:]} {
				for j, other := range classes {
					if got, want := other.is(spelt), i == j; got != want {
						t.Errorf("%q: class %d says %v, want %v", spelt, j, got, want)
					}
				}
			}
		}
	}
}

func TestHeaderNamesThatOnlyLookLikeOursAreTheUsers(t *testing.T) {
	names := []string{"", "x-dela", "x-delay ", "x_delay", "x-delays", "x-deliver", "x-deliver-as", "x-deliver-\x14o", "x\rdelay",
		"layover", "layover-", "layover-ID ", "layover-idx", "layover-dues", "layover-original-timestamps",
		"layover-original-time\u017ftamp", "layover-original-timeſtam", "layover.errors.", "layover.errors", "layover.errors.topics",
		"layover.errors.custom", "layover.errors.offsets", "layover.errors.values", "layover-errors-topic", "traceparent", "ce_id",
		"x-delay-ID ", "x-delay-ix", "x-delayid", "x-delay-cance", "x-delay-cancel ", "x-delay-cancell", "x-delay-canceled", "x-expire-ax", "x-expires-at", "x-expire", "layover-cancel-of"}
	for _, name := range names {
		if IsControl(name) || IsStamped(name) || IsError(name) || IsExpireAt(name) {
			t.Errorf("%q was taken for ours", name)
		}
	}
}

// kindOf looks at the length before the name, and two names share a case.
func TestDeliverAtAndDeliverToAreOfOneLength(t *testing.T) {
	if len(HeaderDeliverAt) != len(HeaderDeliverTo) {
		t.Fatal("x-deliver-to needs a case of its own in kindOf")
	}
}
