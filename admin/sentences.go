package admin

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"layover/purgatory"
)

// pauseStatus is a pause with its meaning and its remedy, in one paragraph.
type pauseStatus struct {
	Reason string `json:"reason"`
	Target string `json:"target"`
	Text   string `json:"text"`
}

func (v report) pauses() []pauseStatus {
	out := make([]pauseStatus, len(v.Pauses))
	for i, p := range v.Pauses {
		out[i] = pauseStatus{p.Reason, p.Target, v.pauseText(p)}
	}
	return out
}

const unharmed = "Nothing is lost, and parked records are still delivered to other targets."

func (v report) pauseText(p Pause) string {
	switch p.Reason {
	case PauseBytes:
		return fmt.Sprintf("Reading is paused because parked records take %s of memory, and it pauses at %s. That is LAYOVER_MAX_PARKED_BYTES, %s, less the "+
			"room for records on their way. Nothing is lost, and parked records are still delivered; what is not read yet is late if its delay is short. "+
			"Reading goes on by itself when deliveries have freed memory. %s",
			size(v.Memory.Used), size(v.Memory.PauseAt), size(v.Memory.Limit), v.memoryRemedy())
	case PauseDeadLetter:
		way := "Reading goes on by itself as soon as it takes one. Check that the topic exists and that Layover may write to it."
		if v.rejects(p.Target) {
			fault := targetFault{&ailing{reason: heldReason(purgatory.Rejecting)}, v.view, SickKey{SickDeadLetter, p.Target, -1}}
			way = "Reading goes on by itself as soon as it takes that one. " + fault.wayOn()
		}
		return fmt.Sprintf("Reading is paused because the dead-letter topic %s does not take records: %s. %s %s", p.Target, v.stateOf(p.Target), unharmed, way)
	case PauseTarget:
		return fmt.Sprintf("Reading is paused because the target %s does not take records: %s. Its held records have used up "+
			"LAYOVER_TARGET_PATIENCE or a quarter of the memory limit, and there is no dead-letter topic to move them to. %s "+
			"Reading goes on by itself as soon as the target takes records: create it or give Layover the right to write to it. "+
			"Or set LAYOVER_DLQ_TOPIC and restart.", p.Target, v.stateOf(p.Target), unharmed)
	}
	return strings.TrimSpace("Reading is paused: " + p.Reason + " " + p.Target)
}

// memoryRemedy says what to do about memory that stays full. Where most of it is records that are never moved to runs, it
// says so: nothing but their deadlines empties it.
func (v *view) memoryRemedy() string {
	moves := slices.ContainsFunc(v.Runs.Topics, func(t RunsTopic) bool { return t.Off == "" })
	if !moves || v.total.namedBytes*2 <= v.total.liveBytes {
		return "If this lasts, raise the limit, or run more instances, up to the number of partitions."
	}
	return fmt.Sprintf("Most of it, %s, is records with an id (x-delay-id). They are not moved to runs, and stay in memory until they are due. "+
		"If this lasts, raise the limit, or write records with long delays without an id.", size(v.total.namedBytes))
}

// holdsOf returns what lanes say of a target that they hold.
func holdsOf(lanes []*purgatory.Snapshot, target string) iter.Seq[*purgatory.HeldView] {
	return func(yield func(*purgatory.HeldView) bool) {
		for _, l := range lanes {
			if l == nil {
				continue
			}
			for i := range l.Held {
				if h := &l.Held[i]; h.Target == target && !yield(h) {
					return
				}
			}
		}
	}
}

// stateOf returns the fault of a target, as far as a lane knows it.
func (v report) stateOf(target string) string {
	for h := range holdsOf(v.Lanes, target) {
		if h.Detail != "" {
			return fmt.Sprintf("it is %s (%s)", h.Verdict, h.Detail)
		}
		return "it is " + h.Verdict.String()
	}
	return "the reason is not known yet"
}

// rejects reports whether a target refuses a record for its content.
func (v report) rejects(target string) bool {
	for h := range holdsOf(v.Lanes, target) {
		if h.Verdict == purgatory.Rejecting {
			return true
		}
	}
	return false
}

// deadLetterSick reports whether there is a dead-letter topic that takes none, or not all.
func (v *view) deadLetterSick() bool {
	name := v.Settings.DeadLetter
	if name == "" {
		return false
	}
	for range holdsOf(v.Lanes, name) {
		return true
	}
	return slices.Contains(v.Pauses, Pause{PauseDeadLetter, name}) ||
		slices.ContainsFunc(v.Kafka.Topics, func(t TopicState) bool { return t.Name == name })
}

// maxHeld is how many targets /status shows as held: with globs allowed, their
// number is up to the producers.
const maxHeld = 100

