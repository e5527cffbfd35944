package config

import (
	"fmt"
	"slices"
	"strings"
)

// fallbackParkedBytes is the default of LAYOVER_MAX_PARKED_BYTES where the
// container's memory limit is unknown, as on a laptop: bytes.
const fallbackParkedBytes = 256 << 20

// rules are those between settings, and of settings that are missing. They know what was
// read, and how. No variable and no file is read any more, but names in the binding's
// directory.
type rules struct {
	host machine
	cfg  *Config
	*sources
	*report
}

// require reports the required settings that are not set.
func (r *rules) require() {
	r.requireEach(func(string) bool { return true })
	if !r.given[egressTopic] && !r.given[targetsAllowed] && !r.everyTopicHasTarget() {
		r.refuse(egressTopic, "required unless "+targetsAllowed+" is set or "+topicTargets+" has every ingress topic"+r.lacking())
	}
	if !r.given[onInvalid] && !r.given[dlqTopic] {
		r.refuse(onInvalid, "must be chosen where there is no dead-letter topic: set it to one of deliver, drop or halt, or set "+dlqTopic)
		r.example(onInvalid, "halt")
	}
}

// requireEach reports the wanted ones of the settings that are required by themselves.
func (r *rules) requireEach(wanted func(variable string) bool) {
	for _, s := range r.settings {
		if s.required && wanted(s.Variable) && !r.given[s.Variable] {
			reason := "required, and not set or empty"
			if path, ok := r.files[s.Variable]; ok {
				reason = fmt.Sprintf("required, and the file %s of %s is empty", quote(path), r.fileSource(s.Variable))
			}
			r.refuse(s.Variable, reason)
		}
	}
}

// derive fills the defaults that follow from other settings or from the host.
// Invariant: a field is written only where its variable is not given.
func (r *rules) derive() {
	c, host := r.cfg, r.host
	for _, s := range r.settings {
		if r.given[s.Variable] {
			continue
		}
		switch s.field.Addr().Interface() {
		case &c.GroupID:
			if len(c.IngressTopics) > 0 && !r.bad[ingressTopics] { // the first may be the one that is wrong
				c.GroupID = defaultGroup + c.IngressTopics[0]
			}
		case &c.MaxDelay:
			c.MaxDelay = maxDelayWithoutRuns
			if c.RunsOn() {
				c.MaxDelay = maxDelayWithRuns
			}
		case &c.OnInvalid:
			c.OnInvalid = OnInvalidDLQ
		case &c.Backoff:
			if !r.bad[maxDelay] { // a maximum from before there were back-offs stays valid
				c.Backoff = c.Backoff.Within(c.MaxDelay)
			}
		case &c.OnExpired:
			c.OnExpired = OnExpiredDrop
			if r.given[dlqTopic] {
				c.OnExpired = OnExpiredDLQ
			}
		case &c.Lanes:
			c.Lanes = max(1, min(4, host.cores))
		case &c.MaxParkedBytes:
			c.MaxParkedBytes = parkedBytes(s, host.memoryLimit)
		}
	}
}

// parkedBytes is the default of LAYOVER_MAX_PARKED_BYTES, within its range.
func parkedBytes(s setting, memoryLimit int64) int64 {
	if memoryLimit <= 0 {
		return fallbackParkedBytes
	}
	least, _ := parseSize(s.min)
	most, _ := parseSize(s.max)
	return min(max(memoryLimit/2, least), most)
}

// relate checks the rules between two settings. A setting that did not decode has
// its problem already; its field is empty and passes here. The right entries of a
// wrong list are checked.
func (r *rules) relate() {
	c := r.cfg
	if c.EgressTopic != "" && slices.Contains(c.IngressTopics, c.EgressTopic) {
		r.refuse(egressTopic, fmt.Sprintf("%s is an ingress topic too: delivered records would be read again", quote(c.EgressTopic)))
	}
	if c.DLQTopic != "" && slices.Contains(c.IngressTopics, c.DLQTopic) {
		r.refuse(dlqTopic, fmt.Sprintf("%s is an ingress topic too: dead letters would be read again", quote(c.DLQTopic)))
	}
	if c.DLQTopic != "" && c.DLQTopic == c.EgressTopic {
		r.refuse(dlqTopic, fmt.Sprintf("%s is the egress topic too: dead letters would be delivered", quote(c.DLQTopic)))
	}
	r.relateEvents()
	r.relateTargets()
	r.relateTopicTargets()
	r.relateTopicDelays()
	r.relateBackoff()
	r.relateJournal()
	r.relateRuns()
	r.warnRuns()
	r.warnGroup()
	r.relateOnInvalid()
	if r.given[onExpired] && c.OnExpired == OnExpiredDLQ && !r.given[dlqTopic] {
		r.refuse(onExpired, "dlq needs a dead-letter topic: set "+dlqTopic+", or choose drop")
		r.example(onExpired, "drop")
	}
	if !r.bad[defaultDelay] && !r.bad[maxDelay] && c.DefaultDelay > c.MaxDelay {
		r.refuse(defaultDelay, fmt.Sprintf("%s is above %s, which is %s: every record without a header would be invalid",
			r.shown(defaultDelay), maxDelay, r.shown(maxDelay)))
		r.example(defaultDelay, "0s")
	}
}

