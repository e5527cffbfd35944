package daemon

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// truth is what a test knows of an instance without asking it: the records that it is to
// read, where they are to go, and what the brokers were asked for.
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
	ambiguous, future bool
	unread            bool // as reading is paused
	finished          bool // other than by an ended
	// answered is when a broker took it that had kept it; handed, when the broker got it.
	handed, answered time.Time
	read             time.Time // if reading is not paused
}

// from is the partition that it is read from.
func (s *sent) from() string { return fmt.Sprintf("%s/%d", s.Topic, s.Partition) }

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
	return func(s *sent) { s.Timestamp, s.future = at, at.Sub(time.Now()) > 5*time.Second }
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
	for _, topic := range []string{egress, "spare", "jobs.a", dlq} {
		for _, r := range k.w.all(topic) {
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

// fly sends a record that a broker keeps; land lets it take it.
func (k *truth) fly(silent *kfake.FaultHandle, topic string, partition int32, all ...asks) (land func()) {
	k.w.Helper()
	r := k.send(topic, partition, all...)
	r.handed = r.dueBy()
	k.flying[r.value] = true
	return func() {
		k.w.Helper()
		silent.Remove()
		for deadline := time.Now().Add(10 * time.Second); r.answered.IsZero() && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if _, there := k.arrived()[r.value]; there {
				r.answered = time.Now()
			}
		}
		delete(k.flying, r.value)
	}
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
	e[".uptime_seconds"] = nearly(time.Since(n.in.daemon.started).Seconds())
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
	requested := make(map[string][]time.Duration)
	for topic := range k.parts {
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
		if !r.due.IsZero() && r.outcome != "invalid" {
			requested[r.Topic] = append(requested[r.Topic], max(r.due.Sub(r.Timestamp), 0))
		}
	}
	for topic, delays := range requested {
		e.histogram("requested_delay_seconds", &purgatory.DelayBounds, delays, "topic", topic)
	}
	for key, v := range all {
		e[key] = v
	}
	for name, v := range sum {
		e[".counters."+name] = v
	}
}

// endings is what has arrived.
func (k *truth) endings(e expected, ends map[string]ended) {
	all := make(map[string]int)
	late := make(map[string][]time.Duration)
	reasons := make(map[string]int)
	var letters []*sent
	var last time.Time
	for _, target := range k.targets {
		late[target] = nil
		for topic := range k.parts {
			all[m("delivered_records_total", "topic", topic, "target", target)] = 0
		}
	}
	delivered := 0
	for _, r := range k.records {
		a, there := ends[r.value]
		switch {
		case !there:
			continue
		case a.reason != "":
			all[m("dead_lettered_records_total", "topic", r.Topic, "reason", a.reason)]++
			reasons[a.reason]++
			letters = append(letters, r)
		default:
			delivered++
			all[m("delivered_records_total", "topic", r.Topic, "target", r.label)]++
			late[r.label] = append(late[r.label], max(a.at.Sub(r.dueBy()), 0))
		}
		if a.at.After(last) {
			last = a.at
		}
	}
	for key, v := range all {
		e[key] = v
	}
	var recent []time.Duration
	for target, durations := range late {
		e.histogram("lateness_seconds", &purgatory.LatenessBounds, durations, "target", target)
		recent = append(recent, durations...)
	}
	e.lateness(recent)
	e[".counters.delivered"], e[".counters.dead_lettered"], e[".dead_letters.total"] = delivered, len(letters), len(letters)
	for reason, v := range reasons {
		e[".dead_letters.by_reason."+reason] = v
	}
	if !last.IsZero() {
		e["layover_last_delivery_timestamp_seconds"] = last
	}
	e.letters(letters, ends)
	if e[".dead_letters.coming"] == true {
		e[".state"], e[".degraded"] = "degraded", true
		e[".ready_text"] = has(fmt.Sprintf("degraded: dead letters come: %d since the start", len(letters)))
	}
	produced := make([]time.Duration, delivered+len(letters)+k.failures(e))
	for i, r := range k.records {
		if !r.answered.IsZero() {
			produced[min(i, len(produced)-1)] = r.answered.Sub(r.handed)
		}
	}
	e.histogram("produce_duration_seconds", &purgatory.LatenessBounds, produced)
}

// failures are the deliveries that failed.
func (k *truth) failures(e expected) (all int) {
	for key, n := range k.failed {
		e[key] = n
		all += int(n)
	}
	e[".counters.produce_errors"] = all
	return all
}

// refuse has deliveries to a target fail, each with a record alone, until it is mended.
func (k *truth) refuse(target, kind string, err *kerr.Error) (mend func()) {
	id := k.w.Broker.TopicInfo(target).TopicID
	key := m("produce_errors_total", "target", target, "kind", kind)
	var asked atomic.Int64
	handle := k.w.Refuse(kmsg.Produce, kfake.Fault{Topic: target, Err: err, When: func(r kmsg.Request) bool {
		for _, t := range r.(*kmsg.ProduceRequest).Topics {
			if t.TopicID == id {
				asked.Add(1)
				return true
			}
		}
		return false
	}})
	return func() {
		handle.Remove()
		k.failed[key] += asked.Swap(0)
	}
}

// lateness expects the quantiles of deliveries by nearest rank.
func (e expected) lateness(durations []time.Duration) {
	if len(durations) == 0 {
		e[".lateness_ms"] = nil
		return
	}
	slices.Sort(durations)
	for name, percent := range map[string]int{"p50": 50, "p90": 90, "p99": 99, "max": 100} {
		d := float64(max(durations[(len(durations)*percent+99)/100-1], 0).Milliseconds())
		e[".lateness_ms."+name] = between(d-float64(slack.Milliseconds()), d+float64(slack.Milliseconds()))
	}
	e[".lateness_ms.count"] = len(durations)
}

// letters expects the last dead letters, the latest first.
func (e expected) letters(letters []*sent, ends map[string]ended) {
	if len(letters) == 0 {
		return
	}
	slices.SortStableFunc(letters, func(a, b *sent) int {
		return cmp.Or(ends[b.value].at.Compare(ends[a.value].at), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(b.Offset, a.Offset))
	})
	newest := ends[letters[0].value].at
	e["layover_last_dead_letter_timestamp_seconds"] = newest
	e[".dead_letters.coming"] = time.Since(newest) < 5*time.Minute
	letters = letters[:min(len(letters), 10)]
	e[".dead_letters.last[#]"] = len(letters)
	for i, r := range letters {
		at := fmt.Sprintf(".dead_letters.last[%d].", i)
		e[at+"topic"], e[at+"partition"], e[at+"offset"] = r.Topic, int64(r.Partition), r.Offset
		e[at+"at"], e[at+"reason"], e[at+"message"] = ends[r.value].at, ends[r.value].reason, get(ends[r.value].record, "layover.errors.message")
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

// open are the records that wait or fly.
func (k *truth) open(ends map[string]ended) (out []*sent) {
	for _, r := range k.read() {
		if _, there := ends[r.value]; !there && !r.finished {
			out = append(out, r)
		}
	}
	return out
}

// waiting is what is in memory.
func (k *truth) waiting(e expected, ends map[string]ended) {
	now := time.Now()
	var parked, due, flying int
	var next, overdue time.Time
	furthest := make(map[string]time.Time)
	var within [len(purgatory.Horizons)]int
	bytes := 0
	for _, r := range k.open(ends) {
		bytes += len(r.Key) + len(r.Value)
		for _, h := range r.Headers {
			bytes += len(h.Key) + len(h.Value)
		}
		isDue := !r.dueBy().After(now) || r.outcome == "invalid"
		since := r.due
		if since.IsZero() { // it asked for none, and counts from when it was sent
			since = r.handed
		}
		if isDue && !since.IsZero() && (overdue.IsZero() || since.Before(overdue)) {
			overdue = since
		}
		if k.flying[r.value] {
			flying++
			continue
		}
		parked++
		for i, ms := range purgatory.Horizons {
			if isDue || r.due.Sub(now) <= time.Duration(ms)*time.Millisecond {
				within[i]++
			}
		}
		if isDue {
			due++
			continue
		}
		if next.IsZero() || r.due.Before(next) {
			next = r.due
		}
		if r.due.After(furthest[r.Topic]) {
			furthest[r.Topic] = r.due
		}
	}
	e[".parked.records"], e[".parked.due"], e[".in_flight"], e[".overdue"] = parked, due, flying, due+flying
	e["layover_in_flight_records"], e["layover_overdue_records"] = flying, due+flying
	e[`layover_parked_records_due_within{seconds="+Inf"}`] = parked
	for i, ms := range purgatory.Horizons {
		e[m("parked_records_due_within", "seconds", ms/1000)], e[fmt.Sprintf(".due_within[%d].records", ms/1000)] = within[i], within[i]
	}
	latest := time.Time{}
	for topic := range k.parts {
		e.instant(m("furthest_deadline_timestamp_seconds", "topic", topic), furthest[topic])
		if furthest[topic].After(latest) {
			latest = furthest[topic]
		}
	}
	e.instant("layover_next_due_timestamp_seconds", next)
	e.instant("layover_oldest_overdue_timestamp_seconds", overdue)
	e.instant(".next_due", next)
	e.instant(".furthest_deadline", latest)
	e.instant(".oldest_overdue", overdue)
	k.memory(e, bytes, parked+flying)
	k.ticks(e)
}

// ticks is how often the wheel has to be looked at: at each deadline, and where a bucket moves
// down a level, of which there are five.
func (k *truth) ticks(e expected) {
	passed, moved := make(map[time.Time]bool), 0
	for _, r := range k.records {
		if r.outcome == "parked" {
			moved += 5
			if r.due.After(r.Timestamp) && r.due.Before(time.Now()) && r.Timestamp.After(k.began) {
				passed[r.due] = true
			}
		}
	}
	e["layover_tick_lag_seconds_count"] = between(float64(len(passed)), float64(moved+len(k.records)))
	e["layover_tick_lag_seconds_sum"] = between(0, slack.Seconds())
	for _, bound := range append([]string{"+Inf"}, bounds(&purgatory.LatenessBounds)...) {
		e[m("tick_lag_seconds_bucket", "le", bound)] = between(float64(len(passed)), float64(moved+len(k.records)))
	}
}

// bounds are those of a histogram as /metrics has them.
func bounds(of *purgatory.Bounds) (out []string) {
	for _, ms := range of {
		out = append(out, fmt.Sprint(float64(ms)/1000))
	}
	return out
}

// memory is what the bytes of so many records take.
func (k *truth) memory(e expected, bytes, records int) {
	const headers, chunks = 64, 1 << 20 // of a record in memory, and what is not full
	low, high := float64(bytes), float64(bytes+records*headers)
	e[".parked.chunk_live_bytes"], e["layover_chunk_live_bytes"] = between(low, high), between(low, high)
	e[".parked.chunk_bytes"], e["layover_chunk_bytes"] = between(low, high+chunks), between(low, high+chunks)
	e[".parked.bytes"] = between(low+1, high+2*chunks)
	e[".parked.memory"], e["layover_parked_bytes"] = between(low+1, high+2*chunks), between(low+1, high+2*chunks)
	if records == 0 {
		e[".parked.chunk_bytes"], e["layover_chunk_bytes"] = 0, 0
	}
}

// instant expects one, or that there is none.
func (e expected) instant(key string, at time.Time) {
	switch {
	case !at.IsZero():
		e[key] = at
	case strings.HasPrefix(key, "."):
		e[key] = nil
	default:
		e[key] = 0
	}
}

// partitions is where each partition stands.
func (k *truth) partitions(e expected, ends map[string]ended) {
	open := k.open(ends)
	oldest := make(map[string]time.Time)
	for topic, partitions := range k.parts {
		for p := range partitions {
			end, unread := k.w.Broker.PartitionInfo(topic, p).HighWatermark, int64(0)
			for _, r := range k.records {
				if r.unread && r.Topic == topic && r.Partition == p {
					unread++
				}
			}
			low, parked, due, flying := end-unread, 0, 0, 0
			for _, r := range open {
				if r.Topic != topic || r.Partition != p {
					continue
				}
				low = min(low, r.Offset)
				waited := r.outcome == "parked" && r.due.After(r.read) // what never waited for a deadline does not count
				if waited && (oldest[topic].IsZero() || r.Timestamp.Before(oldest[topic])) {
					oldest[topic] = r.Timestamp
				}
				switch isDue := !r.dueBy().After(time.Now()) || r.outcome == "invalid"; {
				case k.flying[r.value]:
					flying++
				case isDue:
					due++
					parked++
				default:
					parked++
				}
			}
			above := 0
			for _, r := range k.records {
				if r.Topic == topic && r.Partition == p && r.Offset > low && !slices.Contains(open, r) && !r.unread {
					above++
				}
			}
			committed, _ := k.w.Committed("layover-"+ingress, topic, p)
			k.partition(e, topic, p, map[string]any{
				"low_offset": low, "committed_offset": committed.At, "read_offset": end - unread, "log_end": end, "intake_lag": unread,
				"parked": parked, "due": due, "in_flight": flying, "finished_above_low": above, "commit_metadata_bytes": len(committed.Metadata),
				"duplicates_after_a_kill.in_flight": flying, "duplicates_after_a_kill.total": flying,
			})
		}
	}
	for topic, written := range oldest {
		e[m("ingress_retention_headroom_seconds", "topic", topic)] = nearly(k.retention(topic).Seconds() - time.Since(written).Seconds())
	}
	e[".duplicates_after_a_kill.in_flight"], e[".duplicates_after_a_kill.total"] = len(k.flying), len(k.flying)
}

// partition expects members of a partition's, and the metrics that say the same.
func (k *truth) partition(e expected, topic string, p int32, members map[string]any) {
	metrics := map[string]string{
		"low_offset": "low_offset", "committed_offset": "committed_offset", "read_offset": "read_offset", "intake_lag": "intake_lag_records", "parked": "parked_records",
		"commit_metadata_bytes": "commit_metadata_bytes", "duplicates_after_a_kill.total": "duplicates_after_a_kill_records",
		"duplicates_after_a_kill.since_last_commit": "uncommitted_records",
	}
	for name, v := range members {
		e[fmt.Sprintf(".assignments[%s/%d].%s", topic, p, name)] = v
		if metric := metrics[name]; metric != "" {
			e[m(metric, "topic", topic, "partition", p)] = v
		}
	}
}

// retention is how long the brokers keep records of a topic.
func (k *truth) retention(topic string) time.Duration {
	if v := k.w.Broker.TopicInfo(topic).Configs["retention.ms"]; v != nil {
		ms, _ := time.ParseDuration(*v + "ms")
		return ms
	}
	return 7 * 24 * time.Hour
}

// group is what the coordinator knows of the only member.
func (k *truth) group(e expected) {
	g := k.w.Broker.GroupInfo("layover-" + ingress)
	if g == nil || len(g.Members) == 0 {
		return
	}
	e[".group.generation"] = int64(g.Epoch)
	if len(g.Members) == 1 {
		e[".group.member"] = g.Members[0].MemberID
	}
}

// said is what the test told the instance.
func (n *numbers) said() expected {
	e := expected{
		".version": "1.2.3", ".revision": "abcdef", ".go_version": runtime.Version(), ".mode": "at-least-once",
		".settings.egress": egress, ".settings.dead_letter": dlq, ".settings.on_invalid": "dlq", ".settings.lanes": 2,
		".settings.commit_interval": "1s", ".settings.max_delay": "144h0m0s", ".group.id": "layover-" + ingress, ".group.instance_id": "",
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
