package admin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"layover/purgatory"
)

// Kinds of sick things.
const (
	SickKafka      = "kafka"         // no broker answers, or one refuses the connection
	SickGroup      = "group"         // the group does not count on this process
	SickIngress    = "ingress_topic" // an ingress topic cannot be read
	SickPartition  = "partition"     // an ingress partition is not read
	SickDeadLetter = "dead_letter"   // the dead-letter topic takes nothing
	SickEvents     = "events"        // the topic of events takes nothing
	SickTarget     = "target"        // a target, or a partition of it, takes nothing
	SickNames      = "names"         // headers have chosen more targets than are known at a time
	SickRuns       = "runs"          // nothing is moved while memory presses, or copies are not read in time
	SickJournal    = "journal"       // a journal topic cannot be used as it is
)

// sickKinds are all kinds, the most severe first.
func sickKinds() []string {
	return []string{SickKafka, SickGroup, SickIngress, SickPartition, SickDeadLetter, SickNames, SickTarget, SickEvents, SickRuns, SickJournal}
}

// maxSick is how many sick things /status shows: with globs allowed, the number of
// targets is up to the producers.
const maxSick = 100

// Sickness is one thing that does not work, while its neighbours go on.
type Sickness struct {
	Kind      string  `json:"kind"`
	Name      string  `json:"name"`      // of the topic, the target, the group or a broker; "" of Kafka
	Partition *int32  `json:"partition"` // nil: all of it
	Reason    string  `json:"reason"`    // a stable code
	Since     instant `json:"since"`     // null while that is not known
	Text      string  `json:"text"`      // the fault, its limits and the remedy

	short string // for /readyz
	idle  bool   // of a topic that is produced to: nothing waits for it
}

// SickKey names the sick thing. It stays the same as long as the sickness lasts.
type SickKey struct {
	Kind, Name string
	Partition  int32 // below 0: all of it
}

// Key returns the name of the sick thing.
func (s *Sickness) Key() SickKey {
	if s.Partition == nil {
		return SickKey{s.Kind, s.Name, -1}
	}
	return SickKey{s.Kind, s.Name, *s.Partition}
}

// SickForLog returns the sick things for the log, the most severe first. A target that a
// header chose is under the glob that allows it, and no record is quoted.
// Journals are left out: they have lines of their own, at most one in 30 s. It is asked each second.
func SickForLog(s Sample, now time.Time) []Sickness { return glance(s, now, Settings{}).findSick(true) }

// findSick returns the sick things, the most severe first, then by name.
func (v *view) findSick(forLog bool) []Sickness {
	out := slices.Concat(v.sickKafka(), v.sickGroup(), v.sickIngress(), v.sickPartitions(forLog), v.sickTargets(forLog), v.sickNames(), v.sickRuns())
	if !forLog {
		out = append(out, v.sickJournals()...)
	}
	if v.isSilent() {
		out = slices.DeleteFunc(out, followsFromSilence)
	}
	severity := sickKinds()
	slices.SortStableFunc(out, func(a, b Sickness) int {
		x, y := a.Key(), b.Key()
		return cmp.Or(cmp.Compare(slices.Index(severity, x.Kind), slices.Index(severity, y.Kind)),
			cmp.Compare(x.Name, y.Name), cmp.Compare(x.Partition, y.Partition))
	})
	return out
}

// isSilent reports whether no broker answers.
func (v *view) isSilent() bool { return !v.Kafka.Answering }

// followsFromSilence reports whether a thing is sick because no broker answers, which is a
// finding of its own: one outage is one. A topic that is missing or forbidden was so before.
func followsFromSilence(s Sickness) bool {
	switch s.Kind {
	case SickGroup, SickJournal, SickRuns:
		return true
	case SickPartition:
		return slices.Contains([]string{reasonNotBegun, reasonFetchFailed, reasonNoLeader}, s.Reason)
	case SickTarget, SickDeadLetter, SickEvents:
		return s.Reason == unreachable
	}
	return false
}

// rejoining is how long after brokers answer again a member takes to join and to commit.
const rejoining = 10 * time.Second

// isBack reports whether brokers have just come back, to a process that was ready before.
func (v *view) isBack() bool {
	return v.CaughtUp && v.Kafka.Answering && v.now.Sub(v.Kafka.Since) < rejoining
}

// shownSick returns the sick things that /status shows, and the number of the others.
func (v report) shownSick() (shown []Sickness, more int) {
	shown, more = atMost(v.sick, maxSick)
	return append([]Sickness{}, shown...), more + v.total.heldRest // a list, and not null, where nothing is
}

// sickKafka: before a process is ready, it waits for the first answer, and says so. A
// refusal does not pass by waiting.
func (v *view) sickKafka() []Sickness {
	if len(v.Connection.Refused) > 0 {
		return []Sickness{v.refusal()}
	}
	if v.Kafka.Answering || !v.CaughtUp {
		return nil
	}
	since := v.Kafka.Since
	if since.IsZero() {
		since = v.Started
	}
	return []Sickness{{Kind: SickKafka, Reason: unreachable, Since: instant{since}, short: v.kafkaDown(), Text: v.kafkaText(since)}}
}

