package speed

import (
	"fmt"
	"maps"
	"slices"

	"layover/bench/report"
)

// Plots are those of what was measured: throughput by partitions, a plot for each size of values, and lateness by
// quantile.
func (f *Found) Plots() (plots []report.Plot) {
	for _, size := range slices.Sorted(maps.Keys(f.options.Due)) {
		plots = append(plots, f.throughput(size))
	}
	plots = append(plots, f.quantiles())
	return slices.DeleteFunc(plots, func(p report.Plot) bool { return !p.Drawable() })
}

func (f *Found) throughput(size int) report.Plot {
	p := report.Plot{Name: fmt.Sprintf("speed-%d", size), Title: fmt.Sprintf("Already due, values of %d B", size), Unit: "records/s",
		Along: "partitions", Tick: func(x float64) string { return fmt.Sprint(x) }}
	for style, w := range f.options.ways(product, stamped, bare, plain) {
		c := report.Curve{Name: w.name, Ours: w.kind == product, Style: style}
		for _, partitions := range f.options.Partitions {
			if v, ok := f.get(partAlready, dueCase(size, partitions), w.name, whatRate); ok {
				c.Points = append(c.Points, report.Point{X: float64(partitions), Y: v})
			}
		}
		if len(c.Points) > 0 {
			p.Lines = append(p.Lines, c)
		}
	}
	return p
}

// quantiles has lateness at the consumer, whose clock is finer than a broker's timestamp: a tenth is left out, a
// hundredth, and so on.
func (f *Found) quantiles() report.Plot {
	at := map[float64]string{2: whatP50, 10: whatP90, 100: whatP99, 1000: whatP999}
	p := report.Plot{Name: "speed-lateness", Title: "Lateness at the consumer", Unit: "ms", Along: "quantile",
		Tick: func(x float64) string { return at[x] }}
	for _, rate := range f.options.LateRates {
		for _, w := range f.options.ways(product, timer) {
			c := report.Curve{Name: fmt.Sprintf("%s, %d/s", w.name, rate), Ours: w.kind == product, Style: len(p.Lines)}
			for _, x := range slices.Sorted(maps.Keys(at)) {
				if v, ok := f.get(partLate, rateCase(rate, 0), w.name, at[x]+" "+byConsumer); ok && v > 0 {
					c.Points = append(c.Points, report.Point{X: x, Y: v})
				}
			}
			if len(c.Points) > 0 {
				p.Lines = append(p.Lines, c)
			}
		}
	}
	return p
}
