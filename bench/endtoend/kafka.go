package endtoend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	defaultImage = "apache/kafka:4.3.1"
	// engineWithin is for the container engine to say that it is there, startWithin
	// for a container to run, with the download of its image, and serveWithin for the
	// broker in it to answer.
	engineWithin = 5 * time.Second
	startWithin  = 10 * time.Minute
	serveWithin  = 2 * time.Minute
	// containerLife is when a container ends by itself, should nobody end it.
	containerLife = 3 * time.Hour
)

// kafka is a cluster of one broker, with nothing in it.
type kafka struct {
	name      string // what it is
	addrs     []string
	close     func()
	contained bool // it runs in a container, so others can
}

// startKafka starts an Apache Kafka in a container, or where that cannot be had the
// embedded broker, and says why.
func startKafka(ctx context.Context, log io.Writer) (*kafka, error) {
	k, err := startContainer(ctx)
	if err == nil {
		return k, nil
	}
	fmt.Fprintf(log, "no Kafka in a container, the embedded broker takes its place: %v\n", err)
	embedded, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	return &kafka{name: "the embedded broker, for want of a container", addrs: embedded.ListenAddrs(), close: embedded.Close}, nil
}

// startContainer runs one node that is broker and controller, with a heap of 512 MiB.
func startContainer(ctx context.Context) (*kafka, error) {
	if _, err := engine(ctx, engineWithin, "version", "--format", "{{.Server.Version}}"); err != nil {
		return nil, fmt.Errorf("no container engine answers: %w", err)
	}
	image := kafkaImage()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close()
	id, err := engine(ctx, startWithin, containerArgs(image, addr)...)
	if err != nil {
		return nil, err
	}
	k := &kafka{name: image + " in a container", addrs: []string{addr}, contained: true, close: func() {
		engine(context.WithoutCancel(ctx), serveWithin, "rm", "-f", id) // it ends by itself otherwise
	}}
	if err := k.serves(ctx); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// containerArgs is the command line of a container with a broker that is reached at addr.
func containerArgs(image, addr string) []string {
	args := []string{"run", "-d", "--rm", "-p", addr + ":9092"}
	for _, setting := range []string{
		"NODE_ID=1", "PROCESS_ROLES=broker,controller", "CONTROLLER_QUORUM_VOTERS=1@localhost:9093",
		"LISTENERS=PLAINTEXT://:9092,CONTROLLER://:9093", "ADVERTISED_LISTENERS=PLAINTEXT://" + addr, "CONTROLLER_LISTENER_NAMES=CONTROLLER",
		"LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", "OFFSETS_TOPIC_REPLICATION_FACTOR=1",
		"GROUP_INITIAL_REBALANCE_DELAY_MS=0", "AUTO_CREATE_TOPICS_ENABLE=false", "HEAP_OPTS=-Xms512m -Xmx512m",
	} {
		args = append(args, "-e", "KAFKA_"+setting)
	}
	script := "chmod -R u+w /etc/kafka/docker 2>/dev/null; exec timeout " + strconv.Itoa(int(containerLife.Seconds())) + " /etc/kafka/docker/run"
	return append(args, image, "sh", "-c", script)
}

func kafkaImage() string { return cmp.Or(os.Getenv("LAYOVER_TEST_KAFKA_IMAGE"), defaultImage) }

func engineClient() string { return cmp.Or(os.Getenv("LAYOVER_TEST_DOCKER"), "docker") }

// engine runs the container engine's client and returns what it prints.
func engine(ctx context.Context, within time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	client := engineClient()
	out, err := exec.CommandContext(ctx, client, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("%s %s: %w", client, args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// serves waits until the broker answers.
func (k *kafka) serves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serveWithin)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.addrs...))
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		brokers, err := kadm.NewClient(cl).ListBrokers(ctx)
		if err == nil && len(brokers) > 0 {
			return nil
		}
		if pause(ctx, 200*time.Millisecond) != nil {
			return fmt.Errorf("broker does not answer within %v: %w", serveWithin, err)
		}
	}
}
