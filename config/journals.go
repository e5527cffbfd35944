package config

import (
	"slices"
	"strings"
)

// The placeholders of LAYOVER_JOURNAL_TOPIC and LAYOVER_RUNS_TOPIC.
const (
	ingressPlaceholder = "{ingress}"
	groupPlaceholder   = "{group}"
)

const (
	// defaultJournal is the default of LAYOVER_JOURNAL_TOPIC.
	defaultJournal = ingressPlaceholder + "." + groupPlaceholder
	// defaultGroup is the beginning of the default of LAYOVER_GROUP_ID.
	defaultGroup = "layover-"
)

// JournalName returns the name of the journal of an ingress topic, also where
// the journal is off. It may be one that Kafka refuses, see JournalTopic. A
// group that is called {ingress} stays as it is: one pass replaces both.
func (c *Config) JournalName(ingress string) string {
	return fill(c.JournalTopic, ingress, c.GroupID)
}

// JournalShared reports whether the journals' names leave the group out, so
// that all groups of an ingress topic write to the same one.
func (c *Config) JournalShared() bool {
	return !strings.Contains(c.JournalTopic, groupPlaceholder)
}

// JournalsLike returns globs of the names that other processes' journals may have,
// for every ingress topic and group. They follow LAYOVER_JOURNAL_TOPIC as it is set
// here, and its default.
//
// By default a journal is called orders.layover-orders. The glob for any group, *.*,
// would match every name with a dot, so globs without a letter or digit are left out.
// The glob of the default group is there. A journal whose group has a name of its own
// matches none: its name does not tell it from a target.
func (c *Config) JournalsLike() []string { return namesLike(c.JournalTopic, defaultJournal) }

// namesLike returns globs of the names that templates make, for every ingress topic and
// group. Each is there once, and has a letter or a digit of its own.
func namesLike(templates ...string) (globs []string) {
	for _, template := range templates {
		for _, group := range []string{"*", defaultGroup + "*"} {
			glob := fill(template, "*", group)
			says := strings.Trim(glob, "*._-") != ""
			if says && strings.Contains(glob, "*") && !slices.Contains(globs, glob) {
				globs = append(globs, glob)
			}
		}
	}
	return globs
}

// fill returns the name that a template makes. Each second asks for some: a strings.Replacer takes seven times as long.
func fill(template, ingress, group string) string {
	parts := strings.Split(template, ingressPlaceholder)
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(part, groupPlaceholder, group)
	}
	return strings.Join(parts, ingress)
}
