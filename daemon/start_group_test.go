package daemon

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// allOffsets matches the question for everything that a group has committed, which
// bootstrapping asks and the client does not.
func allOffsets(r kmsg.Request) bool {
	q, ok := r.(*kmsg.OffsetFetchRequest)
	if !ok {
		return false
	}
	if len(q.Groups) > 0 {
		return len(q.Groups[0].Topics) == 0
	}
	return len(q.Topics) == 0
}

// together starts two members of a group that nobody bootstraps before both have joined
// (on Kafka group.initial.rebalance.delay.ms does that).
func (w *fixture) together(settings ...string) (a, b *instance) {
	w.Helper()
	w.dial = slow(w.dial, time.Millisecond)
	hold := w.Refuse(kmsg.OffsetFetch, kfake.Fault{Err: kerr.CoordinatorLoadInProgress, TopLevel: true, When: allOffsets})
	a, b = w.start(), w.start()
	w.Until(30*time.Second, "each has one partition", func() bool {
		return len(a.daemon.consumer.Status().Partitions) == 1 && len(b.daemon.consumer.Status().Partitions) == 1
	})
	if hold.Hits() == 0 {
		w.Log("nothing was held back")
	}
	hold.Remove()
	return a, b
}

// TestANewGroupStartsThoughItsFirstPartitionHasNoLeader: the other member waits for the
// owner of the first partition to start the group.
func TestANewGroupStartsThoughItsFirstPartitionHasNoLeader(t *testing.T) {
	inBubble(t, func(w *fixture) {
		elected := w.withoutLeader(ingress, 0)
		defer elected()
		w.send(1, "healthy")
		a, b := w.together()
		time.Sleep(2 * time.Minute)
		if n := w.values(egress)["healthy"]; n != 1 {
			for _, in := range []*instance{a, b} {
				for _, p := range in.daemon.consumer.Status().Partitions {
					t.Logf("%s/%d: loaded=%v %s", p.Topic, p.Partition, p.Loaded, p.Stopped)
				}
			}
			t.Errorf("after 2 minutes the healthy partition's record was delivered %d times", n)
		}
		a.stop()
		b.stop()
	})
}

// TestLatestIsLatestThoughMetadataIsSlow: no partition is sick while the group starts,
// and each was asked about before.
func TestLatestIsLatestThoughMetadataIsSlow(t *testing.T) {
	inBubble(t, func(w *fixture) {
		for p := range int32(2) {
			w.sendMany(p, 0, 50, func(int) []kgo.RecordHeader { return nil })
		}
		var armed atomic.Bool
		w.Answer(kmsg.OffsetFetch, func(r kmsg.Request) kmsg.Response {
			if allOffsets(r) {
				armed.Store(true)
			}
			return nil
		})
		w.Answer(kmsg.Metadata, func(r kmsg.Request) kmsg.Response {
			if q := r.(*kmsg.MetadataRequest); armed.Load() && len(q.Topics) == 1 && *q.Topics[0].Topic == ingress {
				w.Broker.SleepControl(func() { time.Sleep(1500 * time.Millisecond) })
			}
			return nil
		})
		time.AfterFunc(15*time.Second, func() { armed.Store(false) })
		in := w.start("LAYOVER_START_OFFSET=latest")
		time.Sleep(40 * time.Second)
		w.onTime(0, 1)
		if n := w.count(egress); n != 2 {
			t.Errorf("%d records delivered, want the 2 that came since: latest", n)
		}
		in.stop()
	})
}

// TestLatestIsLatestThoughALeaderMoves: one answer fails while the group starts, of a
// partition whose bounds are known.
func TestLatestIsLatestThoughALeaderMoves(t *testing.T) {
	inBubble(t, func(w *fixture) {
		for p := range int32(2) {
			w.sendMany(p, 0, 50, func(int) []kgo.RecordHeader { return nil })
		}
		var armed atomic.Bool
		w.Answer(kmsg.OffsetFetch, func(r kmsg.Request) kmsg.Response {
			if allOffsets(r) {
				armed.Store(true)
			}
			return nil
		})
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: ingress, Err: kerr.NotLeaderForPartition, Count: 1, When: func(kmsg.Request) bool { return armed.Load() }})
		in := w.start("LAYOVER_START_OFFSET=latest")
		in.ready()
		time.Sleep(10 * time.Second)
		if n := w.count(egress); n != 0 {
			t.Errorf("%d records delivered, want none: latest", n)
		}
		in.stop()
	})
}