// heldStatus is a target that takes no records. PatienceLeft is until the record that has
// waited longest is given up; null of the dead-letter topic, for which reading waits.
type heldStatus struct {
	Target       string  `json:"target"`
	State        string  `json:"state"`
	Detail       string  `json:"detail"`
	Records      int     `json:"records"`
	Bytes        int64   `json:"bytes"`
	Since        instant `json:"since"`
	PatienceLeft *int64  `json:"patience_left_seconds"`
	DeadLettered int64   `json:"dead_lettered"` // given up since it was last usable
	Text         string  `json:"text"`          // the remedy

	about ailing
}

// take adds what another lane holds for the target.
func (t *heldStatus) take(h *purgatory.HeldView) {
	since := millis(h.SinceMs)
	if t.Since.IsZero() || !since.IsZero() && since.Before(t.Since.Time) {
		t.Since = since
	}
	left := time.Duration(h.PatienceLeftMs) * time.Millisecond
	if h.Records > 0 && (t.Records == 0 || left < t.about.left) {
		t.about.left = left
	}
	t.Records += h.Records
	t.Bytes += h.Bytes
	t.DeadLettered += h.GivenUp
}

// explain completes the texts of a target of which all lanes were taken.
func (v report) explain(t *heldStatus) {
	k := SickKey{v.Settings.kindOf(t.Target), t.Target, -1}
	t.about.records, t.about.givenUp = t.Records, t.DeadLettered
	if k.Kind != SickDeadLetter && t.Records > 0 {
		left := int64(t.about.left / time.Second)
		t.PatienceLeft = &left
	}
	fault := targetFault{&t.about, v.view, k}
	t.Text = fault.rest() + " " + fault.wayOn()
}

// held returns the held targets, those with most records first, and how many more
// there are. A target that several lanes hold is described as the first has it.
func (v report) held() (shown []heldStatus, more int) {
	at := make(map[string]int)
	shown = []heldStatus{}
	for _, l := range v.Lanes {
		if l == nil {
			continue
		}
		for i := range l.Held {
			h := &l.Held[i]
			j, known := at[h.Target]
			if !known {
				j = len(shown)
				at[h.Target] = j
				shown = append(shown, heldStatus{Target: h.Target, State: h.Verdict.String(), Detail: h.Detail, about: ailing{reason: heldReason(h.Verdict)}})
			}
			shown[j].take(h)
		}
	}
	slices.SortFunc(shown, func(a, b heldStatus) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), cmp.Compare(a.Target, b.Target))
	})
	if len(shown) > maxHeld {
		shown, more = shown[:maxHeld], len(shown)-maxHeld
	}
	for i := range shown {
		shown[i].DeadLettered += v.total.givenUp[shown[i].Target]
		v.explain(&shown[i])
	}
	return shown, more + v.total.heldRest
}

// heldProblem sums up the held targets in a sentence or two.
func (v report) heldProblem(s *status) string {
	records, first := 0, (*heldStatus)(nil)
	var dead int64
	for i := range s.Held {
		t := &s.Held[i]
		records += t.Records
		dead += t.DeadLettered
		if t.Records > 0 && t.PatienceLeft != nil && (first == nil || *t.PatienceLeft < *first.PatienceLeft) {
			first = t
		}
	}
	text := fmt.Sprintf("%s, and %s.", counted(len(s.Held)+s.HeldMore, "target does not take records", "targets do not take records"),
		counted(records, "record waits for that", "records wait for that"))
	will, already := "is a dead letter", "Dead letters for that"
	if v.lettersWait {
		will, already = "is given up", "Given up for that"
	}
	if first != nil && v.Settings.DeadLetter != "" {
		text += fmt.Sprintf(" The first %s in %s.", will, human(first.about.left))
	}
	if dead > 0 {
		text += fmt.Sprintf(" %s already: %s.", already, grouped(dead))
	}
	return text
}

// duplicates is the bound on repeated deliveries after a kill, in its parts, in records.
type duplicates struct {
	SinceLastCommit int64 `json:"since_last_commit"`
	InFlight        int64 `json:"in_flight"`
	Moving          int64 `json:"moving"` // in flight to the runs topic
	BeyondPrefix    int64 `json:"beyond_metadata_prefix"`
	Journalled      int64 `json:"in_journal"` // of the two that are not in flight
	Total           int64 `json:"total"`
}

func (d *duplicates) add() {
	d.Total = d.SinceLastCommit + d.InFlight + d.Moving + d.BeyondPrefix - d.Journalled
}

type duplicatesStatus struct {
	duplicates
	Text string `json:"text"`
}

func (v report) duplicates() duplicatesStatus {
	var d duplicates
	for i := range v.parts {
		if c := v.parts[i].core; c != nil {
			d.SinceLastCommit += c.Uncommitted
			d.BeyondPrefix += c.BeyondPrefix
			d.Journalled += c.Journalled
		}
	}
	d.InFlight = v.total.inFlight // with partitions that are gone already
	d.Moving = v.total.moving
	d.add()
	return duplicatesStatus{d, fmt.Sprintf("If this process were killed now, nothing would be lost, and at most this many records "+
		"would be delivered a second time: those finished since the last successful commit (commits come every %s), those in "+
		"flight (per target partition at most 1,000, or what it took in the last 50 ms if that is more), records on their way to the "+
		"runs topic, and finished ones above the prefix of the finished set that fits into the commit's metadata, less those that the journal has.", v.Settings.CommitInterval)}
}

