package daemon

import (
	"cmp"
	"fmt"
	"layover/purgatory"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
