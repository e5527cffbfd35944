package doctor

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"layover/cluster"
	"layover/cluster/needs"
	"layover/config"
)

func topicChecks() []check {
	return []check{
		{"topics", answer, "nothing is read of a missing ingress topic, and records of a missing target are held and then dead-lettered", topicsExist},
		{"replicas", answer, "a topic with too few replicas in sync takes no records, and one with a single replica loses them with its broker", replicas},
	}
}

func topicsExist(f *facts) verdict {
	var v verdicts
	guesses, partitions := maxParts, f.ingressPartitions()
	for _, u := range uses(f.settings) {
		f.exists(&v, u, &guesses, partitions)
	}
	f.enoughPartitions(&v)
	if names := globs(f.settings); len(names) > 0 {
		v.add(OK, "", "%s may match any topic, and is not looked at", list(names))
	}
	return v.worst()
}

// exists judges whether a topic is there. A missing one should have as many partitions.
func (f *facts) exists(v *verdicts, u use, guesses *int, partitions int) {
	t, told := f.topics[u.topic]
	switch {
	case !told:
		v.add(Unknown, "", "%s %s: the answer does not have it", u.role, u.topic)
	case t.err == nil:
		v.add(OK, "", "%s %s has %s", u.role, u.topic, count(len(t.partitions), "partition"))
	case errors.Is(t.err, kerr.TopicAuthorizationFailed) && u.role == formerRuns: // acl-runs says it, and there may be none
	case errors.Is(t.err, kerr.TopicAuthorizationFailed):
		v.add(Unknown, "", "%s %s may not be looked at without Describe on it", u.role, u.topic)
	case cluster.IsMissing(t.err) && u.role == formerRuns:
		v.add(OK, "", "%s %s is not there, and is not needed", u.role, u.topic)
	case cluster.IsMissing(t.err) && u.role.madeByLayover():
		v.add(OK, "", "%s %s is not there yet, and is made at the start", u.role, u.topic)
	case cluster.IsMissing(t.err) && u.role == ingressTopic && f.had(u.topic) > 0:
		had := f.had(u.topic)
		v.add(Fail, f.makeAgain(u, had), "%s %s does not exist any more: it had %s", u.role, u.topic, count(had, "partition"))
	case cluster.IsMissing(t.err):
		found, fix := "", f.createTopic(u, partitions)
		if nearest := f.nearest(u.topic, guesses); nearest != "" {
			found = ", the nearest name is " + nearest
			fix = fmt.Sprintf("%s, if that is meant, or make the topic:\n%s", f.rename(u, nearest), fix)
		}
		v.add(missingStatus(u.role), fix, "%s %s does not exist%s", u.role, u.topic, found)
	default:
		v.add(Unknown, "", "%s %s: %s", u.role, u.topic, clean(t.err.Error()))
	}
}

// makeAgain is what to do about an ingress topic that was deleted. One with copies in its runs topic stays in the settings:
// without it nobody delivers them.
func (f *facts) makeAgain(u use, had int) string {
	then := "Once /status of each instance says that none waits, take the topic out of LAYOVER_INGRESS_TOPICS, or make it again:"
	if copies := f.copiesOf(u.topic); copies != "" {
		then = copies + ", which are delivered as long as no instance joins again or restarts, and after that once the topic is made again.\n" +
			"Once /status of each instance says that no record of it waits in memory, make it again:"
	}
	return fmt.Sprintf("while an instance runs, neither make %s again nor restart the instance: records that wait in its memory would be lost.\n%s\n%s",
		u.topic, then, f.createTopic(u, had))
}

// had is how many partitions an ingress topic had before it was deleted, at least; 0: nothing tells that it ever was.
// Brokers forget a group's offsets with the topic. So its journal, its runs and a running instance say it.
func (f *facts) had(ingress string) int {
	most := max(len(f.topics[f.settings.JournalName(ingress)].partitions), len(f.topics[f.settings.RunsName(ingress)].partitions))
	if i := f.instance; i != nil && i.Group.ID == f.settings.GroupID {
		for _, a := range i.Assignments {
			if a.Topic == ingress {
				most = max(most, int(a.Partition)+1)
			}
		}
	}
	return most
}

// nearest returns a topic with a name like that one, which no setting names: an ingress
// topic is no target, whatever its name.
// Each guess compares it with every topic there is: no more are made than are told.
func (f *facts) nearest(name string, guesses *int) string {
	if *guesses--; *guesses < 0 {
		return ""
	}
	return config.Nearest(name, slices.DeleteFunc(slices.Clone(f.seen), func(seen string) bool { _, used := f.topics[seen]; return used }))
}

// rename is the change of the setting that names a topic. In a list the other names stay.
func (f *facts) rename(u use, to string) string {
	if u.role == deadLetterTopic || u.role == eventsTopic || u.variable == "LAYOVER_EGRESS_TOPIC" || u.role == ingressTopic && len(f.settings.IngressTopics) == 1 {
		return fmt.Sprintf("set %s to %s", u.variable, to)
	}
	return fmt.Sprintf("write %s instead of %s in %s", to, u.topic, u.variable)
}

// missingStatus: records need not go to a target that headers may choose.
func missingStatus(r role) Status {
	if r == allowedTopic {
		return Warn
	}
	return Fail
}

// ingressPartitions is the most partitions of an ingress topic, at least 1.
func (f *facts) ingressPartitions() int {
	most := 1
	for _, i := range usesAs(f.settings, ingressTopic) {
		most = max(most, len(f.topics[i.topic].partitions))
	}
	return most
}

