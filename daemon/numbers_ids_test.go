package daemon

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"layover/consumer"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// idsNow is what an instance is to show of ids. Of counters, that of two ingress topics.
type idsNow struct {
	waiting, waitingCancels, waitingEvents int
	cancelled, tooLate, miss               int // of the first ingress topic; the second one has twice as many misses
	replaced, expired                      int
	said, givenUp                          int
}

func (i idsNow) expected() expected {
	cancels := i.cancelled + i.tooLate + 3*i.miss + i.waitingCancels
	return expected{
		"layover_ids": i.waiting, ".ids.records": i.waiting, "layover_id_bytes": between(0, 100_000), ".ids.bytes": between(0, 100_000),
		"layover_waiting_cancels": i.waitingCancels, ".ids.waiting_cancels": i.waitingCancels,
		"layover_waiting_events": i.waitingEvents, ".ids.waiting_events": i.waitingEvents,
		m("cancels_total", "topic", ingress, "result", "cancelled"): i.cancelled, ".ids.cancels.cancelled": i.cancelled,
		m("cancels_total", "topic", ingress, "result", "too_late"): i.tooLate, ".ids.cancels.too_late": i.tooLate,
		m("cancels_total", "topic", ingress, "result", "miss"): i.miss, m("cancels_total", "topic", second, "result", "miss"): 2 * i.miss, ".ids.cancels.miss": 3 * i.miss,
		m("ended_records_total", "topic", ingress, "outcome", "cancelled"): i.cancelled, ".counters.ended.cancelled": i.cancelled,
		m("ended_records_total", "topic", ingress, "outcome", "replaced"): i.replaced, ".counters.ended.replaced": i.replaced,
		m("ended_records_total", "topic", ingress, "outcome", "expired"): i.expired, ".counters.ended.expired": i.expired,
		m("events_total", "result", "acknowledged"): i.said, ".ids.events.acknowledged": i.said,
		m("events_total", "result", "given_up"): i.givenUp, ".ids.events.given_up": i.givenUp,
		".counters.cancels": cancels - i.waitingCancels, ".counters.consumed_by_outcome.cancel": cancels,
		m("ingress_records_total", "topic", ingress, "outcome", "cancel"): cancels - 2*i.miss, ".counters.unaccounted": 0,
		".settings.events": events,
	}
}

// TestNumbersOfIds: each end, and an outage of the topic of events, twice.
func TestNumbersOfIds(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, second, events, "slow")
		in := w.start("LAYOVER_INGRESS_TOPICS="+ingress+","+second, "LAYOVER_EVENTS_TOPIC="+events, "LAYOVER_TARGETS_ALLOWED=slow", "LAYOVER_ON_EXPIRED=drop", "LAYOVER_TARGET_PATIENCE=30s")
		in.ready()
		n := w.beside(in)
		well := expected{m("sick", "kind", "events"): 0, m("sick_since_timestamp_seconds", "kind", "events"): 0}
		var now idsNow
		n.some("nothing has an id", of(now.expected(), well))
		for round := range 2 {
			id := func(name string) string { return fmt.Sprintf("%s %d", name, round) }
			w.timer(0, id("a"), "a", "5m")
			w.timer(1, id("b"), "b", "5m")
			now.waiting = 2
			n.some("two wait", of(now.expected(), well))
			w.cancels(0, id("a"))
			w.cancels(0, id("a"))
			for range 2 {
				w.sendTo(second, 0, "cancel", header("x-delay-id", id("nobody")), header("x-delay-cancel", "true"))
			}
			w.timer(1, id("b"), "b again", "5m")
			w.send(0, "expires", header("x-delay", "1m"), header("x-expire-at", "1970-01-02T00:00:00Z"))
			now.waiting, now.cancelled, now.miss, now.replaced, now.expired, now.said = 1, now.cancelled+1, now.miss+1, now.replaced+1, now.expired+1, now.said+6
			n.some("some have ended", of(now.expected(), well))

			silent := w.silence("slow")
			w.timer(0, id("c"), "c", "0s", header("x-deliver-to", "slow"))
			time.Sleep(time.Second)
			w.cancels(0, id("c"))
			now.waiting, now.waitingCancels = 2, 1
			n.some("a cancel waits", of(now.expected(), well))
			silent.Remove()
			time.Sleep(15 * time.Second)
			now.waiting, now.waitingCancels, now.tooLate, now.said = 1, 0, now.tooLate+1, now.said+1
			n.some("it came too late", of(now.expected(), well))

			w.DeleteTopic(events)
			failed := time.Now()
			w.cancels(1, id("b"))
			time.Sleep(5 * time.Second)
			now.waiting, now.waitingEvents, now.cancelled = 0, 1, now.cancelled+1
			n.some("an event is held", of(now.expected(), expected{m("sick", "kind", "events"): 1, m("sick_since_timestamp_seconds", "kind", "events"): by(failed.Add(5*time.Second), 5*time.Second)}))
			time.Sleep(40 * time.Second)
			now.waitingEvents, now.givenUp = 0, now.givenUp+1
			n.some("it is given up", now.expected())
			w.createTopics(1, events)
			time.Sleep(10 * time.Second)
			n.some("the topic is back", of(now.expected(), well))
		}
		bytes := in.metric("layover_id_bytes")
		const many = 5000
		w.sendMany(0, 0, many, func(i int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-delay-id", fmt.Sprint(i)), header("x-delay", "1m")}
		})
		more := between(bytes+15*many, bytes+40*many)
		n.some("many wait", expected{"layover_ids": many, "layover_id_bytes": more, ".ids.bytes": more})
		time.Sleep(2 * time.Minute)
		less := between(0, bytes+40_000)
		n.some("none does", expected{"layover_ids": 0, "layover_id_bytes": less, ".ids.bytes": less})
		n.done("ids")
		in.stop()
	})
}

