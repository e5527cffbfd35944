package admin

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// runsStatus is what waits in runs topics, and how it gets there and back. Counters are since the
// start of the process. What is null is not known.
type runsStatus struct {
	Topics      []runsTopicStatus     `json:"topics"`
	Records     *int64                `json:"records"` // copies that wait, at most so many
	Bytes       *int64                `json:"bytes"`
	LogBytes    *int64                `json:"log_bytes"`
	Runs        *int64                `json:"runs"`
	NextDue     instant               `json:"next_due"`
	Moving      int64                 `json:"moving"`
	Moved       int64                 `json:"moved"`
	Cleaned     int64                 `json:"cleaned"`
	Loaded      int64                 `json:"loaded"`
	Lost        int64                 `json:"lost"`
	Visits      int64                 `json:"visits"`
	LateVisits  int64                 `json:"late_visits"`
	LastLate    instant               `json:"last_late_visit"`
	VisitP99Ms  *int64                `json:"visit_p99_ms"` // a bound that 99 of 100 visits kept
	HorizonSecs float64               `json:"horizon_seconds"`
	AheadSecs   float64               `json:"read_ahead_seconds"`
	Partitions  []runsPartitionStatus `json:"partitions"`
}

// runsTopicStatus is the runs topic of an ingress topic. Usable: records are moved. Else Reason
// says in a word why not, and Text at length, with the remedy.
type runsTopicStatus struct {
	Ingress  string `json:"ingress"`
	Name     string `json:"name"`
	State    string `json:"state"`
	Warning  string `json:"warning"`
	Error    string `json:"error"`
	Usable   bool   `json:"usable"`
	Reason   string `json:"reason"`
	Text     string `json:"text"`
	Records  *int64 `json:"records"`
	Bytes    *int64 `json:"bytes"`
	LogBytes *int64 `json:"log_bytes"`
	Runs     *int64 `json:"runs"`
}

// runsPartitionStatus is the runs of one partition. Its numbers are null until somebody has asked
// its runs topic.
type runsPartitionStatus struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Copies    *int64 `json:"copies"`
	Bytes     *int64 `json:"bytes"`
	LogBytes  *int64 `json:"log_bytes"`
	Runs      *int64 `json:"runs"`
	Overdue   *int64 `json:"overdue"` // about so many are due, and not read
	Full      bool   `json:"full"`
}

func (v report) runs() runsStatus {
	t := &v.total
	r := &t.inRuns
	known := false
	s := runsStatus{
		Topics: []runsTopicStatus{}, Partitions: []runsPartitionStatus{}, NextDue: millis(r.nextDueMs),
		Moving: t.Gathered, Moved: t.Moved, Cleaned: t.Cleaned, Loaded: t.Loaded, Lost: t.LostFromRuns,
		Visits: r.visits, LateVisits: r.lateVisits, LastLate: millis(r.lastLateMs),
		HorizonSecs: float64(r.horizonMs) / 1000, AheadSecs: float64(r.aheadMs) / 1000,
	}
	if r.took.Count > 0 {
		ms := int64(boundOf99(&r.took))
		s.VisitP99Ms = &ms
	}
	for i := range v.Runs.Topics {
		at := v.health(&v.Runs.Topics[i])
		of := at.waits
		known = known || of.known
		reason := at.blocked()
		s.Topics = append(s.Topics, runsTopicStatus{
			Ingress: at.Ingress, Name: at.Name, State: at.State, Warning: at.Warning, Error: at.fault(), Usable: reason == "", Reason: reason, Text: at.text(reason),
			Records: ifKnown(of.known, of.records), Bytes: ifKnown(of.known, of.bytes), LogBytes: ifKnown(of.known, of.logBytes), Runs: ifKnown(of.known, of.runs),
		})
	}
	s.Records, s.Bytes, s.LogBytes, s.Runs = ifKnown(known, r.records), ifKnown(known, r.bytes), ifKnown(known, r.logBytes), ifKnown(known, r.runs)
	for _, p := range r.parts {
		s.Partitions = append(s.Partitions, runsPartitionStatus{
			p.Topic, p.Partition, ifKnown(p.Known, p.Copies), ifKnown(p.Known, p.Bytes), ifKnown(p.Known, p.LogBytes), ifKnown(p.Known, int64(p.Runs)), ifKnown(p.Known, p.Overdue), p.Full,
		})
	}
	slices.SortFunc(s.Partitions, func(a, b runsPartitionStatus) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return s
}

// ifKnown returns the number for JSON, where nil is null: nobody knows.
func ifKnown(known bool, n int64) *int64 {
	if !known {
		return nil
	}
	return &n
}

// Shown says whether runs are an operator's business: a topic may have them, or has had.
func (s *runsStatus) Shown() bool {
	return s.Moved+s.Loaded+s.Lost > 0 || s.Records != nil && *s.Records > 0 || slices.ContainsFunc(s.Topics, func(t runsTopicStatus) bool { return t.Reason != runsOff })
}

// VisitP99 writes the bound that 99 of 100 visits kept.
func (s *runsStatus) VisitP99() string {
	if s.VisitP99Ms == nil {
		return "–"
	}
	return human(time.Duration(*s.VisitP99Ms) * time.Millisecond)
}

// Horizon and Ahead write durations, of which 0 is none.
func (s *runsStatus) Horizon() string { return orNone(s.HorizonSecs) }
func (s *runsStatus) Ahead() string   { return orNone(s.AheadSecs) }

func orNone(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return human(time.Duration(seconds * float64(time.Second)))
}

// Used says whether any record was moved or read back: the others need not hear of it.
func (s *runsStatus) Used() bool { return s.Moved+s.Loaded+s.Moving > 0 }

// Word is the reason in words.
func (t *runsTopicStatus) Word() string { return strings.ReplaceAll(t.Reason, "_", " ") }

// Tone is good where a setting says that nothing is moved.
func (t *runsTopicStatus) Tone() tone {
	if t.Reason == runsOff {
		return good
	}
	return warn
}

// faulty reports whether somebody should look at the runs topic.
func (t *runsTopicStatus) faulty() bool {
	return t.Reason != runsOff && (t.Warning != "" || t.Error != "" || t.Reason == runsFull)
}
