package runs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// modelRun is a run with every copy of it.
type modelRun struct {
	offsets, deadlines []int64
	bytes              int64
}

// shapes are how deadlines lie, in milliseconds from now.
var shapes = map[string]func(rng *rand.Rand) int64{
	"uniform":     func(rng *rand.Rand) int64 { return rng.Int64N(30 * 24 * 3_600_000) },
	"constant":    func(*rand.Rand) int64 { return 3_600_000 },
	"exponential": func(rng *rand.Rand) int64 { return int64(rng.ExpFloat64() * 6 * 3_600_000) },
	"99 % an hour, 1 % a month": func(rng *rand.Rand) int64 {
		if rng.IntN(100) > 0 {
			return 3_600_000 + rng.Int64N(60_000)
		}
		return 30*24*3_600_000 + rng.Int64N(60_000)
	},
	"a few ms":  func(rng *rand.Rand) int64 { return rng.Int64N(5) },
	"centuries": func(rng *rand.Rand) int64 { return rng.Int64N(1 << 50) },
	"two":       func(rng *rand.Rand) int64 { return rng.Int64N(2) * 1e9 },
}

// newModel makes a run of count copies from offset first on, with foreign of 1000 offsets
// that are none of its own.
func newModel(rng *rand.Rand, first int64, count int, foreign int, due func(*rand.Rand) int64) *modelRun {
	m := &modelRun{}
	for at := first; len(m.offsets) < count; at++ {
		if at > first && rng.IntN(1000) < foreign {
			continue
		}
		m.offsets = append(m.offsets, at)
		m.deadlines = append(m.deadlines, 1_790_000_000_000+due(rng))
		m.bytes += 1 + rng.Int64N(200)
	}
	slices.Sort(m.deadlines)
	return m
}

func (m *modelRun) at(i int64) (int64, int64) { return m.offsets[i], m.deadlines[i] }

