package config

import (
	"errors"
	"slices"

	"layover/delay"
)

// EgressOf is where a record of an ingress topic goes that names no target; "" where
// it has to.
func (c *Config) EgressOf(ingress string) string {
	for _, t := range c.TopicTargets {
		if t.Ingress == ingress {
			return t.Target
		}
	}
	return c.EgressTopic
}

// Allowed are the names and globs that a header may choose, each once. The egress topic
// is first, then come the targets of ingress topics, then those that are allowed besides.
func (c *Config) Allowed() (out []string) {
	names := []string{c.EgressTopic}
	for _, t := range c.TopicTargets {
		names = append(names, t.Target)
	}
	for _, name := range append(names, c.TargetsAllowed...) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Rules returns the header rules of an ingress topic. Each call makes new ones, with a
// memory of target names of their own.
func (c *Config) Rules(ingress string) (*delay.Rules, error) {
	targets, err := delay.NewTargets(c.EgressOf(ingress), c.Allowed(), c.denied(), append(c.JournalsLike(), c.RunsLike()...))
	if err != nil {
		return nil, err
	}
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	rules := &delay.Rules{DefaultDelay: c.DefaultDelay, MaxDelay: c.MaxDelay, ExpireAfter: c.ExpireAfter, Targets: targets,
		Backoff: c.Backoff, MaxHops: int64(c.MaxHops), DeliverInvalid: c.OnInvalid == OnInvalidDeliver, Names: names, LeaveOut: delay.AddAll &^ c.AddedHeaders}
	for _, t := range c.TopicDelays {
		if t.Ingress == ingress {
			rules.DefaultDelay, rules.TopicBackoff = t.Delay, t.Backoff
			if t.Auto {
				rules.TopicBackoff = c.Backoff
			}
		}
	}
	return rules, nil
}

// denied are the topics that no header may choose.
func (c *Config) denied() []string {
	out := slices.Clone(c.IngressTopics)
	for _, ingress := range c.IngressTopics {
		out = append(out, c.JournalName(ingress), c.RunsName(ingress)) // also where they are off: those from before may be there
	}
	for _, name := range []string{c.DLQTopic, c.EventsTopic} {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// Routing is the settings by which Layover takes or refuses a record, as far as the
// environment of a producer has them.
type Routing struct {
	cfg       *Config
	targets   bool // a setting says where records may go
	onInvalid bool // a setting says what becomes of an invalid record
}

// LoadRouting reads the settings of a [Routing] from environ, and no others. None is
// required. The error is an *[Errors] about settings with which Layover would not start.
func LoadRouting(environ []string) (*Routing, error) {
	r := newReader(environ, thisMachine())
	own := []string{ingressTopics, egressTopic, targetsAllowed, topicTargets, dlqTopic, onInvalid, onExpired, eventsTopic,
		groupID, defaultDelay, topicDelays, maxDelay, backoff, maxHops, expireAfter, journal, journalTopic, runs, runsTopic, headerPresets, headerMap}
	for i := range r.settings {
		if s := &r.settings[i]; slices.Contains(own, s.Variable) {
			r.read(s)
		}
	}
	r.rules().derive()
	if err := r.err(); err != nil {
		return nil, err
	}
	return &Routing{
		cfg:       r.cfg,
		targets:   r.given[egressTopic] || r.given[targetsAllowed] || r.given[topicTargets],
		onInvalid: r.given[onInvalid],
	}, nil
}

// Reads reports whether the settings have the ingress topic, or no ingress topic at all.
func (r *Routing) Reads(ingress string) bool {
	return len(r.cfg.IngressTopics) == 0 || slices.Contains(r.cfg.IngressTopics, ingress)
}

// Maps reports whether a header is one that the settings give a meaning. Without settings
// none is.
func (r *Routing) Maps(header string) bool {
	names, err := r.cfg.Names()
	return err == nil && names.Has(header)
}

// OnInvalid is what becomes of a record that Rules refuses: by default it is
// dead-lettered.
func (r *Routing) OnInvalid() OnInvalid {
	if !r.onInvalid {
		return OnInvalidDLQ
	}
	return r.cfg.OnInvalid
}

// Backoff is what auto means as a delay.
func (r *Routing) Backoff() delay.Backoff { return r.cfg.Backoff }

// Rules returns the header rules of an ingress topic that Reads has. Where no setting
// says where records may go, to is taken for allowed, unless it never can be.
func (r *Routing) Rules(ingress, to string) (*delay.Rules, error) {
	if !r.Reads(ingress) {
		return nil, errors.New(ingressTopics + " does not have it")
	}
	c := *r.cfg
	if len(c.IngressTopics) == 0 {
		c.IngressTopics = []string{ingress}
		if c.GroupID == "" {
			c.GroupID = defaultGroup + ingress
		}
	}
	if !r.targets {
		c.EgressTopic = egressUnknown
		if delay.IsTopicName(to) {
			c.TargetsAllowed = []string{to}
		}
	}
	return c.Rules(ingress)
}

// egressUnknown stands for the egress topic where no setting names one. It is only
// compared with the topics that no header may choose.
const egressUnknown = "layover.egress-unknown"
