package admin

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// Bounds on the page; the JSON has all of it.
const (
	maxRows  = 200 // partitions
	maxStops = 20  // explanations of stopped partitions
)

// tone is the urgency of something: an operator has to look now, soon, or not.
// It is always beside a word that says the same.
type tone int

const (
	good tone = iota
	warn
	bad
)

// String returns the class in the style.
func (t tone) String() string { return [...]string{"good", "warn", "bad"}[t] }

// pageData is the input of the template: the status as JSON has it, so that the two
// cannot differ, and the texts for people.
type pageData struct {
	status
	Style   template.CSS
	Script  template.JS
	Edition string
	Icon    template.URL
	Grey    template.URL // the icon while nobody answers
	Refresh bool
	Now     time.Time

	Tone     tone
	State    string // one word, or two
	Why      string
	Problems []problem

	Trend              []line
	DueIn              []dueBar // none: nobody knows
	DueNow             int64    // of those parked
	InMemory           int64    // parked by this process
	InRuns             int64    // copies that wait in runs topics
	RunsBytes, RunsLog int64    // of those, and of all in the topics' logs
	Behind             *int64   // offsets that are in the logs and not read yet; nil: not known of any partition
	Stops              []string
	MoreStop           int // stopped partitions that are not explained
	Rows               []row
	MoreRows           int
}

// problem is one sentence about something that is wrong.
type problem struct {
	Tone tone
	Text string
	At   string // id of the section that has more, "" if none has
}

// dueBar is one interval of the chart. Width is in percent of the longest bar.
type dueBar struct {
	Label   string
	Records int64
	Width   float64
}

// row is a partition with its activity.
type row struct {
	partitionStatus
	Tone  tone
	Doing string
}

func (v report) page() *pageData {
	d := &pageData{status: v.status(), Now: v.now, Trend: trend(v.past, v.now)}
	if d.Parked.Records != nil {
		d.DueIn = dueBars(d.DueWithin, v.total.waiting())
	}
	d.DueNow, d.InMemory = v.total.due, v.total.parked
	d.InRuns, d.RunsBytes, d.RunsLog = v.total.inRuns.records, v.total.inRuns.bytes, v.total.inRuns.logBytes
	d.State, d.Why = capital(d.status.State), ready(v.view).why
	if v.Draining {
		d.Why = "a stop was asked for: records in flight are finished and committed"
	}
	d.Problems = v.problems(&d.status)
	if d.State != "Ready" {
		d.Tone = warn
	}
	for _, p := range d.Problems {
		d.Tone = max(d.Tone, p.Tone)
	}
	for i := range d.Sick {
		d.Tone = max(d.Tone, d.Sick[i].Tone())
	}
	d.Icon, d.Grey = icon(d.Tone), dot("6b7280")
	d.Rows = rows(d.Partitions, len(d.Pauses) > 0)
	for _, r := range d.Rows {
		if r.Stopped != nil {
			d.Stops = append(d.Stops, r.Stopped.Text)
		}
		if r.Lag == nil {
			continue
		}
		if d.Behind == nil {
			d.Behind = new(int64)
		}
		*d.Behind += *r.Lag
	}
	d.Stops, d.MoreStop = atMost(d.Stops, maxStops)
	d.Rows, d.MoreRows = atMost(d.Rows, maxRows)
	return d
}

// What returns the kind in words.
func (s *Sickness) What() string { return strings.ReplaceAll(s.Kind, "_", " ") }

// Tone is bad where Kafka, an ingress topic or a partition of one cannot be read.
func (s *Sickness) Tone() tone {
	if s.Kind == SickKafka || s.Kind == SickIngress || s.Kind == SickPartition {
		return bad
	}
	return warn
}

// icon is a dot in the tab, in the colour of the tone.
func icon(t tone) template.URL {
	return dot([...]string{good: "15803d", warn: "b45309", bad: "b91c1c"}[t])
}

func dot(colour string) template.URL {
	return template.URL("data:image/svg+xml,%3Csvg%20xmlns=%27http://www.w3.org/2000/svg%27%20viewBox=%270%200%2016%2016%27%3E" +
		"%3Ccircle%20cx=%278%27%20cy=%278%27%20r=%277%27%20fill=%27%23" + colour + "%27/%3E%3C/svg%3E")
}