// killed is the bound for one partition.
func killed(c *purgatory.PartitionView) duplicates {
	d := duplicates{SinceLastCommit: c.Uncommitted, InFlight: int64(c.InFlight), Moving: int64(c.Moving), BeyondPrefix: c.BeyondPrefix, Journalled: c.Journalled}
	d.add()
	return d
}

// partitionStatus is one partition. Offsets are null until they are known.
type partitionStatus struct {
	Topic     string         `json:"topic"`
	Partition int32          `json:"partition"`
	Loaded    bool           `json:"loaded"`
	Low       *int64         `json:"low_offset"`
	Committed *int64         `json:"committed_offset"`
	Read      *int64         `json:"read_offset"`
	LogEnd    *int64         `json:"log_end"`
	Lag       *int64         `json:"intake_lag"` // from read_offset to log_end
	StableEnd *int64         `json:"stable_end_at_assignment"`
	Parked    int            `json:"parked"` // with those that are due
	Due       int            `json:"due"`
	InFlight  int            `json:"in_flight"`
	Finished  int64          `json:"finished_above_low"`
	Metadata  int            `json:"commit_metadata_bytes"`
	Set       string         `json:"finished_set_in"` // metadata, journal, or the prefix that fits into metadata
	Stopped   *stoppedStatus `json:"stopped"`
	Kill      duplicates     `json:"duplicates_after_a_kill"`
}

type stoppedStatus struct {
	Offset *int64 `json:"offset"` // null: nothing of it was read
	Reason string `json:"reason"` // a stable code
	Detail string `json:"detail"`
	Halted bool   `json:"halted"`
	Text   string `json:"text"`
}

func (v report) partitions() []partitionStatus {
	out := make([]partitionStatus, len(v.parts))
	for i := range v.parts {
		p := &v.parts[i]
		s := partitionStatus{Topic: p.topic, Partition: p.partition}
		if next, known := p.next(); known {
			s.Loaded, s.Read = true, &next
		}
		if lag, known := p.intakeLag(); known {
			s.LogEnd, s.Lag = &p.member.End, &lag
		}
		if c := p.core; c != nil {
			s.Low, s.Committed, s.StableEnd = &c.Low, &c.Committed, &c.StableEnd
			s.Parked, s.Due, s.InFlight, s.Finished = c.Parked+c.Due, c.Due, c.InFlight, c.Finished
			s.Kill = killed(c)
			s.Set, s.Metadata = c.Facts.Mode.String(), c.Metadata
		}
		if at, is := p.stop(); is {
			s.Stopped = &stoppedStatus{nil, at.code, at.why, at.halted, v.Settings.stopText(p, at)}
			if at.begun {
				s.Stopped.Offset = &at.offset
			}
		}
		out[i] = s
	}
	return out
}

func (set *Settings) stopText(p *part, s stop) string {
	if !s.begun {
		return fmt.Sprintf("%s/%d is not read: %s. Nothing of it is delivered, and other partitions are not affected.",
			p.topic, p.partition, strings.TrimSuffix(s.why, "."))
	}
	text := fmt.Sprintf("Reading of %s/%d stopped at offset %d: %s. Its parked records are still delivered, and other partitions "+
		"are not affected.", p.topic, p.partition, s.offset, strings.TrimSuffix(s.why, "."))
	if s.halted {
		text += " A restart with another LAYOVER_ON_INVALID goes on from there: " + set.otherChoices(s.why) + "."
	}
	if s.halted && !p.core.HaltedCopied || p.member != nil && p.member.Reason == unreadable {
		text += fmt.Sprintf(" To leave out that record or batch alone, stop all instances and run: layover skip %s/%d@%d.", p.topic, p.partition, s.offset)
	}
	return text
}

// unreadable is the Reason of a partition whose next batch cannot be read.
const unreadable = "unreadable"

// otherChoices names the policies under which a halted partition would go on. deliver
// is none for a record that a target refused: without a dead-letter topic it halts.
func (set *Settings) otherChoices(why string) string {
	choices := []string{"dlq"}
	if set.DeadLetter == "" {
		choices[0] = "dlq (with LAYOVER_DLQ_TOPIC set)"
	}
	refused := slices.ContainsFunc([]string{"too_large:", "rejected:", "target_unavailable:", "too_large_to_read:"}, func(code string) bool {
		return strings.HasPrefix(why, code)
	})
	if set.OnInvalid != "deliver" && set.Deliverable && !refused {
		choices = append(choices, "deliver")
	}
	return strings.Join(append(choices, "drop"), " or ")
}
