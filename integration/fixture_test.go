package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fixture is one test's own topics and group on a broker, with a client to write
// records and to ask the cluster.
type fixture struct {
	*testing.T
	broker *broker
	client *kgo.Client
	admin  *kadm.Client

	ingress, egress, deadLetters, group string
}

// onSharedBroker makes a fixture with that many partitions in ingress and egress.
func onSharedBroker(t *testing.T, partitions int32) *fixture {
	t.Helper()
	b := need(t, shared.broker)
	need(t, shared.binary)
	return newFixture(t, b, partitions)
}

// onOwnBroker makes a fixture on a broker that the test may stop.
func onOwnBroker(t *testing.T, partitions int32) *fixture {
	t.Helper()
	need(t, shared.broker) // where there is no engine, that was found out once
	need(t, shared.binary)
	b := need(t, func() (*broker, error) { return startBroker(shared) })
	t.Cleanup(func() {
		if err := b.terminate(); err != nil {
			t.Error(err)
		}
	})
	return newFixture(t, b, partitions)
}

func newFixture(t *testing.T, b *broker, partitions int32) *fixture {
	t.Helper()
	f := emptyFixture(t, b)
	f.createTopic(f.ingress, partitions, nil)
	f.createTopic(f.egress, partitions, nil)
	f.createTopic(f.deadLetters, 1, nil)
	return f
}

// emptyFixture makes a fixture whose topics do not exist.
func emptyFixture(t *testing.T, b *broker) *fixture {
	t.Helper()
	name := fmt.Sprintf("%s-%08x", strings.ToLower(strings.TrimPrefix(t.Name(), "Test")), rand.Uint32())
	name = strings.ReplaceAll(name[max(0, len(name)-60):], "/", "-")
	f := &fixture{
		T: t, broker: b,
		ingress: name + ".delayed", egress: name + ".ready", deadLetters: name + ".dead", group: name + ".group",
	}
	f.client = f.kafka()
	f.admin = kadm.NewClient(f.client)
	return f
}

// kafka makes a client that is closed at the end of the test. What it produces is
// spread over the partitions record by record.
func (f *fixture) kafka(opts ...kgo.Opt) *kgo.Client {
	f.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(f.broker.addr), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.MetadataMinAge(100 * time.Millisecond), kgo.RetryTimeout(30 * time.Second),
		kgo.AlwaysRetryEOF(), // an engine's proxy takes connections before a broker that starts again does
	}, opts...)...)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.Close)
	return c
}

// createTopic makes a topic and returns the id that Kafka gave it.
func (f *fixture) createTopic(name string, partitions int32, config map[string]string) kadm.TopicID {
	f.Helper()
	values := make(map[string]*string)
	for k, v := range config {
		values[k] = kadm.StringPtr(v)
	}
	ctx, cancel := context.WithTimeout(f.Context(), 30*time.Second)
	defer cancel()
	r, err := f.admin.CreateTopic(ctx, partitions, 1, values, name)
	if err == nil {
		err = r.Err
	}
	if err != nil {
		f.Fatalf("topic %s: %v", name, err)
	}
	return r.ID
}

// settings returns the environment for a Layover on this fixture's topics, and
// those given besides.
func (f *fixture) settings(more ...string) []string {
	return append([]string{
		"KAFKA_BROKERS=" + f.broker.addr,
		"LAYOVER_INGRESS_TOPICS=" + f.ingress,
		"LAYOVER_EGRESS_TOPIC=" + f.egress,
		"LAYOVER_DLQ_TOPIC=" + f.deadLetters,
		"LAYOVER_GROUP_ID=" + f.group,
		"LAYOVER_HTTP_ADDR=127.0.0.1:0",
		// Kafka's smallest: a killed member is missed after this long.
		"LAYOVER_SESSION_TIMEOUT=6s",
	}, more...)
}

// layover starts an instance and waits until it is ready.
func (f *fixture) layover(more ...string) *process {
	f.Helper()
	p := start(f.T, f.settings(more...)...)
	p.ready(30 * time.Second)
	return p
}

// produce writes records to ingress and returns when all are acknowledged.
func (f *fixture) produce(records ...*kgo.Record) {
	f.Helper()
	f.produceWith(f.client, records...)
}

func (f *fixture) produceWith(c *kgo.Client, records ...*kgo.Record) {
	f.Helper()
	for _, r := range records {
		if r.Topic == "" {
			r.Topic = f.ingress
		}
	}
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
		f.Fatalf("produce: %v", err)
	}
}

// ends returns the end offset of each partition of a topic, transaction markers
// included.
func (f *fixture) ends(topic string) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
	defer cancel()
	listed, err := f.admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	out := make(map[int32]int64)
	listed.Each(func(o kadm.ListedOffset) { out[o.Partition] = o.Offset })
	return out, err
}

// committed returns the group's offset of each partition of ingress, without
// those that have none.
func (f *fixture) committed() (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
	defer cancel()
	fetched, err := f.admin.FetchOffsets(ctx, f.group)
	out := make(map[int32]int64)
	fetched.Each(func(o kadm.OffsetResponse) {
		if o.Topic == f.ingress {
			out[o.Partition] = o.At
		}
	})
	return out, err
}

// reachesEnd asserts that the group's offsets are at the end of ingress.
func (f *fixture) reachesEnd(within time.Duration) {
	f.Helper()
	var at, ends map[int32]int64
	var err1, err2 error // a connection may have died with the broker: asked again
	defer func() {
		if f.Failed() {
			f.Logf("committed %v (%v), ends %v (%v)", at, err1, ends, err2)
		}
	}()
	eventually(f.T, within, "the group's offsets are at the end", func() bool {
		at, err1 = f.committed()
		ends, err2 = f.ends(f.ingress)
		for partition, end := range ends {
			if end > 0 && at[partition] != end {
				return false
			}
		}
		return err1 == nil && err2 == nil
	})
}

// header makes a record header.
func header(name, value string) kgo.RecordHeader {
	return kgo.RecordHeader{Key: name, Value: []byte(value)}
}

// lookup returns the value of a record's header, of which there has to be one at
// most.
func lookup(t *testing.T, r *kgo.Record, name string) (value string, found bool) {
	t.Helper()
	for _, h := range r.Headers {
		if h.Key != name {
			continue
		}
		if found {
			t.Errorf("record %q has the header %s twice", r.Key, name)
		}
		value, found = string(h.Value), true
	}
	return value, found
}
