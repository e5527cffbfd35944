package facts

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"layover/offsets"
)

const million = 1_000_000

// perRecord makes the time of an iteration that of one of its n records.
func perRecord(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
}

// BenchmarkFinish asks what the journal adds to a delivered record, in time and in
// memory. Ten million offsets finish in no order, with a commit for each 20,000. They
// finish in a window alone, as without a journal, and in one with a writer beside it.
// The time of making the order is to be taken off both.
func BenchmarkFinish(b *testing.B) {
	const n, second = 10 * million, 20_000
	run := func(b *testing.B, finish func(int64), commit func()) {
		i := 0
		shuffled(n, func(o int64) {
			if o > 0 { // holds the low offset
				finish(o)
			}
			if i++; i%second == 0 {
				commit()
			}
		})
	}
	b.Run("order", func(b *testing.B) {
		sum := int64(0)
		for b.Loop() {
			run(b, func(o int64) { sum += o }, func() {})
		}
		perRecord(b, n)
	})
	b.Run("metadata", func(b *testing.B) {
		var most int64
		for b.Loop() {
			w := offsets.NewWindow(0)
			run(b, func(o int64) { w.Finish(o) }, func() {
				most = max(most, w.Bytes())
				w.Encode(testID.Identity, offsets.MaxMetadata)
			})
		}
		perRecord(b, n)
		b.ReportMetric(float64(most)*8/n, "bits/offset")
	})
	b.Run("journal", func(b *testing.B) {
		var most int64
		for b.Loop() {
			bed := newBed(offsets.NewWindow(0))
			bed.before = func() { most = max(most, bed.w.Bytes()+bed.l.Bytes()) }
			run(b, bed.finish, bed.commit)
		}
		perRecord(b, n)
		b.ReportMetric(float64(most)*8/n, "bits/offset")
	})
}

// half finishes every other of the n offsets above low, by chance.
func half(n int64) *offsets.Window {
	w, i := offsets.NewWindow(0), int64(0)
	shuffled(n, func(o int64) {
		if i++; i%2 == 0 && o > 0 {
			w.Finish(o)
		}
	})
	return w
}

// BenchmarkAdvance asks what it costs that the low offset moves, in ten million
// offsets. It moves by one step over all of them, when the offset that held it
// finishes last. It also moves by many steps over a set of which half is finished.
func BenchmarkAdvance(b *testing.B) {
	const n = 10 * million
	b.Run("at once", func(b *testing.B) {
		var spent time.Duration
		for b.Loop() {
			bed := newBed(offsets.NewWindow(0))
			bed.w.FinishRange(1, n)
			began := time.Now()
			bed.finish(0)
			spent += time.Since(began)
		}
		b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/op")
	})
	b.Run("bit by bit", func(b *testing.B) {
		var spent time.Duration
		for b.Loop() {
			bed := newBed(half(n))
			bed.settle()
			began := time.Now()
			for bed.w.Low() < n-1 {
				bed.finish(bed.w.Low())
			}
			spent += time.Since(began)
		}
		b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/n, "ns/offset")
	})
}

// BenchmarkCommit asks what a commit costs the lane of a partition with ten million
// offsets in its window, half of them finished. As many as the name says have
// finished since the last commit. The cost is of all cuts since then and of the
// encoding. Beside it: metadata alone, and the whole set written at once.
func BenchmarkCommit(b *testing.B) {
	const n = 10 * million
	w := half(n)
	b.Run("metadata", func(b *testing.B) {
		for b.Loop() {
			w.Encode(testID.Identity, offsets.MaxMetadata)
		}
	})
	for _, news := range []int64{1, 1000, 20_000} {
		b.Run(fmt.Sprintf("journal-%d", news), func(b *testing.B) {
			bed := newBed(w)
			bed.settle()
			bed.busy, bed.longest = 0, 0
			was, commits, rng := bed.l.Status().Stats, 0, rand.New(rand.NewPCG(1, 1))
			for ; b.Loop(); commits++ {
				// The writer is told again of what is finished: otherwise all would be, before
				// there are enough commits.
				for told := int64(0); told < news; {
					if o := rng.Int64N(n); o > 0 && w.Finished(o) {
						bed.note(o)
						told++
					}
				}
				bed.commit()
			}
			b.ReportMetric(float64(bed.busy.Nanoseconds())/float64(commits), "ns/op")
			b.ReportMetric(float64(bed.longest.Microseconds()), "longest-µs")
			s := bed.l.Status().Stats
			b.ReportMetric(float64(s.Bytes-was.Bytes)/float64(commits), "journal-B/op")
			b.ReportMetric(float64(commits)/float64(max(s.Snapshots-was.Snapshots, 1)), "commits/snapshot")
		})
	}
	b.Run("snapshot", func(b *testing.B) {
		var busy, longest time.Duration
		var bytes int64
		for b.Loop() {
			bed := newBed(w)
			bed.settle()
			busy, longest, bytes = busy+bed.busy, max(longest, bed.longest), bed.l.Status().Stats.Bytes
		}
		b.ReportMetric(float64(busy.Nanoseconds())/float64(b.N), "ns/op")
		b.ReportMetric(float64(longest.Microseconds()), "longest-µs")
		b.ReportMetric(float64(bytes), "journal-B/op")
	})
}

