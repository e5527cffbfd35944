package admin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"layover/purgatory"
)

// HistoryStep is the time between two looks of [Server.Remember]; the page draws the
// last historySpan of them, so at most 180 are kept.
const (
	HistoryStep = 5 * time.Second
	historySpan = 15 * time.Minute
	maxMoments  = int(historySpan/HistoryStep) + 1 // as many steps have one moment more
)

// moment is one look at the process, as the lines need it.
type moment struct {
	at                      time.Time
	parked                  int64
	parkedKnown             bool
	delivered, deadLettered int64               // since the start of the process
	late                    purgatory.Histogram // of deliveries since then
	oldest                  time.Duration       // of the oldest record that is overdue, since its deadline; 0: none
}

// history is the last moments, the oldest first. One goroutine adds; any may read.
// Invariant: a slice that was stored is never written to again.
type history struct{ moments atomic.Pointer[[]moment] }

// all returns the moments, which nobody may change.
func (h *history) all() []moment {
	if all := h.moments.Load(); all != nil {
		return *all
	}
	return nil
}

// add keeps m, and forgets those that no line reaches back to. A clock that steps back
// begins anew: the lines' places are times.
func (h *history) add(m moment) {
	old := h.all()
	if len(old) > 0 && !m.at.After(old[len(old)-1].at) {
		old = nil
	}
	kept := make([]moment, 0, maxMoments)
	for _, o := range old[max(0, len(old)-maxMoments+1):] {
		if m.at.Sub(o.at) <= historySpan {
			kept = append(kept, o)
		}
	}
	kept = append(kept, m)
	h.moments.Store(&kept)
}

// Remember keeps a look at the process for the page's lines. It is called by one
// goroutine, every HistoryStep; where it is not called, the lines have a gap.
func (s *Server) Remember(now time.Time) {
	// By the wall clock: the other one may stand still while the machine sleeps, and the
	// lines would have no gap.
	s.history.add(look(s.source.Sample(), now.Round(0)).moment())
}

func (v *view) moment() moment {
	c := v.total.counters()
	m := moment{at: v.now, parked: v.total.parked, parkedKnown: v.knowsParked(), delivered: c.Delivered, deadLettered: c.DeadLettered}
	for _, h := range v.total.Late {
		m.late.Add(h)
	}
	if v.total.oldestOverdueMs != 0 {
		m.oldest = max(0, v.now.Sub(time.UnixMilli(v.total.oldestOverdueMs)))
	}
	return m
}

// value is a point of a line: a number, or not known.
type value struct {
	n     float64
	known bool
}

// rate returns the events a second from one moment to the next.
func rate(from, to int64, over time.Duration) value {
	return value{float64(to-from) / over.Seconds(), to >= from && over > 0}
}

// lateBetween returns the lateness in milliseconds from one moment to the next. It is
// the bound that 99 of 100 deliveries kept, or the age of the oldest overdue record
// where that is more. It is unknown without either.
func lateBetween(from, to *moment) value {
	late := to.late
	late.Count -= from.late.Count
	late.SumMs -= from.late.SumMs
	for i, n := range from.late.Buckets {
		late.Buckets[i] -= n
	}
	out := value{float64(to.oldest.Milliseconds()), to.oldest > 0}
	if late.Count > 0 && to.late.Count > from.late.Count {
		out = value{max(out.n, boundOf99(&late)), true}
	}
	return out
}

// boundOf99 returns the bound in milliseconds that 99 of 100 kept. Above the last one,
// it is the least that their sum says of them.
func boundOf99(h *purgatory.Histogram) float64 {
	within, rest := uint64(0), h.SumMs
	for i, bound := range purgatory.LatenessBounds {
		within += h.Buckets[i]
		rest -= int64(h.Buckets[i]) * bound
		if 100*within >= 99*h.Count {
			return float64(bound)
		}
	}
	last := purgatory.LatenessBounds[len(purgatory.LatenessBounds)-1]
	return float64(max(last, rest/int64(h.Count-within)))
}

// The plane that lines are drawn on. A style stretches it.
const (
	lineWidth  = 180
	lineHeight = 40
	lineMargin = 2 // above and below, so that the stroke is whole
)