// TestNumbersOfBarriers: records that are due wait for the rest of their partition, and each
// reason to go on is counted.
func TestNumbersOfBarriers(t *testing.T) {
	long.Only(t)
	for reason, open := range map[string]func(w *fixture, in *instance){
		"idle":   func(*fixture, *instance) { time.Sleep(35 * time.Second) },
		"paused": func(_ *fixture, in *instance) { in.daemon.consumer.SetPaused(true) },
		"stopped": func(w *fixture, in *instance) {
			a := in.daemon.consumer.Status().Partitions[0]
			if a.Topic != ingress || a.Partition != 0 {
				w.Fatalf("%+v", a)
			}
			in.daemon.consumer.Stop(a.Assignment, 0, consumer.Truncated, "says the test")
		},
		"halted": func(w *fixture, _ *instance) {}, // the test lets it read the record that stops it
	} {
		t.Run(reason, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.withoutFetchSessions()
				const n = 50
				opened := func(waiting, times int) expected {
					return expected{"layover_barrier_waiting_records": waiting, ".ids.barrier_waiting": waiting,
						m("barrier_opened_total", "reason", reason): times, ".ids.barrier_opened." + reason: times}
				}
				settings := []string{"LAYOVER_ON_INVALID=halt", "LAYOVER_DLQ_TOPIC="}
				in := w.start(settings...)
				in.ready()
				numbers := w.beside(in)
				numbers.some("nothing waits", opened(0, 0))
				in.stop()
				w.sendMany(0, 0, n, func(i int) []kgo.RecordHeader {
					return []kgo.RecordHeader{header("x-delay-id", fmt.Sprint(i)), header("x-deliver-at", "2000-01-01T00:00:00Z")}
				})
				filler := make([]byte, 700_000) // which nothing compresses: no fetch has both
				for range 3 {
					rand.NewChaCha8([32]byte{1}).Read(filler)
					w.send(0, "behind", header("x-delay", "1h"), header("filler", string(filler)))
				}
				w.send(0, "bad", header("x-delay", "soon"))
				w.send(0, "the end", header("x-delay", "1h"))
				fetches := w.Refuse(kmsg.Fetch, kfake.Fault{Err: kerr.UnknownServerError, When: func(r kmsg.Request) bool {
					return slices.ContainsFunc(r.(*kmsg.FetchRequest).Topics, func(t kmsg.FetchRequestTopic) bool {
						return slices.ContainsFunc(t.Partitions, func(p kmsg.FetchRequestTopicPartition) bool { return p.FetchOffset >= n })
					})
				}})
				in = w.start(settings...)
				numbers.in = in
				w.Until(time.Minute, "they wait", func() bool { return in.metric("layover_barrier_waiting_records") == n })
				numbers.some("nothing more is read", opened(n, 0))
				if w.count(egress) != 0 {
					t.Errorf("%d were delivered", w.count(egress))
				}
				open(w, in)
				if reason == "halted" {
					fetches.Remove()
				}
				w.arrives(egress, n, 20*time.Second)
				numbers.some("the barrier is open", opened(0, 1))
				time.Sleep(time.Minute)
				numbers.some("nothing happens", opened(0, 1))
				numbers.done("barrier-" + reason)
				fetches.Remove()
				in.stop()
			})
		})
	}
}
