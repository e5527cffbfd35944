// Package broker is the Kafka that a benchmark needs: in a container, embedded, or one that runs already.
package broker

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
	// EngineWithin is for the container engine to say that it is there. startWithin is
	// for a container to run, with the download of its image, and ServeWithin for the
	// broker in it to answer.
	EngineWithin = 5 * time.Second
	startWithin  = 10 * time.Minute
	ServeWithin  = 2 * time.Minute
	// containerLife is when a container ends by itself, should nobody end it.
	containerLife = 3 * time.Hour
)

// Broker is a cluster of one broker, with nothing in it.
type Broker struct {
	Name      string // what it is
	Addrs     []string
	Close     func()
	Contained bool // it runs in a container, so others can
}

// Start starts an Apache Kafka in a container, or where that cannot be had the
// embedded broker, and says why.
func Start(ctx context.Context, log io.Writer) (*Broker, error) {
	k, err := startContainer(ctx)
	if err == nil {
		return k, nil
	}
	fmt.Fprintf(log, "no Kafka in a container, the embedded broker takes its place: %v\n", err)
	embedded, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	return &Broker{Name: "the embedded broker, for want of a container", Addrs: embedded.ListenAddrs(), Close: embedded.Close}, nil
}

// startContainer runs one node that is broker and controller, with a heap of 512 MiB.
func startContainer(ctx context.Context) (*Broker, error) {
	if _, err := Engine(ctx, EngineWithin, "version", "--format", "{{.Server.Version}}"); err != nil {
		return nil, fmt.Errorf("no container engine answers: %w", err)
	}
	image := Image()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close()
	id, err := Engine(ctx, startWithin, containerArgs(image, addr)...)
	if err != nil {
		return nil, err
	}
	k := &Broker{Name: image + " in a container", Addrs: []string{addr}, Contained: true, Close: func() {
		Engine(context.WithoutCancel(ctx), ServeWithin, "rm", "-f", id) // it ends by itself otherwise
	}}
	if err := k.serves(ctx); err != nil {
		k.Close()
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

// Image is the image of the container.
func Image() string { return cmp.Or(os.Getenv("LAYOVER_TEST_KAFKA_IMAGE"), defaultImage) }

// EngineClient is the program that the container engine is asked with.
func EngineClient() string { return cmp.Or(os.Getenv("LAYOVER_TEST_DOCKER"), "docker") }

// Engine runs the container engine's client and returns what it prints.
func Engine(ctx context.Context, within time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	client := EngineClient()
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
func (k *Broker) serves(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ServeWithin)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(k.Addrs...))
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		brokers, err := kadm.NewClient(cl).ListBrokers(ctx)
		if err == nil && len(brokers) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("broker does not answer within %v: %w", ServeWithin, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
