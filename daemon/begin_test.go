package daemon

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const second = "second" // another ingress topic

// metric returns the sum of the series whose text begins with prefix.
func (in *instance) metric(prefix string) (sum float64) {
	in.w.Helper()
	_, body := in.get("/metrics")
	found := false
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, prefix) {
			continue
		}
		var n float64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &n); err != nil {
			in.w.Fatalf("%q: %v", line, err)
		}
		sum, found = sum+n, true
	}
	if !found {
		in.w.Fatalf("no series begins with %q", prefix)
	}
	return sum
}

// onTime sends a record to each of some ingress partitions, with a delay of a second. The
// test fails unless all are delivered within 5 s of their deadline.
func (w *fixture) onTime(partitions ...int32) {
	w.Helper()
	var sent []string
	for _, p := range partitions {
		sent = append(sent, fmt.Sprintf("%d on time at %v", p, time.Now().UnixMilli()))
		w.send(p, sent[len(sent)-1], header("x-delay", "1s"))
	}
	w.Until(6*time.Second, "what is healthy is delivered on time", func() bool {
		all := w.values(egress)
		return !slices.ContainsFunc(sent, func(value string) bool { return all[value] == 0 })
	})
}

// TestASickIngressTopicStopsNoOtherAfterTheNextJoin: it is deleted, or may not be described
// any more, and the member joins anew with what it had.
func TestASickIngressTopicStopsNoOtherAfterTheNextJoin(t *testing.T) {
	for what, sicken := range map[string]func(w *fixture){
		"deleted": func(w *fixture) { w.DeleteTopic(second) },
		"forbidden": func(w *fixture) {
			for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.ListOffsets, kmsg.OffsetFetch, kmsg.OffsetCommit, kmsg.Fetch, kmsg.OffsetForLeaderEpoch} {
				w.Refuse(key, kfake.Fault{Topic: second, Err: kerr.TopicAuthorizationFailed})
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.createTopics(2, second)
				w.dial = slow(w.dial, time.Millisecond)
				in := w.start("LAYOVER_INGRESS_TOPICS=" + ingress + "," + second)
				in.ready()
				w.sendTo(second, 0, "sick", header("x-delay", "1h"))
				w.send(0, "healthy", header("x-delay", "1m"))
				w.onTime(0, 1)
				sicken(w)
				w.onTime(0, 1)
				in.wire.sever() // for longer than the session
				time.Sleep(30 * time.Second)
				in.wire.mend()
				time.Sleep(15 * time.Second)
				w.onTime(0, 1)
				time.Sleep(time.Minute)
				w.onTime(0, 1)
				if got := w.values(egress); got["healthy"] != 1 {
					t.Errorf("the parked record was delivered %d times", got["healthy"])
				}
				in.stop()
			})
		})
	}
}

// TestAPartitionThatMayNotBeReadIsSickAndTheOthersGoOn: its topic may be described all the
// same, so that nobody but the fetches says so.
func TestAPartitionThatMayNotBeReadIsSickAndTheOthersGoOn(t *testing.T) {
	inBubble(t, func(w *fixture) {
		fault := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: ingress, Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed})
		w.send(1, "forbidden")
		in := w.start()
		in.ready()
		w.onTime(0)
		w.Until(20*time.Second, "/readyz names the partition", func() bool {
			code, body := in.get("/readyz")
			return code == 200 && strings.HasPrefix(body, "degraded:") && strings.Contains(body, ingress+"/1") && strings.Contains(body, "fetch_failed")
		})
		fault.Remove()
		w.Until(5*time.Second, "the partition is read", func() bool { return w.values(egress)["forbidden"] == 1 })
		w.Until(5*time.Second, "nothing is sick", func() bool { _, body := in.get("/readyz"); return body == "ready\n" || body == "ready" })
		in.stop()
	})
}

// withoutLeader makes a partition of a topic one that has none, for all that asks for it.
func (w *fixture) withoutLeader(topic string, partition int32) (elected func()) {
	var faults []*kfake.FaultHandle
	for _, key := range []kmsg.Key{kmsg.ListOffsets, kmsg.Fetch, kmsg.OffsetForLeaderEpoch, kmsg.Produce} {
		faults = append(faults, w.Refuse(key, kfake.Fault{Topic: topic, Partitions: []int32{partition}, Err: kerr.LeaderNotAvailable}))
	}
	return func() {
		for _, f := range faults {
			f.Remove()
		}
	}
}

