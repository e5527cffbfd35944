package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// committed checks the group's committed offset of an ingress partition.
func (w *fixture) committed(partition int32, want int64) {
	w.Helper()
	if got := w.commitOf(partition).At; got != want {
		w.Errorf("partition %d: committed %d, want %d", partition, got, want)
	}
}

func (w *fixture) commitOf(partition int32) kadm.Offset {
	w.Helper()
	o, _ := w.Committed("layover-"+ingress, ingress, partition)
	return o
}

// delays spreads records evenly over a time.
func delays(over time.Duration, n int) func(int) []kgo.RecordHeader {
	return func(i int) []kgo.RecordHeader {
		return []kgo.RecordHeader{header("x-delay", fmt.Sprint((over * time.Duration(i%n) / time.Duration(n)).Milliseconds()))}
	}
}

// exactly checks that a topic holds each of n values of a partition, at most extra
// of them more than once in total.
func (w *fixture) exactly(topic string, partition int32, n, extra int) {
	w.Helper()
	got := w.values(topic)
	var lost, again int
	for i := range n {
		switch c := got[fmt.Sprintf("%d/%d", partition, i)]; {
		case c == 0:
			lost++
		case c > 1:
			again += c - 1
		}
	}
	if lost > 0 || again > extra {
		w.Errorf("of %d records %d are lost and %d came again, want none and at most %d", n, lost, again, extra)
	}
}

func TestAGracefulRestartRepeatsNothing(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.sendMany(0, 0, 1000, delays(time.Minute, 1000))
		time.Sleep(30 * time.Second)
		in.stop()
		in = w.start()
		w.Until(2*time.Minute, "all are delivered", func() bool { return w.count(egress) >= 1000 })
		time.Sleep(10 * time.Second)
		w.notEarly(w.Records(egress))
		w.exactly(egress, 0, 1000, 0)
		in.stop()
		w.committed(0, 1000)
	})
}

// finishBehindALongDelay leaves a group of which nobody is alive, whose partition 0 has
// a record parked for an hour and n finished behind it.
func (w *fixture) finishBehindALongDelay(n int) {
	w.Helper()
	in := w.start()
	in.ready()
	w.send(0, "long", header("x-delay", "1h"))
	w.sendMany(0, 0, n, func(int) []kgo.RecordHeader { return nil })
	w.Until(time.Minute, "all but one are delivered", func() bool { return w.count(egress) >= n })
	time.Sleep(3 * time.Second) // more than one commit
	in.kill()
	time.Sleep(time.Minute)
}

func TestOneLongDelayPinsNothing(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.finishBehindALongDelay(30_000)
		in := w.start()
		in.ready()
		time.Sleep(10 * time.Second)
		w.exactly(egress, 0, 30_000, 0)
		if n := w.count(egress); n != 30_000 {
			t.Errorf("%d records delivered, want 30000", n)
		}
		if c := w.commitOf(0); c.At != 0 {
			t.Errorf("committed %d, want 0: the parked record is not finished", c.At)
		}
		w.Until(2*time.Hour, "the long one comes", func() bool { return w.count(egress) == 30_001 })
		time.Sleep(2 * time.Second)
		in.stop()
		w.committed(0, 30_001)
	})
}

func TestAKillLosesNothingAndRepeatsNoMoreThanItsBound(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		const n, perSecond = 4000, 100
		w.sendMany(0, 0, n, delays(n/perSecond*time.Second, n))
		allowed := 0
		for range 3 {
			time.Sleep(7300 * time.Millisecond)
			in.kill()
			allowed += perSecond*2 + 50 // a commit interval and its round trip, and what was in flight
			time.Sleep(15 * time.Second)
			in = w.start()
			in.ready()
		}
		time.Sleep(time.Minute)
		w.notEarly(w.Records(egress))
		w.exactly(egress, 0, n, allowed)
		in.stop()
		w.committed(0, n)
	})
}

