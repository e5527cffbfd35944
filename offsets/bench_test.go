package offsets

import (
	"math/rand/v2"
	"testing"
)

// coin finishes each of the n offsets above low with even odds: the set that
// takes most to write.
func coin(n int64) *Window {
	rng := rand.New(rand.NewPCG(1, 2))
	w := NewWindow(0)
	for offset := int64(1); offset <= n; offset++ {
		if rng.IntN(2) == 0 {
			w.Finish(offset)
		}
	}
	return w
}

// every finishes one offset in each stride, from 1 to n.
func every(stride, n int64) *Window {
	w := NewWindow(0)
	for offset := int64(1); offset < n; offset += stride {
		w.Finish(offset)
	}
	return w
}

// BenchmarkFinish asks what one delivered record costs. Records finish in the
// order of the log, and without any order in windows of ten thousand to ten
// million, where memory is the limit.
func BenchmarkFinish(b *testing.B) {
	b.Run("in-order", func(b *testing.B) {
		w := NewWindow(0)
		for b.Loop() {
			w.Finish(w.Low())
		}
	})
	for name, n := range map[string]int64{"scattered-1e4": 1e4, "scattered-1e6": 1e6, "scattered-1e7": 1e7} {
		b.Run(name, func(b *testing.B) {
			const stride = 6_700_417
			w, i := NewWindow(0), int64(0)
			for b.Loop() {
				if i++; i == n { // All but low is finished: go on behind it.
					w.Finish(w.Low())
					i = 1
				}
				w.Finish(w.Low() + i*stride%n)
			}
		})
	}
}

// BenchmarkFinishBehindStragglers asks what a search costs that the layout
// does not answer at once: every other page of ten million offsets is full.
func BenchmarkFinishBehindStragglers(b *testing.B) {
	const n = 10_000_000
	w := NewWindow(0)
	for page := int64(1); page < n/pageSize; page += 2 {
		w.FinishRange(page*pageSize, (page+1)*pageSize)
		w.Finish((page + 1) * pageSize)
	}
	i := int64(0)
	for b.Loop() {
		i = (i + 6_700_417) % n
		w.Finished(i)
	}
}

// BenchmarkFinishRange asks whether reading past a gap of a billion offsets
// costs more than reading past a short one.
func BenchmarkFinishRange(b *testing.B) {
	for name, length := range map[string]int64{"10": 10, "1e9": 1e9} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				NewWindow(0).FinishRange(1, 1+length)
			}
		})
	}
}

// BenchmarkEncode asks what a partition's commit costs each second. It
// encodes ten million undecided offsets, of which the text takes the first; a
// straggler for each million; and nothing above low.
func BenchmarkEncode(b *testing.B) {
	stragglers := NewWindow(0)
	for offset := int64(0); offset < 1e9; offset += 1e6 {
		stragglers.FinishRange(offset+1, offset+1e6)
	}
	for name, w := range map[string]*Window{"coin-1e7": coin(1e7), "stragglers-1e9": stragglers, "empty": NewWindow(0)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var encoded Encoded
			for b.Loop() {
				encoded = w.Encode(testIdentity, MaxMetadata)
			}
			b.ReportMetric(float64(encoded.Covered), "covered")
		})
	}
}

// BenchmarkDecode asks what a partition costs at assignment. It reads texts of
// the default limit and of the longest that is looked at. They have the most
// runs, or the most pages, which is the worst that a few bytes can do.
func BenchmarkDecode(b *testing.B) {
	runs, pages := coin(1_000_000), every(pageSize, 1<<28)
	for name, metadata := range map[string]string{
		"runs-4096":   runs.Encode(testIdentity, MaxMetadata).Metadata,
		"runs-65536":  runs.Encode(testIdentity, maxText).Metadata,
		"pages-4096":  pages.Encode(testIdentity, MaxMetadata).Metadata,
		"pages-65536": pages.Encode(testIdentity, maxText).Metadata,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(metadata, testIdentity, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
