package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// useless is a way in which a runs topic takes nothing.
type useless struct {
	begins func(w *fixture) (mend func())
	says   string // part of the line of it
	often  bool   // it is among those of an ordinary run
}

// answering has the runs topic answer to every copy with an error.
func answering(err *kerr.Error) func(*fixture) func() {
	return func(w *fixture) func() {
		return w.Refuse(kmsg.Produce, kfake.Fault{Topic: runsTopic, Err: err}).Remove
	}
}

func waysToBeUseless() map[string]useless {
	return map[string]useless{
		"a setting has it delete copies": {func(w *fixture) func() {
			w.alter(runsTopic, "retention.ms", "1000")
			return func() { w.alter(runsTopic, "retention.ms", "-1") }
		}, "retention.ms", false},
		"writing is forbidden": {func(w *fixture) func() {
			w.takeAway(runsTopic, kmsg.ACLOperationWrite)
			return func() { w.grant(runsTopic, kmsg.ACLOperationWrite) }
		}, "allow Write on topic " + runsTopic, false},
		"reading is forbidden": {func(w *fixture) func() {
			w.takeAway(runsTopic, kmsg.ACLOperationRead)
			return func() { w.grant(runsTopic, kmsg.ACLOperationRead) }
		}, "allow Read on topic " + runsTopic, false},
		"describing is forbidden": {func(w *fixture) func() {
			all := []kmsg.ACLOperation{kmsg.ACLOperationDescribe, kmsg.ACLOperationRead, kmsg.ACLOperationWrite, kmsg.ACLOperationDelete, kmsg.ACLOperationAlter}
			for _, o := range all { // each of them includes Describe
				w.takeAway(runsTopic, o)
			}
			return func() {
				for _, o := range all {
					w.grant(runsTopic, o)
				}
			}
		}, "allow Describe on topic " + runsTopic, false},
		"a write is refused":           {answering(kerr.PolicyViolation), "POLICY_VIOLATION", false},
		"too few replicas are in sync": {answering(kerr.NotEnoughReplicas), "has not answered for", true},
		"a disk is full":               {answering(kerr.KafkaStorageError), "has not answered for", false},
		"partitions have no leader": {func(w *fixture) func() {
			first, second := w.withoutLeader(runsTopic, 0), w.withoutLeader(runsTopic, 1)
			return func() { first(); second() }
		}, "has not answered for", false},
	}
}

// TestAllIsAsWithoutRunsWhileTheirTopicTakesNothing: memory fills up, reading pauses, and each record
// that was read is delivered on time. Once the topic takes copies, records are moved.
func TestAllIsAsWithoutRunsWhileTheirTopicTakesNothing(t *testing.T) {
	long.Only(t)
	for name, ill := range waysToBeUseless() {
		t.Run(name, func(t *testing.T) {
			if !ill.often {
				long.WholeOnly(t)
			}
			synctest.Test(t, func(t *testing.T) {
				w := fixtureOf(kafkatest.StartGuarded(t, 1, allRights(), kfake.SeedTopics(2, ingress), kfake.SeedTopics(2, egress), kfake.SeedTopics(1, dlq)))
				in := w.start(append(login(), "LAYOVER_MAX_PARKED_BYTES=8Mi")...)
				in.ready()
				time.Sleep(20 * time.Second)
				mend := ill.begins(w)
				time.Sleep(2 * time.Minute)
				f := w.freight()
				f.send(10, 100, func(i int) time.Duration { return 10*time.Minute + time.Duration(i)*time.Second })
				last := 0
				for in.pausedFor() == "" {
					if last > 10_000 {
						t.Fatal("reading never pauses")
					}
					last = f.send(200, 1000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*100*time.Millisecond })
					time.Sleep(time.Second)
				}
				time.Sleep(5 * time.Minute)
				in.names(ill.says)
				if moved, _, _, waiting := in.runsCount(); moved > 0 || waiting > 0 {
					t.Errorf("%d are moved, %d wait", moved, waiting)
				}
				time.Sleep(70*time.Minute + time.Minute)
				a := f.all(0)
				a.onTime(0, last, 100*time.Millisecond)
				a.onTime(last, f.next, 10*time.Second) // they were not read when reading paused
				mend()
				time.Sleep(3 * time.Minute)
				f.send(3000, 1000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*10*time.Millisecond })
				time.Sleep(30 * time.Second)
				if moved, _, _, _ := in.runsCount(); moved < 1000 {
					t.Errorf("%d are moved after the topic is well again", moved)
				}
				first := f.next - 3000
				time.Sleep(70*time.Minute + time.Minute)
				f.all(0).onTime(first, f.next, 100*time.Millisecond)
				if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting > 0 {
					t.Errorf("%d are lost, %d wait", lost, waiting)
				}
				in.stop()
			})
		})
	}
}
