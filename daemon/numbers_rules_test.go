package daemon

import (
	"fmt"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestNumbersOfRecordsThatAreDropped, and of a pause for a target without a dead-letter topic.
func TestNumbersOfRecordsThatAreDropped(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, second)
		in := w.start("LAYOVER_INGRESS_TOPICS="+ingress+","+second, "LAYOVER_DLQ_TOPIC=", "LAYOVER_ON_INVALID=drop", "LAYOVER_TARGET_PATIENCE=10s")
		in.ready()
		n := w.beside(in)
		dropped := func(here, others int) expected {
			return expected{m("dropped_records_total", "topic", ingress): here, m("dropped_records_total", "topic", second): others, ".counters.dropped": here + others, ".counters.unaccounted": 0,
				".settings.on_invalid": "drop", ".settings.dead_letter": ""}
		}
		reading := expected{m("intake_paused", "reason", "target"): 0, ".pauses[#]": 0, ".paused": nil, "layover_paused_seconds": 0}
		n.some("nothing is dropped", of(dropped(0, 0), reading))
		for round := 1; round <= 2; round++ {
			w.send(0, "bad", header("x-delay", "soon"))
			w.send(1, "bad", header("x-delay", "soon"))
			w.sendTo(second, 0, "bad", header("x-delay", "soon"))
			n.some("some are dropped", of(dropped(2*round, round), reading))
			w.DeleteTopic(egress)
			sent := time.Now()
			w.send(0, "held")
			time.Sleep(15 * time.Second)
			n.some("the patience is over", of(dropped(2*round, round), expected{m("intake_paused", "reason", "target"): 1, m("intake_paused", "reason", "bytes"): 0, m("intake_paused", "reason", "dead_letter"): 0,
				".pauses[#]": 1, ".pauses[target].reason": "target", ".pauses[target].target": egress, ".paused.reason": "target", ".paused.since": by(sent.Add(12*time.Second), 4*time.Second)}))
			w.createTopics(2, egress)
			time.Sleep(30 * time.Second)
			n.some("reading goes on", of(dropped(2*round, round), reading))
		}
		n.done("dropped")
		in.stop()
	})
}

// TestNumbersOfAPartitionThatStops, beside one that is read.
func TestNumbersOfAPartitionThatStops(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_ON_INVALID=halt", "LAYOVER_DLQ_TOPIC=")
		in.ready()
		n := w.beside(in)
		read := expected{m("partition_stopped_offset", "topic", ingress, "partition", 0): gone, m("partition_stopped_offset", "topic", ingress, "partition", 1): gone,
			part(ingress, 0, "stopped"): nil, part(ingress, 1, "stopped"): nil}
		stopped := func(p int32, offset int64, reason string, halted bool) expected {
			return of(read, expected{m("partition_stopped_offset", "topic", ingress, "partition", p): offset, part(ingress, p, "stopped"): gone, part(ingress, p, "stopped.offset"): offset,
				part(ingress, p, "stopped.reason"): map[bool]string{true: "halted", false: "fetch_failed"}[halted], part(ingress, p, "stopped.detail"): has(reason), part(ingress, p, "stopped.halted"): halted, part(ingress, p, "stopped.text"): has("stopped at offset")})
		}
		given := func(v int) expected {
			return expected{"layover_unfinished_records_total": v, ".counters.unfinished": v, ".counters.unaccounted": 0}
		}
		n.some("both are read", of(well(), read, given(0)))
		w.send(0, "good")
		failed := time.Now()
		fault := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: ingress, Partitions: []int32{1}, Err: kerr.UnknownServerError})
		time.Sleep(30 * time.Second)
		n.some("one cannot be fetched", of(stopped(1, 0, "", false), expected{".sick[#]": 1, ".sick[partition delayed/1].reason": "fetch_failed", m("sick", "kind", "partition"): 1, m("sick_since_timestamp_seconds", "kind", "partition"): around(failed), ".sick[partition delayed/1].since": around(failed), ".sick[partition delayed/1].partition": 1}))
		fault.Remove()
		time.Sleep(30 * time.Second)
		n.some("both are read", of(well(), read))
		refused := w.Refuse(kmsg.Produce, kfake.Fault{Topic: egress, Err: kerr.InvalidRecord})
		w.send(0, "refused by its target")
		time.Sleep(5 * time.Second)
		refused.Remove()
		n.some("a record is refused", of(stopped(0, 1, "rejected", true), given(1)))
		time.Sleep(time.Minute)
		n.some("nothing happens", of(stopped(0, 1, "rejected", true), given(1)))
		n.done("stopped")
		in.stop()
	})
}

// TestNumbersOfNamesThatHeadersInvent: more than may be known, and more than are shown.
func TestNumbersOfNamesThatHeadersInvent(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_TARGETS_ALLOWED=jobs.*,works.*", "LAYOVER_MAX_PARKED_BYTES=12Mi", "LAYOVER_TARGET_PATIENCE=2m", "LAYOVER_LANES=1")
		in.ready()
		n := w.beside(in)
		limit := int(in.at("target_names", "limit").(float64))
		room := of(well(), known(0), expected{".target_names.refused_since": nil, "layover_target_names_refused": 0, ".held[#]": 0, ".held_not_shown": 0, ".sick_not_shown": 0,
			m("held_records", "target", "jobs.*"): 0, m("held_records", "target", "works.*"): 0, m("held_bytes", "target", "jobs.*"): 0})
		n.some("there is room", room)
		many, few := limit+50, 7
		w.sendMany(1, 0, few, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-deliver-to", "works.one")} })
		time.Sleep(5 * time.Second)
		w.sendMany(0, 0, many, func(i int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-deliver-to", fmt.Sprint("jobs.", i))}
		})
		first := time.Now()
		time.Sleep(20 * time.Second)
		for given := -1; given != w.count(dlq); time.Sleep(5 * time.Second) {
			given = w.count(dlq)
		}
		many -= w.count(dlq) // over their share of memory
		n.some("there is none", expected{".target_names.refused_since": around(first), "layover_target_names_refused": 1, ".held[#]": 100, ".held_not_shown": many + 1 - 100,
			m("held_records", "target", "jobs.*"): many, m("held_records", "target", "works.*"): few, m("held_bytes", "target", "jobs.*"): between(float64(40*many), float64(120*many)), ".sick_not_shown": many + 2 - 100,
			m("sick", "kind", "names"): 1, m("sick_since_timestamp_seconds", "kind", "names"): around(first), m("sick", "kind", "target"): many + 1})
		time.Sleep(14 * time.Minute)
		n.some("there is room again", room)
		n.done("names")
		in.stop()
	})
}

// TestNumbersOfAStop: it waits for a record that a broker keeps.
func TestNumbersOfAStop(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		n := w.beside(in)
		in.ready()
		up := func(v int) expected {
			return expected{".draining": false, ".state": "ready", ".ready": true, "layover_ready": 1, ".uptime_seconds": nearly(float64(v))}
		}
		n.some("it runs", up(2))
		w.silence(egress)
		w.send(0, "kept")
		time.Sleep(time.Second)
		in.cancel()
		n.some("it stops", expected{".draining": true, ".state": "draining", ".ready": false, "layover_ready": 0, ".ready_text": "not ready: draining"})
		n.done("stop")
		in.stop()
	})
}
