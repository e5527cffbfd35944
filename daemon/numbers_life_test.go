package daemon

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/verify/long"
)

// part is the key of a partition's member in /status.
func part(topic string, p int32, member string) string {
	return fmt.Sprintf(".assignments[%s/%d].%s", topic, p, member)
}

// again is what a kill now would deliver again, of two partitions and of all.
func again(one, two, flying int) expected {
	e := make(expected)
	for p, n := range []int{one, two} {
		total := n
		if p == 1 {
			total += flying
		}
		e[part(ingress, int32(p), "duplicates_after_a_kill.since_last_commit")], e[part(ingress, int32(p), "duplicates_after_a_kill.total")] = n, total
		e[m("uncommitted_records", "topic", ingress, "partition", p)], e[m("duplicates_after_a_kill_records", "topic", ingress, "partition", p)] = n, total
	}
	e[".duplicates_after_a_kill.since_last_commit"], e[".duplicates_after_a_kill.total"] = one+two, one+two+flying
	return e
}

// TestNumbersOfCommitsThatAreRefused: what finishes meanwhile would come again after a kill.
func TestNumbersOfCommitsThatAreRefused(t *testing.T) {
	numbered(t, func(w *fixture, k *truth, settings []string) {
		in := w.start(settings...)
		in.ready()
		time.Sleep(time.Minute) // for so long a new group's commits are repeated
		n := w.watch(in, k)
		told := expected{".last_errors[#]": 1, ".last_errors[0].target": "commit of delayed", ".last_errors[0].detail": has("UNKNOWN_SERVER_ERROR")}
		for range 2 {
			k.commits.refused.Store(true)
			for range 3 {
				k.send(ingress, 0)
			}
			k.send(ingress, 1)
			k.send(second, 0, for_(time.Minute))
			time.Sleep(2 * time.Second)
			time.Sleep(10 * time.Second)
			n.ignoring(func() { n.look("commits are refused", of(told, again(3, 1, 0))) }, "layover_commit_duration")
			land := k.fly(w.silence("spare"), ingress, 1, to("spare", "spare"))
			n.ignoring(func() { n.look("and a record is in flight", of(told, again(3, 1, 1))) }, "layover_commit_duration")
			land()
			k.commits.refused.Store(false)
			time.Sleep(3 * time.Second)
			n.look("commits are taken", told)
			time.Sleep(time.Minute)
			n.look("nothing happens", told)
		}
		n.done("commits")
		in.stop()
	})
}

