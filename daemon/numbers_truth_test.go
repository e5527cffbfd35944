package daemon

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/purgatory"
)

// truth is what a test knows of an instance without asking it. It has the records that the
// instance is to read, their targets, and the requests that the brokers got.
type truth struct {
	w       *fixture
	parts   map[string]int32 // ingress topics with their partitions
	targets []string         // as the settings name them
	records []*sent
	// flying are the values of records that a broker keeps from being answered.
	flying  map[string]bool
	commits commits
	began   time.Time
	failed  map[string]int64 // produce requests that the test refused, by target, and kind of the failure
}

// commits counts commits of partitions as the broker sees them, and refuses them.
type commits struct {
	refused    atomic.Bool
	ok, errors atomic.Int64
	last       atomic.Int64 // when one was last taken, in Unix milliseconds
	asked      atomic.Int64 // when one last came, the same
}

// sent is a record of the test's, with what it asked for in the test's own words.
type sent struct {
	*kgo.Record
	value   string
	outcome string
	label   string // of its target
	// reason is why it is invalid, as a code.
	reason            string
	due               time.Time // its deadline; zero: it asked for none
	attempt           int       // that it waits for; 0: no back-off applies
	ambiguous, future bool
	unread            bool // as reading is paused
	finished          bool // other than by an ended
	// answered is when a broker took it that had kept it; handed, when the broker got it.
	handed, answered time.Time
	read             time.Time // if reading is not paused
}

// dueBy is when it may be delivered.
func (s *sent) dueBy() time.Time {
	if s.due.IsZero() || s.due.Before(s.Timestamp) {
		return s.Timestamp
	}
	return s.due
}

// asks is one wish of a record.
type asks func(s *sent)

// for_ asks for a delay.
func for_(delay time.Duration) asks {
	return func(s *sent) {
		s.due, s.outcome = s.Timestamp.Add(delay), "parked" // also where it ran out before it was read
		if delay == 0 {
			s.outcome = "immediate"
		}
		s.Headers = append(s.Headers, header("x-delay", delay.String()))
	}
}

// at asks for an instant.
func at(instant time.Time) asks {
	return func(s *sent) {
		s.due, s.outcome = instant, "parked"
		if !instant.After(time.Now()) {
			s.outcome = "past_due"
		}
		s.Headers = append(s.Headers, header("x-deliver-at", fmt.Sprint(instant.UnixMilli())))
	}
}

// to asks for a target, which is allowed by the name or glob.
func to(target, label string) asks {
	return func(s *sent) {
		s.label = label
		s.Headers = append(s.Headers, header("x-deliver-to", target))
	}
}

// wrong asks for what cannot be had.
func wrong(name, value, reason string) asks {
	return func(s *sent) {
		s.outcome, s.reason = "invalid", reason
		s.Headers = append(s.Headers, header(name, value))
	}
}

// written has another timestamp than now.
func written(at time.Time) asks {
	return func(s *sent) { s.Timestamp, s.future = at, time.Until(at) > 5*time.Second }
}

// both says that an instant and a delay are asked for.
func both() asks {
	return func(s *sent) {
		s.ambiguous = true
		s.Headers = append(s.Headers, header("x-delay", "5h"))
	}
}

// keyed has a key, by whose hash it goes to one partition of its target.
func keyed(key string) asks { return func(s *sent) { s.Key = []byte(key) } }

// filled has a header of that size.
func filled(bytes int) asks {
	return func(s *sent) { s.Headers = append(s.Headers, header("filler", strings.Repeat("f", bytes))) }
}

// send sends a record and remembers it.
func (k *truth) send(topic string, partition int32, all ...asks) *sent {
	k.w.Helper()
	value := fmt.Sprintf("record-%d", len(k.records))
	s := &sent{value: value, outcome: "passed", label: egress, Record: &kgo.Record{Topic: topic, Partition: partition, Key: []byte(value), Value: []byte(value), Timestamp: time.Now()}}
	for _, ask := range all {
		ask(s)
	}
	k.w.Produce(s.Record)
	s.read = time.Now()
	k.records = append(k.records, s)
	return s
}

