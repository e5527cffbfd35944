package admin

import (
	"cmp"
	"slices"

	"layover/purgatory"
)

// catchUpTotal is the late records for one target that wait for their turn, of all lanes.
type catchUpTotal struct {
	records int64
	untilMs int64 // the turn of the last one
}

// addCatchUp adds what a lane has.
func (t *totals) addCatchUp(l *purgatory.Snapshot) {
	for _, c := range l.CatchingUp {
		sum := t.catchingUp[c.Label]
		t.catchingUp[c.Label] = catchUpTotal{sum.records + int64(c.Records), max(sum.untilMs, c.UntilMs)}
	}
}

// overdue returns how many records of a lane are late or about to be: due, in flight, due in runs
// and not read, or late and put back.
func overdue(l *purgatory.Snapshot) int64 {
	n := int64(l.Due + l.InFlight)
	for _, c := range l.CatchingUp {
		n += int64(c.Records)
	}
	for i := range l.Outlook.Runs.Partitions {
		n += l.Outlook.Runs.Partitions[i].Overdue
	}
	return n
}

// catchUpFamilies are about LAYOVER_CATCHUP_RATE.
func catchUpFamilies() []family {
	return []family{
		gauge("layover_catching_up_records",
			"Records more than 10 s late that wait for their turn of LAYOVER_CATCHUP_RATE, by their target's name or the glob that allows it; part of layover_parked_records and layover_overdue_records.",
			[]string{"target"}, func(v *view, out emit) {
				for target, c := range v.total.catchingUp {
					out(float64(c.records), target)
				}
			}),
	}
}

// catchUpStatus is late records for a target, or for all targets of a glob, that wait for
// their turn. Until is the turn of the last of those that are read.
type catchUpStatus struct {
	Target  string  `json:"target"`
	Records int64   `json:"records"`
	Until   instant `json:"until"`
}

func (v report) catchUp() []catchUpStatus {
	out := []catchUpStatus{}
	for target, c := range v.total.catchingUp {
		if c.records > 0 {
			out = append(out, catchUpStatus{target, c.records, millis(c.untilMs)})
		}
	}
	slices.SortFunc(out, func(a, b catchUpStatus) int { return cmp.Compare(a.Target, b.Target) })
	return out
}
