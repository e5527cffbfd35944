package admin

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"layover/purgatory"
)

// collector makes every series from one sample a scrape. There is no registered
// state, so a partition that is no longer in the sample has no series. The package
// comment says which series add up.
type collector struct {
	source     Source
	families   []family
	histograms []histogram
}

// family is the series of one name.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	each func(*view, emit)
}

// emit takes one series: its value, and its label values in the order of the
// family's label names.
type emit func(value float64, labels ...string)

func newCollector(source Source) *collector {
	c := &collector{source: source, histograms: histograms()}
	for _, group := range [][]family{
		recordFamilies(), endFamilies(), commandFamilies(), waitingFamilies(), pausedFamilies(), catchUpFamilies(), runsFamilies(), memoryFamilies(), nameFamilies(), partitionFamilies(),
		journalFamilies(), memberFamilies(), processFamilies(), connectionFamilies(), sickFamilies(), preflightFamilies(),
	} {
		c.families = append(c.families, group...)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for i := range c.families {
		out <- c.families[i].desc
	}
	for i := range c.histograms {
		out <- c.histograms[i].desc
	}
}

// Collect implements prometheus.Collector. It may run several times at once.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	v := look(c.source.Sample(), time.Now())
	for i := range c.families {
		f := &c.families[i]
		f.each(v, func(value float64, labels ...string) {
			m, err := prometheus.NewConstMetric(f.desc, f.kind, value, labels...)
			send(out, f.desc, m, err)
		})
	}
	for i := range c.histograms {
		h := &c.histograms[i]
		h.each(v, func(counted *purgatory.Histogram, labels ...string) {
			m, err := prometheus.NewConstHistogram(h.desc, counted.Count, float64(counted.SumMs)/h.units, cumulative(counted, h), labels...)
			send(out, h.desc, m, err)
		})
	}
}

// send hands on a metric, or the error in its place: a label that is no UTF-8
// costs its own series only.
func send(out chan<- prometheus.Metric, desc *prometheus.Desc, m prometheus.Metric, err error) {
	if err != nil {
		m = prometheus.NewInvalidMetric(desc, err)
	}
	out <- m
}

// cumulative returns the buckets as Prometheus counts them, each with all below
// it, by upper bound in the metric's unit. The one above all bounds is the count itself.
func cumulative(counted *purgatory.Histogram, h *histogram) map[float64]uint64 {
	out := make(map[float64]uint64, len(h.bounds))
	var n uint64
	for i, bound := range h.bounds {
		n += counted.Buckets[i]
		out[float64(bound)/h.units] = n
	}
	return out
}

func counter(name, help string, labels []string, each func(*view, emit)) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue, each}
}

func gauge(name, help string, labels []string, each func(*view, emit)) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue, each}
}

// count is a counter without labels, level a gauge without labels.
func count(name, help string, value func(*view) int64) family {
	return counter(name, help, nil, func(v *view, out emit) { out(float64(value(v))) })
}

func level(name, help string, value func(*view) float64) family {
	return gauge(name, help, nil, func(v *view, out emit) { out(value(v)) })
}

// perPart is a gauge of every partition of which the value is known.
func perPart(name, help string, value func(*part) (n int64, known bool)) family {
	return gauge(name, help, byPartition(), func(v *view, out emit) {
		for i := range v.parts {
			p := &v.parts[i]
			if n, known := value(p); known {
				out(float64(n), p.topic, number(p.partition))
			}
		}
	})
}

// perPartition is a gauge of every partition that a lane has.
func perPartition(name, help string, value func(*purgatory.PartitionView) int64) family {
	return perPart(name, help, func(p *part) (int64, bool) {
		if p.core == nil {
			return 0, false
		}
		return value(p.core), true
	})
}

func byPartition() []string { return []string{"topic", "partition"} }

func number(partition int32) string { return strconv.Itoa(int(partition)) }

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
