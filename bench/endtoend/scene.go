package endtoend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/bench/broker"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// scene is where a daemon is measured: topics and a group of its own on a broker.
type scene struct {
	Options
	kafka      *broker.Broker
	admin      *kadm.Client
	partitions int
	name       string // of its topics and its group, and of its member
}

func (s *scene) ingress() string { return s.name + ".delayed" }
func (s *scene) egress() string  { return s.name + ".ready" }
func (s *scene) dead() string    { return s.name + ".dead" }

// make makes the topics.
func (s *scene) make(ctx context.Context) error {
	for topic, partitions := range map[string]int{s.ingress(): s.partitions, s.egress(): s.partitions, s.dead(): 1} {
		if _, err := s.admin.CreateTopic(ctx, int32(partitions), 1, nil, topic); err != nil {
			return fmt.Errorf("topic %s: %w", topic, err)
		}
	}
	return nil
}

// forget deletes the topics, with those that the daemon has made.
func (s *scene) forget(ctx context.Context) error {
	answers, err := s.admin.DeleteTopics(context.WithoutCancel(ctx), s.ingress(), s.egress(), s.dead(), s.ingress()+"."+s.name, s.ingress()+"."+s.name+".runs")
	for _, a := range answers {
		if a.Err != nil && !errors.Is(a.Err, kerr.UnknownTopicOrPartition) {
			err = errors.Join(err, a.Err)
		}
	}
	return err
}

// onDisk returns the bytes that a topic takes on all brokers; 0 where they do not tell.
func (s *scene) onDisk(ctx context.Context, topic string) (bytes int64, err error) {
	set := make(kadm.TopicsSet)
	for partition := range s.partitions {
		set.Add(topic, int32(partition))
	}
	brokers, err := s.admin.DescribeAllLogDirs(ctx, set)
	if err != nil {
		return 0, err
	}
	for _, dirs := range brokers {
		dirs.Each(func(d kadm.DescribedLogDir) { bytes += d.Size() })
	}
	return bytes, nil
}

// reader reads a topic from so many records after the start of each partition on.
func (s *scene) reader(topic string, from map[int32]int64) (*kgo.Client, error) {
	at := make(map[int32]kgo.Offset)
	for partition, offset := range from {
		at[partition] = kgo.NewOffset().At(offset)
	}
	return kgo.NewClient(kgo.SeedBrokers(s.kafka.Addrs...), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}))
}

// ends are the end offsets of a topic, and their sum.
func (s *scene) ends(ctx context.Context, topic string) (map[int32]int64, int64, error) {
	listed, err := s.admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	ends, sum := make(map[int32]int64), int64(0)
	for partition, o := range listed[topic] {
		ends[partition] = o.Offset
		sum += o.Offset
	}
	return ends, sum, err
}

// awaitFirst gives the time at which the first record arrives that is not there yet.
func (s *scene) awaitFirst(ctx context.Context) (<-chan time.Time, error) {
	ends, _, err := s.ends(ctx, s.egress())
	if err != nil {
		return nil, err
	}
	receiver, err := s.reader(s.egress(), ends)
	if err != nil {
		return nil, err
	}
	first := make(chan time.Time, 1)
	go func() { // ends with its first record, or with ctx
		defer receiver.Close()
		for receiver.PollFetches(ctx).NumRecords() == 0 && ctx.Err() == nil {
		}
		first <- time.Now()
	}()
	return first, nil
}
