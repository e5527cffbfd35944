package report

import (
	"fmt"
	"math"
	"strings"

	"layover/bench/measure"
	"layover/bench/rival"
)

// A goal is what the wheel is to reach with the largest number pending. It says
// how it was judged: the value measured, and false if the peer is missing.
type goal struct {
	what   string
	want   string
	values func(f Figures) (measured string, met, ok bool)
}

// The goals, in the order of the table.
func allGoals() []goal {
	expiry := measure.Expiry.All() // the only clock that fits what fires by itself
	return []goal{
		faster(measure.Warm, measure.Warm, rival.RussellLuo, 3),
		faster(measure.Warm, measure.Warm, rival.AfterFunc, 7),
		faster(measure.Warm, measure.Warm, rival.FourAry, 1/1.1),
		faster(measure.Cancel, measure.Cancel, rival.RussellLuo, 3.5),
		faster(measure.Cancel, measure.Cancel, rival.AfterFunc, 3),
		faster(measure.Cancel, measure.Cancel, rival.FourAry, 2.5),
		faster(expiry, expiry, rival.RussellLuo, 25),
		faster(expiry, expiry, rival.AfterFunc, 18),
		faster(expiry, expiry, rival.FourAry, 6),
		stretch(faster(expiry, expiry, rival.RussellLuo, 40)),
		stretch(faster(expiry, expiry, rival.FourAry, 10)),
		faster(measure.LiveBytes, measure.LiveBytes, rival.RussellLuo, 5),
		faster(measure.LiveBytes, measure.LiveBytes, rival.AfterFunc, 8),
		atMost("live bytes a record", measure.LiveBytes, 20, "B"),
		{"allocations a record, in any operation", "0, amortised", Figures.allocations},
		{"CPU of a collection, against any pointer-based peer", "1000x less", Figures.collection},
		longest("longest advance, any delays: p99.9", measure.P999, 100),
		longest("longest advance, any delays: max, CPU", measure.LongestCPU, 1000),
		longest("longest advance, any delays: max, wall", measure.Longest, 1000),
		{"early, any delays, all runs", "0", Figures.noneEarly},
		jumpRate("all due at once, in one millisecond", measure.JumpRate.Same()),
		jumpFlat("all due at once, in one millisecond: memory", measure.JumpBefore.Same(), measure.JumpMost.Same()),
		jumpRate("all due at once, uniform, by a jump", measure.JumpRate),
		jumpFlat("all due at once, uniform, by a jump: memory", measure.JumpBefore, measure.JumpMost),
	}
}

// goals is the table of verdicts.
func (f Figures) goals() string {
	t := table{{"Goal", "wanted", "measured", "verdict"}}
	for _, g := range allGoals() {
		measured, met, ok := g.values(f)
		verdict := "missed"
		switch {
		case !ok:
			measured, verdict = "", "not measured"
		case met:
			verdict = "met"
		}
		t = append(t, []string{g.what, g.want, measured, verdict})
	}
	return fmt.Sprintf("\n### Goals: %s pending, %s unless said\n\n%s",
		count(f.largest()), measure.AllDelays()[0].Text, t.markdown())
}

// ours is a figure of the wheel at the largest size, with uniform delays.
func (f Figures) ours(figure measure.Figure) (float64, bool) {
	return f.of(rival.Layover, figure)
}

func (f Figures) of(name string, figure measure.Figure) (float64, bool) {
	return f.median(key{name, measure.AllDelays()[0].Name, f.largest()}, figure)
}

// faster wants a figure of ours to be so many times less than one of a peer.
func faster(ours, theirs measure.Figure, peer string, times float64) goal {
	return goal{
		what: fmt.Sprintf("%s, against %s", strings.TrimSuffix(string(ours), string(measure.Figure("").All())), peer),
		want: fmt.Sprintf("%.3gx", times),
		values: func(f Figures) (string, bool, bool) {
			a, okA := f.ours(ours)
			b, okB := f.of(peer, theirs)
			return fmt.Sprintf("%.3gx", b/a), b >= times*a, okA && okB && a > 0
		},
	}
}

func stretch(g goal) goal {
	g.want += ", stretch"
	return g
}

func atMost(what string, figure measure.Figure, limit float64, unit string) goal {
	return goal{what, fmt.Sprintf("at most %.3g %s", limit, unit), func(f Figures) (string, bool, bool) {
		v, ok := f.ours(figure)
		return number(v) + " " + unit, v <= limit, ok
	}}
}

// worst is the median that is the greatest of those for the kinds of delays.
func (f Figures) worst(figure measure.Figure) (worst float64, ok bool) {
	for _, delays := range measure.AllDelays() {
		if v, found := f.median(key{rival.Layover, delays.Name, f.largest()}, figure); found {
			worst, ok = max(worst, v), true
		}
	}
	return worst, ok
}

func longest(what string, figure measure.Figure, limitUs float64) goal {
	return goal{what, fmt.Sprintf("%.0f µs", limitUs), func(f Figures) (string, bool, bool) {
		v, ok := f.worst(figure)
		return number(v) + " µs", v <= limitUs, ok
	}}
}

// negligibleAllocs is one in a hundred records: slabs and what grows.
const negligibleAllocs = 0.01

func (f Figures) allocations() (string, bool, bool) {
	worst, any := 0.0, false
	for _, figure := range []measure.Figure{measure.Fresh, measure.Warm,
		measure.Cancel, measure.CancelRest, measure.CancelAtOnce, measure.Expiry} {
		v, ok := f.worst(figure.Allocs())
		worst, any = max(worst, v), any || ok
	}
	return fmt.Sprintf("%.2g", worst), worst <= negligibleAllocs, any
}

func (f Figures) collection() (string, bool, bool) {
	ours, ok := f.ours(measure.Collection)
	least := math.Inf(1)
	for _, kind := range f.kinds() {
		if v, found := f.of(kind.Name, measure.Collection); found && kind.Pointers {
			least = min(least, v)
		}
	}
	return fmt.Sprintf("%.0fx less", least/ours), least >= 1000*ours, ok && !math.IsInf(least, 1)
}

func (f Figures) noneEarly() (string, bool, bool) {
	early, looked := 0.0, 0.0
	for k := range f {
		if k.rival == rival.Layover {
			e, _ := f.sum(k, measure.Early)
			l, _ := f.sum(k, measure.EarlyOf)
			early, looked = early+e, looked+l
		}
	}
	return fmt.Sprintf("%.0f of %s", early, count(int(looked))), early == 0, looked > 0
}

func jumpRate(what string, figure measure.Figure) goal {
	return goal{what, "50 million/s", func(f Figures) (string, bool, bool) {
		v, ok := f.ours(figure)
		return number(v/1e6) + " million/s", v >= 50e6, ok
	}}
}

func jumpFlat(what string, before, most measure.Figure) goal {
	return goal{what, "flat, 5 %", func(f Figures) (string, bool, bool) {
		a, ok := f.ours(before)
		b, _ := f.ours(most)
		return fmt.Sprintf("%.3gx at most", b/a), b <= 1.05*a, ok
	}}
}
