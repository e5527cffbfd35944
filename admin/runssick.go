package admin

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Reasons for which no record of an ingress topic is moved. The others are states of its runs
// topic.
const (
	runsOff     = "off"          // a setting says so
	runsOlder   = "older_member" // a member of the group would not know of what was moved
	runsJoining = "joining"      // of a rebalance: nobody knows whether such a member is there
	runsNoLease = "lease"        // the same, as the coordinator counts on this member no more
	runsFull    = "full"         // a partition has as many runs as it may have
	runsOpening = "opening"      // of a partition nobody knows yet what waits
	runsFailing = "failing"      // copies are refused, or not answered
	runsUnread  = "unread"       // copies are due and cannot be read, or a gap cannot: see gaps
	runsOrphans = "orphans"      // copies are in partitions that the ingress topic does not have
)

// gapLong is how long nothing of a gap may be read before it is sick. A visit that waits for its turn, and fails, takes
// less, also right after a start.
const gapLong = time.Minute

// runsUsable is the State of a runs topic that takes copies.
const runsUsable = "usable"

// runsHealth is a runs topic with what is known of it by now.
type runsHealth struct {
	*RunsTopic
	v     *view
	waits runsTotal // what waits in it
}

func (v *view) health(t *RunsTopic) runsHealth {
	return runsHealth{t, v, v.total.inRuns.byTopic[t.Ingress]}
}

// blocked returns the reason for which no record of an ingress topic is moved; "" for none.
func (t runsHealth) blocked() string {
	switch {
	case t.Off != "":
		return runsOff
	case t.State != runsUsable:
		return strings.ReplaceAll(t.State, " ", "_")
	case !t.v.Group.LeaseValid:
		return runsNoLease
	case !t.v.Runs.OlderSince.IsZero():
		return runsOlder
	case !t.v.Runs.JoiningSince.IsZero():
		return runsJoining
	case t.Refused != "":
		return runsFailing
	case len(t.waits.full) > 0:
		return runsFull
	case len(t.waits.opening) > 0:
		return runsOpening
	}
	return ""
}

// presses reports whether memory is so full that records are to be moved.
func (v *view) presses() bool {
	return v.Memory.Used > v.Memory.MovesAt && v.Memory.MovesAt > 0 || v.pausesFor(PauseBytes)
}

// readsLate reports whether copies were read late just now, and not because nobody ran when they
// were due.
func (v *view) readsLate() bool {
	at := v.total.inRuns.lastLateMs
	return at != 0 && v.now.Sub(time.UnixMilli(at)).Abs() < overdueLong && !v.startsLate()
}

