package doctor

import (
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
	"layover/cluster/needs"
	"layover/config"
)

func rightChecks() []check {
	return []check{
		{"acl-ingress", contact, "without Read nothing is read, and without DescribeConfigs retention is not checked", aclIngress},
		{"acl-targets", contact, "without Write records are held and then dead-lettered, and without DescribeConfigs Kafka's default of the largest batch counts", aclTargets},
		{"acl-dead-letters", contact, "without Write reading pauses at the first dead letter", aclDeadLetters},
		{"acl-events", contact, "without Write events are held for LAYOVER_TARGET_PATIENCE, and then dropped", aclEvents},
		{"acl-group", contact, "without Read on its group Layover does not join, and reads nothing", aclGroup},
		{"acl-journal", contact, "without a journal a crash repeats deliveries whose offsets do not fit into commits", aclJournal},
		{"acl-runs", contact, "without them no far-off record is moved, and those that were moved before are late", aclRuns},
	}
}

// wanted is an operation, and what its absence is.
type wanted struct {
	operation kmsg.ACLOperation
	absent    Status
}

// names are the operations as kafka-acls.sh and docs/acls.md have them.
var names = map[kmsg.ACLOperation]string{
	kmsg.ACLOperationRead: "Read", kmsg.ACLOperationWrite: "Write", kmsg.ACLOperationCreate: "Create", kmsg.ACLOperationDelete: "Delete",
	kmsg.ACLOperationAlter: "Alter", kmsg.ACLOperationDescribe: "Describe", kmsg.ACLOperationDescribeConfigs: "DescribeConfigs",
}

func aclIngress(f *facts) verdict {
	return f.rightsOn(usesAs(f.settings, ingressTopic),
		wanted{kmsg.ACLOperationRead, Fail}, wanted{kmsg.ACLOperationDescribe, Fail}, wanted{kmsg.ACLOperationDescribeConfigs, Warn})
}

func aclTargets(f *facts) verdict {
	v := verdicts{f.rightsOn(usesAs(f.settings, targetTopic, allowedTopic),
		wanted{kmsg.ACLOperationWrite, Fail}, wanted{kmsg.ACLOperationDescribe, Fail}, wanted{kmsg.ACLOperationDescribeConfigs, Warn})}
	if names := globs(f.settings); len(names) > 0 {
		v.add(Unknown, "", "the rights to topics that %s matches are not asked about", list(names))
	}
	return v.worst()
}

func aclDeadLetters(f *facts) verdict {
	if f.settings.DLQTopic == "" {
		return skipped("there is no LAYOVER_DLQ_TOPIC")
	}
	return f.rightsOn(usesAs(f.settings, deadLetterTopic),
		wanted{kmsg.ACLOperationWrite, Fail}, wanted{kmsg.ACLOperationDescribe, Fail}, wanted{kmsg.ACLOperationDescribeConfigs, Warn})
}

func aclEvents(f *facts) verdict {
	if f.settings.EventsTopic == "" {
		return skipped("there is no LAYOVER_EVENTS_TOPIC")
	}
	return f.rightsOn(usesAs(f.settings, eventsTopic),
		wanted{kmsg.ACLOperationWrite, Fail}, wanted{kmsg.ACLOperationDescribe, Fail}, wanted{kmsg.ACLOperationDescribeConfigs, Warn})
}

func aclJournal(f *facts) verdict {
	if f.settings.Journal != config.JournalAuto {
		return skipped("LAYOVER_JOURNAL is off")
	}
	journals := usesAs(f.settings, journalTopic)
	if len(journals) < len(f.settings.IngressTopics) {
		return verdict{Warn, "a journal has a name that no topic can have", "set LAYOVER_JOURNAL_TOPIC to another, such as {ingress}.journal-1"}
	}
	return f.rightsOn(journals,
		wanted{kmsg.ACLOperationCreate, Warn}, wanted{kmsg.ACLOperationDescribe, Warn}, wanted{kmsg.ACLOperationDescribeConfigs, Warn},
		wanted{kmsg.ACLOperationRead, Warn}, wanted{kmsg.ACLOperationWrite, Warn}, wanted{kmsg.ACLOperationAlter, Warn}, wanted{kmsg.ACLOperationDelete, Warn})
}

func aclRuns(f *facts) verdict {
	s := f.settings
	off := s.Runs == config.RunsOff || s.Journal == config.JournalOff
	topics, former := usesAs(s, runsTopic), usesAs(s, formerRuns)
	var v verdicts
	if !off && len(topics) < len(s.IngressTopics) {
		v.add(Warn, "set LAYOVER_GROUP_ID or LAYOVER_RUNS_TOPIC to another name, or LAYOVER_RUNS=off", "the journal or the runs topic has a name that no topic can have, and nothing is moved")
	}
	for _, u := range topics {
		v = append(v, f.rightsOnOne(u, []wanted{
			{kmsg.ACLOperationCreate, Warn}, {kmsg.ACLOperationDescribe, Warn}, {kmsg.ACLOperationDescribeConfigs, Warn},
			{kmsg.ACLOperationRead, Warn}, {kmsg.ACLOperationWrite, Warn}, {kmsg.ACLOperationAlter, Warn}, {kmsg.ACLOperationDelete, Warn},
		}))
	}
	for _, u := range former {
		v = append(v, f.rightsToEmpty(u))
	}
	if len(v) == 0 {
		return skipped("nothing is moved, and there is no runs topic")
	}
	return v.worst()
}