// createTopic is the command that makes a topic. An ingress topic gets the retention that
// it needs, whatever the brokers' default is.
func (f *facts) createTopic(u use, partitions int) string {
	flags := fmt.Sprintf("--partitions %d", partitions)
	if u.role == ingressTopic {
		flags = needs.IngressFlags(f.settings.MaxDelay, f.settings.HasRuns(u.topic), int32(partitions))
	}
	return fmt.Sprintf("%s --create --topic %s %s", f.tool("kafka-topics.sh"), u.topic, flags)
}

// enoughPartitions: with LAYOVER_PARTITION=same a target needs as many as each ingress
// topic whose records go there.
func (f *facts) enoughPartitions(v *verdicts) {
	if f.settings.Partition != config.PartitionSame {
		return
	}
	ingresses := usesAs(f.settings, ingressTopic)
	for _, target := range usesAs(f.settings, targetTopic, allowedTopic) {
		have := len(f.topics[target.topic].partitions)
		for _, ingress := range ingresses {
			want := len(f.topics[ingress.topic].partitions)
			if have == 0 || have >= want || !f.goesTo(ingress.topic, target) {
				continue
			}
			v.add(missingStatus(target.role), fmt.Sprintf("%s --alter --topic %s --partitions %d", f.tool("kafka-topics.sh"), target.topic, want),
				"%s %s has %s and %s has %d: with LAYOVER_PARTITION=same its records are held", target.role, target.topic, count(have, "partition"), ingress.topic, want)
			break
		}
	}
}

// goesTo reports whether records of an ingress topic may go to a target.
func (f *facts) goesTo(ingress string, target use) bool {
	if target.role == allowedTopic {
		return true
	}
	for _, t := range f.settings.TopicTargets {
		if t.Ingress == ingress {
			return t.Target == target.topic
		}
	}
	return f.settings.EgressTopic == target.topic
}

// replicas: the configuration is asked for later than the topics, and may be unknown.
func replicas(f *facts) verdict {
	var v verdicts
	for _, u := range uses(f.settings) {
		if t := f.topics[u.topic]; t.err == nil && len(t.partitions) > 0 {
			f.replicasOf(&v, u, t)
		}
	}
	if len(v) == 0 {
		return skipped("no topic can be looked at")
	}
	return v.worst()
}

// replicasOf judges one topic. What Layover writes to has to be writable now. Former runs
// are only read.
func (f *facts) replicasOf(v *verdicts, u use, t topic) {
	factor, inSync, leaderless := t.partitions[0].replicas, t.partitions[0].inSync, 0
	for _, p := range t.partitions {
		factor, inSync = min(factor, p.replicas), min(inSync, p.inSync)
		if p.leader < 0 {
			leaderless++
		}
	}
	written := u.role != ingressTopic
	least := f.configs[u.topic].number("min.insync.replicas")
	blocked := missingStatus(u.role) // a topic that is there and takes nothing is as one that is missing
	lower := f.alterTopic(u.topic, fmt.Sprintf("min.insync.replicas=%d", max(1, factor-1)))
	switch {
	case leaderless > 0:
		v.add(blocked, f.tool("kafka-topics.sh")+" --describe --unavailable-partitions",
			"%s %s has %s without a leader", u.role, u.topic, count(leaderless, "partition"))
	case u.role == formerRuns:
		v.add(OK, "", "%s %s has a leader for each partition", u.role, u.topic)
	case min(least, int64(factor)) > int64(inSync):
		v.add(blocked, "bring the missing brokers back: "+f.tool("kafka-topics.sh")+" --describe --under-min-isr-partitions",
			"%s %s has a partition with %s in sync, and min.insync.replicas=%d: it takes no record with acks=all", u.role, u.topic, count(int(inSync), "replica"), least)
	case least > int64(factor): // since KAFKA-15583 a broker has no larger minimum than there are replicas
		v.add(Warn, lower, "%s %s has min.insync.replicas=%d and %s: brokers before Kafka 3.7 take no record with acks=all, later ones take %d for the minimum",
			u.role, u.topic, least, count(int(factor), "replica"), factor)
	case least > 0 && least == int64(inSync) && inSync < factor:
		v.add(Warn, "bring the missing brokers back: "+f.tool("kafka-topics.sh")+" --describe --at-min-isr-partitions",
			"%s %s has a partition with %d of %d replicas in sync, and min.insync.replicas=%d: it takes no record when one more is missing", u.role, u.topic, inSync, factor, least)
	case factor == 1 && len(f.brokers) > 1:
		v.add(Warn, "give it more replicas: "+f.tool("kafka-reassign-partitions.sh")+" --execute --reassignment-json-file FILE",
			"%s %s has 1 replica in a cluster of %d brokers: it stands still while its broker is down", u.role, u.topic, len(f.brokers))
	case factor == 1:
		v.add(OK, "", "%s %s has 1 replica, as there is one broker", u.role, u.topic)
	case least == int64(factor):
		v.add(Warn, lower, "%s %s has min.insync.replicas=%d and as many replicas: it takes no record while one broker is down", u.role, u.topic, least)
	case least == 1 && factor >= 3:
		v.add(Warn, f.alterTopic(u.topic, "min.insync.replicas=2"),
			"%s %s has %d replicas and min.insync.replicas=1: an acknowledged record may be on one broker alone, and lost with it", u.role, u.topic, factor)
	case least == 0 && written:
		v.add(Unknown, "", "%s %s has %d replicas, %d in sync; min.insync.replicas is not known", u.role, u.topic, factor, inSync)
	default:
		v.add(OK, "", "%s %s has %d replicas, %d in sync", u.role, u.topic, factor, inSync)
	}
}
