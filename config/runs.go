package config

import (
	"fmt"
	"strings"
	"time"

	"layover/delay"
)

// defaultRuns is the default of LAYOVER_RUNS_TOPIC.
const defaultRuns = defaultJournal + ".runs"

// The defaults of LAYOVER_MAX_DELAY. Without runs it is a day below Kafka's default
// retention, as a record waits in its ingress topic until its deadline.
const (
	maxDelayWithRuns    = 30 * 24 * time.Hour
	maxDelayWithoutRuns = 6 * 24 * time.Hour
)

// RunsName returns the name of the runs topic of an ingress topic, also where
// nothing is moved. One that no topic can have is possible, see RunsTopic.
func (c *Config) RunsName(ingress string) string {
	return fill(c.RunsTopic, ingress, c.GroupID)
}

// HasRuns reports whether the settings have far-off records of an ingress topic moved.
// Finished copies are kept in the journal, so without one nothing is moved. Nor is it
// where no topic can have the name of the journal or of the runs topic.
func (c *Config) HasRuns(ingress string) bool {
	return c.Runs != RunsOff && c.Journal != JournalOff &&
		delay.IsTopicName(c.JournalName(ingress)) && delay.IsTopicName(c.RunsName(ingress))
}

// RunsOn reports whether far-off records of every ingress topic are moved, by the
// settings. Whether the brokers allow it is another question.
func (c *Config) RunsOn() bool {
	for _, ingress := range c.IngressTopics {
		if !c.HasRuns(ingress) {
			return false
		}
	}
	return c.Runs != RunsOff && c.Journal != JournalOff
}

// RunsLike returns globs of the names that other processes' runs topics may have, as
// JournalsLike does of journals. The default is one that tells: *.*.runs.
func (c *Config) RunsLike() []string { return namesLike(c.RunsTopic, defaultRuns) }

// checkRuns checks a topic's name with both placeholders in it.
func checkRuns(name string) error {
	if err := checkTemplate(name); err != nil {
		return err
	}
	for _, placeholder := range []string{ingressPlaceholder, groupPlaceholder} {
		if !strings.Contains(name, placeholder) {
			return fmt.Errorf("has no %s, want %s: a runs topic has the records of one ingress topic and one group", placeholder, placeholders)
		}
	}
	return nil
}

// relateRuns refuses a runs topic that is another topic of the settings, also by the
// default name. It does so where nothing is moved, too: copies from before are still
// delivered then.
//
// A name that no topic can have passes, as a journal's does. It follows from the name of
// the group, and a group that has worked without a journal goes on without runs. The
// doctor warns of both.
func (r *rules) relateRuns() {
	c := r.cfg
	if r.bad[runsTopic] || c.GroupID == "" {
		return // no name is known
	}
	var wrong []string
	for _, ingress := range c.IngressTopics {
		name := c.RunsName(ingress)
		taken := r.takenBy(name)
		if of := r.journalOf(name); of != "" {
			taken = "the journal of " + quote(of)
		}
		if taken != "" {
			wrong = append(wrong, fmt.Sprintf("%s makes %s the runs topic of %s, and that is %s",
				r.shown(runsTopic), quote(name), quote(ingress), taken))
		}
	}
	r.refuseAll(runsTopic, wrong)
}

// journalOf returns the ingress topic whose journal has a name; "" where none has.
func (r *rules) journalOf(name string) string {
	if r.bad[journalTopic] {
		return ""
	}
	for _, ingress := range r.cfg.IngressTopics {
		if r.cfg.JournalName(ingress) == name {
			return ingress
		}
	}
	return ""
}

// warnRuns warns where nothing is moved for the sake of another setting.
func (r *rules) warnRuns() {
	if c := r.cfg; c.Runs == RunsAuto && c.Journal == JournalOff {
		r.warn("%s is %s and %s is %s: nothing is moved to runs, as finished copies are kept in the journal; set %s=%s too, or %s=%s",
			runs, RunsAuto, r.asSet(journal), JournalOff, runs, RunsOff, journal, JournalAuto)
	}
}
