package send

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/config"
	"layover/delay"
)

// refusal finds the records that Layover will refuse, by the settings that send sees, or not
// deliver, as they expire first.
// The printer owns it.
type refusal struct {
	rules   *delay.Rules  // nil: no record is compared
	auto    delay.Backoff // what auto means as a delay; the default where the settings are wrong
	fate    config.OnInvalid
	problem string // why records are not compared; "" where nothing is to be said
	said    bool   // at most one warning: the records of one command line are alike
}

// refusalOf reads Layover's settings from environ, for records that are written to the
// topic and name the target to. A mistake in them is no reason not to write.
func refusalOf(environ []string, topic, to string) refusal {
	auto, _ := delay.ParseBackoff(delay.DefaultBackoff)
	routing, err := config.LoadRouting(environ)
	if err != nil {
		return refusal{auto: auto, problem: fmt.Sprintf("Layover's settings here are wrong, so that what it will refuse is not known: %v", err)}
	}
	auto = routing.Backoff()
	if !routing.Reads(topic) {
		return refusal{auto: auto, problem: fmt.Sprintf("LAYOVER_INGRESS_TOPICS does not have %s: a Layover with the settings here does not read it", topic)}
	}
	rules, err := routing.Rules(topic, to)
	if err != nil {
		return refusal{auto: auto, problem: fmt.Sprintf("Layover's settings here are wrong, so that what it will refuse is not known: %v", err)}
	}
	return refusal{rules: rules, auto: auto, fate: routing.OnInvalid()}
}

// mappedBy says which headers Layover's settings in environ give a meaning. Where they are
// wrong it is none, and refusalOf says that they are.
func mappedBy(environ []string) func(name string) bool {
	routing, err := config.LoadRouting(environ)
	if err != nil {
		return func(string) bool { return false }
	}
	return routing.Maps
}

// warning is about a record that was written; "" where nothing is to be said of it, or
// something was said before.
func (f *refusal) warning(r *kgo.Record) string {
	if f.said {
		return ""
	}
	if f.rules == nil {
		f.said = true
		return f.problem
	}
	d, invalid := f.rules.Parse(r, time.Now().UnixMilli())
	id := delay.ID(r.Topic, r.Partition, r.Offset)
	switch {
	case invalid != nil:
		f.said = true
		return fmt.Sprintf("%s: Layover %s, by the settings here: %s: %s", id, fates[f.fate], invalid.Reason, invalid.Message)
	case d.ExpiresUnsent():
		f.said = true
		return fmt.Sprintf("%s: Layover will not deliver this record: it expires at %s, and is due at %s",
			id, delay.FormatTime(d.ExpireMs), delay.FormatTime(d.DeadlineMs))
	}
	return ""
}

// fates say what becomes of a refused record.
var fates = map[config.OnInvalid]string{
	config.OnInvalidDLQ:     "will dead-letter this record",
	config.OnInvalidDrop:    "will drop this record",
	config.OnInvalidDeliver: "will deliver this record at once",
	config.OnInvalidHalt:    "will stop reading the partition at this record",
}
