package delay

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func mustTargets(t testing.TB, egress string, allowed, denied []string) *Targets {
	t.Helper()
	targets, err := NewTargets(egress, allowed, denied, nil)
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

// headers makes headers of pairs of name and value.
func headers(pairs ...string) []kgo.RecordHeader {
	var hs []kgo.RecordHeader
	for i := 0; i < len(pairs); i += 2 {
		hs = append(hs, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return hs
}

// parse is Parse of a record of which only headers and timestamp matter.
func (r *Rules) parse(headers []kgo.RecordHeader, timestampMs, nowMs int64) (Decision, *Invalid) {
	return r.Parse(&kgo.Record{Headers: headers, Timestamp: time.UnixMilli(timestampMs)}, nowMs)
}
