package doctor

import (
	"context"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cluster/connect"
)

// TestADeadAddressBesideAGoodOneLeavesNothingUnknown: another one is asked, whichever comes first.
func TestADeadAddressBesideAGoodOneLeavesNothingUnknown(t *testing.T) {
	for name, order := range map[string]func(good string) string{
		"first": func(good string) string { return "dead:9092," + good },
		"last":  func(good string) string { return good + ",dead:9092" },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(w *fixture) {
				w.cfg = settings(t, "KAFKA_BROKERS="+order(w.Addr()))
				w.Commit(w.cfg.GroupID)
				for _, f := range w.runOver(func(ctx context.Context, network, addr string) (net.Conn, error) {
					if addr == "dead:9092" {
						return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
					}
					return w.Net.DialContext(ctx, network, addr)
				}) {
					if f.Status == Unknown && f.ID != "clock" { // kfake does not know that request
						t.Errorf("%+v", f)
					}
				}
			})
		})
	}
}

// TestAServerThatIsNoKafkaIsCalledThat: it has answered, and not as a broker does.
func TestAServerThatIsNoKafkaIsCalledThat(t *testing.T) {
	inBubble(t, 1, func(w *fixture) {
		findings := w.runOver(func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				there.Read(make([]byte, 1000))
				io.WriteString(there, "HTTP/1.1 400 Bad Request\r\n\r\n")
				there.Close()
			}()
			return here, nil
		})
		w.is(findings[slices.Index(IDs(), "broker-answers")], Fail, "something else does", "HTTP")
	})
}

// runOver makes the checks with connections of a dialer.
func (w *fixture) runOver(dial func(context.Context, string, string) (net.Conn, error)) []Finding {
	w.Helper()
	c, err := connect.New(connect.Config{Kafka: w.cfg.Kafka, DialTimeout: 3 * time.Second, Dial: dial})
	if err != nil {
		w.Fatal(err)
	}
	client, err := kgo.NewClient(append(c.Options(), kgo.RequestRetries(1), kgo.DisableClientMetrics())...)
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	return Run(w.Context(), Config{Settings: w.cfg, Client: client, Connection: c, Resolve: everyName})
}
