package daemon

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// badSeeds are ways of an address in KAFKA_BROKERS that is no broker. Each connects to it.
func badSeeds() map[string]dialer {
	return map[string]dialer{
		"takes no connection": func(ctx context.Context, network, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
		},
		"says nothing": func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go io.Copy(io.Discard, there)
			return here, nil
		},
		"speaks HTTP": func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				there.Read(make([]byte, 1000))
				io.WriteString(there, "HTTP/1.1 400 Bad Request\r\n\r\n")
				there.Close()
			}()
			return here, nil
		},
	}
}

// TestABadSeedIsNoSilenceOfAll: the broker beside it answers, so nobody says that none does.
func TestABadSeedIsNoSilenceOfAll(t *testing.T) {
	for name, bad := range badSeeds() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.badSeed(bad)
				in := w.start()
				in.ready()
				time.Sleep(5 * time.Minute)
				for line := range strings.Lines(in.logs.String()) {
					if strings.Contains(line, "no broker answers") || strings.Contains(line, "kind=kafka") {
						t.Error(line)
					}
				}
				in.stop()
			})
		})
	}
}

// TestABadSeedHoldsNoStartUp: each client asks the next one soon.
func TestABadSeedHoldsNoStartUp(t *testing.T) {
	for name, bad := range badSeeds() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.badSeed(bad)
				in := w.start()
				w.send(0, "a", header("x-delay", "0s"))
				began := time.Now()
				in.ready()
				ready := time.Since(began)
				w.Until(time.Minute, "it is delivered", func() bool { return len(w.values(egress)) > 0 })
				if delivered := time.Since(began); ready > 10*time.Second || delivered > 12*time.Second {
					t.Errorf("ready after %v, delivered after %v", ready, delivered)
				}
				in.stop()
			})
		})
	}
}

// badSeed puts an address before those of the brokers.
func (w *fixture) badSeed(connects dialer) {
	const bad = "bad:9092"
	good := w.dial
	w.seeds = append([]string{bad}, w.seeds...)
	w.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, "bad:") {
			return connects(ctx, network, addr)
		}
		return good(ctx, network, addr)
	}
}

// TestASlowBrokerIsReachedByOneAttempt, once it is known: each record after an idle time needs new connections.
func TestASlowBrokerIsReachedByOneAttempt(t *testing.T) {
	const takes = 2500 * time.Millisecond
	inBubble(t, func(w *fixture) {
		good := w.dial
		w.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			select {
			case <-ctx.Done():
				return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
			case <-time.After(takes):
			}
			return good(ctx, network, addr)
		}
		in := w.start()
		in.ready()
		for _, key := range []string{"a", "b", "c"} {
			time.Sleep(5 * time.Minute)
			before := len(w.values(egress))
			w.send(0, key, header("x-delay", "0s"))
			sent := time.Now()
			w.Until(time.Minute, "it is delivered", func() bool { return len(w.values(egress)) > before })
			if took := time.Since(sent); took > takes+time.Second/2 {
				t.Errorf("%s is delivered after %v", key, took)
			}
		}
		in.stop()
	})
}
