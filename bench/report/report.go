// Package report makes of what was measured the tables that people read, the
// verdicts on the goals, and the plots. Every number in a document comes from
// here, and none is typed.
package report

import (
	"fmt"
	"slices"
	"strings"

	"layover/bench/measure"
	"layover/bench/rival"
)

// Figures has all results of all runs.
type Figures map[key][]measure.Result

// key is what is measured, whichever run and part it was.
type key struct {
	rival   string
	delays  string
	pending int
}

// Add keeps a result.
func (f Figures) Add(s measure.Spec, r measure.Result) {
	k := key{s.Rival, s.Delays, s.Pending}
	f[k] = append(f[k], r)
}

// values has the figure of each run that took it.
func (f Figures) values(k key, figure measure.Figure) []float64 {
	var values []float64
	for _, r := range f[k] {
		if v, ok := r[figure]; ok {
			values = append(values, v)
		}
	}
	return values
}

// median is the middle of the runs; false is that there was none.
func (f Figures) median(k key, figure measure.Figure) (float64, bool) {
	values := f.values(k, figure)
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 0 {
		return (values[half-1] + values[half]) / 2, true
	}
	return values[half], true
}

// sum is of all runs.
func (f Figures) sum(k key, figure measure.Figure) (sum float64, ok bool) {
	values := f.values(k, figure)
	for _, v := range values {
		sum += v
	}
	return sum, len(values) > 0
}

