package integration

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	played "layover/verify/long"
)

// answers waits until the broker takes requests again, by asking it.
func (f *fixture) answers(within time.Duration) {
	f.Helper()
	c := f.kafka(kgo.RetryTimeout(time.Second), kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }))
	eventually(f.T, within, "the broker answers", func() bool {
		ctx, cancel := context.WithTimeout(f.Context(), time.Second)
		defer cancel()
		return c.Ping(ctx) == nil
	})
}

func TestAfterABrokersRestartRecordsFlowWithin10Seconds(t *testing.T) {
	testOutage(t, (*broker).stop, (*broker).start)
}

func TestAfterABrokersSilenceRecordsFlowWithin10Seconds(t *testing.T) {
	testOutage(t, (*broker).freeze, (*broker).thaw)
}

// testOutage lets a broker go away and come back while records are parked.
func testOutage(t *testing.T, goAway, comeBack func(*broker) error) {
	long(t)
	t.Parallel()
	const records = 2_000
	f := onOwnBroker(t, 2)
	p := f.layover()
	out := f.collect(f.egress)
	l := f.newLedger()
	base := time.Now().Truncate(time.Millisecond).Add(3 * time.Second)
	var batch []*kgo.Record
	for i := range records { // due before, during and after the outage
		batch = append(batch, l.at(fmt.Sprintf("r-%d", i), base.Add(time.Duration(i)*12*time.Millisecond)))
	}
	f.produce(batch...)
	out.await(100, 30*time.Second)
	if err := goAway(f.broker); err != nil {
		t.Fatal(err)
	}
	before, _ := out.count()
	gone := time.Now()
	p.outlives(gone)
	if err := comeBack(f.broker); err != nil {
		t.Fatal(err)
	}
	f.answers(time.Minute)
	back := time.Now()
	eventually(t, 30*time.Second, "a record comes", func() bool { all, _ := out.count(); return all > before })
	took := time.Since(back)
	t.Logf("the broker was gone for %v; the first record came %v after it answered", back.Sub(gone).Round(time.Millisecond), took.Round(time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("the first record came %v after the broker answered, want 10 s at most", took)
	}
	out.await(records, time.Minute)
	f.reachesEnd(15 * time.Second)
	p.terminate()
	out.settle()
	// Nobody was killed, but the partitions were lost with the session. Records in
	// flight may come again, and records that finished after the last commit that was
	// answered.
	l.judge(out.all(), 2*1000+200)
}

// outlives asserts that the process goes on while Kafka is away. That lasts long
// enough for the session to end and for every back-off to reach its cap.
func (p *process) outlives(gone time.Time) {
	p.t.Helper()
	eventually(p.t, 30*time.Second, "Kafka is called silent, for a while", func() bool {
		return !p.status().Kafka.Answering && time.Since(gone) > 10*time.Second
	})
	for _, path := range []string{"/livez", "/readyz", "/startupz"} {
		if code, body := p.get(path); code != http.StatusOK {
			p.t.Errorf("%s with Kafka down: %d %s", path, code, body)
		}
	}
}

func TestSIGTERMAfterTheBrokerIsGoneExits0InTime(t *testing.T) {
	long(t)
	t.Parallel()
	f := onOwnBroker(t, 1)
	p := f.layover()
	out := f.collect(f.egress)
	l := f.newLedger()
	var batch []*kgo.Record
	for i := range 500 {
		batch = append(batch, l.delayed(fmt.Sprintf("r-%d", i), time.Duration(i)*20*time.Millisecond))
	}
	f.produce(batch...)
	out.await(50, 20*time.Second)
	if err := f.broker.stop(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "records are due that cannot be delivered", func() bool { return !p.status().Kafka.Answering })
	p.terminate()
}

func TestSIGTERMWithKafkaDownExits0InTime(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	for name, brokers := range map[string]string{
		"nobody listens":  "127.0.0.1:1", // no port that another test may take
		"nobody answers":  silent.Addr().String(),
		"no such machine": "kafka.invalid:9092",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, minimal("KAFKA_BROKERS="+brokers)...)
			for _, path := range []string{"/livez", "/startupz"} {
				if code, body := p.get(path); code != http.StatusOK {
					t.Errorf("%s: %d %s", path, code, body)
				}
			}
			if code, _ := p.get("/readyz"); code != http.StatusServiceUnavailable {
				t.Errorf("ready at once without Kafka: %d", code)
			}
			if played.Asked() && !testing.Short() { // ten seconds
				p.ready(20 * time.Second)
				if _, body := p.get("/readyz"); !strings.Contains(body, "degraded") {
					t.Errorf("/readyz after a while without Kafka: %q", body)
				}
			}
			p.terminate()
		})
	}
}

func TestTheShutdownTimeoutIsKept(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	p := start(t, minimal("KAFKA_BROKERS="+silent.Addr().String(), "LAYOVER_SHUTDOWN_TIMEOUT=2s")...)
	p.signal(syscall.SIGTERM)
	if code := p.wait(2*time.Second + 500*time.Millisecond); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// minimal returns the settings that are required, for topics that need not exist,
// and those given.
func minimal(more ...string) []string {
	return append([]string{
		"KAFKA_BROKERS=127.0.0.1:1", "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready",
		"LAYOVER_DLQ_TOPIC=dead-letters", "LAYOVER_HTTP_ADDR=127.0.0.1:0",
	}, more...)
}