func atMost[T any](all []T, limit int) (shown []T, more int) {
	if len(all) <= limit {
		return all, 0
	}
	return all[:limit], len(all) - limit
}

// problems returns everything that is wrong, the most urgent first.
func (v report) problems(s *status) []problem {
	var out []problem
	say := func(when bool, t tone, at, format string, args ...any) {
		if when {
			out = append(out, problem{t, fmt.Sprintf(format, args...), at})
		}
	}
	for _, loop := range live(v.Sample, v.now) {
		say(true, bad, "", "%s: it is stuck, and /livez asks for a restart.", loop)
	}
	say(s.Counters.Unaccounted != 0, bad, "counters", "The counters do not add up: %s records are unaccounted for. This is a bug in Layover; please report it.",
		grouped(s.Counters.Unaccounted))
	say(s.Runs.Lost > 0, bad, "runs", "%s gone from a runs topic: whatever of them was a copy is not delivered.", countedLong(s.Runs.Lost, "offset is", "offsets are"))
	if lost := v.total.losses(v.now); lost != "" {
		say(true, bad, "counters", "%s.", capital(lost))
	}
	stopped := 0
	for i := range s.Partitions {
		if s.Partitions[i].Stopped != nil && !(v.isSilent() && v.parts[i].member != nil && v.parts[i].member.Trying) {
			stopped++
		}
	}
	say(stopped > 0, bad, "stopped", "%s.", counted(stopped, "partition is not read any more", "partitions are not read any more"))
	for _, warning := range s.Connection.Warnings {
		say(true, warn, "connection", "%s", warning)
	}
	if !v.isSilent() { // or all of that follows from it
		say(s.Group.Joined && !s.Group.LeaseValid, warn, "", "The group's coordinator has not confirmed our membership lately: nothing is delivered until it does.")
		say(!s.Group.Joined && v.CaughtUp, warn, "", "Not a member of the group %s at present. %s", s.Group.ID, s.Group.Error)
		say(len(s.Held) > 0, warn, "held", "%s", v.heldProblem(s))
	}
	say(len(s.Pauses) > 0, warn, "pauses", "Reading is paused: %s. %s", v.pauseNames(), v.pausedText())
	say(s.Letters.Coming, warn, "letters", "Dead letters come: %s since the start, the last %s.", grouped(s.Letters.Total), v.lastLetterAge())
	late := v.overdueLong()
	say(late != "", warn, "", "%s.", late)
	say(v.startsLate(), warn, "lateness", "Records come late that were due before this process got their partitions.")
	say(v.readsLate(), warn, "runs", "%s.", capital(v.readsLateText()))
	say(len(s.Kafka.Faults) > 0, warn, "topics", "%s.", counted(len(s.Kafka.Faults), "configured topic cannot be used", "configured topics cannot be used"))
	say(len(s.Findings) > 0, warn, "findings", "%s.", s.findingNames())
	say(len(s.Kafka.Warnings) > 0 && s.CheckedAt.IsZero(), warn, "topics", "%s.", counted(len(s.Kafka.Warnings), "ingress topic is configured badly", "ingress topics are configured badly"))
	faulty := 0
	for _, t := range s.Journal.Topics {
		if t.faulty() {
			faulty++
		}
	}
	say(faulty > 0 && !v.isSilent(), warn, "journal", "%s.", counted(faulty, "journal has something wrong with it", "journals have something wrong with them"))
	faulty = 0
	for i := range s.Runs.Topics {
		if s.Runs.Topics[i].faulty() {
			faulty++
		}
	}
	say(faulty > 0 && !v.isSilent(), warn, "runs", "%s.", counted(faulty, "runs topic has something wrong with it", "runs topics have something wrong with them"))
	return out
}

// faulty reports whether somebody should look at the journal of the topic. One that
// is switched off has a state of its own and neither a warning nor an error.
func (t journalTopic) faulty() bool { return t.Warning != "" || t.Error != "" }