// sickGroup: without Kafka, and without anything to read, the group is not the cause.
func (v *view) sickGroup() []Sickness {
	nothing := len(v.Settings.Ingress) > 0 && len(v.Kafka.Unusable) == len(v.Settings.Ingress)
	if !v.Kafka.Answering || nothing || v.Draining {
		return nil
	}
	g := Sickness{Kind: SickGroup, Name: v.Group.ID}
	switch {
	case v.isBack(): // the last error is of the outage
		return nil
	case v.Group.LastError != "":
		g.Reason, g.short = "refused", fmt.Sprintf("group %s has let this member go (%s)", v.Group.ID, v.Group.LastError)
	case !v.CaughtUp: // joining takes its time
		return nil
	case !v.Group.Joined:
		g.Reason, g.short = "not_joined", fmt.Sprintf("group %s is not joined", v.Group.ID)
	case !v.Group.LeaseValid:
		g.Reason, g.short = "lease", fmt.Sprintf("the coordinator of group %s has not confirmed this member lately", v.Group.ID)
	default:
		return nil
	}
	g.Text = groupText(&g)
	return []Sickness{g}
}

func (v *view) sickIngress() (out []Sickness) {
	for _, t := range v.Kafka.Topics {
		if slices.Contains(v.Settings.Ingress, t.Name) {
			out = append(out, Sickness{Kind: SickIngress, Name: t.Name, Reason: t.State, Since: instant{t.Since},
				short: fmt.Sprintf("ingress topic %s is %s", t.Name, t.State) + v.since(t.Since), Text: v.ingressText(t)})
		}
	}
	return out
}

// sickPartitions returns the partitions that are not read. For the log, a halt gives its
// code alone, because the rest of its text quotes the record.
func (v *view) sickPartitions(forLog bool) (out []Sickness) {
	for i := range v.parts {
		p := &v.parts[i]
		s := Sickness{Kind: SickPartition, Name: p.topic, Partition: &p.partition}
		at, stopped := p.stop()
		switch {
		case slices.Contains(v.Kafka.Unusable, p.topic) && (!stopped || p.member != nil && p.member.Trying): // its topic is listed
			continue
		case stopped:
			s.Reason, s.Since = p.stopReason(), instant{p.stoppedSince()}
			if s.short = fmt.Sprintf("partition %s/%d is not read", p.topic, p.partition); at.begun {
				s.short += fmt.Sprintf(" at offset %d", at.offset)
			}
			if s.Reason != "" {
				s.short += " (" + s.Reason + ")"
			}
			if forLog && s.Reason == reasonHalted {
				at.why, _, _ = strings.Cut(at.why, ":")
			}
			s.Text = v.Settings.stopText(p, at) + stopWayOn(p, s.Reason)
		case p.member != nil && p.member.Leaderless:
			s.Reason, s.short, s.Text = reasonNoLeader, fmt.Sprintf("partition %s/%d has no leader", p.topic, p.partition), leaderlessText(p)
		case p.open(v.now):
			since := p.member.OpenSince
			s.Reason, s.Since = reasonTransaction, instant{since}
			s.short = fmt.Sprintf("partition %s/%d waits for an open transaction", p.topic, p.partition) + v.since(since)
			s.Text = transactionText(p, v.since(since))
		default:
			continue
		}
		out = append(out, s)
	}
	return out
}

// Reasons of a partition that is not read that have a meaning here; others are passed on.
const (
	reasonNotBegun    = "not_begun"
	reasonFetchFailed = "fetch_failed"
	reasonHalted      = "halted"
	reasonNoLeader    = "no_leader"
	reasonTransaction = "open_transaction"
)

func (p *part) stopReason() string {
	if p.core != nil && p.core.Halted != "" {
		return reasonHalted
	}
	return p.member.Reason
}

func (p *part) stoppedSince() time.Time {
	if p.member == nil {
		return time.Time{}
	}
	return p.member.Since
}

// ailing describes a topic, or a partition of it, that takes no records.
type ailing struct {
	reason, detail string
	since          time.Time
	records        int           // that are held for it
	left           time.Duration // until the first of them is given up
	givenUp        int64
	glob           bool // the name is a glob, for all targets under it
	needed         bool // something waits for it, or is in flight to it
}

// sickTargets returns the targets, and the dead-letter topic, that Kafka says are
// unusable, that lanes hold records for, or that reading is paused for.
func (v *view) sickTargets(forLog bool) (out []Sickness) {
	for k, a := range v.ailing(forLog) {
		s := Sickness{Kind: k.Kind, Name: k.Name, Reason: a.reason, Since: instant{a.since}, Text: targetFault{a, v, k}.text(), idle: !a.needed}
		s.short = targetNoun(k) + " is " + a.reason + v.since(a.since)
		if k.Partition >= 0 {
			s.Partition = &k.Partition
		}
		out = append(out, s)
	}
	return out
}

