package purgatory

// Bounds are the upper bounds of a histogram's buckets, in its unit, inclusive.
type Bounds [15]int64

// The bounds of all histograms: of durations that should be short, of delays, and of attempts,
// which count in ones and not in milliseconds.
var (
	LatenessBounds = Bounds{1, 2, 5, 10, 20, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000}
	DelayBounds    = Bounds{1000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 1_800_000,
		3_600_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 604_800_000, 2_592_000_000}
	AttemptBounds = Bounds{1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 50, 100, 1000, 10_000}
)

// Histogram counts durations in milliseconds, or attempts.
type Histogram struct {
	Buckets [len(Bounds{}) + 1]uint64 // not cumulative; the last is above all bounds
	SumMs   int64
	Count   uint64
}

func (h *Histogram) observe(bounds *Bounds, ms int64) {
	i := 0
	for i < len(bounds) && ms > bounds[i] {
		i++
	}
	h.Buckets[i]++
	h.Count++
	h.SumMs += ms
}

// Add adds the counts of another one, of the same bounds.
func (h *Histogram) Add(other *Histogram) {
	for i, n := range other.Buckets {
		h.Buckets[i] += n
	}
	h.SumMs += other.SumMs
	h.Count += other.Count
}

// histogramIn returns the histogram of a label, which stays the same.
func histogramIn(m map[string]*Histogram, label string) *Histogram {
	h := m[label]
	if h == nil {
		h = new(Histogram)
		m[label] = h
	}
	return h
}

func cloneHistograms(m map[string]*Histogram) map[string]*Histogram {
	out := make(map[string]*Histogram, len(m))
	for k, v := range m {
		h := *v
		out[k] = &h
	}
	return out
}