// count counts commits from now on.
func (k *truth) count() {
	group := "layover-" + ingress
	k.w.Answer(kmsg.OffsetCommit, func(r kmsg.Request) kmsg.Response {
		req := r.(*kmsg.OffsetCommitRequest)
		if req.Group != group {
			return nil
		}
		k.commits.asked.Store(time.Now().UnixMilli())
		for _, t := range req.Topics {
			if k.commits.refused.Load() {
				k.commits.errors.Add(int64(len(t.Partitions)))
				continue
			}
			k.commits.ok.Add(int64(len(t.Partitions)))
			k.commits.last.Store(time.Now().UnixMilli())
		}
		return nil
	})
	k.w.Refuse(kmsg.OffsetCommit, kfake.Fault{Err: kerr.UnknownServerError, When: func(kmsg.Request) bool { return k.commits.refused.Load() }})
}

// settle waits until no commit is so young that its answer may not be seen yet.
func (k *truth) settle() {
	for time.Since(time.UnixMilli(k.commits.asked.Load())) < 200*time.Millisecond {
		time.Sleep(50 * time.Millisecond)
	}
}

// ended is a record in a target or in the dead-letter topic.
type ended struct {
	at     time.Time
	reason string // of a dead letter
	record *kgo.Record
}

// arrived reads the topics that records go to.
func (k *truth) arrived() map[string]ended {
	out := make(map[string]ended)
	for _, topic := range outgoing {
		for _, r := range k.w.Records(topic) {
			out[string(r.Value)] = ended{r.Timestamp, get(r, "layover.errors.reason"), r}
		}
	}
	for _, r := range k.records {
		if a, there := out[r.value]; there && !r.answered.IsZero() {
			a.at = r.answered
			out[r.value] = a
		}
	}
	return out
}

// m is the key of a metric: its name, and pairs of labels and values.
func m(name string, labels ...any) string {
	var pairs []string
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%v=%q", labels[i], fmt.Sprint(labels[i+1])))
	}
	slices.Sort(pairs)
	return "layover_" + name + "{" + strings.Join(pairs, ",") + "}"
}

// now is what the numbers have to be now.
func (k *truth) now(n *numbers) expected {
	e := make(expected)
	ends := k.arrived()
	k.ingress(e, ends)
	k.endings(e, ends)
	k.waiting(e, ends)
	k.partitions(e, ends)
	k.group(e)
	e["layover_commits_total{outcome=\"ok\"}"], e[".counters.commits"] = k.commits.ok.Load(), k.commits.ok.Load()
	k.refusals(e)
	e["layover_last_commit_timestamp_seconds"] = time.UnixMilli(k.commits.last.Load())
	up := time.Since(n.in.daemon.started).Seconds()
	e[".uptime_seconds"] = nearly(up)
	for loop := range n.in.daemon.turns() {
		e[m("loop_turns_total", "loop", loop)] = turnsIn(loop, up)
	}
	return e
}

// refusals are the commits that failed. While they are refused, a lane has told all but its last.
func (k *truth) refusals(e expected) {
	ok, errors := k.commits.ok.Load(), k.commits.errors.Load()
	e.histogram("commit_duration_seconds", &purgatory.LatenessBounds, make([]time.Duration, ok+errors))
	total := m("commits_total", "outcome", "error")
	e[total], e[".counters.commit_errors"] = errors, errors
	if !k.commits.refused.Load() {
		return
	}
	for key := range e {
		if strings.HasPrefix(key, "layover_commit_duration") {
			delete(e, key)
		}
	}
	untold := between(float64(errors-3), float64(errors))
	e[total], e[".counters.commit_errors"] = untold, untold
}

// histogram expects observations of about those durations.
func (e expected) histogram(name string, limits *purgatory.Bounds, durations []time.Duration, labels ...any) {
	series := func(part string, more ...any) string {
		return strings.TrimSuffix(m(name+part, append(slices.Clone(labels), more...)...), "{}")
	}
	e[series("_count")] = len(durations)
	var sum float64
	for _, d := range durations {
		sum += d.Seconds()
	}
	room := slack.Seconds() * float64(len(durations))
	e[series("_sum")] = between(max(sum-room, 0), sum+room)
	for _, bound := range limits {
		low, high := 0, 0
		for _, d := range durations {
			if d+slack <= time.Duration(bound)*time.Millisecond {
				low++
			}
			if d-slack <= time.Duration(bound)*time.Millisecond {
				high++
			}
		}
		e[series("_bucket", "le", fmt.Sprint(float64(bound)/1000))] = between(float64(low), float64(high))
	}
	e[series("_bucket", "le", "+Inf")] = len(durations)
}