// rightsToEmpty judges the rights to a former runs topic, where there is one. Without
// Describe nobody knows whether there is.
func (f *facts) rightsToEmpty(u use) verdict {
	absent := Warn
	switch err := f.topics[u.topic].err; {
	case cluster.IsMissing(err):
		return skipped("nothing is moved, and %s %s is not there", u.role, u.topic)
	case cluster.Denied(err):
		absent = Unknown
	}
	return f.rightsOnOne(u, []wanted{{kmsg.ACLOperationDescribe, absent}, {kmsg.ACLOperationRead, absent}, {kmsg.ACLOperationDelete, absent}})
}

// moved reports whether far-off records of an ingress topic are moved: the settings say so,
// and no answer that they cannot be. Where one does, see is the check that says how to mend it.
func (f *facts) moved(ingress string) (moved bool, see string) {
	topics := usesAs(f.settings, runsTopic)
	at := slices.IndexFunc(topics, func(u use) bool { return u.of == ingress })
	if at < 0 {
		return false, ""
	}
	runs := topics[at]
	// A runs topic whose configuration may not be read is not used: it may delete copies.
	needed := []kmsg.ACLOperation{kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationRead, kmsg.ACLOperationWrite}
	if cluster.IsMissing(f.topics[runs.topic].err) {
		needed = append(needed, kmsg.ACLOperationCreate)
	}
	if slices.ContainsFunc(needed, func(o kmsg.ACLOperation) bool {
		_, answered := errors.AsType[*kerr.Error](f.right(runs, o))
		return answered
	}) {
		return false, "acl-runs"
	}
	if c := f.configs[runs.topic]; c.err == nil && slices.ContainsFunc(needs.RunsConfig(), func(s needs.Setting) bool {
		return needs.MayDelete(s.Name, c.of[s.Name])
	}) {
		return false, "runs-settings"
	}
	return true, ""
}

// rightsOn judges the rights to topics, one by one.
func (f *facts) rightsOn(topics []use, want ...wanted) verdict {
	var v verdicts
	for _, u := range topics {
		v = append(v, f.rightsOnOne(u, want))
	}
	if len(v) == 0 {
		return skipped("the settings name no such topic")
	}
	return v.worst()
}

// rightsOnOne judges the rights to one topic. Create is none that a topic which is there wants.
func (f *facts) rightsOnOne(u use, want []wanted) verdict {
	var v verdicts
	var allowed, untold []string
	var lacking []string
	lack := make(map[Status][]string)
	for _, w := range want {
		if w.operation == kmsg.ACLOperationCreate && f.topics[u.topic].err == nil {
			continue
		}
		name := names[w.operation]
		switch err := f.right(u, w.operation); {
		case err == nil:
			allowed = append(allowed, name)
		case cluster.Denied(err):
			lacking = append(lacking, name)
			lack[w.absent] = append(lack[w.absent], name)
		case errors.Is(err, errNotTold):
			untold = append(untold, name)
		default:
			v.add(otherStatus(err, w), "", "%s %s: %s", u.role, u.topic, clean(err.Error()))
		}
	}
	add := func(status Status, operations []string, how string) {
		if len(operations) > 0 {
			v.add(status, "", "%s on topic %s: %s", strings.Join(operations, ", "), u.topic, how)
		}
	}
	add(Fail, lack[Fail], "missing")
	add(Warn, lack[Warn], "missing")
	add(Unknown, lack[Unknown], "missing, if the topic is there")
	add(Unknown, untold, "the brokers do not tell")
	add(OK, allowed, "allowed")
	out := v.worst()
	if len(lacking) > 0 {
		out.fix = f.allow("topic", u.topic, lacking...)
	}
	return out
}

// otherStatus: a journal may be refused for another reason than a right, such as a policy.
// An error that no broker sent tells nothing.
func otherStatus(err error, w wanted) Status {
	if _, answered := errors.AsType[*kerr.Error](err); answered {
		return w.absent
	}
	return Unknown
}

// errNotTold is of rights that no answer tells.
var errNotTold = errors.New("the brokers do not tell")

// right returns nil where an operation on a topic is allowed.
func (f *facts) right(u use, operation kmsg.ACLOperation) error {
	t := f.topics[u.topic]
	if operation == kmsg.ACLOperationCreate {
		err, asked := f.creatable[u.topic]
		if asked && !errors.Is(err, kerr.TopicAlreadyExists) {
			return err
		}
		return f.rightTold(t, operation)
	}
	if operation == kmsg.ACLOperationDescribeConfigs && !t.rights.known() {
		return ofConfigs(f.configs[u.topic].err)
	}
	if errors.Is(t.err, kerr.TopicAuthorizationFailed) { // every other operation includes Describe
		return t.err
	}
	return f.rightTold(t, operation)
}

func (f *facts) rightTold(t topic, operation kmsg.ACLOperation) error {
	switch {
	case !t.rights.known():
		return errNotTold
	case !t.rights.has(operation):
		return kerr.TopicAuthorizationFailed
	}
	return nil
}

// ofConfigs: whether a configuration may be read is told for a missing topic, too.
func ofConfigs(err error) error {
	switch {
	case err == nil, cluster.IsMissing(err):
		return nil
	case cluster.Denied(err):
		return err
	}
	return errNotTold
}

func aclGroup(f *facts) verdict {
	g, right := &f.group, "Read on group "+clean(f.settings.GroupID)
	missing := verdict{Fail, right + ": missing", f.allow("group", f.settings.GroupID, "Read")}
	switch {
	case cluster.Denied(g.err) || cluster.Denied(g.readable):
		return missing
	case g.err != nil:
		return f.unknownBy(g.err, right)
	case g.rights.known() && !g.rights.has(kmsg.ACLOperationRead):
		return missing
	case !g.rights.known() && g.readable != nil:
		return f.unknownBy(g.readable, right)
	}
	return okay("%s: allowed", right)
}
