package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// monthWheel parks a million records over 30 days.
func monthWheel() *TimingWheel {
	w, r := New(0, DefaultGeometry()), rand.New(rand.NewPCG(1, 2))
	for i := range uint64(1_000_000) {
		w.Add(1+r.Int64N(30*86_400_000), i)
	}
	return w
}

// BenchmarkTakeFarthest compares taking a million records out, 4,096 a call, with one sweep,
// and reports the longest call. Wanted are all records, one in two, or none.
//
// Each call counts with the shortest of its times over the runs: other work of the machine
// does not count.
func BenchmarkTakeFarthest(b *testing.B) {
	const budget = 4096
	taken := make([]uint64, 0, budget)
	var calls []time.Duration
	timed := func(i int, call func()) {
		begin := time.Now()
		call()
		if took := time.Since(begin); i == len(calls) {
			calls = append(calls, took)
		} else {
			calls[i] = min(calls[i], took)
		}
	}
	run := func(b *testing.B, pass func(w *TimingWheel)) {
		calls = calls[:0]
		for range b.N {
			b.StopTimer()
			w := monthWheel()
			b.StartTimer()
			pass(w)
		}
		sum := time.Duration(0)
		for _, took := range calls {
			sum += took
		}
		b.ReportMetric(float64(sum.Nanoseconds())/1e6, "ns/record")
		b.ReportMetric(float64(slices.Max(calls).Microseconds()), "µs/longest-call")
	}
	for _, test := range []struct {
		name   string
		wanted func(payload uint64) bool
	}{{"all", everything}, {"half", func(payload uint64) bool { return payload&1 == 0 }}, {"none", nothing}} {
		b.Run("calls/"+test.name, func(b *testing.B) {
			run(b, func(w *TimingWheel) {
				more := true
				for i := 0; more; i++ {
					timed(i, func() { taken, more = w.TakeFarthest(0, budget, test.wanted, taken[:0]) })
				}
			})
		})
		b.Run("sweep/"+test.name, func(b *testing.B) {
			run(b, func(w *TimingWheel) { timed(0, func() { w.Sweep(test.wanted) }) })
		})
	}
}
