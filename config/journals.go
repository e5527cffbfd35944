package config

import (
	"slices"
	"strings"
)

// The placeholders of LAYOVER_JOURNAL_TOPIC.
const (
	ingressPlaceholder = "{ingress}"
	groupPlaceholder   = "{group}"
)

const (
	// defaultJournal is the default of LAYOVER_JOURNAL_TOPIC.
	defaultJournal = ingressPlaceholder + "." + groupPlaceholder
	// defaultGroup is what the default of LAYOVER_GROUP_ID begins with.
	defaultGroup = "layover-"
)

// JournalName returns the name of the journal of an ingress topic, also where
// the journal is off. It may be one that Kafka refuses, see JournalTopic. A
// group that is called {ingress} stays as it is: one pass replaces both.
func (c *Config) JournalName(ingress string) string {
	return fillJournal(c.JournalTopic, ingress, c.GroupID)
}

// JournalShared reports whether the journals' names leave the group out, so
// that all groups of an ingress topic write to the same one.
func (c *Config) JournalShared() bool {
	return !strings.Contains(c.JournalTopic, groupPlaceholder)
}

// JournalsLike returns globs of the names that other processes' journals may
// have: by LAYOVER_JOURNAL_TOPIC as it is set here and by default, for every
// ingress topic and group.
//
// By default a journal is called orders.layover-orders, and every name with a dot
// is that of some ingress topic and group. So a glob without a letter or a digit
// is left out. In its place are those of the default group, of this group and of
// these ingress topics. A journal of another ingress topic whose group has a name
// of its own is not among them: no name tells it from a target.
func (c *Config) JournalsLike() (globs []string) {
	add := func(glob string) {
		says := strings.Trim(glob, "*._-") != ""
		if says && strings.Contains(glob, "*") && !slices.Contains(globs, glob) {
			globs = append(globs, glob)
		}
	}
	for _, template := range []string{c.JournalTopic, defaultJournal} {
		add(fillJournal(template, "*", "*"))
		add(fillJournal(template, "*", defaultGroup+"*"))
		if checkAlphabet(c.GroupID, "") == nil { // else no topic has it in its name
			add(fillJournal(template, "*", c.GroupID))
		}
	}
	for _, ingress := range c.IngressTopics {
		add(fillJournal(c.JournalTopic, ingress, "*"))
	}
	return globs
}

func fillJournal(template, ingress, group string) string {
	return strings.NewReplacer(ingressPlaceholder, ingress, groupPlaceholder, group).Replace(template)
}
