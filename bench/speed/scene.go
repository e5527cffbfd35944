package speed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/bench/broker"
	"layover/bench/process"
	"layover/cluster"
)

const (
	// arriveWithin is how long nothing may arrive of what is due: what comes later is lost.
	arriveWithin = 30 * time.Second
	// throughWithin is how long all of it may take.
	throughWithin = 5 * time.Minute
	// ledWithin is how long a new topic may be without leaders.
	ledWithin = 20 * time.Second
	lookEvery = 20 * time.Millisecond
)

// site is a broker and what is measured there.
type site struct {
	Options
	broker *broker.Broker
	client *kgo.Client
	admin  *kadm.Client
	prefix string // of the names of our topics and groups
	scenes int
	run    int           // of the part that is measured
	skew   time.Duration // of the broker's clock, ahead of ours
	*figures
}

// scene is one measurement: topics, and books of what goes through them.
type scene struct {
	*site
	name    string // of the group
	product Product
	ingress string
	target  string
	other   string                     // a second target, "" where there is only one
	from    map[string]map[int32]int64 // where the targets ended before
	books   *books
	copies  bool     // nothing waits here: the way is a loop
	ours    []string // topics to be deleted
}

// newScene makes the topics of a scene. With an ingress topic that is shared it makes none.
func (s *site) newScene(ctx context.Context, w way, partitions int, shared string) (*scene, error) {
	s.scenes++
	foreign := w.kind == product && s.Product.runs()
	sc := &scene{site: s, name: fmt.Sprintf("%s-%d", s.prefix, s.scenes), product: Layover(), from: make(map[string]map[int32]int64),
		books:  &books{tag: fmt.Sprintf("%03d-", s.scenes%1000), foreign: foreign, skew: s.skew},
		copies: w.kind == stamped || w.kind == bare || w.kind == eager}
	sc.ingress, sc.target, sc.other = shared, sc.name+".ready", sc.name+".other"
	if foreign {
		sc.product, sc.ingress = s.Product, s.Product.Ingress
		if s.Product.Target != "" {
			sc.target, sc.other = s.Product.Target, ""
		}
	}
	if err := sc.makeAll(ctx, partitions); err != nil {
		return nil, errors.Join(err, sc.close(ctx))
	}
	return sc, nil
}

// makeAll makes the topics that are not there, and looks where the targets end.
func (s *scene) makeAll(ctx context.Context, partitions int) (err error) {
	if s.ingress == "" {
		s.ingress = s.name + ".delayed"
		if err := s.make(ctx, s.ingress, partitions, "CreateTime"); err != nil {
			return err
		}
	}
	for _, topic := range s.targets() {
		if topic != s.Product.Target {
			if err := s.make(ctx, topic, partitions, logAppend); err != nil {
				return err
			}
		}
		if s.from[topic], err = s.ends(ctx, topic); err != nil {
			return err
		}
	}
	return nil
}

const logAppend = "LogAppendTime"

// make makes a topic of ours, and waits until all its partitions have a leader.
func (s *scene) make(ctx context.Context, topic string, partitions int, stamps string) error {
	s.ours = append(s.ours, topic)
	settings := map[string]*string{"message.timestamp.type": &stamps}
	if _, err := s.admin.CreateTopic(ctx, int32(partitions), -1, settings, topic); err != nil {
		return fmt.Errorf("topic %s: %w", topic, err)
	}
	for by := time.Now().Add(ledWithin); ; {
		ends, err := s.ends(ctx, topic)
		if err == nil && len(ends) == partitions {
			return nil
		}
		if cluster.Pause(ctx, lookEvery) != nil || time.Now().After(by) {
			return fmt.Errorf("topic %s has no leaders: %w", topic, err)
		}
	}
}

// close deletes what is ours, with the topics that a Layover has made.
func (s *scene) close(ctx context.Context) error {
	return s.forget(ctx, s.name, append(s.ours, s.ingress+"."+s.name, s.ingress+"."+s.name+".runs")...)
}

func (s *scene) dead() string { return s.name + ".dead" }

// forget deletes a group and topics, as far as they are there.
func (s *site) forget(ctx context.Context, group string, topics ...string) error {
	ctx = context.WithoutCancel(ctx)
	s.admin.DeleteGroups(ctx, group) // it expires otherwise
	answers, err := s.admin.DeleteTopics(ctx, topics...)
	for _, a := range answers {
		if a.Err != nil && !errors.Is(a.Err, kerr.UnknownTopicOrPartition) {
			err = errors.Join(err, a.Err)
		}
	}
	return err
}

// ends are the end offsets of a topic.
func (s *site) ends(ctx context.Context, topic string) (map[int32]int64, error) {
	listed, err := s.admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	ends := make(map[int32]int64)
	for partition, o := range listed[topic] {
		ends[partition] = o.Offset
	}
	return ends, err
}

// targets are the topics that records come out in.
func (s *scene) targets() []string {
	if s.other == "" {
		return []string{s.target}
	}
	return []string{s.target, s.other}
}

