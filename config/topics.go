package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TopicTarget is where records of an ingress topic go that name no target. It
// is an allowed target, and stands in for the egress topic.
type TopicTarget struct{ Ingress, Target string }

// String returns ingress=target, as it is read.
func (t TopicTarget) String() string { return t.Ingress + "=" + t.Target }

// TopicDelay is the delay of records of an ingress topic that ask for none. It
// stands in for the default delay.
type TopicDelay struct {
	Ingress string
	Delay   time.Duration
}

// String returns ingress=delay, as it is read.
func (d TopicDelay) String() string { return d.Ingress + "=" + formatDuration(d.Delay) }

// decodeTargets reads a list of ingress=target into out.
func decodeTargets(text string, out *[]TopicTarget) error {
	var all []TopicTarget
	err := decodePairs(text, "target", func(ingress, target string) error {
		if err := checkTopic(target); err != nil {
			return fmt.Errorf("has the target %s, which %w", quote(target), err)
		}
		all = append(all, TopicTarget{ingress, target})
		return nil
	})
	if err == nil {
		*out = all
	}
	return err
}

// decodeDelays reads a list of ingress=delay into out. That a delay is at most
// the longest one is a rule between two settings.
func decodeDelays(text string, out *[]TopicDelay) error {
	var all []TopicDelay
	err := decodePairs(text, "delay", func(ingress, value string) error {
		delay, err := parseDuration(value)
		if err != nil {
			return fmt.Errorf("has the delay %s, which %w, want 0s to %s", quote(value), err, maxDelay)
		}
		all = append(all, TopicDelay{ingress, delay})
		return nil
	})
	if err == nil {
		*out = all
	}
	return err
}

// decodePairs calls take with both halves of each ingress=what in a list, and
// reports all that is wrong in one reason. No topic's name has an equals sign,
// so that the first one parts the halves.
func decodePairs(text, what string, take func(ingress, value string) error) error {
	var wrong, seen []string
	for _, entry := range splitList(text) {
		ingress, value, ok := strings.Cut(entry, "=")
		ingress, value = strings.TrimSpace(ingress), strings.TrimSpace(value)
		switch {
		case !ok || ingress == "" || value == "":
			wrong = append(wrong, fmt.Sprintf("%s is not of the form ingress=%s", quote(entry), what))
			continue
		case slices.Contains(seen, ingress):
			wrong = append(wrong, fmt.Sprintf("%s has the ingress topic %s a second time", quote(entry), quote(ingress)))
			continue
		}
		seen = append(seen, ingress)
		if err := checkTopic(ingress); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s has the ingress topic %s, which %v", quote(entry), quote(ingress), err))
		} else if err := take(ingress, value); err != nil {
			wrong = append(wrong, quote(entry)+" "+err.Error())
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

// everyTopicHasTarget reports whether LAYOVER_TOPIC_TARGETS has every ingress
// topic. It does so as well where either cannot be read, which is a problem of
// its own and should not look like two.
func (r *reader) everyTopicHasTarget() bool {
	if !r.given[topicTargets] {
		return false
	}
	if r.bad[topicTargets] {
		return true
	}
	for _, ingress := range r.cfg.IngressTopics {
		if !slices.ContainsFunc(r.cfg.TopicTargets, func(t TopicTarget) bool { return t.Ingress == ingress }) {
			return false
		}
	}
	return true
}

// relateTopicTargets refuses targets of what is not read, and those that the
// egress topic may not be either.
func (r *reader) relateTopicTargets() {
	var wrong []string
	for _, t := range r.cfg.TopicTargets {
		if reason := r.notRead(t.Ingress); reason != "" {
			wrong = append(wrong, reason)
		}
		switch {
		case slices.Contains(r.cfg.IngressTopics, t.Target):
			wrong = append(wrong, quote(t.Target)+" is an ingress topic too: what is delivered there would be read again")
		case t.Target == r.cfg.DLQTopic:
			wrong = append(wrong, quote(t.Target)+" is the dead-letter topic too: dead letters would be among what is delivered")
		}
	}
	r.refuseAll(topicTargets, wrong)
}

// relateTopicDelays refuses delays of what is not read, and those that would
// make every record without a header invalid.
func (r *reader) relateTopicDelays() {
	var wrong []string
	for _, d := range r.cfg.TopicDelays {
		if reason := r.notRead(d.Ingress); reason != "" {
			wrong = append(wrong, reason)
		}
		if !r.bad[maxDelay] && d.Delay > r.cfg.MaxDelay {
			wrong = append(wrong, fmt.Sprintf("the delay of %s is above %s, which is %s: every record without a header would be invalid",
				quote(d.Ingress), maxDelay, r.shown(maxDelay)))
		}
	}
	r.refuseAll(topicDelays, wrong)
}

// notRead says that a topic is no ingress topic and which is most like it, or
// nothing. Where the ingress topics are not known there is nothing to say.
func (r *reader) notRead(topic string) string {
	known := r.cfg.IngressTopics
	if len(known) == 0 || slices.Contains(known, topic) {
		return ""
	}
	nearest := slices.MinFunc(known, func(a, b string) int { return editDistance(topic, a) - editDistance(topic, b) })
	return fmt.Sprintf("%s is not in %s, the nearest there is %s", quote(topic), ingressTopics, quote(nearest))
}

// refuseAll adds one problem with all the reasons, if there are any.
func (r *reader) refuseAll(variable string, reasons []string) {
	if len(reasons) > 0 {
		r.refuse(variable, strings.Join(reasons, "; "))
	}
}
