package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"layover/cluster"
	"layover/config"
)

func groupChecks() []check {
	return []check{
		{"group-members", contact, "a member that is not Layover takes partitions, and their records are not delivered when they are due", groupMembers},
		{"session-timeout", contact, "brokers refuse a member that asks for another one than they allow, and nothing is read", sessionTimeout},
		{"offsets-retention", contact, "a group without members for that long loses its offsets, and with them the records that were finished", offsetsKept},
		{"clock", contact, "deadlines are compared with the clock here: one that is wrong by a minute delivers a minute early or late", clockCheck},
		{"instances", contact, "a partition is read by one member, and members beyond the number of partitions do nothing", instances},
		{"left-topics", contact, "records that wait in a topic are delivered by nobody once no instance reads it", leftTopics},
	}
}

// groupMembers tells members by what they say of themselves: the protocol, the topics they
// subscribe to, and the client id. No answer has proof of what a member is.
func groupMembers(f *facts) verdict {
	g := &f.group
	fix := "stop those members, or give them or Layover another group: LAYOVER_GROUP_ID"
	switch {
	case g.err != nil:
		return f.unknownBy(g.err, "members of group "+clean(f.settings.GroupID))
	case g.membersErr != nil && g.kind == "":
		return f.unknownBy(g.membersErr, "members of group "+clean(f.settings.GroupID))
	case g.membersErr != nil:
		return verdict{Fail, fmt.Sprintf("the group is one of type %q, which Layover cannot share; its members may not be seen: %s", clean(g.kind), clean(g.membersErr.Error())), fix}
	case g.none:
		return okay("the group has no members now")
	case g.kind != "consumer":
		return verdict{Fail, fmt.Sprintf("the group is one of type %q, which Layover cannot share: %s", clean(g.kind), g.names(g.members)), fix}
	case g.protocol != "" && !slices.Contains(cluster.Protocols(), g.protocol):
		return verdict{Fail, fmt.Sprintf("the members assign partitions by %q and Layover by %s alone: %s", clean(g.protocol), strings.Join(cluster.Protocols(), " or "), g.names(g.members)), fix}
	}
	var v verdicts
	var ours, others, strange []member
	for _, m := range g.members {
		switch f.suspicion(&m) {
		case OK:
			ours = append(ours, m)
		case Warn:
			strange = append(strange, m)
		default:
			others = append(others, m)
		}
	}
	if len(others) > 0 {
		v.add(Fail, fix, "not Layover, by client id and topics: %s", g.names(others))
	}
	if len(strange) > 0 {
		v.add(Warn, "see whether they are instances of Layover with other settings: give all replicas the same KAFKA_CLIENT_ID and LAYOVER_INGRESS_TOPICS. If not, "+fix,
			"maybe not Layover, by client id or topics: %s", g.names(strange))
	}
	if len(ours) > 0 {
		v.add(OK, "", "%s with the client id and topics of Layover", count(len(ours), "member"))
	}
	return v.worst()
}

// suspicion is how surely a member is not Layover. A client id alone may be another
// replica's setting, and other topics alone those of a version before or after.
func (f *facts) suspicion(m *member) Status {
	sameClient := m.client == f.settings.Kafka.ClientID
	sameTopics := m.topics == nil || f.subscribed(m.topics)
	switch {
	case sameClient && sameTopics:
		return OK
	case sameClient || sameTopics:
		return Warn
	}
	return Fail
}

// subscribed reports whether a Layover with these settings may subscribe to exactly these topics. It has all of the
// settings, but those that are missing or may not be looked at: the client leaves them out until it finds them.
func (f *facts) subscribed(topics []string) bool {
	ingress := f.settings.IngressTopics
	return !slices.ContainsFunc(topics, func(name string) bool { return !slices.Contains(ingress, name) }) &&
		!slices.ContainsFunc(ingress, func(name string) bool { return f.topics[name].err == nil && !slices.Contains(topics, name) })
}

// names are members for people: client id, address, topics.
func (g *group) names(members []member) string {
	var out []string
	for _, m := range members {
		text := clean(m.client)
		if at := clean(strings.TrimPrefix(m.address, "/")); at != "" {
			text += " at " + at
		}
		if m.topics != nil {
			text += " reading " + clean(list(m.topics))
		}
		out = append(out, text)
	}
	return list(out)
}

// offsetsWanted is how long offsets have to be kept. That is over a stop of a week, and
// over the longest delay for which an ingress topic keeps records. Where records are
// moved it keeps them for no month, and Kafka's own default of a week is not worth a
// warning.
func (f *facts) offsetsWanted() time.Duration {
	const week = 7 * 24 * time.Hour
	if f.settings.RunsOn() {
		return week
	}
	return max(week, f.settings.MaxDelay)
}

