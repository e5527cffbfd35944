package admin

import (
	"fmt"
	"time"
)

// overdueLong is how long a record may be overdue before /readyz says degraded, where
// nothing that is sick explains it. A second attempt at a delivery takes less.
const overdueLong = time.Minute

// concerns are records that are lost, dead or late although nothing need be sick, each in a few
// words. Any of them makes /readyz say degraded. A pause of reading that keeps records back is not among them.
func (v *view) concerns() (out []string) {
	if v.isBack() && v.Group.LastError != "" {
		out = append(out, "Kafka answers again, and the group is not joined yet: "+v.Group.LastError)
	}
	if v.lettersCome() {
		last := v.lastLetters()[0]
		out = append(out, fmt.Sprintf("dead letters come: %s since the start, the last %s (%s)",
			grouped(all(v.total.DeadLettered)), relative(time.UnixMilli(last.AtMs).Sub(v.now)), last.Reason))
	}
	if text := v.total.losses(v.now); text != "" {
		out = append(out, text)
	}
	if text := v.overdueLong(); text != "" {
		out = append(out, text)
	}
	if v.readsLate() {
		out = append(out, v.readsLateText())
	}
	return out
}

// overdueLong describes records that are long overdue; "" where there are none, or where
// a held target or Kafka explains them.
func (v *view) overdueLong() string {
	oldestMs := v.total.oldestOverdueMs
	late := v.now.Sub(time.UnixMilli(oldestMs))
	if oldestMs == 0 || late < overdueLong {
		return ""
	}
	for i := range v.sick {
		switch s := &v.sick[i]; s.Kind {
		case SickKafka, SickGroup, SickNames:
			return ""
		case SickTarget, SickDeadLetter, SickEvents:
			if !s.idle {
				return ""
			}
		case SickRuns:
			if s.Reason == runsUnread {
				return ""
			}
		}
	}
	return fmt.Sprintf("%s, the oldest by %s", countedLong(v.total.overdue, "record is overdue", "records are overdue"), human(late))
}

// knowsParked reports whether it is known how many records are parked. Without partitions
// nothing is known of them, unless the group has given this member none.
func (v *view) knowsParked() bool {
	for i := range v.parts {
		if v.parts[i].core != nil {
			return true
		}
	}
	return len(v.parts) == 0 && v.Kafka.Answering && v.Group.Joined && v.Group.LastError == ""
}

// known returns the number for JSON, where nil is null: nobody knows.
func (v report) known(n int64) *int64 {
	if !v.knowsParked() {
		return nil
	}
	return &n
}

// lateStartFor is how long after the last such delivery a late start is explained.
const lateStartFor = 15 * time.Minute

// lateStart explains deliveries of records that were due before this process got their
// partitions: nobody delivered them then, as in a downtime.
type lateStart struct {
	Records    int64   `json:"records"`
	Earliest   instant `json:"earliest_due"`
	Latest     instant `json:"latest_due"`
	Assigned   instant `json:"assigned"`
	MostLateMs int64   `json:"most_late_ms"`
	Text       string  `json:"text"`
}

// startsLate reports whether such records are being delivered now.
func (v *view) startsLate() bool {
	m := &v.total.missed
	return m.Records > 0 && v.now.Sub(time.UnixMilli(m.LastMs)).Abs() < overdueLong
}

// lateStart returns nil where there was none of late.
func (v report) lateStart() *lateStart {
	m := &v.total.missed
	if m.Records == 0 || v.now.Sub(time.UnixMilli(m.LastMs)).Abs() >= lateStartFor {
		return nil
	}
	s := &lateStart{m.Records, millis(m.EarliestMs), millis(m.LatestMs), millis(m.AssignedMs), m.MostLateMs, ""}
	form := func(at instant) string { return at.UTC().Format("2006-01-02 15:04:05Z") }
	s.Text = fmt.Sprintf("%s due before this process got their partitions at %s: the earliest at %s, the latest at %s. Nobody delivered them then, as in a downtime, "+
		"so they came up to %s late. Lateness counts them, and says nothing against the present.",
		countedLong(m.Records, "delivered record was", "delivered records were"), form(s.Assigned), form(s.Earliest), form(s.Latest), human(time.Duration(m.MostLateMs)*time.Millisecond))
	return s
}