// sizes are those measured with these delays, least first.
func (f Figures) sizes(delays string) []int {
	var sizes []int
	for k := range f {
		if k.delays == delays {
			sizes = append(sizes, k.pending)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// largest is the size that goals are judged at, 0 if there is none.
func (f Figures) largest() int {
	largest := 0
	for k := range f {
		largest = max(largest, k.pending)
	}
	return largest
}

// kinds are the structures measured, in their order.
func (f Figures) kinds() []rival.Kind {
	return slices.DeleteFunc(rival.Kinds(), func(kind rival.Kind) bool {
		for k := range f {
			if k.rival == kind.Name {
				return false
			}
		}
		return true
	})
}

// Text is everything as text that is Markdown, too.
func Text(a About, f Figures) string {
	var b strings.Builder
	b.WriteString(a.text())
	if f.largest() == 0 {
		return b.String()
	}
	b.WriteString(f.goals())
	for _, delays := range measure.AllDelays() {
		for _, n := range f.sizes(delays.Name) {
			fmt.Fprintf(&b, "\n### %s pending, %s\n\nRuns: %d.\n\n", count(n), delays.Text, f.runs(delays.Name, n))
			b.WriteString(f.costs(delays.Name, n).markdown())
		}
	}
	b.WriteString(f.clocks())
	b.WriteString(f.advances())
	b.WriteString(f.jumps())
	return b.String()
}

// runs is how often these were measured.
func (f Figures) runs(delays string, n int) int {
	runs := 0
	for _, kind := range f.kinds() {
		runs = max(runs, len(f.values(key{kind.Name, delays, n}, measure.Fresh)))
	}
	return runs
}

// costs is one row for each structure.
func (f Figures) costs(delays string, n int) table {
	t := table{{"ns of CPU a record", "insert, fresh", "insert, warm",
		"cancel", "the rest", "insert + cancel", "expire", "live B", "own count", "allocs", "GC, ms", "with sweeping", "early"}}
	for _, kind := range f.kinds() {
		k := key{kind.Name, delays, n}
		row := []string{kind.Name}
		for _, figure := range []measure.Figure{measure.Fresh, measure.Warm,
			measure.Cancel, measure.CancelRest, measure.CancelAtOnce, measure.Expiry.All(),
			measure.LiveBytes, measure.OwnBytes, measure.Fresh.Allocs(), measure.Collection, measure.Sweeping} {
			row = append(row, f.cell(k, figure))
		}
		t = append(t, append(row, f.early(k)))
	}
	return t
}

// cell is a median with three digits, or empty.
func (f Figures) cell(k key, figure measure.Figure) string {
	v, ok := f.median(k, figure)
	if !ok {
		return ""
	}
	return number(v)
}

// early is the share of those looked at, in all runs together.
func (f Figures) early(k key) string {
	early, ok := f.sum(k, measure.Early)
	looked, _ := f.sum(k, measure.EarlyOf)
	switch {
	case !ok || looked == 0:
		return ""
	case early == 0:
		return "0"
	}
	return fmt.Sprintf("%.0f %%", 100*early/looked)
}

// clocks is where the figures depend on the clock. The clocks are the thread's
// CPU time, which is in the tables, the wall, and the CPU time of the whole
// process.
func (f Figures) clocks() string {
	t := table{{"ns a record", "figure", "CPU, this thread", "wall", "CPU, whole process"}}
	delays, n := measure.AllDelays()[0].Name, f.largest()
	for _, kind := range f.kinds() {
		for _, figure := range []measure.Figure{measure.Fresh, measure.Warm,
			measure.Cancel, measure.CancelRest, measure.CancelAtOnce, measure.Expiry} {
			k := key{kind.Name, delays, n}
			own, _ := f.median(k, figure)
			wall, ok := f.median(k, figure.Wall())
			all, _ := f.median(k, figure.All())
			if ok && max(wall, all) > 1.15*own {
				t = append(t, []string{kind.Name, string(figure), number(own), number(wall), number(all)})
			}
		}
	}
	if len(t) == 1 {
		return ""
	}
	return fmt.Sprintf("\n### Where the clock matters: %s pending, %s\n\n"+
		"Rows whose wall time or whole-process CPU time, the garbage collector's included, is 15 %% above the thread's.\n\n%s",
		count(n), delays, t.markdown())
}

// advances is how long single calls take.
func (f Figures) advances() string {
	n := f.largest()
	t := table{{"µs for one advance"}}
	for _, delays := range measure.AllDelays() {
		t[0] = append(t[0], delays.Name+": p99.9", "max, CPU", "max, wall")
	}
	for _, kind := range f.kinds() {
		if kind.ByItself {
			continue
		}
		row := []string{kind.Name}
		for _, delays := range measure.AllDelays() {
			k := key{kind.Name, delays.Name, n}
			row = append(row, f.cell(k, measure.P999), f.cell(k, measure.LongestCPU), f.cell(k, measure.Longest))
		}
		t = append(t, row)
	}
	if len(t) == 1 {
		return ""
	}
	return fmt.Sprintf("\n### Longest single advance: %s pending, a millisecond and at most 1,024 records a call\n\n%s",
		count(n), t.markdown())
}

// jumps is all due at once, which is measured of ours alone.
func (f Figures) jumps() string {
	t := table{{"pending", "due", "million records a second", "B a record before", "at most", "MiB after"}}
	for _, n := range f.sizes(measure.AllDelays()[0].Name) {
		for _, delays := range measure.AllDelays() {
			k := key{rival.Layover, delays.Name, n}
			t = f.jump(t, k, delays.Name, func(figure measure.Figure) measure.Figure { return figure })
		}
		// These are the same whichever delays they were measured beside.
		t = f.jump(t, key{rival.Layover, measure.AllDelays()[0].Name, n}, "in one ms", measure.Figure.Same)
	}
	if len(t) == 1 {
		return ""
	}
	return "\n### All due at once: " + rival.Layover + ", one jump of the clock, 1,024 records a call\n\n" + t.markdown()
}

// jump appends a row if there are figures for one.
func (f Figures) jump(t table, k key, due string, name func(measure.Figure) measure.Figure) table {
	rate, ok := f.median(k, name(measure.JumpRate))
	if !ok {
		return t
	}
	before, _ := f.median(k, name(measure.JumpBefore))
	most, _ := f.median(k, name(measure.JumpMost))
	after, _ := f.median(k, name(measure.JumpAfter))
	each := 1 / float64(k.pending)
	return append(t, []string{count(k.pending), due, number(rate / 1e6),
		number(before * each), number(most * each), number(after / (1 << 20))})
}

// count is a number of records with separators.
func count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// number is three digits of v, or as many as it has before the point.
func number(v float64) string {
	digits := 0
	switch size := max(v, -v); {
	case size >= 10_000:
		return count(int(v))
	case size < 0.0005:
		return "0"
	case size < 1:
		digits = 3
	case size < 10:
		digits = 2
	case size < 100:
		digits = 1
	}
	return fmt.Sprintf("%.*f", digits, v)
}
