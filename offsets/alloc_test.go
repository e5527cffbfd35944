//go:build !race

package offsets

import "testing"

// TestAllocations holds what is called for each record, and each second for
// each partition, to the memory it needs. The race detector allocates too.
func TestAllocations(t *testing.T) {
	const n = 1 << 20
	scattered, inOrder, full := NewWindow(0), NewWindow(0), coin(100_000)
	scatter(scattered, n)
	at := scattered.Low()
	for name, test := range map[string]struct {
		most float64
		call func()
	}{
		"Finish in the order of the log": {0, func() { inOrder.Finish(inOrder.Low()) }},
		"Finish in a page that is there": {0, func() { at += 4097; scattered.Finish(at % n) }},
		"questions": {0, func() {
			at += 4097
			scattered.Finished(at % n)
			scattered.NextUnfinished(at % n)
			scattered.Highest()
			scattered.Bytes()
		}},
		// Encode: the body, the text, the text as a string, bytes for sums, and what
		// goes through the runs.
		// FinishRange: the pages at both ends, and a table growing to three.
		"Encode":                {9, func() { full.Encode(testIdentity, MaxMetadata) }},
		"FinishRange of 10^9":   {5, func() { new(Window).FinishRange(1, 1e9) }},
		"Decode of the empty":   {1, func() { Decode("", testIdentity, 5) }},
		"FinishRange below low": {0, func() { scattered.FinishRange(-5, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			if got := testing.AllocsPerRun(1000, test.call); got > test.most {
				t.Errorf("%v allocations, want at most %v", got, test.most)
			}
		})
	}
}