func offsetsKept(f *facts) verdict {
	kept, ok := f.brokerNumber(offsetsRetention)
	if !ok {
		return f.unknownBy(cmp.Or(f.ofGroups.err, errNoValue), offsetsRetention)
	}
	keeps, want := time.Duration(min(kept, int64(math.MaxInt64/time.Minute)))*time.Minute, f.offsetsWanted()
	if keeps >= want {
		return okay("%s=%d, which is %s", offsetsRetention, kept, config.FormatDuration(keeps))
	}
	minutes := (want + time.Minute - 1) / time.Minute
	return verdict{Warn, fmt.Sprintf("%s=%d is %s, less than %s", offsetsRetention, kept, config.FormatDuration(keeps), config.FormatDuration(want)),
		fmt.Sprintf("set it on every broker, which reads it at its start: %s=%d in server.properties, KAFKA_OFFSETS_RETENTION_MINUTES=%d of a container,\n"+
			"or in Strimzi under spec.kafka.config: %s: %d", offsetsRetention, minutes, minutes, offsetsRetention, minutes)}
}

// brokerNumber returns a broker's setting of groups; false: it is not told.
func (f *facts) brokerNumber(setting string) (n int64, ok bool) {
	n, err := strconv.ParseInt(f.ofGroups.of[setting], 10, 64)
	return n, err == nil
}

// sessionTimeout compares with what a broker lets members ask for.
func sessionTimeout(f *facts) verdict {
	const name = "LAYOVER_SESSION_TIMEOUT"
	session := f.settings.SessionTimeout
	least, leastTold := f.brokerNumber(leastSession)
	most, mostTold := f.brokerNumber(mostSession)
	fail := func(than, fix, setting string, limit int64) verdict {
		return verdict{Fail, fmt.Sprintf("%s is %s, %s than %s=%d: the brokers refuse the join", name, config.FormatDuration(session), than, setting, limit),
			fmt.Sprintf("set %s to %s or %s; or change %s on every broker, which reads it at its start", name, config.FormatDuration(milliseconds(limit)), fix, setting)}
	}
	switch {
	case leastTold && session < milliseconds(least):
		return fail("less", "more", leastSession, least)
	case mostTold && session > milliseconds(most):
		return fail("more", "less", mostSession, most)
	case !leastTold || !mostTold:
		return f.unknownBy(cmp.Or(f.ofGroups.err, errNoValue), leastSession+" or "+mostSession)
	}
	return okay("%s is %s, and brokers take %s to %s", name, config.FormatDuration(session), config.FormatDuration(milliseconds(least)), config.FormatDuration(milliseconds(most)))
}

// Differences of clocks that matter.
const (
	clockWarns = time.Second
	clockFails = time.Minute
)

func clockCheck(f *facts) verdict {
	c := &f.clock
	if c.err != nil {
		return f.unknownBy(c.err, "the controller's clock")
	}
	off := max(c.ahead.Abs()-c.unsure, 0) // by that at least
	found := fmt.Sprintf("the controller's clock is %v %s, give or take %v", c.ahead.Abs().Round(time.Millisecond),
		map[bool]string{true: "ahead of ours", false: "behind ours"}[c.ahead >= 0], cmp.Or(c.unsure.Round(time.Millisecond), time.Millisecond))
	fix := "let NTP or chrony set the clock of this machine, and of the brokers' machines: timedatectl, chronyc tracking"
	switch {
	case off >= clockFails:
		return verdict{Fail, found, fix}
	case off >= clockWarns:
		return verdict{Warn, found, fix}
	}
	return okay("%s", found)
}

// instances counts members that may be Layover.
func instances(f *facts) verdict {
	g := &f.group
	if err := cmp.Or(g.err, g.membersErr); err != nil {
		return f.unknownBy(err, "members of group "+clean(f.settings.GroupID))
	}
	partitions, members, first := 0, 0, ""
	for _, u := range usesAs(f.settings, ingressTopic) {
		if len(f.topics[u.topic].partitions) > 0 {
			first = cmp.Or(first, u.topic)
		}
		partitions += len(f.topics[u.topic].partitions)
	}
	for _, m := range g.members {
		if f.suspicion(&m) != Fail {
			members++
		}
	}
	switch {
	case partitions == 0:
		return skipped("no ingress topic can be looked at")
	case members == 0:
		return okay("no instance is a member now; up to %d can share %s", partitions, count(partitions, "ingress partition"))
	case members > partitions:
		return verdict{Warn, fmt.Sprintf("%s for %s, %d too many; one that was killed counts until its session timeout is over",
			count(members, "instance"), count(partitions, "ingress partition"), members-partitions),
			fmt.Sprintf("run %d, or give an ingress topic more partitions: %s --alter --topic %s --partitions %d", partitions, f.tool("kafka-topics.sh"), first,
				len(f.topics[first].partitions)+members-partitions)}
	}
	return okay("%s for %s", count(members, "instance"), count(partitions, "ingress partition"))
}