// TestANewGroupStartsWithoutAJournalThatCannotBeAsked: its partition waits for it, and begins
// when it answers.
func TestANewGroupStartsWithoutAJournalThatCannotBeAsked(t *testing.T) {
	inBubble(t, func(w *fixture) {
		for p := range int32(2) {
			w.sendMany(p, 0, 20, func(int) []kgo.RecordHeader { return nil })
			w.DeleteRecords(ingress, p, 10)
		}
		w.createTopics(2, journalTopic)
		elected := w.withoutLeader(journalTopic, 0)
		in := w.start()
		w.Until(30*time.Second, "the other partition is read", func() bool { return w.count(egress) >= 10 })
		elected()
		time.Sleep(time.Minute)
		if n := w.count(egress); n != 20 {
			for _, p := range in.daemon.consumer.Status().Partitions {
				t.Logf("%s/%d: loaded=%v %s %s trying=%v", p.Topic, p.Partition, p.Loaded, p.Reason, p.Stopped, p.Trying)
			}
			t.Errorf("%d records delivered, want 20", n)
		}
		in.stop()
	})
}

// TestAGroupStartsThoughItsFirstPartitionHasAJournal: the offsets of the group are gone. The owner
// of the first partition has nothing of its own to start, and starts the others.
func TestAGroupStartsThoughItsFirstPartitionHasAJournal(t *testing.T) {
	for _, members := range []int{1, 2} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start()
				in.ready()
				w.scattered(8000)
				in.stop()
				if _, err := w.Admin().DeleteGroup(context.Background(), "layover-"+ingress); err != nil {
					t.Fatal(err)
				}
				before := w.count(egress)
				w.send(1, "healthy")
				w.dial = slow(w.dial, time.Millisecond)
				var running []*instance
				if members == 1 {
					running = append(running, w.start())
				} else {
					a, b := w.together()
					running = append(running, a, b)
				}
				time.Sleep(time.Minute)
				if n := w.values(egress)["healthy"]; n != 1 {
					t.Errorf("delivered %d times (%d)", n, w.count(egress)-before)
				}
				for _, in := range running {
					for _, p := range in.daemon.consumer.Status().Partitions {
						t.Logf("%s/%d: loaded=%v %.200s", p.Topic, p.Partition, p.Loaded, p.Stopped)
					}
					in.stop()
				}
			})
		})
	}
}

// TestAStartThatIsRefusedOnceIsCommittedAgain: a partition without it would count as one
// whose offset has expired.
func TestAStartThatIsRefusedOnceIsCommittedAgain(t *testing.T) {
	inBubble(t, func(w *fixture) {
		for p := range int32(2) {
			w.sendMany(p, 0, 20, func(int) []kgo.RecordHeader { return nil })
			w.DeleteRecords(ingress, p, 10)
		}
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Topic: ingress, Partitions: []int32{0}, Err: kerr.UnknownTopicOrPartition, Count: 1})
		in := w.start()
		time.Sleep(time.Minute)
		if n := w.count(egress); n != 20 {
			for _, p := range in.daemon.consumer.Status().Partitions {
				t.Logf("%s/%d: loaded=%v %s %s trying=%v", p.Topic, p.Partition, p.Loaded, p.Reason, p.Stopped, p.Trying)
			}
			t.Errorf("%d records delivered, want 20", n)
		}
		in.stop()
	})
}

