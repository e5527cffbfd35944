package config

import "strings"

// JournalSettings is which settings [LoadJournal] reads beside those of connections.
type JournalSettings struct {
	// Topic stands for LAYOVER_INGRESS_TOPICS where that is not set; "" requires it.
	Topic string
	// Start is whether LAYOVER_START_OFFSET is read.
	Start bool
}

// LoadJournal reads the settings that a look at the journals and the runs topics needs:
// connections, ingress topics, the group, LAYOVER_JOURNAL_TOPIC and LAYOVER_RUNS_TOPIC. No other field of the configuration means
// anything, and a mistake in its variable does not matter. Warnings and the error are as
// those of [Load].
func LoadJournal(environ []string, s JournalSettings) (*Config, []string, error) {
	r := newReader(environ, thisMachine())
	if s.Topic != "" && r.env[ingressTopics] == "" && r.env[ingressTopics+fileSuffix] == "" {
		r.env[ingressTopics] = s.Topic
	}
	r.readEach(func(variable string) bool {
		switch variable {
		case ingressTopics, groupID, journalTopic, runsTopic:
			return true
		case startOffset:
			return s.Start
		}
		return !strings.HasPrefix(variable, prefix)
	})
	rules := r.rules()
	rules.refuseMisnamed()
	rules.requireEach(func(variable string) bool { return variable == kafkaBrokers || variable == ingressTopics })
	rules.derive()
	rules.relateJournal()
	rules.relateRuns()
	rules.relateKafka()
	warnings := append(unknownNames(r.env), r.warnings...)
	if err := r.err(); err != nil {
		return nil, warnings, err
	}
	return r.cfg, warnings, nil
}