// ingress is what was read.
func (k *truth) ingress(e expected, ends map[string]ended) {
	all := make(map[string]int)
	sum := map[string]int{"consumed": len(k.read())}
	add := func(key string, total string) {
		all[key]++
		sum[total]++
	}
	requested, attempts := make(map[string][]time.Duration), make(map[string][]int)
	for topic := range k.parts {
		attempts[topic] = nil
		for _, outcome := range []string{"parked", "passed", "immediate", "past_due", "invalid", "skipped"} {
			all[m("ingress_records_total", "topic", topic, "outcome", outcome)] = 0
			sum["consumed_by_outcome."+outcome] += 0
		}
		all[m("ambiguous_records_total", "topic", topic)], all[m("future_timestamp_records_total", "topic", topic)] = 0, 0
		requested[topic] = nil
	}
	for _, name := range []string{"ambiguous", "future_timestamps", "invalid"} {
		sum[name] = 0
	}
	for _, r := range k.read() {
		add(m("ingress_records_total", "topic", r.Topic, "outcome", r.outcome), "consumed_by_outcome."+r.outcome)
		if r.reason != "" {
			add(m("invalid_records_total", "topic", r.Topic, "reason", r.reason), "invalid")
		}
		if r.ambiguous {
			add(m("ambiguous_records_total", "topic", r.Topic), "ambiguous")
		}
		if r.future {
			add(m("future_timestamp_records_total", "topic", r.Topic), "future_timestamps")
		}
		if r.attempt > 0 {
			attempts[r.Topic] = append(attempts[r.Topic], r.attempt)
		}
		if !r.due.IsZero() && r.outcome != "invalid" {
			requested[r.Topic] = append(requested[r.Topic], max(r.due.Sub(r.Timestamp), 0))
		}
	}
	for topic, delays := range requested {
		e.histogram("requested_delay_seconds", &purgatory.DelayBounds, delays, "topic", topic)
	}
	for topic, numbers := range attempts {
		e.attempts(numbers, topic)
	}
	for key, v := range all {
		e[key] = v
	}
	for name, v := range sum {
		e[".counters."+name] = v
	}
}

// read are the records that the instance has read.
func (k *truth) read() []*sent {
	return slices.DeleteFunc(slices.Clone(k.records), func(r *sent) bool { return r.unread })
}

// readOn says that reading goes on.
func (k *truth) readOn() {
	for _, r := range k.records {
		r.unread = false
	}
}

// said is what the test told the instance.
func (n *numbers) said() expected {
	e := expected{
		".version": "1.2.3", ".revision": "abcdef", ".go_version": runtime.Version(), ".mode": "at-least-once",
		".settings.egress": egress, ".settings.dead_letter": dlq, ".settings.on_invalid": "dlq", ".settings.lanes": 2,
		".settings.commit_interval": "1s", ".settings.max_delay": "720h0m0s", ".group.id": "layover-" + ingress, ".group.instance_id": "",
		".target_names.limit": 10_000, "layover_target_names_limit": 10_000, "layover_build_info{goversion=\"" + runtime.Version() + "\",revision=\"abcdef\",version=\"1.2.3\"}": 1,
		".duplicates_after_a_kill.text": has("commits come every 1s"), ".due_within[#]": len(purgatory.Horizons), ".counters.unaccounted": 0,
		".group.error": "", ".started": n.in.daemon.started, ".parked.limit": 256 << 20, "layover_parked_bytes_limit": 256 << 20,
	}
	for _, ms := range purgatory.Horizons {
		e[fmt.Sprintf(".due_within[%d].seconds", ms/1000)] = ms / 1000
	}
	for topic, partitions := range n.known.parts {
		for p := range partitions {
			e[part(topic, p, "topic")], e[part(topic, p, "partition")], e[part(topic, p, "loaded")], e[part(topic, p, "stable_end_at_assignment")] = topic, int64(p), true, 0
		}
	}
	for i, topic := range []string{ingress, second} {
		e[fmt.Sprintf(".settings.ingress[%d]", i)] = topic
	}
	for i, target := range n.known.targets {
		e[fmt.Sprintf(".settings.targets[%d]", i)] = target
	}
	e[".settings.ingress[#]"], e[".settings.targets[#]"] = 2, len(n.known.targets)
	return e
}