func (v *view) ailing(forLog bool) map[SickKey]*ailing {
	out := make(map[SickKey]*ailing)
	note := func(name string, partition int32, a ailing) {
		k := SickKey{v.Settings.kindOf(name), name, partition}
		old := out[k]
		if old == nil {
			out[k] = &a
			return
		}
		if a.records > 0 && (old.records == 0 || a.left < old.left) {
			old.left = a.left
		}
		old.records += a.records
		old.givenUp += a.givenUp
		old.needed = old.needed || a.needed
		old.detail = cmp.Or(old.detail, a.detail)
		old.since = earlier(old.since, a.since)
	}
	for _, t := range v.Kafka.Topics {
		if !slices.Contains(v.Settings.Ingress, t.Name) {
			note(t.Name, -1, ailing{reason: t.State, detail: t.Detail, since: t.Since})
		}
	}
	known := make(map[string]bool) // targets that a lane describes
	for _, l := range v.Lanes {
		if l == nil {
			continue
		}
		for i := range l.Held {
			known[l.Held[i].Target] = true
			noteHeld(&l.Held[i], forLog, note)
		}
	}
	for k, a := range out {
		if k.Partition < 0 {
			a.givenUp += v.total.givenUp[k.Name]
		}
	}
	for _, p := range v.Pauses {
		named := slices.Contains(v.Settings.producedTo(), p.Target)
		if p.Target != "" && !known[p.Target] && (named || !forLog) {
			note(p.Target, -1, ailing{reason: unreachable, needed: true})
		}
	}
	return out
}

// noteHeld notes a target whose records a lane holds, for the log under its label. A
// mismatch of partitions has no detail there, because the detail quotes the name.
func noteHeld(h *purgatory.HeldView, forLog bool, note func(name string, partition int32, a ailing)) {
	name, a := h.Target, ailing{reason: heldReason(h.Verdict), detail: h.Detail, since: millis(h.SinceMs).Time, records: h.Records,
		left: time.Duration(h.PatienceLeftMs) * time.Millisecond, givenUp: h.GivenUp, needed: true}
	if forLog && h.Label != "" && h.Label != h.Target {
		name, a.glob = h.Label, true
		if h.Verdict == purgatory.Mismatched {
			a.detail = ""
		}
	}
	rejecting := h.Verdict == purgatory.Rejecting // and its partitions may fail beside that
	if len(h.Partitions) == 0 || name != h.Target || rejecting {
		note(name, -1, a)
	}
	if name != h.Target {
		return
	}
	if rejecting {
		a.reason = unreachable
	}
	for _, p := range h.Partitions {
		a.detail, a.since, a.records, a.givenUp = p.Detail, millis(p.SinceMs).Time, p.Records, p.GivenUp
		a.left = time.Duration(p.PatienceLeftMs) * time.Millisecond
		note(name, p.No, a)
	}
}

const unreachable = "unreachable"

// heldReason is the code for a verdict. An unknown verdict means that the target does not
// answer.
func heldReason(v purgatory.Verdict) string {
	switch v {
	case purgatory.Missing, purgatory.Forbidden, purgatory.Mismatched, purgatory.Rejecting:
		return v.String()
	default:
		return unreachable
	}
}

// sickNames: records with a name that found no room are held, and then dead-lettered.
func (v *view) sickNames() []Sickness {
	n := &v.Names
	if n.Refused.IsZero() {
		return nil
	}
	return []Sickness{{Kind: SickNames, Reason: "full", Since: instant{n.Refused}, Text: namesText(n),
		short: fmt.Sprintf("headers have chosen more than %d targets", n.Limit) + v.since(n.Refused)}}
}

// sickJournals: the journal of a missing ingress topic is not made, and is not sick. A
// missing journal topic is made at once, or cannot be made and has a warning.
func (v *view) sickJournals() (out []Sickness) {
	for _, t := range v.Journal.Topics {
		if !v.Kafka.Answering || slices.Contains(v.Kafka.Unusable, t.Ingress) {
			continue
		}
		if reason := t.sickReason(); reason != "" {
			out = append(out, Sickness{Kind: SickJournal, Name: t.Name, Reason: reason,
				short: fmt.Sprintf("journal %s is %s", t.Name, strings.ReplaceAll(reason, "_", " ")), Text: journalText(t)})
		}
	}
	return out
}

func (t *JournalTopic) sickReason() string {
	switch {
	case t.State == journalOff:
		return ""
	case t.State == journalUsable && t.Err != "":
		return "failing"
	case t.State == journalUsable && t.Warning != "":
		return "misconfigured"
	case t.State == journalUsable || t.Warning == "" && t.Err == "":
		return ""
	}
	return strings.ReplaceAll(t.State, " ", "_")
}

// since returns the start as text, with the day unless that is today.
func (v *view) since(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case v.now.UTC().Format(time.DateOnly) != t.UTC().Format(time.DateOnly):
		return " since " + t.UTC().Format("2006-01-02T15:04:05Z")
	}
	return " since " + t.UTC().Format("15:04:05Z")
}