// TestNumbersOfARestart: some of what was parked fell due meanwhile, some was deleted, and
// one partition cannot be read for a while.
func TestNumbersOfARestart(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_RUNS=off") // far records stay in memory
		in.ready()
		w.send(0, "deleted", header("x-delay", "1h"))
		w.send(0, "deleted, too", header("x-delay", "1h"))
		w.send(0, "low", header("x-delay", "6h"))
		w.sendMany(0, 0, 3, at0)
		w.sendMany(1, 0, 2, at0)
		due := time.Now().Add(10 * time.Minute)
		w.send(1, "due in the downtime", header("x-delay", "10m"))
		w.send(0, "due in the downtime, too", header("x-delay", "15m"))
		w.send(1, "due later", header("x-delay", "6h"))
		w.sendMany(1, 10, 4, at0)
		time.Sleep(5 * time.Second)
		in.stop()
		w.DeleteRecords(ingress, 0, 2)
		time.Sleep(time.Hour)
		fault := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: ingress, Partitions: []int32{1}, Err: kerr.UnknownServerError})
		began := time.Now()
		in = w.start("LAYOVER_RUNS=off")
		n := w.beside(in)
		nothing := expected{".replay": nil, ".late_start": nil, "layover_replay_remaining_records": 0}
		waits := expected{".ready": false, "layover_ready": 0, ".state": "not ready", ".ready_text": has("not ready")}
		read := expected{"layover_restored_records_total": 5, ".counters.restored": 5, "layover_lost_to_retention_records_total": 2, ".counters.lost_to_retention": 2,
			m("ingress_records_total", "topic", ingress, "outcome", "skipped"): 3, ".counters.skipped": 3, ".counters.consumed_by_outcome.skipped": 3}
		n.some("one partition is not read", of(waits, read, expected{
			".replay.since": around(began), ".replay.records_read": between(0, 5), ".replay.remaining_offsets": 6, ".replay.records_per_second": between(0, 25), "layover_replay_remaining_records": 6,
			part(ingress, 0, "stable_end_at_assignment"): 7, part(ingress, 1, "stable_end_at_assignment"): 8, part(ingress, 0, "loaded"): true,
		}))
		fault.Remove()
		time.Sleep(20 * time.Second)
		late := expected{".late_start.records": 2, ".late_start.earliest_due": due, ".late_start.latest_due": due.Add(5 * time.Minute), ".late_start.assigned": around(began),
			".late_start.most_late_ms": between(float64(began.Sub(due).Milliseconds()), float64(time.Since(due).Milliseconds())), ".late_start.text": has("2 delivered records were due before")}
		ready := expected{".ready": true, "layover_ready": 1, ".state": "ready", ".ready_text": "ready"}
		all := expected{"layover_restored_records_total": 11, ".counters.restored": 11, "layover_lost_to_retention_records_total": 2, ".counters.lost_to_retention": 2,
			m("ingress_records_total", "topic", ingress, "outcome", "skipped"): 7, ".counters.skipped": 7, ".counters.consumed_by_outcome.skipped": 7}
		gone := expected{".ready": true, "layover_ready": 1, ".state": "degraded", ".ready_text": has("degraded: records are lost: 2 of delayed, deleted before they were delivered")}
		n.some("all is read", of(gone, all, late, expected{".replay": nil, "layover_replay_remaining_records": 0}))
		w.send(0, "new")
		time.Sleep(20 * time.Minute)
		n.some("the late start is over", of(ready, all, nothing))
		fault = w.Refuse(kmsg.Fetch, kfake.Fault{Topic: ingress, Err: kerr.UnknownServerError})
		w.send(0, "deleted unread")
		w.DeleteRecords(ingress, 0, 9)
		w.evicted() // partition 1 is read from its low offset again
		began = time.Now()
		time.Sleep(time.Second)
		n.some("it is assigned again", expected{".replay.since": around(began), ".replay.records_read": between(0, 5), ".replay.remaining_offsets": 5, ".replay.records_per_second": between(0, 25), "layover_replay_remaining_records": 5})
		fault.Remove()
		time.Sleep(20 * time.Second)
		lost := expected{"layover_lost_to_retention_records_total": 4, ".counters.lost_to_retention": 4}
		n.some("it is read again", of(nothing, lost))
		n.some("nothing happens", of(nothing, lost))
		n.done("restart")
		in.stop()
	})
}

// TestNumbersOfOffsetsThatAreGoneOver: they are finished, and behind a record that waits.
func TestNumbersOfOffsetsThatAreGoneOver(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const finished = 20_000
		w.finishBehindALongDelay(finished)
		in := w.start()
		n := w.beside(in)
		jumped := func(v any) expected { return expected{"layover_jumped_records_total": v, ".counters.jumped": v} }
		in.ready()
		time.Sleep(5 * time.Second)
		skipped := in.metric(`layover_ingress_records_total{outcome="skipped"`)
		n.some("they are gone over", jumped(finished-skipped))
		w.evicted()
		time.Sleep(10 * time.Second)
		skipped = in.metric(`layover_ingress_records_total{outcome="skipped"`)
		n.some("they are gone over again", jumped(2*finished-skipped))
		n.some("nothing happens", jumped(2*finished-skipped))
		n.done("jumped")
		in.stop()
	})
}

func at0(int) []kgo.RecordHeader { return nil }
