package daemon

import (
	"fmt"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
)

// held is what is told of a target that takes nothing.
type held struct {
	target, label, state string
	records              int
	since                time.Time
	givesUp              time.Time // its oldest record
	givenUp              int
	detail               any
}

// expects are the numbers about held records.
func (h held) expects() expected {
	at := fmt.Sprintf(".held[%s].", h.target)
	bytes := between(float64(40*h.records), float64(120*h.records))
	return expected{
		at + "target": h.target, at + "state": h.state, at + "records": h.records, at + "since": around(h.since), at + "dead_lettered": h.givenUp,
		at + "bytes": bytes, at + "detail": h.detail, at + "text": has("LAYOVER_TARGET_PATIENCE"), at + "patience_left_seconds": secondsUntil(h.givesUp),
		m("held_records", "target", h.label): h.records, m("held_bytes", "target", h.label): bytes,
	}
}

// ailment is one sick thing.
type ailment struct {
	kind, name, reason string
	partition          any
	since              any // an instant, or nil
	text               judge
}

// sick are the numbers about all things that are sick now.
func sick(all ...ailment) expected {
	e := expected{".sick[#]": len(all), ".state": "degraded", ".degraded": true, ".ready_text": has("degraded: ")}
	count, first := make(map[string]int), make(map[string]time.Time)
	for _, s := range all {
		at := fmt.Sprintf(".sick[%s %s].", s.kind, s.name)
		if s.partition != nil {
			at = fmt.Sprintf(".sick[%s %s/%v].", s.kind, s.name, s.partition)
		}
		e[at+"kind"], e[at+"name"], e[at+"partition"], e[at+"reason"], e[at+"text"], e[at+"since"] = s.kind, s.name, s.partition, s.reason, s.text, s.since
		count[s.kind]++
		if since, known := s.since.(time.Time); known {
			e[at+"since"] = around(since)
			if first[s.kind].IsZero() || since.Before(first[s.kind]) {
				first[s.kind] = since
			}
		}
	}
	for kind, n := range count {
		e[m("sick", "kind", kind)] = n
		if !first[kind].IsZero() {
			e[m("sick_since_timestamp_seconds", "kind", kind)] = around(first[kind])
		}
	}
	return e
}

// missing are the configured topics that do not exist.
func missing(topics ...string) expected {
	e := expected{".kafka.missing_topics[#]": len(topics), ".kafka.topic_faults[#]": len(topics)}
	for i, topic := range topics {
		e[fmt.Sprintf(".kafka.missing_topics[%d]", i)] = topic
		e[fmt.Sprintf(".kafka.topic_faults[%d]", i)] = has("topic " + topic + " is missing")
	}
	return e
}

// known expects so many names that headers chose.
func known(names int) expected {
	return expected{".target_names.known": names, "layover_target_names": names}
}

// TestNumbersOfAMissingTarget: two lanes hold records for it, one of them since longer, and
// one for a name under a glob. After their patience they are dead letters.
func TestNumbersOfAMissingTarget(t *testing.T) {
	long.Only(t)
	numbered(t, func(w *fixture, k *truth, settings []string) {
		in := w.start(append(settings, "LAYOVER_TARGET_PATIENCE=2m")...)
		in.ready()
		n := w.watch(in, k)
		for range 2 {
			w.DeleteTopic("spare")
			gone := time.Now()
			time.Sleep(2 * time.Second)
			spare := ailment{"target", "spare", "missing", nil, gone, has("spare does not exist", "No record waits for it yet")}
			n.look("a target is missing", of(missing("spare"), sick(spare)))
			k.send(ingress, 0, to("spare", "spare"), for_(time.Second))
			first := time.Now().Add(time.Second)
			k.send(ingress, 1, for_(10*time.Minute))
			time.Sleep(30 * time.Second)
			k.send(ingress, 1, to("spare", "spare"), for_(time.Second))
			k.send(second, 0, to("spare", "spare"), for_(time.Second))
			k.send(second, 0, to("jobs.b", "jobs.*"), for_(2*time.Second))
			k.send(second, 0)
			later := time.Now().Add(2 * time.Second)
			time.Sleep(10 * time.Second)
			spare.text = has("3 due records wait for it")
			globbed := ailment{"target", "jobs.b", "missing", nil, later, has("1 due record waits for it")}
			n.look("records are held", of(missing("spare"), sick(spare, globbed), known(1), expected{".held[#]": 2},
				held{"spare", "spare", "missing", 3, first, first.Add(2 * time.Minute), 0, ""}.expects(),
				held{"jobs.b", "jobs.*", "missing", 1, later, later.Add(2 * time.Minute), 0, ""}.expects()))
			time.Sleep(time.Until(first.Add(2*time.Minute + 5*time.Second)))
			spare.text = has("2 due records wait for it", "1 record of it went to the dead-letter topic")
			n.look("the oldest is given up", of(missing("spare"), sick(spare, globbed), known(1), expected{".held[#]": 2},
				held{"spare", "spare", "missing", 2, first, later.Add(2*time.Minute - time.Second), 1, ""}.expects(),
				held{"jobs.b", "jobs.*", "missing", 1, later, later.Add(2 * time.Minute), 0, ""}.expects(),
				expected{".held[spare].since": by(later, later.Sub(first)+time.Second)})) // its lane may have none but these
			time.Sleep(time.Minute)
			spare.text = has("No record waits for it yet", "3 records of it went to the dead-letter topic")
			n.look("all are given up", of(missing("spare"), sick(spare), known(1)))
			w.createTopics(2, "spare")
			w.createTopics(1, "jobs.b") // or the name is not usable again
			time.Sleep(12 * time.Minute)
			w.DeleteTopic("jobs.b")
			n.look("all is well", nil)
		}
		n.done("missing")
		in.stop()
	})
}

