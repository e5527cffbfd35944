package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"layover/purgatory"
)

// histogram is the series of one histogram's name.
type histogram struct {
	desc   *prometheus.Desc
	bounds *purgatory.Bounds
	units  float64 // of what was counted, in one of the metric's
	each   func(*view, emitHistogram)
}

// The units of histograms.
const (
	milliseconds = 1000 // the metric is in seconds
	ones         = 1
)

// emitHistogram takes one series, as emit does.
type emitHistogram func(counted *purgatory.Histogram, labels ...string)

func histograms() []histogram {
	short, long := &purgatory.LatenessBounds, &purgatory.DelayBounds
	attempts := perLabel("layover_attempts",
		"Attempts by their number, of each record read to which a back-off applies: 1 is the first, and a record counts in each of its attempts.",
		"topic", &purgatory.AttemptBounds, func(v *view) map[string]*purgatory.Histogram { return v.total.Attempts })
	attempts.units = ones
	return []histogram{
		attempts,
		perLabel("layover_lateness_seconds",
			"Time from a record's deadline, or from its timestamp where that is later, to the acknowledgement of its delivery by the target's leader, in seconds.",
			"target", short, func(v *view) map[string]*purgatory.Histogram { return v.total.Late }),
		perLabel("layover_requested_delay_seconds",
			"Time from a record's timestamp to the deadline that it asked for, in seconds, of each record read that asked for one; 0 for a delay of zero or less.",
			"topic", long, func(v *view) map[string]*purgatory.Histogram { return v.total.Requested }),
		one("layover_tick_lag_seconds",
			"Time from the instant for which the timing wheel had something to do to when it was done, in seconds: lateness that is neither the broker's nor the network's.",
			short, func(v *view) *purgatory.Histogram { return &v.total.TickLag }),
		one("layover_produce_duration_seconds",
			"Time from handing a record to the producer to its answer, in seconds, retries included.",
			short, func(v *view) *purgatory.Histogram { return &v.total.Produced }),
		one("layover_runs_visit_duration_seconds",
			"Time from the request for a part of a run to having read it, in seconds, of each of layover_runs_visits_total; waiting for other visits does not count.",
			short, func(v *view) *purgatory.Histogram { return &v.total.inRuns.took }),
		one("layover_commit_duration_seconds",
			"Time from sending a commit to the coordinator's answer, in seconds, once for each partition in it.",
			short, func(v *view) *purgatory.Histogram { return &v.total.Committed }),
	}
}

func perLabel(name, help, label string, bounds *purgatory.Bounds, counted func(*view) map[string]*purgatory.Histogram) histogram {
	return histogram{prometheus.NewDesc(name, help, []string{label}, nil), bounds, milliseconds, func(v *view, out emitHistogram) {
		for value, h := range counted(v) {
			out(h, value)
		}
	}}
}

func one(name, help string, bounds *purgatory.Bounds, counted func(*view) *purgatory.Histogram) histogram {
	return histogram{prometheus.NewDesc(name, help, nil, nil), bounds, milliseconds, func(v *view, out emitHistogram) { out(counted(v)) }}
}

// headroom returns, by ingress topic, how long it is until its retention may delete
// the oldest record that is still needed. Below 0 it already may.
func (v *view) headroom() map[string]time.Duration {
	out := make(map[string]time.Duration)
	for i := range v.parts {
		p := &v.parts[i]
		keep := v.Settings.Retention[p.topic]
		if p.core == nil || p.core.OldestNeededMs == 0 || keep <= 0 {
			continue
		}
		left := time.UnixMilli(p.core.OldestNeededMs).Add(keep).Sub(v.now)
		if least, known := out[p.topic]; !known || left < least {
			out[p.topic] = left
		}
	}
	return out
}

// intakeLag returns how far reading is behind the end of the log, in offsets; ok is
// false while that is not known. The end may have been told before the position.
func (p *part) intakeLag() (lag int64, ok bool) {
	next, known := p.next()
	if p.member == nil || p.member.End < 0 || !known {
		return 0, false
	}
	return max(p.member.End-next, 0), true
}
