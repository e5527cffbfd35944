package integration

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"

	"layover/integration/engine"
)

const (
	defaultKafkaImage = "apache/kafka:4.3.1"
	// engineTimeout bounds how long a machine without an engine costs.
	engineTimeout = 5 * time.Second
	// pullTimeout bounds the download of about 400 MB. A registry that does not
	// answer is given up long before: see pullLog.
	pullTimeout = 10 * time.Minute
	// brokerTimeout is for the start of Kafka, which takes 5 s on an idle machine.
	brokerTimeout = 2 * time.Minute
	// brokerLife is when a container ends by itself, in case that the test that
	// started it was killed before it could terminate it.
	brokerLife = 30 * time.Minute
)

// startScript runs the image's own start command, and when the container is
// started again the broker alone. Not every image takes it well that its storage
// is formatted already. The image writes its configuration over copies of files that
// have the mode of their source. The published image makes these writable for its
// user. An image that was built from read-only sources does not.
const startScript = `
if [ -f /tmp/started ]; then
  exec timeout %[1]d java $KAFKA_HEAP_OPTS -cp '/opt/kafka/libs/*' kafka.Kafka /opt/kafka/config/server.properties
fi
touch /tmp/started
chmod -R u+w /etc/kafka/docker 2>/dev/null
exec timeout %[1]d /etc/kafka/docker/run`

// broker is one Apache Kafka in a container, with a port on this machine that
// stays the same when it is stopped and started.
type broker struct {
	container testcontainers.Container
	addr      string // host:port
	// Whoever bootstraps from via is sent to via, where a test may put a proxy to behind.
	via, behind string
	suite       *suite
}

// startBroker starts a broker and returns when it serves. The error is an
// unavailable where the machine has no engine or no image. Edits change the container's
// request, whose environment configures Kafka.
func startBroker(s *suite, edits ...func(b *broker, r *testcontainers.ContainerRequest)) (*broker, error) {
	image := os.Getenv("LAYOVER_TEST_KAFKA_IMAGE")
	if image == "" {
		image = defaultKafkaImage
	}
	host, err := engineHost()
	if err != nil {
		return nil, engine.Unavailable("no container engine answers: " + engine.FirstLine(err))
	}
	if err := haveImage(image); err != nil {
		return nil, engine.Unavailable(fmt.Sprintf("the image %s is not here and cannot be pulled: %s", image, engine.FirstLine(err)))
	}
	port, err1 := engine.FreePort()
	via, err2 := engine.FreePort()
	behind, err3 := engine.FreePort()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), brokerTimeout)
	defer cancel()
	at := func(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
	b := &broker{addr: at(port), via: at(via), behind: at(behind), suite: s}
	described := request(image, b, host, port, behind)
	for _, edit := range edits {
		edit(b, &described)
	}
	b.container, err = testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: described, Started: true, Logger: log.New(discard{}, "", 0),
	})
	if err != nil {
		err = fmt.Errorf("broker in %s: %w", image, err)
		if b.container != nil {
			err = errors.Join(err, testcontainers.TerminateContainer(b.container))
		}
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, b)
	return b, nil
}

