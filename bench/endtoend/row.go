package endtoend

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

// plain is a row without a goal.
func plain(name, format string, args ...any) Row {
	return Row{Name: name, Value: fmt.Sprintf(format, args...)}
}

// aim gives a row its goal.
func (r Row) aim(met bool, format string, args ...any) Row {
	r.Goal, r.Met = fmt.Sprintf(format, args...), &met
	return r
}

// latenesses are from deadline to whatever was watched.
type latenesses []time.Duration

// at returns the quantile by nearest rank, so a lateness that did happen; 0 of
// none. It sorts l.
func (l latenesses) at(permille int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	slices.Sort(l)
	return l[max((len(l)*permille+999)/1000-1, 0)]
}

// String is the quantiles that all our lateness figures have.
func (l latenesses) String() string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s of %d", ms(l.at(500)), ms(l.at(990)), ms(l.at(1000)), len(l))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

func mib(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