// TestACommitOfStartsThatArrivesTwiceIsOvertakenAgain: the client gives its connection up and sends
// it again, and the first copy is taken after everybody has gone on.
func TestACommitOfStartsThatArrivesTwiceIsOvertakenAgain(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const n = 200
		w.sendMany(0, 0, n, func(int) []kgo.RecordHeader { return nil })
		var held atomic.Bool
		var first *kmsg.OffsetCommitRequest
		w.Broker.ControlKey(int16(kmsg.OffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.Broker.KeepControl()
			if held.CompareAndSwap(false, true) {
				q := *r.(*kmsg.OffsetCommitRequest)
				first = &q
				w.Broker.SleepControl(func() { time.Sleep(2 * time.Second) })
				return nil, fmt.Errorf("the connection breaks, and the copy is still on its way"), true
			}
			return nil, nil, false
		})
		w.dial = slow(w.dial, time.Millisecond)
		in := w.start()
		began := time.Now()
		w.Until(35*time.Second, "all are delivered", func() bool { return w.count(egress) == n })
		t.Logf("delivered after %v", time.Since(began))
		time.Sleep(2 * time.Second)
		w.committed(0, n)
		if _, err := first.RequestWith(context.Background(), w.Client); err != nil { // it arrives
			t.Fatal(err)
		}
		time.Sleep(time.Until(began.Add(60 * time.Second)))
		t.Logf("committed is %d now", w.commitOf(0).At)
		in.kill()
		time.Sleep(50 * time.Second)
		in = w.start()
		in.ready()
		time.Sleep(10 * time.Second)
		if again := w.count(egress) - n; again > 0 {
			t.Errorf("%d records are delivered again", again)
		}
		in.stop()
	})
}

// TestMembersThatNameTopicsInAnotherOrderStartTheGroup: each owns the first partition of the
// other's first topic.
func TestMembersThatNameTopicsInAnotherOrderStartTheGroup(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.dial = slow(w.dial, 100*time.Millisecond)
		w.createTopics(2, second)
		hold := w.Refuse(kmsg.OffsetFetch, kfake.Fault{Err: kerr.CoordinatorLoadInProgress, TopLevel: true, When: allOffsets})
		a := w.start("LAYOVER_INGRESS_TOPICS="+ingress+","+second, "LAYOVER_GROUP_ID=g")
		time.Sleep(100 * time.Millisecond)
		b := w.start("LAYOVER_INGRESS_TOPICS="+second+","+ingress, "LAYOVER_GROUP_ID=g")
		w.Until(60*time.Second, "each has two partitions", func() bool {
			return len(a.daemon.consumer.Status().Partitions) == 2 && len(b.daemon.consumer.Status().Partitions) == 2
		})
		hold.Remove()
		time.Sleep(2 * time.Minute)
		for n, in := range []*instance{a, b} {
			for _, p := range in.daemon.consumer.Status().Partitions {
				t.Logf("member %d %s/%d: %v %s", n, p.Topic, p.Partition, p.Loaded, p.Stopped)
				if !p.Loaded {
					t.Error("not begun after two minutes")
				}
			}
			in.stop()
		}
		time.Sleep(10 * time.Second) // a write of a loading that has ended takes its 100 ms
	})
}

// TestASessionTimeoutThatBrokersRefuseIsToldWithItsSetting: a process never joins with it, and
// says so wherever somebody looks.
func TestASessionTimeoutThatBrokersRefuseIsToldWithItsSetting(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_SESSION_TIMEOUT=2s")
		time.Sleep(time.Minute)
		_, readyz := in.get("/readyz")
		_, status := in.get("/status")
		for where, text := range map[string]string{"/readyz": readyz, "/status": status, "log": in.logs.String()} {
			if !strings.Contains(text, "INVALID_SESSION_TIMEOUT") || !strings.Contains(text, "; set LAYOVER_SESSION_TIMEOUT within that range") {
				t.Errorf("%s has %s", where, text)
			}
		}
		in.stop()
	}, kfake.BrokerConfigs(map[string]string{"group.min.session.timeout.ms": "6000"})) // Kafka's default
}
