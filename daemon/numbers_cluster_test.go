package daemon

import (
	"testing"
	"time"

	"layover/cluster/doctor"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// well is what is told of an instance with nothing sick.
func well() expected {
	e := expected{".sick[#]": 0, ".state": "ready", ".ready_text": "ready", ".degraded": false}
	for _, kind := range []string{"kafka", "group", "ingress_topic", "partition", "dead_letter", "names", "target", "runs", "journal"} {
		e[m("sick", "kind", kind)], e[m("sick_since_timestamp_seconds", "kind", kind)] = 0, 0
	}
	return e
}

// TestNumbersOfABrokerThatIsAway: nobody knows what is parked then.
func TestNumbersOfABrokerThatIsAway(t *testing.T) {
	numbered(t, func(w *fixture, k *truth, settings []string) {
		in := w.start(settings...)
		in.ready()
		n := w.beside(in)
		began := in.daemon.started
		for range 2 {
			there := expected{".kafka.answering": true, ".kafka.error": "", "layover_kafka_connected": 1, ".parked.records": 0, ".parked.due": 0, ".overdue": 0,
				".group.joined": true, ".group.lease_valid": true, ".due_within[60].records": 0, "layover_assigned_partitions": 3, ".assignments[#]": 3, ".group.error": ""}
			n.some("all is well", of(well(), there, expected{".kafka.since": around(began)}))
			in.wire.sever()
			gone := time.Now()
			time.Sleep(time.Minute)
			n.some("nobody answers", of(sick(ailment{"kafka", "", "unreachable", nil, gone, has("No broker has answered")}), expected{
				".kafka.answering": false, ".kafka.since": around(gone), ".kafka.error": has("cable"), "layover_kafka_connected": 0, ".parked.records": nil, ".parked.due": nil, ".overdue": nil,
				".group.joined": false, ".group.lease_valid": false, ".due_within[60].records": nil, "layover_assigned_partitions": 0, ".assignments[#]": 0,
			}))
			in.wire.mend()
			began = time.Now()
			time.Sleep(time.Minute)
		}
		n.some("all is well", of(well(), expected{".kafka.since": around(began), ".kafka.answering": true}))
		n.done("away")
		in.stop()
	})
}

// TestNumbersOfAnIngressTopicThatIsGone, beside one that is there.
func TestNumbersOfAnIngressTopicThatIsGone(t *testing.T) {
	numbered(t, func(w *fixture, k *truth, settings []string) {
		w.withoutFetchSessions()
		w.dial = slow(w.dial, time.Millisecond)
		in := w.start(append(settings, "LAYOVER_RUNS=off")...) // with them three days are enough
		in.ready()
		n := w.beside(in)
		usable := func(other int) expected {
			return expected{m("ingress_usable", "topic", ingress): 1, m("ingress_usable", "topic", second): other}
		}
		faults := expected{".kafka.missing_topics[#]": 0, ".kafka.topic_faults[#]": 0, ".kafka.missing_topics[0]": gone, ".kafka.topic_faults[0]": gone}
		warned := expected{".kafka.warnings." + second: has("retention.ms=259200000 is less than LAYOVER_MAX_DELAY")}
		for range 2 {
			time.Sleep(5 * time.Second)
			n.some("all is there", of(well(), usable(1), faults, warned))
			w.DeleteTopic(second)
			deleted := time.Now()
			time.Sleep(10 * time.Second)
			n.some("one is gone", of(usable(0), missing(second), sick(ailment{"ingress_topic", second, "missing", nil, deleted, has("The ingress topic second does not exist",
				"--create --topic second --partitions 1 --config retention.ms=604800000 --config retention.bytes=-1 --config cleanup.policy=delete")}),
				expected{".kafka.warnings." + second: gone}))
			w.CreateTopic(second, 1, map[string]string{"retention.ms": "259200000"})
			time.Sleep(time.Minute)
		}
		n.some("all is there", of(well(), usable(1), faults, warned))
		n.done("ingress")
		in.stop()
	})
}

// TestNumbersOfAGroupThatLetsGo of its only member, and does not take it again.
func TestNumbersOfAGroupThatLetsGo(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		n := w.beside(in)
		member := expected{".group.joined": true, ".group.lease_valid": true, ".group.error": ""}
		for range 2 {
			n.some("it is a member", of(well(), member))
			var faults []*kfake.FaultHandle
			for _, key := range []kmsg.Key{kmsg.JoinGroup, kmsg.Heartbeat, kmsg.OffsetCommit} {
				faults = append(faults, w.Refuse(key, kfake.Fault{Err: kerr.GroupAuthorizationFailed}))
			}
			time.Sleep(30 * time.Second)
			n.some("it is none", of(sick(ailment{"group", "layover-" + ingress, "refused", nil, nil, has("GROUP_AUTHORIZATION_FAILED")}), expected{
				".group.joined": false, ".group.lease_valid": false, ".group.error": has("GROUP_AUTHORIZATION_FAILED"), m("sick_since_timestamp_seconds", "kind", "group"): 0}))
			for _, f := range faults {
				f.Remove()
			}
			time.Sleep(time.Minute)
		}
		n.some("it is a member", of(well(), member))
		n.done("group")
		in.stop()
	})
}

// TestNumbersOfFindings: two checks find something, one of which is mended, and comes again.
func TestNumbersOfFindings(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start(checks("warn"))
		in.ready()
		n := w.beside(in)
		found := func(all ...string) expected {
			e := expected{".findings[#]": len(all) / 2, "layover_preflight_checked_timestamp_seconds": by(time.Now().Add(2*time.Second), 10*time.Minute), ".checked_at": by(time.Now().Add(2*time.Second), 10*time.Minute)}
			for _, id := range doctor.IDs() {
				e[m("preflight_findings", "id", id, "status", "warn")], e[m("preflight_findings", "id", id, "status", "fail")] = 0, 0
			}
			for i := 0; i < len(all); i += 2 {
				id, status := all[i], all[i+1]
				at := ".findings[" + id + "]."
				e[m("preflight_findings", "id", id, "status", status)] = 1
				e[at+"id"], e[at+"status"], e[at+"found"], e[at+"why"], e[at+"fix"] = id, status, has(ingress), has(" "), has("kafka-configs.sh")
				e[at+"since"] = by(time.Now(), 30*time.Minute)
			}
			return e
		}
		{
			time.Sleep(time.Minute)
			n.some("nothing is found", found())
			w.shorten()
			w.alter(ingress, "max.message.bytes", "4000000")
			time.Sleep(12 * time.Minute)
			n.some("two checks find something", found("retention", "fail", "message-size", "warn"))
			w.alter(ingress, "retention.ms", "-1")
			time.Sleep(12 * time.Minute)
			n.some("one is mended", found("message-size", "warn"))
			w.alter(ingress, "max.message.bytes", "1000012")
		}
		time.Sleep(12 * time.Minute)
		n.some("nothing is found", found())
		n.done("findings")
		in.stop()
	})
}
