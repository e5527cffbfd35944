package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"layover/bench/measure"
	"layover/bench/rival"
)

// A Plot is lines on two logarithmic axes: one figure against size, for each structure, or another.
type Plot struct {
	Name  string // of the file
	Title string
	Unit  string                 // of what is measured
	Along string                 // what the horizontal axis is
	Tick  func(x float64) string // labels a place on it
	Lines []Curve
}

// Curve is one structure, or whatever else is compared.
type Curve struct {
	Name   string
	Ours   bool
	Style  int // number of its colour
	Points []Point
}

// Point is a place, both of whose values are above 0.
type Point struct{ X, Y float64 }

// The picture, in its own units: the frame leaves room for the names of the
// lines at their right end.
const (
	width, height           = 820.0, 420.0
	left, right, top, below = 70.0, 560.0, 50.0, 370.0
	labelGap                = 17.0 // between the names of two lines
)

// Plots are those with two sizes or more.
func (f Figures) Plots() []Plot {
	all := []Plot{
		f.plot("insert", "Insert into warm memory", "ns", measure.Warm),
		f.plot("cancel", "Cancel, random order", "ns", measure.Cancel),
		f.plot("expire", "Expire", "ns", measure.Expiry.All()),
		f.plot("bytes", "Live memory of a pending record", "bytes", measure.LiveBytes),
	}
	return slices.DeleteFunc(all, func(p Plot) bool { return !p.Drawable() })
}

func (f Figures) plot(name, title, unit string, figure measure.Figure) Plot {
	delays := measure.AllDelays()[0]
	p := Plot{Name: name, Title: title + ", delays " + delays.Text, Unit: unit, Along: "pending records", Tick: short}
	for style, kind := range rival.Kinds() {
		l := Curve{Name: kind.Name, Ours: kind.Name == rival.Layover, Style: style}
		for _, n := range f.sizes(delays.Name) {
			if v, ok := f.median(key{kind.Name, delays.Name, n}, figure); ok && v > 0 {
				l.Points = append(l.Points, Point{float64(n), v})
			}
		}
		if len(l.Points) > 0 {
			p.Lines = append(p.Lines, l)
		}
	}
	return p
}

// Drawable says whether a line has two points.
func (p Plot) Drawable() bool {
	return slices.ContainsFunc(p.Lines, func(l Curve) bool { return len(l.Points) > 1 })
}

// ink is a colour on light and on dark ground.
type ink struct{ light, dark string }

// The picture paints its own ground and asks whoever shows it for light or dark,
// so that it can be read on any page. What does not know the question gets light.
func pageInks() (ground, text, faint ink) {
	return ink{"#ffffff", "#0d1117"}, ink{"#1f2328", "#e6edf3"}, ink{"#d8dee4", "#30363d"}
}

// lineInks are those of the structures, in their order: ours first.
func lineInks() []ink {
	return []ink{
		{"#0550ae", "#79c0ff"}, {"#bc4c00", "#ffa657"}, {"#1a7f37", "#56d364"},
		{"#8250df", "#d2a8ff"}, {"#bf3989", "#ff9bce"}, {"#57606a", "#a8b1bb"},
	}
}

// styleSheet has for each line a class for what is filled and one for what is
// drawn.
func styleSheet() string {
	ground, text, faint := pageInks()
	var light, dark strings.Builder
	for i, c := range lineInks() {
		fmt.Fprintf(&light, ".f%d { fill: %s; } .s%d { stroke: %s; }\n", i, c.light, i, c.light)
		fmt.Fprintf(&dark, ".f%d { fill: %s; } .s%d { stroke: %s; }\n", i, c.dark, i, c.dark)
	}
	common := ".ground { fill: %s; } .text { fill: %s; } .grid { stroke: %s; }\n"
	return "<style>\ntext { font: 13px system-ui, sans-serif; } .title { font-size: 15px; font-weight: 600; }\n" +
		".name { font-weight: 600; } polyline { fill: none; stroke-width: 2; } .ours { stroke-width: 3.5; }\n" +
		fmt.Sprintf(common, ground.light, text.light, faint.light) + light.String() +
		"@media (prefers-color-scheme: dark) {\n" +
		fmt.Sprintf(common, ground.dark, text.dark, faint.dark) + dark.String() + "}\n</style>\n"
}

