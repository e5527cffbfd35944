package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// known makes the group one that has committed offsets.
func (w *fixture) known() {
	w.Helper()
	in := w.start()
	in.ready()
	time.Sleep(2 * time.Second)
	in.stop()
}

func TestAPartitionWithoutALeaderKeepsNoOtherWaiting(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.known()
		fault := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: ingress, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable})
		in := w.start()
		w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return nil })
		w.Until(10*time.Second, "the other partition is read", func() bool { return w.count(egress) == 10 })
		fault.Remove()
		w.sendMany(1, 0, 10, func(int) []kgo.RecordHeader { return nil })
		w.Until(10*time.Second, "the partition is read with its leader back", func() bool { return w.count(egress) == 20 })
		in.ready()
		in.stop()
		w.committed(0, 10)
		w.committed(1, 10)
	})
}

func TestARefusedOffsetFetchIsAskedForAgain(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.known()
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Topic: ingress, Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed, Count: 1})
		in := w.start()
		w.sendMany(1, 0, 10, func(int) []kgo.RecordHeader { return nil })
		w.Until(5*time.Second, "the partition is read after all", func() bool { return w.count(egress) == 10 })
		in.stop()
		w.committed(1, 10)
	})
}

// TestAnOffsetFetchThatStaysRefusedIsSaidAndStopsItsPartitionAlone until it is answered.
func TestAnOffsetFetchThatStaysRefusedIsSaidAndStopsItsPartitionAlone(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.known()
		w.sendMany(1, 0, 10, func(int) []kgo.RecordHeader { return nil })
		fault := w.Refuse(kmsg.OffsetFetch, kfake.Fault{Topic: ingress, Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed})
		in := w.start()
		in.ready()
		w.onTime(0)
		time.Sleep(time.Minute)
		w.onTime(0)
		if lines := linesWith(in.logs.String(), "sick kind=partition topic=delayed partition=1 reason=not_begun"); len(lines) != 1 {
			t.Errorf("said %d times: %q", len(lines), lines)
		}
		fault.Remove()
		w.Until(5*time.Second, "the partition is read", func() bool { return w.count(egress) == 12 })
		in.stop()
		w.committed(1, 10)
	})
}

func TestCommitsThatStayRefusedAreSaid(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.known()
		w.Refuse(kmsg.OffsetCommit, kfake.Fault{Err: kerr.GroupAuthorizationFailed})
		in := w.start()
		w.send(0, "waits")
		time.Sleep(2 * time.Minute)
		if n := w.count(egress); n != 0 {
			t.Errorf("%d records delivered without a proof of membership", n)
		}
		if n := strings.Count(in.logs.String(), "commits are refused"); n < 2 || n > 10 {
			t.Errorf("said %d times in two minutes", n)
		}
		if _, body := in.get("/status"); !strings.Contains(body, "GROUP_AUTHORIZATION_FAILED") {
			t.Errorf("status does not say it: %s", body)
		}
		in.stop()
	})
}

// TestAPartitionWhoseCommitsStayRefusedFloodsNobody, and the other delivers and commits.
func TestAPartitionWhoseCommitsStayRefusedFloodsNobody(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.known()
		w.Refuse(kmsg.OffsetCommit, kfake.Fault{Topic: ingress, Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed})
		in := w.start("LAYOVER_LANES=1")
		in.ready()
		time.Sleep(20 * time.Second)
		commits := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Topic: ingress, Count: -1, Observe: true})
		for range 10 {
			w.onTime(0)
			time.Sleep(5 * time.Second)
		}
		if n := commits.Hits(); n > 120 {
			t.Errorf("%d commits in a minute, want some one a second", n)
		}
		w.committed(0, 10)
		in.stop()
	})
}

func TestTheShareOfATargetIsAQuarterOfTheBoundHoweverManyLanes(t *testing.T) {
	for _, lanes := range []int{1, 4} {
		t.Run(fmt.Sprint(lanes), func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_TARGETS_ALLOWED=gone", "LAYOVER_MAX_PARKED_BYTES=32Mi", "LAYOVER_TARGET_PATIENCE=1d", fmt.Sprintf("LAYOVER_LANES=%d", lanes))
				in.ready()
				value := strings.Repeat("v", 10_000)
				send := func(n int) {
					for range n {
						w.send(0, value, header("x-deliver-to", "gone"))
					}
					time.Sleep(time.Second)
				}
				send(350) // of 20 kB each: 7 of 8.4 MB
				if n := w.count(dlq); n != 0 {
					t.Fatalf("%d dead-lettered within the share: %s", n, get(w.Records(dlq)[0], "layover.errors.message"))
				}
				send(150) // 10 of 8.4 MB
				if n := w.count(dlq); n < 50 || n > 150 {
					t.Errorf("%d dead-lettered, want what exceeds the share", n)
				}
				in.stop()
			})
		})
	}
}

func TestAStaleMetadataAnswerTearsNothingDown(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		before := in.daemon.consumer.Status().Rebalances
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: ingress, Err: kerr.UnknownTopicOrPartition, Count: 1})
		time.Sleep(20 * time.Second)
		if after := in.daemon.consumer.Status().Rebalances; after != before {
			t.Errorf("%d rebalances for one stale answer", after-before)
		}
		in.stop()
	})
}

func TestWithoutItsIngressTopicAProcessIsReadyAfterAWhileIfDegraded(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_INGRESS_TOPICS=nowhere")
		time.Sleep(9 * time.Second)
		if code, _ := in.get("/readyz"); code != 503 {
			t.Errorf("ready after 9 s: %d", code)
		}
		time.Sleep(3 * time.Second)
		if code, body := in.get("/readyz"); code != 200 || !strings.Contains(body, "degraded") || !strings.Contains(body, "nowhere") {
			t.Errorf("after 12 s: %d %s", code, body)
		}
		in.stop()
	})
}
