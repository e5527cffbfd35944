package dev

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"layover/delay"
)

// singleTopics are the settings with an entry for each ingress topic, TOPIC=VALUE.
var singleTopics = []string{"LAYOVER_TOPIC_TARGETS", "LAYOVER_TOPIC_DELAYS"}

// ingressTopics returns all ingress topics: delayed, and those of --ingress.
func ingressTopics(more []string) []string {
	return append([]string{ingressTopic}, more...)
}

// checkIngress returns the user's mistake in the topics of --ingress.
func checkIngress(more []string) error {
	for i, topic := range more {
		switch {
		case !delay.IsTopicName(topic):
			return fmt.Errorf("--ingress %q: want the name of a topic; example: --ingress retry", topic)
		case topic == egressTopic || topic == dlqTopic:
			return fmt.Errorf("--ingress %s: want a topic that dev does not deliver to", topic)
		case topic == ingressTopic || slices.Contains(more[:i], topic):
			return errors.New("--ingress " + topic + ": that is an ingress topic already")
		}
	}
	return nil
}

// isAbout reports whether a pair sets name, and each of its entries is about one of
// topics. A pair without an entry is about none.
func isAbout(pair, name string, topics []string) bool {
	set, value, _ := strings.Cut(pair, "=")
	if set != name || strings.TrimSpace(value) == "" {
		return false
	}
	for entry := range strings.SplitSeq(value, ",") {
		topic, _, _ := strings.Cut(entry, "=")
		if strings.TrimSpace(entry) != "" && !slices.Contains(topics, strings.TrimSpace(topic)) {
			return false
		}
	}
	return true
}