// TestNumbersOfDeliveriesThatFail: a target is forbidden, one takes a record never, and a
// partition of one does not answer.
func TestNumbersOfDeliveriesThatFail(t *testing.T) {
	long.Only(t)
	numbered(t, func(w *fixture, k *truth, settings []string) {
		in := w.start(settings...)
		in.ready()
		n := w.watch(in, k)
		invalid := expected{".last_errors[#]": 1, ".last_errors[0].target": "spare", ".last_errors[0].detail": has("INVALID_RECORD")}
		denied := expected{".last_errors[#]": 2, ".last_errors[1].target": "spare", ".last_errors[1].detail": has("TOPIC_AUTHORIZATION_FAILED")}
		silent := expected{".last_errors[#]": 3, ".last_errors[2].target": "spare", ".last_errors[2].detail": has("has not answered for 10 s")}
		for round := range 2 {
			before := map[bool]expected{true: silent}[round > 0]
			mend := k.refuse("spare", "fatal", kerr.InvalidRecord)
			k.send(ingress, 0, to("spare", "spare"))
			time.Sleep(time.Second)
			mend()
			n.look("a record was refused", of(invalid, map[bool]expected{true: of(denied, silent)}[round > 0]))
			mend = k.refuse("spare", "retriable", kerr.TopicAuthorizationFailed)
			due := time.Now().Add(time.Second)
			k.send(ingress, 0, to("spare", "spare"), for_(time.Second))
			k.send(ingress, 1, for_(2*time.Second))
			time.Sleep(20 * time.Second)
			forbidden := held{"spare", "spare", "forbidden", 1, due, due.Add(15 * time.Minute), 0, has("TOPIC_AUTHORIZATION_FAILED")}
			n.ignoring(func() {
				n.look("a target is forbidden", of(invalid, denied, before, expected{".held[#]": 1}, forbidden.expects(),
					sick(ailment{"target", "spare", "forbidden", nil, due, has("may not be written to", "1 due record waits for it")})))
			}, ".counters.produce_errors", "layover_produce_")
			mend()
			time.Sleep(20 * time.Second)
			n.look("it may be written to again", of(invalid, denied, before))
			land := k.fly(w.silence("spare"), ingress, 0, to("spare", "spare"), for_(time.Second), keyed("b"))
			sent := time.Now().Add(time.Second)
			time.Sleep(time.Second)
			n.look("a record is in flight", of(invalid, denied, before))
			time.Sleep(15 * time.Second)
			at := sent.Add(10 * time.Second)
			stuck := of(held{"spare", "spare", "unreachable", 0, at, at, 0, has("partition 0 has not answered for 10 s")}.expects(), expected{".held[#]": 1, ".held[spare].patience_left_seconds": nil, ".held[spare].bytes": 0, m("held_bytes", "target", "spare"): 0})
			n.look("it is stuck", of(invalid, denied, silent, stuck, sick(ailment{"target", "spare", "unreachable", 0, at, has("Partition 0 of target spare does not take records")})))
			land()
			time.Sleep(6 * time.Minute)
			n.look("all is well", of(invalid, denied, silent))
		}
		n.done("failing")
		in.stop()
	})
}
