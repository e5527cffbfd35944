//go:build !race

package runs

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestACopyAllocatesNothing holds what is called for each record to no memory at all. The
// race detector allocates.
func TestACopyAllocatesNothing(t *testing.T) {
	c, r := usualCopy(), usualRecord()
	headers, buf := make([]kgo.RecordHeader, 0, 8), make([]byte, 0, MaxHeader)
	headers = append(headers, r.headers...)
	m := made(testID, c, r)
	run := newFlush(t).run(t, 1, 2)
	for name, call := range map[string]func(){
		"AppendCopy": func() { AppendCopy(headers, buf, testID, &c, r.key, r.value) },
		"ReadCopy":   func() { ReadCopy(testID, m.key, m.value, m.headers) },
		"no copy":    func() { ReadCopy(testID, m.key, m.value, r.headers[:1]) },
		"DueBy":      func() { run.DueBy(run.EarliestMs + 1); run.Next(); run.Begin(5); run.End(5) },
	} {
		if got := testing.AllocsPerRun(1000, call); got > 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
