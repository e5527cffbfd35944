package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
)

// TestCopiesWhoseLeaderIsAwayComeWhenItIsBack: they are late, and that is said. Those of the other
// partition, and what is in memory, are on time.
func TestCopiesWhoseLeaderIsAwayComeWhenItIsBack(t *testing.T) {
	long.Only(t)
	synctest.Test(t, func(t *testing.T) {
		w := fixtureOf(kafkatest.StartVirtual(t, 2, kfake.SeedTopics(2, ingress), kfake.SeedTopics(2, egress), kfake.SeedTopics(1, dlq)))
		for _, topic := range []string{ingress, egress, dlq} {
			w.leads(topic, 0)
		}
		in := w.start(far8)
		in.ready()
		time.Sleep(10 * time.Second)
		w.leads(runsTopic, 0)
		w.leads(journalTopic, 0)
		if err := w.Broker.MoveTopicPartition(runsTopic, 0, 1); err != nil {
			t.Fatal(err)
		}
		f := w.freight()
		f.send(2500, 1000, func(i int) time.Duration { return 70*time.Minute + time.Duration(i)*100*time.Millisecond })
		time.Sleep(30 * time.Second)
		there := f.copies()
		time.Sleep(50 * time.Minute)
		back := w.withoutLeader(runsTopic, 0)
		time.Sleep(25 * time.Minute) // all are due
		late, onTime := 0, 0
		a := f.judge(0)
		for id, p := range there {
			d, came := a.late[id]
			switch {
			case p.partition == 0 && !came:
				late++
			case p.partition == 1 && (!came || d > 100*time.Millisecond):
				t.Fatalf("%s of the other partition: came %t, %v late", id, came, d)
			default:
				onTime++
			}
		}
		t.Logf("%d are late, %d on time", late, onTime)
		if late < 100 {
			t.Fatalf("%d are late", late)
		}
		for id, d := range a.late {
			if d > 100*time.Millisecond {
				t.Errorf("%s is %v late", id, d)
				break
			}
		}
		in.names("due in the runs topic " + runsTopic)
		back()
		time.Sleep(time.Minute)
		f.all(0)
		if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting > 0 {
			t.Errorf("%d lost, %d wait", lost, waiting)
		}
		in.stop()
	})
}

// leads has a node lead all partitions of a topic.
func (w *fixture) leads(topic string, node int32) {
	w.Helper()
	for _, p := range w.Broker.PartitionInfos(topic) {
		if err := w.Broker.MoveTopicPartition(topic, p.Partition, node); err != nil {
			w.Fatal(err)
		}
	}
}
