package daemon

import (
	"fmt"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestALatePartitionReadsItsJournalOnce: its leader refuses to say where a leader epoch ends.
func TestALatePartitionReadsItsJournalOnce(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.scattered(8000)
		in.stop()
		elected := w.withoutLeader(ingress, 0)
		in = w.start()
		time.Sleep(10 * time.Second)
		asked := 0
		moving := w.Refuse(kmsg.OffsetForLeaderEpoch, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: kerr.LeaderNotAvailable, When: func(kmsg.Request) bool {
			asked++ // the first of a try is the journal's question, the second is about the log itself
			return asked%2 == 0
		}})
		elected()
		time.Sleep(2 * time.Minute)
		v := in.daemon.journal.View()
		n := len(linesWith(in.logs.String(), "journal was read"))
		if v.Restores > 3 || n > 3 {
			t.Errorf("in 2 minutes the journal was read %d times, %d records, and %d lines say so", v.Restores, v.RestoredRecords, n)
		}
		moving.Remove()
		in.stop()
	})
}

// TestALatePartitionOfATopicThatIsMadeAgainIsReadFromItsStart: at each stage of its loading.
func TestALatePartitionOfATopicThatIsMadeAgainIsReadFromItsStart(t *testing.T) {
	long.Only(t)
	for _, wait := range []time.Duration{0, 2900 * time.Millisecond, 3100 * time.Millisecond, 10 * time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.dial = slow(w.dial, time.Millisecond)
				w.withoutFetchSessions()
				w.createTopics(1, second)
				for n := range 20 {
					w.sendTo(second, 0, fmt.Sprint("old", n))
				}
				in := w.start("LAYOVER_INGRESS_TOPICS=" + ingress + "," + second)
				in.ready()
				w.Until(20*time.Second, "read", func() bool { return w.count(egress) == 20 })
				time.Sleep(2 * time.Second)
				in.stop()
				elected := w.withoutLeader(second, 0)
				in = w.start("LAYOVER_INGRESS_TOPICS=" + ingress + "," + second)
				time.Sleep(wait)
				w.DeleteTopic(second)
				time.Sleep(100 * time.Millisecond)
				w.createTopics(1, second)
				time.Sleep(300 * time.Millisecond)
				w.Client.PurgeTopicsFromClient(second) // the test's own producer
				elected()
				for n := range 30 {
					w.sendTo(second, 0, fmt.Sprint("new", n))
				}
				time.Sleep(2 * time.Minute)
				got := w.values(egress)
				for n := range 30 {
					if got[fmt.Sprint("new", n)] != 1 {
						t.Errorf("new%d delivered %d times", n, got[fmt.Sprint("new", n)])
					}
				}
				w.onTime(0, 1)
				in.stop()
			})
		})
	}
}

// TestRebalancesAtEachInstantOfALoadingLoseNothing: a second member comes, the first is cut
// off, or it leaves and comes back.
func TestRebalancesAtEachInstantOfALoadingLoseNothing(t *testing.T) {
	long.Only(t)
	t.Parallel()
	step := 810 * time.Millisecond
	if long.Whole() {
		step = 270 * time.Millisecond
	}
	for _, what := range []string{"join", "cut", "leave"} {
		for at := time.Duration(0); at < 7*time.Second; at += step {
			t.Run(fmt.Sprint(what, at), func(t *testing.T) {
				inBubble(t, func(w *fixture) {
					w.dial = slow(w.dial, time.Millisecond)
					w.known()
					const n = 400
					for p := range int32(2) {
						w.sendMany(p, 0, n, func(i int) []kgo.RecordHeader {
							if i%2 == 0 {
								return []kgo.RecordHeader{header("x-delay", "1m")}
							}
							return nil
						})
					}
					elected := w.withoutLeader(ingress, 1)
					time.AfterFunc(4300*time.Millisecond, elected)
					a := w.start("LAYOVER_SESSION_TIMEOUT=6s")
					w.Until(10*time.Second, "joined", func() bool { return a.daemon.consumer.Status().Joined })
					var b *instance
					time.Sleep(at)
					switch what {
					case "join":
						b = w.start("LAYOVER_SESSION_TIMEOUT=6s")
					case "cut":
						b = w.start("LAYOVER_SESSION_TIMEOUT=6s")
						a.wire.sever()
						time.Sleep(9 * time.Second)
						a.wire.mend()
					case "leave":
						a.stop()
						a = w.start("LAYOVER_SESSION_TIMEOUT=6s")
					}
					time.Sleep(3 * time.Minute)
					got := w.values(egress)
					lost, twice := 0, 0
					for p := range 2 {
						for i := range n {
							switch c := got[fmt.Sprintf("%d/%d", p, i)]; {
							case c == 0:
								lost++
							case c > 1:
								twice++
							}
						}
					}
					if lost > 0 || twice > 0 && what != "cut" || twice > 300 {
						t.Errorf("%d lost, %d twice", lost, twice)
					}
					w.onTime(0, 1)
					a.stop()
					if b != nil {
						b.stop()
					}
				})
			})
		}
	}
}

// TestALatePartitionBeginsOnABrokerThatKnowsNoLeaderEpochs: the client does not ask such a broker
// either.
func TestALatePartitionBeginsOnABrokerThatKnowsNoLeaderEpochs(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.sendMany(1, 0, 10, func(int) []kgo.RecordHeader { return nil })
		w.Until(10*time.Second, "read", func() bool { return w.count(egress) == 10 })
		time.Sleep(3 * time.Second)
		in.stop()
		fault := w.Refuse(kmsg.OffsetFetch, kfake.Fault{Topic: ingress, Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed})
		in = w.start()
		time.Sleep(10 * time.Second)
		fault.Remove()
		time.Sleep(time.Minute)
		for _, p := range in.daemon.consumer.Status().Partitions {
			if !p.Loaded {
				t.Errorf("%s/%d: %s", p.Topic, p.Partition, p.Stopped)
			}
		}
		in.stop()
	}, withoutLeaderEpochs())
}

// TestAnOffsetOfATopicThatIsMadeAgainIsNotAppliedToTheNewLog: another tool committed the offset,
// without metadata that names a topic. It goes with the topic, whose partition is sick meanwhile.
func TestAnOffsetOfATopicThatIsMadeAgainIsNotAppliedToTheNewLog(t *testing.T) {
	for _, wait := range []time.Duration{1500 * time.Millisecond, 5 * time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.dial = slow(w.dial, time.Millisecond)
				w.withoutFetchSessions()
				w.createTopics(1, second)
				for n := range 20 {
					w.sendTo(second, 0, fmt.Sprint("old", n))
				}
				w.Commit("g", kadm.Offset{Topic: second, Partition: 0, At: 10, LeaderEpoch: -1})
				elected := w.withoutLeader(second, 0)
				in := w.start("LAYOVER_INGRESS_TOPICS="+ingress+","+second, "LAYOVER_GROUP_ID=g")
				w.Until(10*time.Second, "joined", func() bool { return in.daemon.consumer.Status().Joined })
				time.Sleep(wait)
				w.DeleteTopic(second)
				w.createTopics(1, second)
				w.Client.PurgeTopicsFromClient(second) // the test's own producer
				elected()
				for n := range 30 {
					w.sendTo(second, 0, fmt.Sprint("new", n))
				}
				time.Sleep(2 * time.Minute)
				got := w.values(egress)
				for n := range 30 {
					if got[fmt.Sprint("new", n)] != 1 {
						t.Errorf("new%d delivered %d times", n, got[fmt.Sprint("new", n)])
					}
				}
				w.onTime(0, 1)
				in.stop()
			})
		})
	}
}