// BenchmarkRead asks how long a start reads a journal that is all in memory. The
// journal is of five million offsets, of which one in ten is unfinished. Beside it:
// the same set from a list of runs, which is what a window takes by itself.
func BenchmarkRead(b *testing.B) {
	const n, second = 5 * million, 20_000
	bed := newBed(offsets.NewWindow(0))
	bed.keep = true
	i := 0
	shuffled(n, func(o int64) {
		if i++; o > 0 && i%10 > 0 {
			bed.finish(o)
		}
		if i%second == 0 {
			bed.commit()
		}
	})
	bed.commit()
	want := bed.w
	b.Run("journal", func(b *testing.B) {
		size := 0
		for b.Loop() {
			w, ext, err := offsets.DecodeAll(bed.last.Metadata, testID.Identity, bed.last.Offset)
			if err != nil {
				b.Fatal(err)
			}
			u := NewReader(testID, w, 5, n, ext.Journal)
			size = 0
			for at, value := range bed.log {
				size += len(value)
				if err := u.Add(bed.start+int64(at), value, func(int32) (int64, error) { return n, nil }); err != nil {
					b.Fatal(err)
				}
			}
			if err := u.Complain(testTopic, bed.start, bed.next); err != nil || w.Above() != want.Above() || w.Runs() != want.Runs() {
				b.Fatalf("%d above in %d runs, want %d in %d: %v", w.Above(), w.Runs(), want.Above(), want.Runs(), err)
			}
		}
		b.SetBytes(int64(size))
		b.ReportMetric(float64(size), "journal-B")
		b.ReportMetric(float64(len(bed.log)), "records")
	})
	b.Run("runs", func(b *testing.B) {
		var rs []Run
		want.Each(func(from, to int64) bool { rs = append(rs, Run{from, to}); return true })
		for b.Loop() {
			w := offsets.NewWindow(0)
			for _, r := range rs {
				w.FinishRange(r.From, r.To)
			}
		}
	})
}

// BenchmarkJournal asks what the journal takes for each delivered record. Delays are
// random, as many records as the name says finish each second, and there is a commit
// a second. It counts the bytes of facts and snapshots together, the most that a
// reader would have to read, and bits of memory. Beside it: the characters of the
// commits' metadata, and those that they would have without a journal.
func BenchmarkJournal(b *testing.B) {
	for _, rate := range []int{1000, 10_000, 100_000} {
		for _, window := range []int64{100_000, million, 10 * million} {
			b.Run(fmt.Sprintf("%d-a-second/window-%d", rate, window), func(b *testing.B) {
				for b.Loop() {
					flowThrough(b, rate, window)
				}
			})
		}
	}
}

func flowThrough(b *testing.B, rate int, window int64) {
	bed, s, i := newBed(offsets.NewWindow(0)), newSteady(window), 0
	var most, alone int64
	bed.before = func() {
		most = max(most, bed.w.Bytes()+bed.l.Bytes())
		alone += int64(len(bed.w.Encode(testID.Identity, offsets.MaxMetadata).Metadata))
	}
	run := func(steps int64) {
		for range steps {
			s.step(bed.finish)
			if i++; i%rate == 0 {
				bed.commit()
			}
		}
	}
	run(window) // until all is as it stays
	was, said, records := bed.l.Status().Stats, bed.said, max(window, 2*million)
	bed.live, most, alone = 0, 0, 0
	run(records)
	st := bed.l.Status().Stats
	b.ReportMetric(float64(st.Bytes-was.Bytes)/float64(records), "journal-B/record")
	b.ReportMetric(float64(bed.said-said)/float64(records), "metadata-B/record")
	b.ReportMetric(float64(alone)/float64(records), "metadata-alone-B/record")
	b.ReportMetric(float64(records)/float64(max(st.Snapshots-was.Snapshots, 1)), "records/snapshot")
	b.ReportMetric(float64(bed.live), "live-B")
	b.ReportMetric(float64(most)*8/float64(window), "bits/offset")
}