// fault puts together what has gone wrong of late.
func (t *RunsTopic) fault() string {
	var all []string
	for _, text := range []string{t.Err, t.Refused, t.Unread} {
		if text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

// sickRuns: a runs topic that takes nothing is no matter while memory has room. One whose copies
// are not read in time is, and one of which nobody can tell what is due. So is one with copies that nobody is assigned.
func (v *view) sickRuns() (out []Sickness) {
	for i := range v.Runs.Topics {
		t := v.health(&v.Runs.Topics[i])
		if !v.Kafka.Answering || slices.Contains(v.Kafka.Unusable, t.Ingress) {
			continue
		}
		reason := t.blocked()
		switch {
		case t.isUnread() || t.hasGaps():
			reason = runsUnread
		case t.isClosed():
			reason = runsOpening
		case t.hasOrphans():
			reason = runsOrphans
		case reason == "" || reason == runsOff || !v.presses() || t.passes(reason):
			continue
		}
		out = append(out, Sickness{Kind: SickRuns, Name: t.Name, Reason: reason, Since: t.since(reason), short: t.short(reason), Text: t.text(reason)})
	}
	return out
}

// isUnread reports whether copies are due and cannot be read.
func (t runsHealth) isUnread() bool {
	return t.Unread != "" && t.waits.overdue > 0
}

func (t runsHealth) hasGaps() bool {
	_, sinceMs := t.gaps()
	return sinceMs != 0
}

// gaps returns the partitions with a gap of which nothing has been read for gapLong, though brokers answer, and since
// when that is so of one. Copies may wait there of which nobody knows, so none of them is overdue.
func (t runsHealth) gaps() (numbers []int32, sinceMs int64) {
	if t.v.now.Sub(t.v.Kafka.Since) < gapLong {
		return nil, 0
	}
	for i := range t.v.total.inRuns.parts {
		p := &t.v.total.inRuns.parts[i]
		if p.Topic == t.Ingress && p.GapSinceMs != 0 && t.v.now.Sub(time.UnixMilli(p.GapSinceMs)) >= gapLong {
			numbers, sinceMs = append(numbers, p.Partition), earliest(sinceMs, p.GapSinceMs)
		}
	}
	return numbers, sinceMs
}

// isClosed reports whether copies may wait where nobody can ask about them.
func (t runsHealth) isClosed() bool {
	cannot := t.Unread != "" || t.State != runsUsable && !t.passes(t.State)
	return t.waits.holds && cannot
}

// since returns when a reason began. Of a state nobody knows.
func (t runsHealth) since(reason string) instant {
	switch reason {
	case runsFailing:
		return instant{t.RefusedSince}
	case runsUnread:
		if _, sinceMs := t.gaps(); sinceMs != 0 {
			return millis(sinceMs)
		}
		return instant{t.UnreadSince}
	case runsOpening:
		return instant{t.UnreadSince}
	case runsOlder:
		return instant{t.v.Runs.OlderSince}
	case runsJoining:
		return instant{t.v.Runs.JoiningSince}
	case runsFull:
		return millis(t.waits.fullSinceMs)
	case runsOrphans:
		return instant{t.Orphans.Since}
	}
	return instant{}
}

// passes reports whether a reason is one of a start or a rebalance, or a finding of its own.
func (t runsHealth) passes(reason string) bool {
	switch reason {
	case "unknown", "missing", runsOpening: // it is about to be asked about, made, or read
		return t.Warning == "" && t.fault() == ""
	case runsJoining:
		return t.v.now.Sub(t.v.Runs.JoiningSince) <= t.v.Runs.JoinTakes
	case runsNoLease: // the group is what is sick
		return true
	}
	return false
}

// readsLateText describes visits that came too late, with what may be the cause and the remedy.
func (v *view) readsLateText() string {
	r := &v.total.inRuns
	return fmt.Sprintf("copies are read late from runs: %s since the start, the last %s. "+
		"Brokers answer slowly, or memory has no room for what is due at once: look at the leaders of the runs topics, or raise LAYOVER_MAX_PARKED_BYTES",
		countedLong(r.lateVisits, "late visit", "late visits"), relative(time.UnixMilli(r.lastLateMs).Sub(v.now)))
}

func (t runsHealth) short(reason string) string {
	switch reason {
	case runsOlder:
		return fmt.Sprintf("nothing is moved to %s, as a member of an older release is in the group", t.Name)
	case runsJoining:
		return fmt.Sprintf("nothing is moved to %s, as a rebalance of the group does not end", t.Name)
	case runsUnread:
		if t.isUnread() {
			return fmt.Sprintf("copies in %s are due and cannot be read", t.Name)
		}
		return fmt.Sprintf("a part of runs topic %s cannot be read", t.Name)
	case runsFull:
		return fmt.Sprintf("runs topic %s has too many runs", t.Name)
	case runsOpening:
		return fmt.Sprintf("what waits in runs topic %s is not known", t.Name)
	case runsOrphans:
		return fmt.Sprintf("copies in %s are delivered by nobody, as %s has too few partitions", t.Name, t.Ingress)
	}
	return fmt.Sprintf("runs topic %s is %s", t.Name, strings.ReplaceAll(reason, "_", " "))
}

// runsStay says what becomes of records while nothing is moved, and runsLate while nothing is read either.
const (
	stayInMemory = "Records that are due far off stay in memory, and reading pauses once that is full. "
	runsStay     = stayInMemory + "What was moved before is delivered all the same."
	runsLate     = stayInMemory + "What was moved before is late once it is due."
)

// text describes why nothing is moved, what becomes of records, and the remedy; "" where
// nothing is wrong.
func (t runsHealth) text(reason string) string {
	topic := fmt.Sprintf("The runs topic %s of the ingress topic %s", t.Name, t.Ingress)
	why := t.Warning
	if fault := t.fault(); !strings.Contains(why, fault) { // the warning is often about the last error
		why = strings.Trim(why+"; "+fault, "; ")
	}
	if why = strings.TrimSuffix(why, "."); why != "" {
		why = ": " + why
	}
	stay := runsStay
	if t.Unreadable {
		stay = runsLate
	}
	rights := " " + stay + " The rights that it needs, and the command that makes it, are in docs/runs.md."
	describe := fmt.Sprintf("See whether its partitions have leaders and enough replicas in sync, and its brokers room on their disks: %s--describe --topic %s", kafkaTopics, t.Name)
	switch reason {
	case "":
		return ""
	case runsOff:
		return fmt.Sprintf("Nothing of the ingress topic %s is moved to runs, because of %s. What was moved before is read and delivered.", t.Ingress, t.Off)
	case runsOlder:
		return "A member of the group is of a release that knows no runs, and would not deliver what was moved: so nothing is moved. " + runsStay +
			" Upgrade every member, of which /status has the version. Moving begins by itself."
	case runsJoining, runsNoLease:
		return t.strangersText(reason)
	case runsFull:
		return fmt.Sprintf("%s has 4,096 runs in %s, as many as there may be: nothing more of these is moved. %s It goes on by itself as runs are delivered. "+
			"So many runs mean that memory holds too little for the load: raise LAYOVER_MAX_PARKED_BYTES, or run more instances.",
			topic, partitionsOf(t.waits.full), runsStay)
	case runsOpening:
		remedy := "Layover asks again by itself. " + describe
		if t.Elsewhere { // the reason has the remedy, and brokers are well
			remedy = "The setting needs a restart."
		}
		return fmt.Sprintf("What waits in %s of the runs topic %s is not known yet%s. Nothing of these is moved, and what waits there is late once it is due. %s",
			partitionsOf(t.waits.opening), t.Name, why, remedy)
	case runsFailing:
		return fmt.Sprintf("%s takes no copies%s. %s Layover tries again by itself. %s", topic, why, runsStay, describe)
	case runsUnread:
		return t.unreadText()
	case runsOrphans:
		return t.orphansText()
	case "unknown":
		return fmt.Sprintf("Nobody knows yet whether the runs topic %s can be used%s. %s", t.Name, why, runsStay)
	case "missing":
		if why == "" {
			return topic + " does not exist, and is about to be made."
		}
		return topic + " does not exist, and cannot be made" + why + "." + rights
	case "forbidden":
		return topic + " may not be used" + why + "." + rights
	}
	return topic + " is not used" + why + "." + rights
}

// strangersText describes why nobody knows who is in the group, and the remedy.
func (t runsHealth) strangersText(reason string) string {
	why := "A rebalance of the group goes on"
	remedy := "Moving begins by itself once it ends. Where it does not, see which members join again and again"
	if reason == runsNoLease {
		why, remedy = "The group's coordinator has not confirmed this member lately", "Moving begins by itself once it does. See whether the group has a coordinator"
	}
	return fmt.Sprintf("%s. So nobody knows whether a member is of a release that knows no runs, and nothing is moved. %s %s: "+
		"kafka-consumer-groups.sh --bootstrap-server $KAFKA_BROKERS --describe --group %s --state", why, runsStay, remedy, t.v.Group.ID)
}

// unreadText describes what cannot be read, what becomes of it, and the remedy.
func (t runsHealth) unreadText() string {
	topic := fmt.Sprintf("the runs topic %s of the ingress topic %s", t.Name, t.Ingress)
	why := strings.TrimSuffix(t.Unread, ".")
	remedy := fmt.Sprintf("Layover asks again every second. See whether it has the right Read, and the topic's partitions a leader: %s--describe --topic %s", kafkaTopics, t.Name)
	if t.isUnread() {
		return fmt.Sprintf("%s in %s, and cannot be read: %s. Nothing is lost, and they are late. %s",
			countedLong(t.waits.overdue, "copy is due", "copies are due"), topic, why, remedy)
	}
	if why != "" {
		why = ": " + why
	}
	numbers, _ := t.gaps()
	return fmt.Sprintf("A part of %s in %s has not been read yet, and cannot be read%s. Nobody knows which copies wait there. "+
		"Nothing is lost, and they are late once they are due. %s", partitionsOf(numbers), topic, why, remedy)
}

// partitionsOf names partitions, the first few of many.
func partitionsOf(numbers []int32) string {
	if len(numbers) == 1 {
		return fmt.Sprintf("partition %d", numbers[0])
	}
	names := make([]string, len(numbers))
	for i, n := range slices.Sorted(slices.Values(numbers)) {
		names[i] = number(n)
	}
	return "partitions " + firstFew(names, 0, ", ")
}
