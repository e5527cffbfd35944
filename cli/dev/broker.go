package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// partitions is enough for a group of a few to share the work, and for a
	// few lanes to have some.
	partitions = 4
	// retention is Kafka's own default. Records with longer delays are moved to runs before
	// that. Each topic has it as its own setting, the only one the broker enforces.
	retention = 7 * 24 * time.Hour
	// offsetRetention is how long the broker keeps the group's offsets while dev
	// does not run. Without them dev would deliver the whole topic again.
	offsetRetention = 365 * 24 * time.Hour
)

// advertised is a listener whose broker tells clients another address than the one
// that it listens on.
type advertised struct {
	net.Listener
	addr net.Addr
}

func (a advertised) Addr() net.Addr { return a.addr }

// listen opens the broker's port. A broker that listens on every address tells its
// clients this machine's own, as they cannot connect to "every address".
func listen(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("broker address: %w; choose another with --addr", err)
	}
	tcp, ok := l.Addr().(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return advertised{l, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}}, nil
	}
	return l, nil
}

// startBroker serves Kafka's protocol on l, which it closes when it is closed.
func startBroker(l net.Listener, dir string) (*kfake.Cluster, error) {
	broker, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ListenFn(func(_, _ string) (net.Listener, error) { return l, nil }),
		kfake.DataDir(dir),
		// Kafka's default too: a client that writes to a new topic makes it.
		kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(1),
		kfake.BrokerConfigs(map[string]string{
			"offsets.retention.minutes": strconv.Itoa(int(offsetRetention / time.Minute)),
			// Every session timeout that Layover accepts can be tried, and the doctor is told.
			"group.min.session.timeout.ms": "1000",
			"group.max.session.timeout.ms": "1800000",
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("broker data in %s: %w; remove that folder, or choose another with --data-dir", dir, err)
	}
	return broker, nil
}

// prepare makes the topics and sets cl to their ends, before the daemon delivers the
// records that an earlier run left.
func prepare(ctx context.Context, cl *kgo.Client, ingress []string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := createTopics(ctx, cl, ingress); err != nil {
		return err
	}
	return consumeFromEnd(ctx, cl, append([]string{egressTopic, dlqTopic}, ingress...))
}

// createTopics makes the missing topics; after the first start none is missing.
func createTopics(ctx context.Context, cl *kgo.Client, ingress []string) error {
	admin := kadm.NewClient(cl)
	keep := strconv.FormatInt(retention.Milliseconds(), 10)
	configs := map[string]*string{"retention.ms": &keep}
	numbers := map[string]int32{egressTopic: partitions, dlqTopic: 1}
	for _, topic := range ingress {
		numbers[topic] = partitions
	}
	for topic, n := range numbers {
		_, err := admin.CreateTopic(ctx, n, 1, configs, topic)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("topic %q: %w", topic, err)
		}
	}
	return nil
}

// consumeFromEnd makes cl read the records written to the topics from now on. The offsets are asked for here: the client would look for the end when it
// begins to read, behind the records that came meanwhile.
func consumeFromEnd(ctx context.Context, cl *kgo.Client, topics []string) error {
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ends of the topics: %w", err)
	}
	from := make(map[string]map[int32]kgo.Offset)
	for topic, byPartition := range ends.KOffsets() {
		from[topic] = byPartition
	}
	cl.AddConsumePartitions(from)
	return nil
}