// SVG is the picture.
func (p Plot) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s">`+"\n",
		width, height, p.Title)
	b.WriteString(styleSheet())
	fmt.Fprintf(&b, `<rect class="ground" width="%g" height="%g"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<text class="text title" x="%g" y="24">%s</text>`+"\n", left, p.Title)
	x, y := p.axes()
	p.grid(&b, x, y)
	for _, l := range p.Lines {
		l.draw(&b, x, y)
	}
	p.names(&b, y)
	b.WriteString("</svg>\n")
	return b.String()
}

// axis maps the logarithm of a value to a place in the picture.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	if a.high == a.low {
		return a.from
	}
	return a.from + (math.Log(v)-math.Log(a.low))/(math.Log(a.high)-math.Log(a.low))*(a.to-a.from)
}

// ticks are 1, 2 and 5 of each power of ten between the ends.
func (a axis) ticks() []float64 {
	var ticks []float64
	for power := math.Pow(10, math.Floor(math.Log10(a.low))); power <= a.high; power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			if v := digit * power; v >= a.low*0.999 && v <= a.high*1.001 {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

// axes reach over all points, the vertical one from tick to tick.
func (p Plot) axes() (x, y axis) {
	x = axis{math.Inf(1), 0, left + 15, right - 15}
	y = axis{math.Inf(1), 0, below, top}
	for _, l := range p.Lines {
		for _, at := range l.Points {
			x.low, x.high = min(x.low, at.X), max(x.high, at.X)
			y.low, y.high = min(y.low, at.Y), max(y.high, at.Y)
		}
	}
	wide := axis{low: y.low / 10, high: y.high * 10}.ticks()
	low, high := wide[0], wide[len(wide)-1]
	for _, tick := range wide {
		if tick <= y.low {
			low = tick
		}
		if tick >= y.high && tick < high {
			high = tick
		}
	}
	y.low, y.high = low, high
	return x, y
}

func (p Plot) grid(b *strings.Builder, x, y axis) {
	for _, tick := range y.ticks() {
		fmt.Fprintf(b, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, left, right, y.at(tick), y.at(tick))
		fmt.Fprintf(b, `<text class="text" x="%g" y="%.1f" text-anchor="end">%s</text>`+"\n", left-8, y.at(tick)+4, short(tick))
	}
	for _, size := range p.sizes() {
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%g" y2="%g"/>`, x.at(size), x.at(size), top, below)
		fmt.Fprintf(b, `<text class="text" x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n", x.at(size), below+18, p.Tick(size))
	}
	fmt.Fprintf(b, `<text class="text" x="%g" y="%g" text-anchor="end">%s</text>`+"\n", left-8, top-10, p.Unit)
	fmt.Fprintf(b, `<text class="text" x="%g" y="%g" text-anchor="middle">%s</text>`+"\n", (left+right)/2, below+38, p.Along)
}

// sizes are those of all points.
func (p Plot) sizes() []float64 {
	var sizes []float64
	for _, l := range p.Lines {
		for _, at := range l.Points {
			sizes = append(sizes, at.X)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

func (l Curve) draw(b *strings.Builder, x, y axis) {
	class := fmt.Sprintf("s%d", l.Style)
	if l.Ours {
		class += " ours"
	}
	fmt.Fprintf(b, `<polyline class="%s" points="`, class)
	for _, at := range l.Points {
		fmt.Fprintf(b, "%.1f,%.1f ", x.at(at.X), y.at(at.Y))
	}
	b.WriteString("\"/>\n")
	for _, at := range l.Points {
		fmt.Fprintf(b, `<circle class="f%d" cx="%.1f" cy="%.1f" r="3.5"/>`, l.Style, x.at(at.X), y.at(at.Y))
	}
	b.WriteString("\n")
}

// names puts each line's name and last value beside its end, and pushes names
// apart that would cover each other.
func (p Plot) names(b *strings.Builder, y axis) {
	last := func(l Curve) float64 { return l.Points[len(l.Points)-1].Y }
	lines := slices.SortedFunc(slices.Values(p.Lines), func(k, l Curve) int {
		return int(math.Copysign(1, last(l)-last(k)))
	})
	at := make([]float64, len(lines))
	for i, l := range lines {
		at[i] = y.at(last(l))
		if i > 0 {
			at[i] = max(at[i], at[i-1]+labelGap)
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		lowest := below - labelGap*float64(len(at)-1-i)
		at[i] = min(at[i], lowest)
	}
	for i, l := range lines {
		fmt.Fprintf(b, `<text class="name f%d" x="%g" y="%.1f">%s, %s</text>`+"\n",
			l.Style, right+8, at[i]+4, html.EscapeString(l.Name), number(last(l)))
	}
}

// short is a tick's label.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}
