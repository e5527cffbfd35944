package delay

import (
	"math"
	"math/big"
	"regexp"

	"github.com/twmb/franz-go/pkg/kgo"
)

var modelIDText = regexp.MustCompile(`^\P{Cc}+$`)

// modelID converts to runes and back, which changes what is no UTF-8.
func modelID(id []byte) bool {
	return len(id) >= 1 && len(id) <= 256 && modelIDText.MatchString(string(id)) && string([]rune(string(id))) == string(id)
}

// modelCancel returns the reason of a record with x-delay-cancel; empty for a valid one.
func modelCancel(last map[string][]byte) Reason {
	id, has := last["x-delay-id"]
	if string(last["x-delay-cancel"]) != "true" || !has {
		return "malformed_cancel"
	}
	for _, name := range []string{"x-delay", "x-deliver-at", "x-deliver-to", "x-expire-at"} {
		if _, beside := last[name]; beside {
			return "malformed_cancel"
		}
	}
	if !modelID(id) {
		return "malformed_id"
	}
	return ""
}

// modelExpiry returns the expiry of a valid record in Unix milliseconds; nil: it has none.
func modelExpiry(r *Rules, headers []kgo.RecordHeader, deadline *big.Int) *big.Int {
	last := modelLast(headers)
	if value, has := last["x-expire-at"]; has {
		ms, _ := modelInstant(value, false)
		return big.NewInt(max(ms, minInstantMs))
	}
	if r.ExpireAfter <= 0 {
		return nil
	}
	after := new(big.Int).Add(deadline, big.NewInt(modelCeilMs(r.ExpireAfter)))
	if !after.IsInt64() {
		after.SetInt64(math.MaxInt64)
	}
	if after.Cmp(deadline) <= 0 { // no clock ever gets to either
		return nil
	}
	return after
}