// TestAPartitionThatCannotBeBegunIsTriedAgainAlone: it has no leader and no committed
// offset. What is parked of the others is read once.
func TestAPartitionThatCannotBeBegunIsTriedAgainAlone(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.known()
		if _, err := w.Admin().CreatePartitions(context.Background(), 1, ingress); err != nil {
			t.Fatal(err)
		}
		const n = 20_000
		w.sendMany(0, 0, n, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "1h")} })
		w.send(2, "new", header("x-delay", "1s"))
		elected := w.withoutLeader(ingress, 2)
		in := w.start()
		in.ready()
		for range 10 {
			time.Sleep(30 * time.Second)
			w.onTime(0, 1)
		}
		if read := in.metric(`layover_ingress_records_total{outcome="parked"`); read != n+20 {
			t.Errorf("%v records read, want %d", read, n+20)
		}
		if in.daemon.consumer.Status().Rebalances > 2 {
			t.Errorf("%d rebalances", in.daemon.consumer.Status().Rebalances)
		}
		if _, body := in.get("/status"); !strings.Contains(body, "where to begin is not known yet") || !strings.Contains(body, "LEADER_NOT_AVAILABLE") {
			t.Error("status does not say why the partition is not read")
		}
		elected()
		w.Until(5*time.Second, "the partition is begun with its leader back", func() bool { return w.values(egress)["new"] == 1 })
		w.onTime(0, 1, 2)
		if _, body := in.get("/status"); strings.Contains(body, "where to begin") {
			t.Error("status goes on about it")
		}
		in.stop()
		w.committed(2, 2)
	})
}

// TestAGroupStartsWithoutAPartitionThatHasNoLeader, which begins at the start of its log
// once it has one: nobody knows what came while it could not be asked.
func TestAGroupStartsWithoutAPartitionThatHasNoLeader(t *testing.T) {
	for start, want := range map[string]int{"earliest": 10, "latest": 0} {
		t.Run(start, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				for p := range int32(2) {
					w.sendMany(p, 0, 20, func(int) []kgo.RecordHeader { return nil })
					w.DeleteRecords(ingress, p, 10)
				}
				elected := w.withoutLeader(ingress, 1)
				in := w.start("LAYOVER_START_OFFSET=" + start)
				in.ready()
				w.Until(5*time.Second, "the other partition is read from its start", func() bool { return w.count(egress) == want })
				w.onTime(0)
				time.Sleep(time.Minute)
				elected()
				w.send(1, "since")
				w.Until(5*time.Second, "the partition is read from its start", func() bool { return w.count(egress) == want+1+11 })
				w.onTime(0, 1)
				if lost := in.metric("layover_lost_to_retention_records_total"); lost != 0 {
					t.Errorf("%v records count as lost", lost)
				}
				in.stop()
				w.committed(1, 22)
			})
		})
	}
}

// TestAJournalPartitionOutOfReachHoldsUpItsOwnAlone: the other partition does not wait the
// 30 s that a journal may be silent for.
func TestAJournalPartitionOutOfReachHoldsUpItsOwnAlone(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.scattered(8000)
		in.stop()
		elected := w.withoutLeader(journalTopic, 0)
		in = w.start()
		time.Sleep(4 * time.Second)
		w.onTime(1)
		before := w.count(egress)
		w.send(0, "behind its journal")
		time.Sleep(10 * time.Second)
		if w.count(egress) != before {
			t.Error("the partition was begun without its journal")
		}
		w.onTime(1)
		elected()
		w.Until(5*time.Second, "the partition is begun with its journal", func() bool { return w.count(egress) == before+2 })
		w.onTime(0, 1)
		in.stop()
	})
}

// TestAPartitionWhoseOffsetIsNotToldIsSaid: it comes to a running process, and the client asks for its offset again and
// again, and says nothing. Its records are due, and nobody reads them.
func TestAPartitionWhoseOffsetIsNotToldIsSaid(t *testing.T) {
	for name, fault := range map[string]kfake.Fault{
		"a transaction holds it": {Topic: ingress, Err: kerr.UnstableOffsetCommit},
		"the group is loading":   {TopLevel: true, Err: kerr.CoordinatorLoadInProgress},
		"there is no answer":     {TopLevel: true, Err: kerr.RequestTimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				a := w.start()
				a.ready()
				b := w.start()
				b.ready()
				time.Sleep(20 * time.Second)
				silent := w.Refuse(kmsg.OffsetFetch, fault)
				b.stop()
				time.Sleep(10 * time.Second)
				w.sendMany(0, 0, 100, delays(time.Second, 100))
				w.sendMany(1, 0, 100, delays(time.Second, 100))
				for range 10 {
					time.Sleep(30 * time.Second)
					code, _ := a.get("/readyz")
					if s := a.status(); code == http.StatusOK && len(fmt.Sprint(s["sick"])) < 4 && w.count(egress) < 200 {
						t.Errorf("%d of 200 delivered, and status names nothing sick: group %v", w.count(egress), s["group"])
						break
					}
				}
				silent.Remove()
				w.arrives(egress, 200, time.Minute)
				w.Until(time.Minute, "all is well", func() bool { _, body := a.get("/readyz"); return body == "ready\n" })
				a.stop()
			})
		})
	}
}
