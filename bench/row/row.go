// Package row is a line of a table: what was measured, and the lateness that many of them are of.
package row

import (
	"fmt"
	"slices"
	"time"
)

// Row is one line of a report.
type Row struct {
	Name  string
	Value string // with its unit
	Goal  string // "" where the figure only stands beside others
	Met   *bool  // nil without a goal
}

// Plain is a row without a goal.
func Plain(name, format string, args ...any) Row {
	return Row{Name: name, Value: fmt.Sprintf(format, args...)}
}

// Aim gives a row its goal.
func (r Row) Aim(met bool, format string, args ...any) Row {
	r.Goal, r.Met = fmt.Sprintf(format, args...), &met
	return r
}

// Latenesses are from deadline to whatever was watched.
type Latenesses []time.Duration

// At returns the quantile by nearest rank, so a lateness that did happen; 0 of
// none. It sorts l.
func (l Latenesses) At(permille int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[max((len(l)*permille+999)/1000-1, 0)]
}

// String is the quantiles that all our lateness figures have.
func (l Latenesses) String() string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s of %d", MS(l.At(500)), MS(l.At(990)), MS(l.At(1000)), len(l))
}

// MS is a duration in milliseconds.
func MS(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

// MiB is a number of bytes.
func MiB(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