func TestTwoInstancesShareAndHandOverWhatIsParked(t *testing.T) {
	inBubble(t, func(w *fixture) {
		one := w.start()
		one.ready()
		w.sendMany(0, 0, 500, delays(2*time.Minute, 500))
		w.sendMany(1, 0, 500, delays(2*time.Minute, 500))
		time.Sleep(20 * time.Second)
		two := w.start() // takes a partition over while its records are parked
		two.ready()
		time.Sleep(30 * time.Second)
		one.stop() // and the other one now
		w.Until(5*time.Minute, "all are delivered", func() bool { return w.count(egress) >= 1000 })
		time.Sleep(5 * time.Second)
		w.notEarly(w.Records(egress))
		w.exactly(egress, 0, 500, 0)
		w.exactly(egress, 1, 500, 0)
		two.stop()
		w.committed(0, 500)
		w.committed(1, 500)
	})
}

func TestALostMembershipComesBackWithoutLoss(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.sendMany(0, 0, 600, delays(3*time.Minute, 600))
		time.Sleep(30 * time.Second)
		in.wire.sever()
		time.Sleep(40 * time.Second) // the group gives the member up
		in.wire.mend()
		time.Sleep(5 * time.Minute)
		w.notEarly(w.Records(egress))
		w.exactly(egress, 0, 600, 20)
		in.stop()
		w.committed(0, 600)
	})
}

func TestAProduceThatIsRefusedOrLosesItsAnswerIsTriedAgain(t *testing.T) {
	for name, f := range map[string]func(w *fixture){
		"refused": func(w *fixture) {
			w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: egress, Err: kerr.NotEnoughReplicas, Count: 5})
		},
		"unknown error": func(w *fixture) {
			w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: egress, Err: kerr.UnknownServerError, Count: 2})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start()
				in.ready()
				f(w)
				w.sendMany(0, 0, 100, delays(time.Second, 100))
				w.Until(time.Minute, "all are delivered", func() bool { return w.count(egress) >= 100 })
				time.Sleep(5 * time.Second)
				w.exactly(egress, 0, 100, 0)
				in.stop()
				w.committed(0, 100)
			})
		})
	}
}

func TestARefusedCommitIsSentAgain(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.UnknownServerError, Count: 4})
		w.sendMany(0, 0, 100, delays(time.Second, 100))
		w.Until(time.Minute, "all are delivered", func() bool { return w.count(egress) >= 100 })
		w.Until(20*time.Second, "the offset is committed", func() bool { return w.commitOf(0).At == 100 })
		w.exactly(egress, 0, 100, 0)
		in.stop()
	})
}

func TestABrokerThatIsGoneAtTheStartIsWaitedFor(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.seeds = []string{"localhost:9999"}
		in := w.start()
		time.Sleep(9 * time.Second)
		if code, _ := in.get("/readyz"); code != 503 {
			t.Errorf("ready after 9 s without Kafka: %d", code)
		}
		time.Sleep(3 * time.Second)
		if code, body := in.get("/readyz"); code != 200 || !strings.Contains(body, "degraded") {
			t.Errorf("after 12 s without Kafka: %d %s", code, body)
		}
		if code, _ := in.get("/livez"); code != 200 {
			t.Errorf("liveness asks Kafka: %d", code)
		}
		before := time.Now()
		in.stop()
		if took := time.Since(before); took > 8*time.Second {
			t.Errorf("stopping without Kafka took %v", took)
		}
	})
}

func TestIngressThatAppearsLaterIsRead(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_INGRESS_TOPICS=later,"+ingress, "LAYOVER_GROUP_ID=g")
		time.Sleep(time.Minute)
		w.CreateTopic("later", 1, nil)
		w.Produce(&kgo.Record{Topic: "later", Value: []byte("x")})
		w.arrives(egress, 1, 10*time.Second)
		in.stop()
	})
}
