package speed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"layover/bench/process"

	"github.com/twmb/franz-go/pkg/kgo"
)

// prepare looks at what is there before anything is measured.
func (s *site) prepare(ctx context.Context) error {
	if s.Product.runs() {
		topics, err := s.admin.ListTopics(ctx, s.Product.Ingress)
		if err == nil {
			err = topics.Error()
		}
		if err != nil {
			return fmt.Errorf("ingress topic %s: %w", s.Product.Ingress, err)
		}
		s.Partitions = []int{len(topics[s.Product.Ingress].Partitions)}
	}
	if s.Product.Target != "" {
		if err := s.stamped(ctx, s.Product.Target); err != nil {
			return err
		}
	}
	if err := s.compareClocks(ctx); err != nil {
		return err
	}
	return s.warmBroker(ctx)
}

// warmBroker lets the product and a loop copy records that nobody measures.
func (s *site) warmBroker(ctx context.Context) error {
	ways := s.ways(product, bare)
	if s.Product.runs() {
		ways = s.ways(bare)
	}
	for range s.Warmups {
		for _, w := range ways {
			if err := s.copyOnce(ctx, w); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	return nil
}

// copyOnce lets a way copy records.
func (s *site) copyOnce(ctx context.Context, w way) error {
	return s.running(ctx, w, "warm", func(sc *scene, _ *process.Child, _ *sender) error {
		if err := sc.load(ctx, smallest, s.Warm); err != nil {
			return err
		}
		return sc.until(ctx, sc.target, sc.books.count())
	})
}

// partitions are those of topics where their number is not what is measured.
func (s *site) partitions() int { return s.Partitions[0] }

// stamped says whether the broker stamps a topic's records; an error says it does not.
func (s *site) stamped(ctx context.Context, topic string) error {
	configs, err := s.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return err
	}
	c, err := configs.On(topic, nil)
	if err = errors.Join(err, c.Err); err != nil {
		return fmt.Errorf("target topic %s: %w", topic, err)
	}
	for _, setting := range c.Configs {
		if setting.Key == "message.timestamp.type" && setting.MaybeValue() == logAppend {
			return nil
		}
	}
	return fmt.Errorf("target topic %s: want message.timestamp.type=%s, for it is the broker's clock that lateness is measured by", topic, logAppend)
}

// clockLooks is how often the broker's clock is asked for.
const clockLooks = 20

// compareClocks finds by how much the broker's clock is ahead of ours: a record's stamp is between the
// instants before it was written and after. It is taken as none where all looks allow that.
func (s *site) compareClocks(ctx context.Context) (err error) {
	sc := &scene{site: s, name: s.prefix, target: s.prefix + ".clock"}
	defer func() { err = errors.Join(err, s.forget(ctx, s.prefix, sc.ours...)) }()
	if err := sc.make(ctx, sc.target, 1, logAppend); err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.broker.Addrs...), kgo.DefaultProduceTopic(sc.target), kgo.ProducerLinger(0), kgo.ConsumeTopics(sc.target),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer cl.Close()
	var before, after []time.Time
	for range clockLooks {
		before = append(before, time.Now())
		if err := cl.ProduceSync(ctx, &kgo.Record{}).FirstErr(); err != nil {
			return fmt.Errorf("the broker's clock: %w", err)
		}
		after = append(after, time.Now())
	}
	var stamps []time.Time
	for len(stamps) < clockLooks {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("the broker's clock: %w", err)
		}
		for r := range fetches.RecordsAll() {
			stamps = append(stamps, r.Timestamp)
		}
	}
	if s.skew = skew(before, stamps, after); s.skew != 0 {
		fmt.Fprintf(s.Log, "the broker's clock is %v ahead of ours: its timestamps are moved by that\n", s.skew)
	}
	return nil
}

// skew is by how much stamps in whole milliseconds are ahead, if they have to be.
func skew(before, stamps, after []time.Time) time.Duration {
	least, most := time.Duration(math.MinInt64), time.Duration(math.MaxInt64)
	for i := range stamps {
		least = max(least, stamps[i].Sub(after[i]))
		most = min(most, stamps[i].Add(time.Millisecond).Sub(before[i]))
	}
	if least <= 0 && most >= 0 {
		return 0
	}
	return (least + most) / 2
}