// warnGroup warns where the group's name hangs on the order of the ingress topics. The remedy is first: readers cut.
func (r *rules) warnGroup() {
	if c := r.cfg; len(c.IngressTopics) > 1 && !r.bad[ingressTopics] && !r.given[groupID] {
		r.warn("set %s=%s, the group's name now, as it follows the first of %s: once another is first, a new group starts at %s, "+
			"delivers again what is kept there, and nothing of what waits in runs topics", groupID, c.GroupID, ingressTopics, c.StartOffset)
	}
}

// relateEvents refuses a topic for events that has another use. A target of
// LAYOVER_TOPIC_TARGETS or LAYOVER_TARGETS_ALLOWED is refused there, and so is a journal.
func (r *rules) relateEvents() {
	c := r.cfg
	if c.EventsTopic == "" {
		return
	}
	switch {
	case slices.Contains(c.IngressTopics, c.EventsTopic):
		r.refuse(eventsTopic, fmt.Sprintf("%s is an ingress topic too: events would be read as records", quote(c.EventsTopic)))
	case c.EventsTopic == c.EgressTopic:
		r.refuse(eventsTopic, fmt.Sprintf("%s is the egress topic too: events would be among the delivered records", quote(c.EventsTopic)))
	case c.EventsTopic == c.DLQTopic:
		r.refuse(eventsTopic, fmt.Sprintf("%s is the dead-letter topic too: events would be among the dead letters", quote(c.EventsTopic)))
	}
}

// relateTargets refuses entries that can never take effect. A glob that
// matches such a topic among others is fine: the topic is left out.
func (r *rules) relateTargets() {
	var wrong []string
	for _, target := range r.cfg.TargetsAllowed {
		switch {
		case slices.Contains(r.cfg.IngressTopics, target):
			wrong = append(wrong, quote(target)+" is an ingress topic, which is never allowed as a target")
		case target == r.cfg.DLQTopic:
			wrong = append(wrong, quote(target)+" is the dead-letter topic, which is never allowed as a target")
		case target == r.cfg.EventsTopic:
			wrong = append(wrong, quote(target)+" is the events topic, which is never allowed as a target")
		}
	}
	if len(wrong) > 0 {
		r.refuse(targetsAllowed, strings.Join(wrong, "; "))
	}
}

// relateJournal refuses one journal for several ingress topics, and a journal that is
// another topic of the settings, also by the default name. It does so with the journal
// off, too: a commit may name a journal from before, which is still read then.
func (r *rules) relateJournal() {
	c := r.cfg
	if r.bad[journalTopic] {
		return // no name is known
	}
	var wrong []string
	ingresses := c.IngressTopics
	if n := r.ingressCount(); n > 1 && !strings.Contains(c.JournalTopic, ingressPlaceholder) {
		wrong = append(wrong, fmt.Sprintf("%s has no %s: the %d ingress topics would share one journal",
			quote(c.JournalTopic), ingressPlaceholder, n))
		ingresses = ingresses[:min(1, len(ingresses))] // the others have the same
	}
	if c.GroupID == "" && !c.JournalShared() {
		ingresses = nil // without the group's name theirs are not known
	}
	for _, ingress := range ingresses {
		name := c.JournalName(ingress)
		if taken := r.takenBy(name); taken != "" {
			wrong = append(wrong, fmt.Sprintf("%s makes %s the journal of %s, and that is %s",
				r.shown(journalTopic), quote(name), quote(ingress), taken))
		}
	}
	if len(wrong) > 0 {
		r.refuse(journalTopic, strings.Join(wrong, "; "))
	}
}

// takenBy is the other use of the name of a journal or a runs topic, or nothing. The group
// may make it an internal topic's name, which the setting alone cannot have.
func (r *rules) takenBy(name string) string {
	c := r.cfg
	switch {
	case checkNotInternal(name) != nil:
		return "an internal topic by its __, which is never allowed"
	case slices.Contains(c.IngressTopics, name):
		return "an ingress topic"
	case name == c.EgressTopic:
		return "the egress topic"
	case name == c.DLQTopic:
		return "the dead-letter topic"
	case name == c.EventsTopic:
		return "the events topic"
	case slices.ContainsFunc(c.TopicTargets, func(t TopicTarget) bool { return t.Target == name }):
		return "a target of " + topicTargets
	case !IsGlob(name) && slices.Contains(c.TargetsAllowed, name): // a group may be called *
		return "an allowed target of " + targetsAllowed
	default:
		return ""
	}
}

// relateOnInvalid refuses a choice whose topic is missing. A missing choice is
// require's to report.
func (r *rules) relateOnInvalid() {
	if !r.given[onInvalid] {
		return
	}
	switch r.cfg.OnInvalid {
	case OnInvalidDLQ:
		if !r.given[dlqTopic] {
			r.refuse(onInvalid, "dlq needs a dead-letter topic: set "+dlqTopic+", or choose one of deliver, drop or halt")
			r.example(onInvalid, "halt")
		}
	case OnInvalidDeliver:
		if !r.given[egressTopic] && !r.everyTopicHasTarget() {
			r.refuse(onInvalid, "deliver needs somewhere to deliver to: set "+egressTopic+", or every ingress topic in "+topicTargets+r.lacking()+", or choose one of dlq, drop or halt")
			r.example(onInvalid, "halt")
		}
	}
}