// dueLabels are the chart's intervals: up to each of purgatory.Horizons, from the
// one before, and the rest.
func dueLabels() []string {
	return []string{"within 1 s", "1 to 10 s", "10 s to 1 min", "1 to 10 min", "10 min to 1 h", "1 to 6 h", "6 h to 1 day", "later"}
}

// dueBars turns cumulative counts, and that of all records that wait, into the counts of
// the intervals. A bar that stands for a record at all is long enough to be seen.
func dueBars(within []dueStatus, waiting int64) []dueBar {
	var out []dueBar
	var before, most int64
	for i, label := range dueLabels() {
		upTo := waiting
		if i < len(within) {
			upTo = *within[i].Records
		}
		out = append(out, dueBar{Label: label, Records: upTo - before})
		most = max(most, upTo-before)
		before = upTo
	}
	for i := range out {
		if n := out[i].Records; n > 0 {
			out[i].Width = max(0.5, 100*float64(n)/float64(most))
		}
	}
	return out
}

// rows returns the partitions, those with a problem first.
func rows(partitions []partitionStatus, paused bool) []row {
	out := make([]row, len(partitions))
	for i, p := range partitions {
		r := row{partitionStatus: p, Doing: "reading"}
		switch {
		case p.Stopped != nil:
			if r.Tone, r.Doing = bad, "not read"; p.Stopped.Offset != nil {
				r.Doing = "stopped at " + grouped(*p.Stopped.Offset)
			}
		case !p.Loaded:
			r.Tone, r.Doing = warn, "loading its offset"
		case p.StableEnd != nil && *p.Read < *p.StableEnd:
			r.Tone, r.Doing = warn, "catching up to "+grouped(*p.StableEnd)
		case paused:
			r.Doing = "paused"
		}
		out[i] = r
	}
	slices.SortStableFunc(out, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.Tone, a.Tone), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}

// Title is the text of a browser's tab, with the numbers of the tile Parked.
func (d *pageData) Title() string {
	inRuns := ""
	if d.InRuns > 0 {
		inRuns = fmt.Sprintf(", %s in runs", grouped(d.InRuns))
	}
	return fmt.Sprintf("%s: %s parked%s – Layover %s", d.State, known(d.Parked.Records), inRuns, d.Group.ID)
}

// Built is the revision, "" where the build did not leave one.
func (d *pageData) Built() string {
	if d.Revision == "unknown" {
		return ""
	}
	return d.Revision
}

// Up is for how long the process runs.
func (d *pageData) Up() string { return human(time.Duration(d.Uptime) * time.Second) }

// Relative says when t is, seen from now.
func (d *pageData) Relative(t instant) string { return relative(t.Sub(d.Now)) }

// MemoryBound is the memory at which reading pauses, and the limit where that is not known.
func (d *pageData) MemoryBound() int64 { return cmp.Or(d.Parked.PauseAt, d.Parked.Limit) }

// MemoryPercent is how much of the bound is used; 0 where there is none.
func (d *pageData) MemoryPercent() float64 {
	if d.MemoryBound() <= 0 {
		return 0
	}
	return 100 * float64(d.Parked.Memory) / float64(d.MemoryBound())
}

// MemoryWidth is the length of the bar.
func (d *pageData) MemoryWidth() float64 { return min(100, max(0, d.MemoryPercent())) }

// MemoryTone warns from 90 percent on.
func (d *pageData) MemoryTone() tone {
	if d.MemoryPercent() >= 90 {
		return warn
	}
	return good
}

// Route names the topics that are read and written.
func (d *pageData) Route() string {
	text := "Reads " + strings.Join(d.Settings.Ingress, ", ")
	if len(d.Settings.Targets) > 0 {
		text += ", delivers to " + strings.Join(d.Settings.Targets, ", ")
	}
	switch {
	case d.Settings.DeadLetter != "":
		return text + ", dead letters to " + d.Settings.DeadLetter + "."
	case d.Settings.OnInvalid != "":
		return text + ", no dead-letter topic; policy for invalid records: " + d.Settings.OnInvalid + "."
	}
	return text + "."
}
