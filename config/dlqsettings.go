package config

import "strings"

// DLQSettings is which settings [LoadDLQ] reads beside those of connections.
type DLQSettings struct {
	// From stands for LAYOVER_DLQ_TOPIC, whatever that is; "" reads that.
	From string
	// Redrive is whether LAYOVER_INGRESS_TOPICS is required: dead letters go back there.
	Redrive bool
}

// LoadDLQ reads the settings that a look at dead letters needs. They are connections, the
// dead-letter topic, which may be empty, ingress topics with their targets, the group, and
// the headers of other products. No other field of the configuration means anything, and a
// mistake in its variable does not matter. Warnings and the error are as those of [Load].
func LoadDLQ(environ []string, s DLQSettings) (*Config, []string, error) {
	r := newReader(environ, thisMachine())
	if s.From != "" {
		r.env[dlqTopic] = s.From
		delete(r.env, dlqTopic+fileSuffix)
	}
	r.readEach(func(variable string) bool {
		switch variable {
		case ingressTopics, egressTopic, topicTargets, dlqTopic, groupID, headerPresets, headerMap:
			return true
		}
		return !strings.HasPrefix(variable, prefix)
	})
	rules := r.rules()
	rules.refuseMisnamed()
	rules.requireEach(func(variable string) bool {
		return variable == kafkaBrokers || variable == ingressTopics && s.Redrive
	})
	rules.derive()
	rules.relateKafka()
	warnings := append(unknownNames(r.env), r.warnings...)
	if err := r.err(); err != nil {
		return nil, warnings, err
	}
	return r.cfg, warnings, nil
}
