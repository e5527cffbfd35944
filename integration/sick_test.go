package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// onTime sends a record with a delay of a second to each of some partitions. It fails the
// test unless all are delivered within 5 s of their deadline.
func (f *fixture) onTime(out *collector, partitions ...int32) {
	f.Helper()
	all, again := out.count() // a process that is suspended between a delivery and its commit delivers again
	before := all - again
	manual := f.kafka(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for _, p := range partitions {
		r := &kgo.Record{Topic: f.ingress, Partition: p, Key: fmt.Appendf(nil, "on time %d %d", before, p), Headers: []kgo.RecordHeader{header("x-delay", "1s")}}
		if err := manual.ProduceSync(f.Context(), r).FirstErr(); err != nil {
			f.Fatal(err)
		}
	}
	out.await(before+len(partitions), 6*time.Second)
}

// degraded waits until /readyz names something, and still answers 200.
func (p *process) degraded(what string) {
	p.t.Helper()
	eventually(p.t, 30*time.Second, "/readyz names "+what, func() bool {
		code, body := p.get("/readyz")
		if code != 200 {
			p.t.Fatalf("/readyz answers %d: %s", code, body)
		}
		return strings.HasPrefix(body, "degraded:") && strings.Contains(body, what)
	})
}

// TestADeletedIngressTopicStopsNoOtherAfterASuspension: the process is suspended for longer
// than its session, and joins again with the partitions that it had.
func TestADeletedIngressTopicStopsNoOtherAfterASuspension(t *testing.T) {
	long(t)
	t.Parallel()
	f := onSharedBroker(t, 2)
	second := f.ingress + ".second"
	f.createTopic(second, 2, nil)
	p := f.layover("LAYOVER_INGRESS_TOPICS=" + f.ingress + "," + second)
	out := f.collect(f.egress)
	f.onTime(out, 0, 1)
	p.signal(suspend)
	if _, err := f.admin.DeleteTopic(f.Context(), second); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Second) // longer than the session timeout of 6 s
	p.signal(resume)
	p.degraded(second)
	eventually(t, 30*time.Second, "the other topic is assigned", func() bool { return len(p.status().Assignments) >= 2 })
	time.Sleep(5 * time.Second)
	for range 3 {
		f.onTime(out, 0, 1)
	}
	p.degraded(second)
	p.terminate()
}

// trio is three brokers of one cluster, each in a container of its own; the first is the
// controller.
func trio(t *testing.T) []*broker {
	t.Helper()
	need(t, shared.broker) // where there is no engine, that was found out once
	need(t, shared.binary)
	net, err := network.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := net.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var brokers []*broker
	for id := 1; id <= 3; id++ {
		b := need(t, func() (*broker, error) { return startBroker(shared, oneOfThree(id, net.Name)) })
		t.Cleanup(func() {
			if err := b.terminate(); err != nil {
				t.Error(err)
			}
		})
		brokers = append(brokers, b)
	}
	return brokers
}

// oneOfThree makes a broker one of three. The group's offsets are on all of them.
func oneOfThree(id int, net string) func(b *broker, r *testcontainers.ContainerRequest) {
	return func(b *broker, r *testcontainers.ContainerRequest) {
		name := fmt.Sprintf("kafka%d", id)
		r.Networks, r.NetworkAliases = []string{net}, map[string][]string{net: {name}}
		r.Env["KAFKA_NODE_ID"] = fmt.Sprint(id)
		r.Env["KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR"] = "3"
		r.Env["KAFKA_CONTROLLER_QUORUM_VOTERS"] = "1@kafka1:9093"
		r.Env["KAFKA_ADVERTISED_LISTENERS"] = "PLAINTEXT://" + b.addr + ",SELF://" + name + ":9094,VIA://" + b.via
		if id > 1 {
			r.Env["KAFKA_PROCESS_ROLES"] = "broker"
			r.Env["KAFKA_LISTENERS"] = "PLAINTEXT://:9092,SELF://:9094,VIA://:9095"
		}
	}
}

// ledBy makes a topic with one replica of each partition, on the brokers that leaders says.
func (f *fixture) ledBy(name string, leaders ...int32) {
	f.Helper()
	if len(leaders) == 0 {
		f.Fatal("no partition")
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	for p, leader := range leaders {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(p), []int32{leader}
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, a)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(f.Context(), f.client)
	if err != nil {
		f.Fatal(err)
	}
	for _, t := range resp.Topics {
		if t.ErrorCode != 0 {
			f.Fatalf("topic %s: error code %d", name, t.ErrorCode)
		}
	}
}

// TestAPartitionWithoutALeaderIsTriedAgainAlone: one of three brokers is stopped, and
// nothing is replicated. The partition is new, so the group has no offset of it.
func TestAPartitionWithoutALeaderIsTriedAgainAlone(t *testing.T) {
	long(t)
	t.Parallel()
	brokers := trio(t)
	f := emptyFixture(t, brokers[0])
	f.ledBy(f.ingress, 1, 2)
	f.ledBy(f.egress, 1, 2)
	f.ledBy(f.deadLetters, 1)
	f.ledBy(f.ingress+"."+f.group, 1, 2, 1) // the journal
	p := f.layover()
	out := f.collect(f.egress)
	f.onTime(out, 0, 1)
	p.terminate()

	req := kmsg.NewPtrCreatePartitionsRequest()
	grown := kmsg.NewCreatePartitionsRequestTopic()
	grown.Topic, grown.Count = f.ingress, 3
	third := kmsg.NewCreatePartitionsRequestTopicAssignment()
	third.Replicas = []int32{3}
	grown.Assignment = append(grown.Assignment, third)
	req.Topics = append(req.Topics, grown)
	if _, err := req.RequestWith(f.Context(), f.client); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, "the new partition is there", func() bool {
		topics, err := f.admin.ListTopics(f.Context(), f.ingress)
		return err == nil && len(topics[f.ingress].Partitions) == 3
	})
	const parked = 2000
	var batch []*kgo.Record
	for i := range parked {
		batch = append(batch, &kgo.Record{Topic: f.ingress, Key: fmt.Appendf(nil, "parked %d", i), Headers: []kgo.RecordHeader{header("x-delay", "1h")}})
	}
	healthy := f.kafka(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	f.produceWith(healthy, batch...) // to partition 0
	if err := brokers[2].stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the partition has no leader", func() bool {
		topics, err := f.admin.ListTopics(f.Context(), f.ingress)
		return err == nil && topics[f.ingress].Partitions[2].Leader < 0
	})

	p = f.layover()
	p.degraded(f.ingress + "/2")
	for range 4 {
		f.onTime(out, 0, 1)
		time.Sleep(15 * time.Second)
	}
	s := p.status()
	if want := int64(parked + 8); s.Counters.Consumed-s.Counters.Skipped != want {
		t.Errorf("%d records read and %d skipped, want %d read once", s.Counters.Consumed, s.Counters.Skipped, want)
	}
	if err := brokers[2].start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the partition has a leader", func() bool {
		topics, err := f.admin.ListTopics(f.Context(), f.ingress)
		return err == nil && topics[f.ingress].Partitions[2].Leader >= 0
	})
	eventually(t, 30*time.Second, "the partition is begun", func() bool {
		_, body := p.get("/readyz")
		return !strings.Contains(body, f.ingress+"/2")
	})
	f.onTime(out, 0, 1, 2)
	p.terminate()
}
