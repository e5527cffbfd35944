package doctor

import (
	"slices"
	"strings"

	"layover/config"
	"layover/delay"
)

// role is what a topic is to Layover.
type role string

const (
	ingressTopic    role = "ingress topic"
	targetTopic     role = "target"
	allowedTopic    role = "allowed target" // that a header may choose, and no record has to
	deadLetterTopic role = "dead-letter topic"
	eventsTopic     role = "events topic"
	journalTopic    role = "journal"
	runsTopic       role = "runs topic"
	formerRuns      role = "former runs topic" // nothing is moved there any more, and it may hold records
)

// madeByLayover reports whether Layover makes a missing topic of a role, or needs none.
func (r role) madeByLayover() bool { return r == journalTopic || r == runsTopic || r == formerRuns }

// use is a topic that the settings name.
type use struct {
	topic    string
	role     role
	variable string // the setting with its name
	of       string // the ingress topic of a journal or of runs
}

// uses are all topics that the settings name, each once. Globs name none, and a journal or
// a runs topic may have a name that no topic can have.
func uses(s *config.Config) (all []use) {
	known := make(map[string]bool) // there may be thousands
	add := func(u use) {
		if u.topic != "" && !known[u.topic] {
			known[u.topic] = true
			all = append(all, u)
		}
	}
	for _, name := range s.IngressTopics {
		add(use{topic: name, role: ingressTopic, variable: "LAYOVER_INGRESS_TOPICS"})
	}
	add(use{topic: s.EgressTopic, role: targetTopic, variable: "LAYOVER_EGRESS_TOPIC"})
	for _, t := range s.TopicTargets {
		add(use{topic: t.Target, role: targetTopic, variable: "LAYOVER_TOPIC_TARGETS"})
	}
	for _, name := range s.TargetsAllowed {
		if !strings.ContainsAny(name, "*?[") {
			add(use{topic: name, role: allowedTopic, variable: "LAYOVER_TARGETS_ALLOWED"})
		}
	}
	add(use{topic: s.DLQTopic, role: deadLetterTopic, variable: "LAYOVER_DLQ_TOPIC"})
	add(use{topic: s.EventsTopic, role: eventsTopic, variable: "LAYOVER_EVENTS_TOPIC"})
	if s.Journal == config.JournalAuto {
		for _, ingress := range s.IngressTopics {
			if name := s.JournalName(ingress); delay.IsTopicName(name) {
				add(use{topic: name, role: journalTopic, variable: "LAYOVER_JOURNAL_TOPIC", of: ingress})
			}
		}
	}
	for _, ingress := range s.IngressTopics {
		u := use{topic: s.RunsName(ingress), role: formerRuns, variable: "LAYOVER_RUNS_TOPIC", of: ingress}
		if s.HasRuns(ingress) {
			u.role = runsTopic
		}
		if delay.IsTopicName(u.topic) {
			add(u)
		}
	}
	return all
}

// usesAs are the topics of some roles.
func usesAs(s *config.Config, roles ...role) (out []use) {
	for _, u := range uses(s) {
		if slices.Contains(roles, u.role) {
			out = append(out, u)
		}
	}
	return out
}

// globs are the patterns of targets that headers may choose.
func globs(s *config.Config) (out []string) {
	for _, name := range s.TargetsAllowed {
		if strings.ContainsAny(name, "*?[") {
			out = append(out, name)
		}
	}
	return out
}