// line is one of the page's small lines.
type line struct {
	Name, Key string
	Now       string // the last value, "–" where it is not known
	Range     string // least and most of the values, or why there is none
	Parts     []string
	Tone      tone
}

// trend draws the moments, seen from now.
func trend(all []moment, now time.Time) []line {
	ages := make([]time.Duration, len(all))
	parked, delivered, dead, late := make([]value, len(all)), make([]value, len(all)), make([]value, len(all)), make([]value, len(all))
	for i := range all {
		m := &all[i]
		ages[i] = now.Sub(m.at)
		parked[i] = value{float64(m.parked), m.parkedKnown}
		if i > 0 {
			last := &all[i-1]
			over := m.at.Sub(last.at)
			delivered[i], dead[i] = rate(last.delivered, m.delivered, over), rate(last.deadLettered, m.deadLettered, over)
			late[i] = lateBetween(last, m)
		}
	}
	lines := []line{
		drawLine("Parked", ages, parked, func(n float64) string { return grouped(int64(n)) }),
		drawLine("Delivered, a second", ages, delivered, decimal),
		drawLine("Dead-lettered, a second", ages, dead, decimal),
		drawLine("Lateness, p99 or oldest overdue", ages, late, func(n float64) string { return human(time.Duration(n) * time.Millisecond) }),
	}
	for i, key := range []string{"parked", "delivered", "dead-lettered", "late"} {
		lines[i].Key = "line " + key
	}
	if slices.ContainsFunc(dead, func(v value) bool { return v.n > 0 }) {
		lines[2].Tone = warn
	}
	n := len(all)
	if n > 0 && !all[n-1].parkedKnown {
		lines[0].Now = "unknown"
	}
	inAll := func(l *line, records int64) {
		if records > 0 {
			l.Range += ", " + grouped(records) + " in all"
		}
	}
	if n > 1 {
		inAll(&lines[1], all[n-1].delivered-all[0].delivered)
		inAll(&lines[2], all[n-1].deadLettered-all[0].deadLettered)
	}
	return lines
}

// drawLine makes a line of values at ages. It starts at 0, so that its height means something,
// and is interrupted where a value is unknown or no look was made.
func drawLine(name string, ages []time.Duration, values []value, text func(n float64) string) line {
	out := line{Name: name, Now: "–", Range: "nothing is known yet"}
	var least, most float64
	known := false
	for _, v := range values {
		if v.known && !known {
			least, most, known = v.n, v.n, true
		}
		if v.known {
			least, most = min(least, v.n), max(most, v.n)
		}
	}
	if !known {
		return out
	}
	out.Range = text(least) + " to " + text(most)
	if text(least) == text(most) {
		out.Range = text(most) + " throughout"
	}
	var part []string
	var x, y float64 // of the last point
	end := func() {
		if len(part) == 1 { // a line needs two points: as wide as the steps around it
			part = append(part, coordinate(min(x+1, lineWidth))+","+coordinate(y))
			part[0] = coordinate(max(x-1, 0)) + "," + coordinate(y)
		}
		if len(part) > 0 {
			out.Parts = append(out.Parts, strings.Join(part, " "))
		}
		part = nil
	}
	for i, v := range values {
		if i > 0 && ages[i-1]-ages[i] > 2*HistoryStep {
			end()
		}
		if !v.known {
			end()
			continue
		}
		x = min(max(lineWidth-float64(lineWidth)*float64(ages[i])/float64(historySpan), 0), lineWidth)
		y = float64(lineHeight - lineMargin)
		if most > 0 {
			y -= v.n / most * (lineHeight - 2*lineMargin)
		}
		part = append(part, coordinate(x)+","+coordinate(y))
	}
	end()
	if last := values[len(values)-1]; last.known {
		out.Now = text(last.n)
	}
	return out
}

func coordinate(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }

// decimal writes a rate: small ones with a decimal.
func decimal(n float64) string {
	if n > 0 && n < 9.95 {
		return fmt.Sprintf("%.1f", max(n, 0.1))
	}
	return grouped(int64(n + 0.5))
}