func (m *modelRun) run(t testing.TB, writer, number uint64) Run {
	t.Helper()
	r, err := NewRun(writer, number, int64(len(m.offsets)), m.bytes, m.at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// dueBy counts the copies from index from on that are due at ms or before.
func (m *modelRun) dueBy(from int, ms int64) (n int64) {
	for _, d := range m.deadlines[from:] {
		if d <= ms {
			n++
		}
	}
	return n
}

// TestWhatIsDueLiesBetweenItsBounds compares runs with models that know every copy.
func TestWhatIsDueLiesBetweenItsBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for name, due := range shapes {
		t.Run(name, func(t *testing.T) {
			for range 300 {
				count := 1 + rng.IntN(1<<rng.IntN(12))
				foreign := []int{0, 0, 5, 500, 950}[rng.IntN(5)]
				m := newModel(rng, rng.Int64N(1<<40), count, foreign, due)
				r := m.run(t, 1, 1)
				for range 20 {
					at := rng.IntN(count)
					r.Position = m.offsets[at]
					ms := m.deadlines[rng.IntN(count)] + int64(rng.IntN(3)) - 1
					if rng.IntN(4) == 0 {
						ms = r.EarliestMs - 1 + rng.Int64N(r.LatestMs-r.EarliestMs+3)
					}
					m.compare(t, &r, at, ms)
					checkMost(t, &r, ms-rng.Int64N(1000), ms, ms, ms+rng.Int64N(1000), math.MaxInt64)
				}
			}
		})
	}
}

// checkMost holds what is said of several instants at once to what is said of each.
func checkMost(t *testing.T, r *Run, ms ...int64) {
	t.Helper()
	if _, all := r.DueBy(math.MaxInt64); r.Left() != all {
		t.Fatalf("%+v\n%+v are left, want %+v", *r, r.Left(), all)
	}
	most := make([]int64, len(ms))
	r.Most(ms, most)
	for i := range ms {
		if _, upper := r.DueBy(ms[i]); most[i] != upper.Copies || r.Share(most[i]) != upper.Bytes {
			t.Fatalf("%+v\ndue by %d: %d of %d bytes, want %+v", *r, ms[i], most[i], r.Share(most[i]), upper)
		}
	}
}

// compare holds the run, whose position is copy at, to the model at one instant.
func (m *modelRun) compare(t *testing.T, r *Run, at int, ms int64) {
	t.Helper()
	lower, upper := r.DueBy(ms)
	want := m.dueBy(at, ms)
	if lower.Copies > want || upper.Copies < want || lower.Copies < 0 || upper.Copies > r.Count {
		t.Fatalf("%+v\ndue by %d: %+v to %+v, want %d", *r, ms, lower, upper, want)
	}
	average := float64(r.Bytes) / float64(r.Count)
	if d := average*float64(lower.Copies) - float64(lower.Bytes); d < -0.01 || d > 1.01 {
		t.Fatalf("%+v of %d bytes in %d copies", lower, r.Bytes, r.Count)
	}
	if d := float64(upper.Bytes) - average*float64(upper.Copies); d < -0.01 || d > 1.01 {
		t.Fatalf("%+v of %d bytes in %d copies", upper, r.Bytes, r.Count)
	}
	if from, to := r.Next(); m.deadlines[at] < from || m.deadlines[at] > to || from != r.Soonest() {
		t.Fatalf("%+v\nnext from %d to %d, want %d", *r, from, to, m.deadlines[at])
	}
	begin, end := r.Begin(ms), r.End(ms)
	for i := at; i < len(m.offsets); i++ {
		if o, d := m.at(int64(i)); o < begin && d >= ms || o >= end && d <= ms {
			t.Fatalf("%+v\nvisit of %d from %d to %d, and the copy at %d is due at %d", *r, ms, begin, end, o, d)
		}
	}
	if begin < r.Position || begin > r.Last+1 || end < r.First || end > r.Last+1 {
		t.Fatalf("%+v\nvisit of %d from %d to %d", *r, ms, begin, end)
	}
}

// TestBoundsAreNear: bounds that are always right may still be useless.
func TestBoundsAreNear(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const count = 16_000
	for _, name := range []string{"uniform", "exponential"} {
		m := newModel(rng, 1000, count, 0, shapes[name])
		r := m.run(t, 1, 1)
		for range 10_000 {
			at := rng.IntN(count)
			r.Position = m.offsets[at]
			ms := m.deadlines[rng.IntN(count)]
			if lower, upper := r.DueBy(ms); upper.Copies-lower.Copies > count/8 {
				t.Fatalf("%s: %d to %d of %d copies by %d", name, lower.Copies, upper.Copies, count, ms)
			}
			if from, to := r.Next(); m.index(to)-m.index(from) > count/8 {
				t.Fatalf("%s: next from %d to %d", name, from, to)
			}
			if n := m.index(ms) - int(r.Begin(ms)-1000); n > count/8 && r.Begin(ms) > r.Position {
				t.Fatalf("%s: a visit begins %d copies early", name, n)
			}
			if n := int(r.End(ms)-1000) - m.index(ms); n > count/8 {
				t.Fatalf("%s: a visit ends %d copies late", name, n)
			}
		}
		for i := range 16 {
			r.Position = m.offsets[count/16*i]
			if from, to := r.Next(); m.index(to)-m.index(from) > count/16/4 {
				t.Errorf("%s: sixteenth %d begins from %d to %d", name, i, from, to)
			}
		}
		r.Position = r.First
		if from, to := r.Next(); from != m.deadlines[0] || to != from {
			t.Errorf("%s: first from %d to %d, want %d", name, from, to, m.deadlines[0])
		}
		lower, upper := r.DueBy(r.LatestMs)
		if want := (Amount{count, m.bytes}); lower != want || upper != want {
			t.Errorf("%s: %+v to %+v by the latest, want %+v", name, lower, upper, want)
		}
	}
}

// index returns how many copies are due before ms.
func (m *modelRun) index(ms int64) int {
	i, _ := slices.BinarySearch(m.deadlines, ms)
	return i
}

// TestADirectoryAddsUpItsRuns at every deadline, with the last copies of each left.
func TestADirectoryAddsUpItsRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var d Directory
	var models []*modelRun
	for i := range 20 {
		m := newModel(rng, int64(i)*10_000, 100+rng.IntN(900), 5, shapes["uniform"])
		models, d.Runs = append(models, m), append(d.Runs, m.run(t, 1, uint64(i)))
	}
	for ms := int64(1_790_000_000_000); ms < 1_790_000_000_000+31*24*3_600_000; ms += 3_600_000 {
		want := int64(0)
		for _, m := range models {
			want += m.dueBy(0, ms)
		}
		lower, upper := d.DueBy(ms)
		if lower.Copies > want || upper.Copies < want || lower.Bytes > upper.Bytes {
			t.Fatalf("by %d: %+v to %+v, want %d", ms, lower, upper, want)
		}
	}
	all, total := int64(0), int64(0)
	for _, m := range models {
		all, total = all+int64(len(m.offsets)), total+m.bytes
	}
	if lower, upper := d.DueBy(math.MaxInt64); lower != upper || lower != (Amount{all, total}) {
		t.Errorf("in the end %+v to %+v, want %d and %d", lower, upper, all, total)
	}
}

