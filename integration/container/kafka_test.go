package container

import (
	"cmp"
	"context"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/integration/engine"
)

// cluster is one Kafka in a container. It is on a network with the containers
// that the test starts beside it, and has a port on this machine for the test.
type cluster struct {
	engine  engineCLI
	network string
	outside string // host:port
	client  *kgo.Client
}

// insideAddr is where containers on the network reach Kafka.
const insideAddr = "kafka:19092"

// findKafka returns the image of Kafka.
func findKafka() (string, error) {
	c, err := shared.engine()
	if err != nil {
		return "", err
	}
	image := cmp.Or(os.Getenv("LAYOVER_TEST_KAFKA_IMAGE"), "apache/kafka:4.3.1")
	return image, c.Have(image)
}

// startKafka starts a Kafka for one test and returns when it serves.
func startKafka(t *testing.T) *cluster {
	t.Helper()
	c, image := need(t, shared.engine), need(t, shared.kafka)
	port, err := engine.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	k := &cluster{engine: c, network: "layover-test-" + engine.Random(), outside: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	if _, err := c.Run(engine.AskTimeout, "network", "create", k.network); err != nil {
		t.Fatal(err)
	}
	remove := c.Removal("network", "rm", k.network)
	shared.later(remove)
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	// As in the compose file: the image makes its configuration from copies of files that
	// may be read-only, with their mode.
	args := []string{"--user", "root", "--network", k.network, "--network-alias", "kafka", "--publish", k.outside + ":9092"}
	for name, value := range map[string]string{
		"NODE_ID":                                  "1",
		"PROCESS_ROLES":                            "broker,controller",
		"LISTENERS":                                "OUTSIDE://:9092,CONTROLLER://:9093,INSIDE://:19092",
		"ADVERTISED_LISTENERS":                     "OUTSIDE://" + k.outside + ",INSIDE://" + insideAddr,
		"INTER_BROKER_LISTENER_NAME":               "INSIDE",
		"CONTROLLER_LISTENER_NAMES":                "CONTROLLER",
		"LISTENER_SECURITY_PROTOCOL_MAP":           "CONTROLLER:PLAINTEXT,OUTSIDE:PLAINTEXT,INSIDE:PLAINTEXT",
		"CONTROLLER_QUORUM_VOTERS":                 "1@localhost:9093",
		"OFFSETS_TOPIC_REPLICATION_FACTOR":         "1",
		"TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
		"TRANSACTION_STATE_LOG_MIN_ISR":            "1",
		"GROUP_INITIAL_REBALANCE_DELAY_MS":         "0",
		"HEAP_OPTS":                                "-Xms512m -Xmx512m",
	} {
		args = append(args, "--env", "KAFKA_"+name+"="+value)
	}
	c.start(t, append(args, image)...)
	k.client = k.kafka(t)
	eventually(t, 2*time.Minute, "Kafka serves", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return k.client.Ping(ctx) == nil
	})
	return k
}

// kafka makes a client that is closed at the end of the test.
func (k *cluster) kafka(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(k.outside), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.MetadataMinAge(100 * time.Millisecond),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (k *cluster) createTopics(t *testing.T, partitions int32, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r, err := kadm.NewClient(k.client).CreateTopics(ctx, partitions, 1, nil, names...)
	if err == nil {
		err = r.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// count returns how many records a topic holds.
func (k *cluster) count(t *testing.T, topic string) (n int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ends, err := kadm.NewClient(k.client).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	ends.Each(func(o kadm.ListedOffset) { n += o.Offset })
	return n
}
