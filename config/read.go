package config

import (
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
)

// The variables that the rules between settings name. A test holds that each
// is in Known.
const (
	kafkaBrokers   = "KAFKA_BROKERS"
	ingressTopics  = "LAYOVER_INGRESS_TOPICS"
	egressTopic    = "LAYOVER_EGRESS_TOPIC"
	targetsAllowed = "LAYOVER_TARGETS_ALLOWED"
	topicTargets   = "LAYOVER_TOPIC_TARGETS"
	dlqTopic       = "LAYOVER_DLQ_TOPIC"
	onInvalid      = "LAYOVER_ON_INVALID"
	groupID        = "LAYOVER_GROUP_ID"
	defaultDelay   = "LAYOVER_DEFAULT_DELAY"
	topicDelays    = "LAYOVER_TOPIC_DELAYS"
	maxDelay       = "LAYOVER_MAX_DELAY"
	journalTopic   = "LAYOVER_JOURNAL_TOPIC"
	httpAddr       = "LAYOVER_HTTP_ADDR"
)

// reader turns one environment into one Config. It lives for one Load, in one
// goroutine.
type reader struct {
	env      map[string]string
	host     machine
	cfg      *Config
	settings []setting         // their fields lie in cfg
	text     map[string]string // the content of a variable or its file, trimmed
	given    map[string]bool   // set to something that is not empty, valid or not
	// bad: given and not decoded. The field is zero, or a list of the entries that
	// were understood.
	bad      map[string]bool
	files    map[string]string // the files that were read, by the variable
	problems []Problem
}

func newReader(environ []string, host machine) *reader {
	cfg := new(Config)
	return &reader{
		env:      parseEnviron(environ),
		host:     host,
		cfg:      cfg,
		settings: settingsOf(cfg),
		text:     make(map[string]string),
		given:    make(map[string]bool),
		bad:      make(map[string]bool),
		files:    make(map[string]string),
	}
}

// parseEnviron splits the name=value pairs. Of a name that is there twice the
// last wins, as in os/exec. Windows keeps its drives' folders under names that
// begin with "=", and there names do not know case.
func parseEnviron(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			continue
		}
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		env[name] = value
	}
	return env
}

// read decodes the value of s into its field, or its literal default where the
// value is empty. A secret's reason leaves out the error of its check, which may
// hold a part of the secret.
func (r *reader) read(s *setting) {
	text, ok := r.textOf(s)
	if !ok {
		r.given[s.Variable], r.bad[s.Variable] = true, true
		return
	}
	r.text[s.Variable] = text
	if text == "" {
		text = s.literal
	} else {
		r.given[s.Variable] = true
	}
	if text == "" {
		return
	}
	err := s.decode(text)
	if err == nil {
		return
	}
	list, isList := errors.AsType[*listError](err)
	r.bad[s.Variable] = !isList || list.partial
	reason := err.Error()
	if s.Secret {
		reason = "has a value that is not valid, want " + s.Values
	}
	if path, ok := r.files[s.Variable]; ok {
		reason += "; it is from the file " + quote(path) + " of " + s.Variable + fileSuffix
	}
	r.refuse(s.Variable, reason)
}

// refuse adds a problem of a known variable with the example of its row.
func (r *reader) refuse(variable, reason string) {
	p := Problem{Variable: variable, Reason: reason}
	for _, s := range r.settings {
		if s.Variable == variable {
			p.Example = s.Example
		}
	}
	r.problems = append(r.problems, p)
}

// refuseSecurity reports each variable that asks for encryption or a login. Layover
// has neither, and must not connect in plaintext instead. Even PLAINTEXT is refused
// until the variable has a meaning. Variables that Kubernetes sets for a Service
// called kafka-tls ask for nothing. Values are never printed: some are passwords. The
// example is the empty value, which means unset.
func (r *reader) refuseSecurity() {
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		asks := strings.HasPrefix(name, "KAFKA_SASL_") ||
			strings.HasPrefix(name, "KAFKA_TLS_") ||
			strings.TrimSuffix(name, fileSuffix) == "KAFKA_SECURITY_PROTOCOL"
		if asks && r.env[name] != "" && !isServiceLink(name, r.env[name]) {
			r.problems = append(r.problems, Problem{
				Variable: name,
				Reason:   "not supported yet, and connecting in plaintext unasked would be worse: unset it, or leave it empty",
			})
		}
	}
}

// err returns nil or all problems, those of known variables first and in the
// order of the table, so that the same mistakes always read the same.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	rank := make(map[string]int, len(r.settings))
	for i, s := range r.settings {
		below := i - len(r.settings) // below 0, the rank of others
		rank[s.Variable], rank[s.Variable+fileSuffix] = below, below
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return rank[a.Variable] - rank[b.Variable]
	})
	return &Errors{Problems: r.problems}
}
