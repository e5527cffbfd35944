package admin

import "layover/purgatory"

// runsTotal is the runs of one ingress topic, or of all.
type runsTotal struct {
	records, bytes, logBytes, runs, overdue int64
	known                                   bool // of a partition at least
	opening, full                           []int32
	holds                                   bool  // of one in opening the last commit says that copies may wait there
	fullSinceMs                             int64 // 0: none is, or nobody knows
}

// runsTotals are the lanes' runs added up.
type runsTotals struct {
	byTopic                  map[string]runsTotal
	parts                    []purgatory.RunsView // by topic and partition
	records, bytes, logBytes int64
	runs                     int64
	nextDueMs                int64 // 0: none waits
	visits, lateVisits       int64
	lastLateMs               int64
	took                     purgatory.Histogram
	horizonMs, aheadMs       int64 // the least of all lanes, 0: none moves
}

// zeroRuns adds a key at 0 for every ingress topic.
func (t *totals) zeroRuns(set *Settings) {
	t.inRuns.byTopic = make(map[string]runsTotal)
	for _, topic := range set.Ingress {
		t.inRuns.byTopic[topic] = runsTotal{}
	}
}

// addRuns adds what a lane has.
func (t *totals) addRuns(l *purgatory.Snapshot) {
	r := &t.inRuns
	for _, p := range l.Outlook.Runs.Partitions {
		r.parts = append(r.parts, p)
		of := r.byTopic[p.Topic]
		of.add(&p)
		r.byTopic[p.Topic] = of
		r.records, r.bytes, r.logBytes = r.records+p.Copies, r.bytes+p.Bytes, r.logBytes+p.LogBytes
		r.runs += int64(p.Runs)
		t.furthestMs[p.Topic] = max(t.furthestMs[p.Topic], p.FurthestMs)
	}
	r.nextDueMs = earliest(r.nextDueMs, l.Outlook.Runs.NextDueMs)
	r.visits, r.lateVisits = r.visits+l.Pace.Visits, r.lateVisits+l.Pace.LateVisits
	r.lastLateMs = max(r.lastLateMs, l.Pace.LastLateMs)
	r.took.Add(&l.Pace.Took)
	r.horizonMs, r.aheadMs = earliest(r.horizonMs, l.Pace.HorizonMs), earliest(r.aheadMs, l.Pace.AheadMs)
	t.Moved += l.Moved
	t.Cleaned += l.Cleaned
	t.Loaded += l.Loaded
	t.Gathered += l.Gathered
	t.LostFromRuns += l.LostFromRuns
}

func (r *runsTotal) add(p *purgatory.RunsView) {
	r.records, r.bytes, r.logBytes = r.records+p.Copies, r.bytes+p.Bytes, r.logBytes+p.LogBytes
	r.runs, r.overdue = r.runs+int64(p.Runs), r.overdue+p.Overdue
	r.known, r.holds = r.known || p.Known, r.holds || p.Holds
	if !p.Known {
		r.opening = append(r.opening, p.Partition)
	}
	if p.Full {
		r.full, r.fullSinceMs = append(r.full, p.Partition), earliest(r.fullSinceMs, p.FullSinceMs)
	}
}

// earliest returns the lesser of two numbers, of which 0 is none.
func earliest(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// runsFamilies are about records that wait in runs topics.
func runsFamilies() []family {
	return []family{
		perRunsTopic("layover_runs_records",
			"Copies that wait in the runs topic of an ingress topic, not those that were read from there: an upper bound, as of at most a second ago, or some seconds with tens of thousands of runs. No part of layover_parked_records.",
			func(r runsTotal) int64 { return r.records }),
		perRunsTopic("layover_runs_bytes",
			"Bytes of layover_runs_records, headers included, before compression.",
			func(r runsTotal) int64 { return r.bytes }),
		perRunsTopic("layover_runs_log_bytes",
			"Bytes in the runs topic of an ingress topic, finished copies that are not deleted yet included; an estimate, before compression and replication.",
			func(r runsTotal) int64 { return r.logBytes }),
		perRunsTopic("layover_runs_runs",
			"Runs with a copy that is not finished, by ingress topic: what was moved together, sorted by deadline. At 4,096 of a partition nothing more of it is moved.",
			func(r runsTotal) int64 { return r.runs }),
		count("layover_runs_moved_records_total",
			"Records moved out of memory: their copies were acknowledged by the leader of the runs topic.",
			func(v *view) int64 { return v.total.Moved }),
		count("layover_runs_cleaned_records_total",
			"Of layover_runs_moved_records_total, copies that were moved once more, so that the space of finished ones around them is freed.",
			func(v *view) int64 { return v.total.Cleaned }),
		count("layover_runs_loaded_records_total",
			"Copies read back into memory, to be delivered or to be moved once more.",
			func(v *view) int64 { return v.total.Loaded }),
		level("layover_runs_moving_records",
			"Records on their way to a runs topic: taken out of those parked, and not acknowledged yet.",
			func(v *view) float64 { return float64(v.total.Gathered) }),
		count("layover_runs_visits_total",
			"Readings of a part of a run, from the request to its end, and those that failed.",
			func(v *view) int64 { return v.total.inRuns.visits }),
		count("layover_runs_late_visits_total",
			"Of layover_runs_visits_total, those that brought a copy whose deadline had passed.",
			func(v *view) int64 { return v.total.inRuns.lateVisits }),
		level("layover_runs_horizon_seconds",
			"From now to the deadline from which on records are moved, in seconds, of the lane with the least: what is due before stays in memory. 0 without partitions.",
			func(v *view) float64 { return float64(v.total.inRuns.horizonMs) / 1000 }),
		level("layover_runs_read_ahead_seconds",
			"From reading a copy to its deadline, in seconds, of the lane with the least. 0 without partitions.",
			func(v *view) float64 { return float64(v.total.inRuns.aheadMs) / 1000 }),
		gauge("layover_runs_usable",
			"1 while records of an ingress topic can be moved to its runs topic, else 0; /status has the reason under runs. No series where LAYOVER_RUNS or LAYOVER_JOURNAL is off.",
			[]string{"topic"}, func(v *view, out emit) {
				for i := range v.Runs.Topics {
					if t := v.health(&v.Runs.Topics[i]); t.Off == "" {
						out(flag(t.blocked() == ""), t.Ingress)
					}
				}
			}),
		count("layover_lost_from_runs_records_total",
			"Offsets of runs topics that are gone and were neither finished nor read: deleted or compacted by somebody else, truncated, in a topic that was made again, or with a record that is damaged or no copy. The copies among them are lost.",
			func(v *view) int64 { return v.total.LostFromRuns }),
	}
}

func perRunsTopic(name, help string, value func(runsTotal) int64) family {
	return gauge(name, help, []string{"topic"}, func(v *view, out emit) {
		for topic, r := range v.total.inRuns.byTopic {
			out(float64(value(r)), topic)
		}
	})
}
