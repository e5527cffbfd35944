package config

import (
	"fmt"
	"slices"
)

// TopicTarget is the target of an ingress topic's records that name none. It is an
// allowed target, and stands in for the egress topic.
type TopicTarget struct{ Ingress, Target string }

// String returns ingress=target, as it is read.
func (t TopicTarget) String() string { return t.Ingress + "=" + t.Target }

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
	*out = all
	return err
}

// withoutTarget returns the ingress topics without an entry in LAYOVER_TOPIC_TARGETS.
// It leaves out a topic that a refused entry may have meant. That entry is a problem
// of its own, and should not look like two.
func (r *rules) withoutTarget() []string {
	var without []string
	for _, ingress := range r.cfg.IngressTopics {
		if !r.mayHaveTarget(ingress) {
			without = append(without, ingress)
		}
	}
	return without
}

func (r *rules) mayHaveTarget(ingress string) bool {
	if slices.ContainsFunc(r.cfg.TopicTargets, func(t TopicTarget) bool { return t.Ingress == ingress }) {
		return true
	}
	if !r.bad[topicTargets] {
		return false
	}
	entries := new(listError).entriesOf(r.text[topicTargets])
	return len(entries) == 0 || slices.ContainsFunc(entries, func(entry string) bool {
		named, _, _ := cutPair(entry)
		return named == ingress || checkTopic(named) != nil
	})
}

// everyTopicHasTarget reports whether LAYOVER_TOPIC_TARGETS has every ingress topic.
// It is true as well where no ingress topic could be decoded.
func (r *rules) everyTopicHasTarget() bool {
	return r.given[topicTargets] && len(r.withoutTarget()) == 0
}

// lacking names, in brackets, the ingress topics without a target in
// LAYOVER_TOPIC_TARGETS. It is empty where that is not set, as then all lack one.
func (r *rules) lacking() string {
	if !r.given[topicTargets] {
		return ""
	}
	return " (without a target there: " + quoted(r.withoutTarget()) + ")"
}

// relateTopicTargets refuses targets of topics that are not read, and targets that
// the egress topic may not be either.
func (r *rules) relateTopicTargets() {
	wrong := r.notRead(topicTargets)
	for _, t := range r.cfg.TopicTargets {
		switch {
		case slices.Contains(r.cfg.IngressTopics, t.Target):
			wrong = append(wrong, quote(t.Target)+" is an ingress topic too: delivered records would be read again")
		case t.Target == r.cfg.DLQTopic:
			wrong = append(wrong, quote(t.Target)+" is the dead-letter topic too: dead letters would be among the delivered records")
		case t.Target == r.cfg.EventsTopic:
			wrong = append(wrong, quote(t.Target)+" is the events topic too: events would be among the delivered records")
		}
	}
	r.refuseAll(topicTargets, wrong)
}

// notRead returns a reason for each topic of a list of pairs that is no ingress
// topic, with the nearest ingress topic. Topics of entries that are otherwise wrong
// are among them. While an ingress topic is not decoded it returns nothing, as that
// one may be meant.
func (r *rules) notRead(variable string) []string {
	known := r.cfg.IngressTopics
	if len(known) == 0 || r.bad[ingressTopics] {
		return nil
	}
	var reasons, seen []string
	for _, entry := range new(listError).entriesOf(r.text[variable]) {
		topic, _, ok := cutPair(entry)
		if !ok || checkTopic(topic) != nil || slices.Contains(known, topic) || slices.Contains(seen, topic) {
			continue
		}
		seen = append(seen, topic)
		nearest := slices.MinFunc(known, func(a, b string) int { return editDistance(topic, a) - editDistance(topic, b) })
		reasons = append(reasons, fmt.Sprintf("%s is not in %s, the nearest there is %s", quote(topic), ingressTopics, quote(nearest)))
	}
	return reasons
}
