package runs

import (
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func newFlush(testing.TB) *modelRun {
	return newModel(rand.New(rand.NewPCG(13, 14)), 0, 64_000, 5, shapes["uniform"])
}

// BenchmarkCopy asks what the header adds to a record of 100 bytes that is moved, and to
// one that is read back. Each has two headers of its own.
func BenchmarkCopy(b *testing.B) {
	c, key, value := usualCopy(), make([]byte, 16), make([]byte, 100)
	own := []kgo.RecordHeader{{Key: "x-delay", Value: []byte("30d")}, {Key: "traceparent", Value: make([]byte, 55)}}
	headers, buf := append(make([]kgo.RecordHeader, 0, 4), own...), make([]byte, 0, MaxHeader)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			AppendCopy(headers, buf, testID, &c, key, value)
		}
	})
	copied, _ := AppendCopy(headers, nil, testID, &c, key, value)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := ReadCopy(testID, key, value, copied); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDirectory asks what a flush and an assignment pay for the most runs there can
// be. It also asks what each look at the amount that is due costs.
func BenchmarkDirectory(b *testing.B) {
	d := usualDirectory(b, MaxRuns, 0, 1)
	value, err := AppendDirectory(nil, testID, &d)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append", func(b *testing.B) {
		for b.Loop() {
			AppendDirectory(value[:0], testID, &d)
		}
		b.ReportMetric(float64(len(value))/MaxRuns, "bytes/run")
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			ReadDirectory(testID, nil, value, nil)
		}
	})
	b.Run("due", func(b *testing.B) {
		for b.Loop() {
			d.DueBy(1_791_000_000_000)
		}
	})
}