// arrivedIn is how many records a target has that it had not in the beginning.
func (s *scene) arrivedIn(ctx context.Context, topic string) (n int64, err error) {
	ends, err := s.ends(ctx, topic)
	for partition, end := range ends {
		n += end - s.from[topic][partition]
	}
	return n, err
}

// child starts a child of ours that takes an order.
func (s *scene) child(ctx context.Context, kind string, order any) (*process.Child, error) {
	c, err := process.Start(ctx, kind, s.Log, nil)
	if err != nil {
		return nil, err
	}
	if err := c.Tell(order); err != nil {
		c.Kill()
		return nil, err
	}
	return c, greeted(c)
}

func greeted(c *process.Child) error {
	var hello process.Greeting
	if err := c.Hear(&hello); err != nil {
		c.Kill()
		return err
	}
	return nil
}

// until waits until a topic has n records more than in the beginning. It is an error when no more come.
func (s *scene) until(ctx context.Context, topic string, n int) error {
	last, since, end := int64(0), time.Now(), time.Now().Add(throughWithin)
	for {
		have, err := s.arrivedIn(ctx, topic)
		if err != nil {
			return err
		}
		switch {
		case have >= int64(n):
			return nil
		case have > last:
			last, since = have, time.Now()
		case time.Since(since) > arriveWithin || time.Now().After(end):
			return fmt.Errorf("%s has %d of %d records", topic, have, n)
		}
		if err := cluster.Pause(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// audit reads the targets from where they began, until all that is wanted has arrived or nothing more comes.
func (s *scene) audit(ctx context.Context) error {
	want, read := int64(0), int64(0)
	for _, topic := range s.targets() {
		n, err := s.arrivedIn(ctx, topic)
		if err != nil {
			return err
		}
		want += n
	}
	reader, err := s.reader(s.from)
	if err != nil {
		return err
	}
	defer reader.Close()
	for read < want || s.books.left() > 0 {
		polling, cancel := context.WithTimeout(ctx, arriveWithin)
		fetches := reader.PollFetches(polling)
		nothing := polling.Err() != nil
		cancel()
		if nothing {
			return ctx.Err() // what is missing is lost
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("reader: %w", err)
		}
		for r := range fetches.RecordsAll() {
			read++
			s.books.arrived(r, time.Time{})
		}
	}
	return nil
}

// reader reads the targets from offsets on.
func (s *scene) reader(from map[string]map[int32]int64) (*kgo.Client, error) {
	at := make(map[string]map[int32]kgo.Offset)
	for topic, partitions := range from {
		at[topic] = make(map[int32]kgo.Offset)
		for partition, offset := range partitions {
			at[topic][partition] = kgo.NewOffset().At(offset)
		}
	}
	return kgo.NewClient(kgo.SeedBrokers(s.broker.Addrs...), kgo.ConsumePartitions(at))
}

// receiving runs f while what arrives in the targets is entered in the books. Nothing may be there yet
// that is in them.
func (s *scene) receiving(ctx context.Context, f func() error) error {
	reader, err := s.reader(s.from)
	if err != nil {
		return err
	}
	defer reader.Close()
	receiving, stop := context.WithCancel(ctx)
	received := make(chan error, 1)
	go func() { received <- s.receive(receiving, reader) }() // ended by stop
	err = f()
	stop()
	return errors.Join(err, <-received)
}

func (s *scene) receive(ctx context.Context, reader *kgo.Client) error {
	for {
		fetches := reader.PollFetches(ctx)
		at := time.Now()
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("receiver: %w", err)
		}
		for r := range fetches.RecordsAll() {
			s.books.arrived(r, at)
		}
	}
}

// await waits until all that is wanted has been received, or nothing more comes.
func (s *scene) await(ctx context.Context) error {
	left, since := s.books.left(), time.Now()
	for left > 0 && time.Since(since) < arriveWithin {
		if err := cluster.Pause(ctx, lookEvery); err != nil {
			return err
		}
		if now := s.books.left(); now < left {
			left, since = now, time.Now()
		}
	}
	return nil
}

// open connects to a broker, which is one of our own where none is named.
func open(ctx context.Context, o Options) (s *site, err error) {
	s = &site{Options: o, figures: new(figures), prefix: "bench-speed-" + strconv.FormatInt(time.Now().Unix(), 36)}
	if s.Log == nil {
		s.Log = io.Discard
	}
	if len(o.Brokers) > 0 {
		s.broker = &broker.Broker{Name: strings.Join(o.Brokers, ","), Addrs: o.Brokers, Close: func() {}}
	} else if s.broker, err = broker.Start(ctx, s.Log); err != nil {
		return nil, err
	}
	if s.client, err = kgo.NewClient(kgo.SeedBrokers(s.broker.Addrs...), kgo.RetryTimeout(30*time.Second)); err != nil {
		s.broker.Close()
		return nil, err
	}
	s.admin = kadm.NewClient(s.client)
	return s, nil
}

func (s *site) close() {
	s.client.Close()
	s.broker.Close()
}
