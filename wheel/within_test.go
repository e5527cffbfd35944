package wheel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"layover/verify/long"
)

func TestWithinCountsByWhenRecordsAreDue(t *testing.T) {
	for name, g := range map[string]Geometry{
		"tiny": {TickMs: 1, Slots: 4, Factor: 2, Levels: 3}, "coarse ticks": {TickMs: 10, Slots: 8, Factor: 4, Levels: 3}, "usual": DefaultGeometry(),
	} {
		for what, cancels := range map[string]int{"": 0, ", some cancelled": 1} {
			t.Run(name+what, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(3, 4))
				w := New(1000, g)
				parked := map[uint64]int64{}
				now := int64(1000)
				for step := range long.Of(5000, 1500) {
					for range rnd.IntN(4) {
						ms := (now + 1 + rnd.Int64N(1<<rnd.IntN(44)) + g.TickMs) / g.TickMs * g.TickMs
						payload := rnd.Uint64()
						h := w.Add(ms, payload)
						if rnd.IntN(8) < cancels {
							w.Cancel(h)
						} else {
							parked[payload] = ms
						}
					}
					if step%3 == 0 {
						now += rnd.Int64N(1 << rnd.IntN(30))
						due, _ := w.AdvanceClock(now, 1+rnd.IntN(50), nil) // leaves buckets half emptied
						for _, p := range due {
							delete(parked, p)
						}
					}
					checkWithin(t, w, parked, now, rnd)
				}
			})
		}
		t.Run(name+", some taken", func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(5, 6))
			w := New(1000, g)
			parked := map[uint64]int64{}
			for range 3000 {
				ms := (1001 + rnd.Int64N(1<<rnd.IntN(36)) + g.TickMs) / g.TickMs * g.TickMs
				payload := rnd.Uint64()
				w.Add(ms, payload)
				parked[payload] = ms
			}
			for range 60 {
				taken, _ := w.TakeFarthest(1000+rnd.Int64N(1<<rnd.IntN(36)), 1+rnd.IntN(100), func(payload uint64) bool { return payload%4 > 0 }, nil)
				for _, p := range taken {
					delete(parked, p)
				}
				checkWithin(t, w, parked, 1000, rnd)
			}
		})
	}
}

func checkWithin(t *testing.T, w *TimingWheel, parked map[uint64]int64, now int64, rnd *rand.Rand) {
	t.Helper()
	instants := []int64{now, now + 1000, now + rnd.Int64N(1<<rnd.IntN(44)), now + 86_400_000, math.MaxInt64}
	slices.Sort(instants)
	got, want := make([]int64, len(instants)), make([]int64, len(instants))
	w.Within(instants, got)
	for _, ms := range parked {
		for i, instant := range instants {
			if ms <= instant {
				want[i]++
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("due by %d: got %d, want %d", instants, got, want)
	}
}

// Where more records are in a bucket than may be looked at, the count is in
// proportion to the time. The count of records in other buckets stays exact.
func TestWithinSpreadsWhatItMayNotLookAt(t *testing.T) {
	w := New(0, DefaultGeometry())
	const hour, n = int64(3_600_000), 10 * withinLooks
	first := 10 * hour
	for i := range int64(n) {
		w.Add(first+i*10*hour/n, uint64(i)) // evenly over ten hours, in buckets of 70 minutes
	}
	w.Add(hour/2, n)
	counts := make([]int64, 5)
	w.Within([]int64{hour, first + hour, first + 5*hour, first + 9*hour, 30 * hour}, counts)
	if counts[0] != 1 || counts[4] != n+1 {
		t.Errorf("got %d, want 1 within the hour and %d in all", counts, n+1)
	}
	for i, share := range map[int]float64{1: 0.1, 2: 0.5, 3: 0.9} {
		if want := share * n; math.Abs(float64(counts[i])-want) > want*0.02+n*0.01 {
			t.Errorf("instant %d: got %d, want about %.0f", i, counts[i], want)
		}
	}
	if !slices.IsSorted(counts) {
		t.Errorf("%d does not rise", counts)
	}
}

// TestWithinCountsWhatIsDueAfterAllInstants in none, and leaves out a single cancelled record.
func TestWithinCountsWhatIsDueAfterAllInstants(t *testing.T) {
	for _, farMs := range []int64{1500, 10_000, 1 << 44, math.MaxInt64} {
		w := New(0, DefaultGeometry())
		for i := range uint64(10) {
			w.Add(1000+int64(i), i)
			w.Add(farMs, i)
		}
		cancelled := w.Add(1200, 99)
		counts := []int64{77, 77, 77}
		for _, want := range [][]int64{{0, 5, 11}, {0, 5, 10}} {
			if w.Within([]int64{999, 1004, 1300}, counts); !slices.Equal(counts, want) {
				t.Errorf("with others for %d: got %d, want %d", farMs, counts, want)
			}
			w.Cancel(cancelled)
		}
	}
	w := New(0, DefaultGeometry())
	counts := []int64{77, 77}
	if w.Within([]int64{1, 2}, counts); !slices.Equal(counts, []int64{0, 0}) {
		t.Errorf("an empty wheel has %d", counts)
	}
	w.Within(nil, nil)
}

// TestWithinSpreadsEvenlyToTheRecord, over the ticks of the bucket that an instant cuts.
func TestWithinSpreadsEvenlyToTheRecord(t *testing.T) {
	const width, start, each = int64(2048), int64(10 * 2048), int64(40) // more than may be looked at
	w := New(0, DefaultGeometry())
	for tick := range width {
		for i := range uint64(each) {
			w.Add(start+tick, i)
		}
	}
	instants := []int64{start - 1, start, start + 99, start + width/2 - 1, start + width - 2, start + width - 1, start + width}
	counts, want := make([]int64, len(instants)), []int64{0, each, 100 * each, width / 2 * each, (width - 1) * each, width * each, width * each}
	if w.Within(instants, counts); !slices.Equal(counts, want) {
		t.Errorf("got %d, want %d", counts, want)
	}
}

// How long does it take to count ten million parked records by when they are due?
func BenchmarkWithin(b *testing.B) {
	w := New(0, DefaultGeometry())
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range uint64(10_000_000) {
		w.Add(1+rnd.Int64N(86_400_000), i)
	}
	counts := make([]int64, 7)
	for b.Loop() {
		w.Within([]int64{1000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000}, counts)
	}
}