// TestSteps has every step, and distances around each.
func TestSteps(t *testing.T) {
	for c := range 256 {
		s := step(c)
		if stepOf(s.least()) != s || c > 0 && s.least() != step(c-1).most()+1 {
			t.Errorf("step %d begins at %d, and that is step %d", c, s.least(), stepOf(s.least()))
		}
		if s != openStep && (stepOf(s.most()) != s || s.most()-s.least() > s.least()/8) {
			t.Errorf("step %d: %d to %d", c, s.least(), s.most())
		}
	}
	for _, ms := range []uint64{1 << 40, 1 << 62, math.MaxInt64} {
		if stepOf(ms) != openStep {
			t.Errorf("%d ms are step %d", ms, stepOf(ms))
		}
	}
}

// TestARunThatDoesNotAscendIsNotMade: a record that was sent again may come after later ones.
func TestARunThatDoesNotAscendIsNotMade(t *testing.T) {
	ascending := func(i int64) (int64, int64) { return 10 + i, 1000 + i }
	for name, test := range map[string]struct {
		count, size int64
		at          func(i int64) (int64, int64)
	}{
		"no copies":           {0, 0, ascending},
		"too many":            {1<<50 + 1, 0, ascending},
		"bytes below 0":       {100, -1, ascending},
		"too many bytes":      {100, 1<<50 + 1, ascending},
		"offsets below 0":     {100, 0, func(i int64) (int64, int64) { return i - 1, 1000 }},
		"offsets too high":    {100, 0, func(i int64) (int64, int64) { return 1<<62 - 98 + i, 1000 }},
		"offsets descending":  {100, 0, func(i int64) (int64, int64) { return 100 - i, 1000 }},
		"the same offset":     {2, 0, func(i int64) (int64, int64) { return 10, 1000 }},
		"an offset too early": {32, 0, func(i int64) (int64, int64) { return 10 + i - i/4%2, 1000 }},
		"deadlines below 0":   {100, 0, func(i int64) (int64, int64) { return i, i - 1 }},
		"deadlines descend":   {100, 0, func(i int64) (int64, int64) { return i, 1000 - i }},
		"one deadline later":  {32, 0, func(i int64) (int64, int64) { return i, 1000 + i/8%2*500 + i }},
		"one after the last":  {32, 0, func(i int64) (int64, int64) { return i, 1000 + i%31*7 }},
	} {
		if r, err := NewRun(1, 2, test.count, test.size, test.at); err == nil || r != (Run{}) {
			t.Errorf("%s: %+v, %v", name, r, err)
		} else {
			t.Log(name, "|", err)
		}
	}
}