// request describes a container with one node that is broker and controller. The
// node has a listener for itself. To verify a transaction a broker asks its
// coordinator by the advertised address. Inside the container there is nothing at
// the address that is meant for us.
func request(image string, b *broker, host string, port, behind int) testcontainers.ContainerRequest {
	kafkaPort, viaPort := network.MustParsePort("9092/tcp"), network.MustParsePort("9095/tcp")
	hostIP := netip.IPv4Unspecified()
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsLoopback() {
		hostIP = ip
	}
	return testcontainers.ContainerRequest{
		Image:        image,
		ExposedPorts: []string{"9092/tcp", "9095/tcp"},
		Cmd:          []string{"sh", "-c", fmt.Sprintf(startScript, int(brokerLife.Seconds()))},
		Env: map[string]string{
			"KAFKA_NODE_ID":                                  "1",
			"KAFKA_PROCESS_ROLES":                            "broker,controller",
			"KAFKA_LISTENERS":                                "PLAINTEXT://:9092,CONTROLLER://:9093,SELF://:9094,VIA://:9095",
			"KAFKA_ADVERTISED_LISTENERS":                     "PLAINTEXT://" + b.addr + ",SELF://localhost:9094,VIA://" + b.via,
			"KAFKA_INTER_BROKER_LISTENER_NAME":               "SELF",
			"KAFKA_CONTROLLER_LISTENER_NAMES":                "CONTROLLER",
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":           "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SELF:PLAINTEXT,VIA:PLAINTEXT",
			"KAFKA_CONTROLLER_QUORUM_VOTERS":                 "1@localhost:9093",
			"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":         "1",
			"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
			"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":            "1",
			"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS":         "0",
			"KAFKA_AUTO_CREATE_TOPICS_ENABLE":                "false",
			"KAFKA_HEAP_OPTS":                                "-Xms512m -Xmx512m",
		},
		HostConfigModifier: func(c *container.HostConfig) {
			c.PortBindings = network.PortMap{
				kafkaPort: {{HostIP: hostIP, HostPort: strconv.Itoa(port)}}, viaPort: {{HostIP: hostIP, HostPort: strconv.Itoa(behind)}},
			}
		},
		WaitingFor: wait.ForLog("Kafka Server started").WithStartupTimeout(brokerTimeout),
	}
}

// stop ends the broker's process and leaves its data. start brings it back.
func (b *broker) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	grace := 20 * time.Second
	return b.container.Stop(ctx, &grace)
}

func (b *broker) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), brokerTimeout)
	defer cancel()
	return b.container.Start(ctx)
}

// freeze stops the broker's process as it is: connections stay, and nobody answers.
// thaw lets it go on.
func (b *broker) freeze() error { return b.signal("STOP") }
func (b *broker) thaw() error   { return b.signal("CONT") }

func (b *broker) signal(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	script := `for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = java ] && kill -` + name + ` ${p#/proc/} && exit; done; exit 1`
	code, _, err := b.container.Exec(ctx, []string{"sh", "-c", script})
	if err == nil && code != 0 {
		err = fmt.Errorf("no process of the broker took SIG%s", name)
	}
	return err
}

// terminate removes the container.
func (b *broker) terminate() error {
	b.suite.mu.Lock()
	b.suite.started = slices.DeleteFunc(b.suite.started, func(o *broker) bool { return o == b })
	b.suite.mu.Unlock()
	return testcontainers.TerminateContainer(b.container, testcontainers.StopTimeout(time.Second))
}

// engineHost returns the host at which ports of containers are reached. The library
// panics where it finds no engine, and may wait for one that is silent. So it is
// asked on a goroutine that is left behind when it takes too long.
func engineHost() (string, error) {
	type answer struct {
		host string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("%v", p)
			}
			answers <- a
		}()
		ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
		defer cancel()
		var p *testcontainers.DockerProvider
		if p, a.err = testcontainers.NewDockerProvider(testcontainers.WithLogger(log.New(discard{}, "", 0))); a.err != nil {
			return
		}
		defer p.Close()
		if a.err = p.Health(ctx); a.err != nil {
			return
		}
		a.host, a.err = p.DaemonHost(ctx)
	}()
	select {
	case a := <-answers:
		if a.host == "localhost" { // the port is bound on one family only
			a.host = "127.0.0.1"
		}
		return a.host, a.err
	case <-time.After(engineTimeout):
		return "", fmt.Errorf("nothing within %v", engineTimeout)
	}
}

// haveImage pulls an image that is not on this machine.
func haveImage(image string) error {
	ctx, cancel := context.WithTimeout(context.Background(), pullTimeout)
	defer cancel()
	p, err := testcontainers.NewDockerProvider(testcontainers.WithLogger(&pullLog{cancel: cancel}))
	if err != nil {
		return err
	}
	defer p.Close()
	if _, err := p.Client().ImageInspect(ctx, image); err == nil {
		return nil
	}
	return p.PullImage(ctx, image)
}

// pullLog ends a pull at its second failure. The library retries for a quarter of
// an hour and tells nobody but its log.
type pullLog struct {
	cancel   context.CancelFunc
	failures int // touched by the one goroutine that pulls
}

func (l *pullLog) Printf(format string, _ ...any) {
	if strings.HasPrefix(format, "Failed to pull image") {
		if l.failures++; l.failures == 2 {
			l.cancel()
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
