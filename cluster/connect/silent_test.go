package connect

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/config"
)

// TestASilentAddressIsLeftOutWhileOthersAnswer, but not where a broker advertises it, nor where it is the only one.
func TestASilentAddressIsLeftOutWhileOthersAnswer(t *testing.T) {
	late := &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	a := kgo.BrokerMetadata{NodeID: -1 << 31, Host: "a", Port: 1}
	advertised := a
	advertised.NodeID = 1
	answer := func(c *Connection) { c.accept("b:1", true) }
	for name, test := range map[string]struct {
		brokers []string
		then    func(c *Connection)
		skipped bool
	}{
		"others answer":       {[]string{"a:1", "b:1"}, answer, true},
		"nobody has answered": {[]string{"a:1", "b:1"}, func(*Connection) {}, false},
		"nobody answers now":  {[]string{"a:1", "b:1"}, func(c *Connection) { answer(c); time.Sleep(othersAnswer) }, false},
		"the only address":    {[]string{"a:1"}, answer, false},
		"a while later":       {[]string{"a:1", "b:1"}, func(c *Connection) { time.Sleep(silentPause); answer(c) }, false},
		"it answers":          {[]string{"a:1", "b:1"}, func(c *Connection) { answer(c); c.tried(a, nil) }, false},
		"a broker's own":      {[]string{"a:1", "b:1"}, func(c *Connection) { answer(c); c.tried(advertised, c.skips("a:1")) }, false},
		"skipped again":       {[]string{"a:1", "b:1"}, func(c *Connection) { answer(c); c.tried(a, c.skips("a:1")) }, true},
		"both have been silent": {[]string{"a:1", "b:1"}, func(c *Connection) {
			b := a
			b.Host = "b"
			c.tried(b, late)
			answer(c)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := New(Config{Kafka: config.Kafka{Brokers: test.brokers}, DialTimeout: 5 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				c.tried(a, late)
				test.then(c)
				if err := c.skips("a:1"); (err != nil) != test.skipped || err != nil && !kgo.IsRetryableBrokerErr(err) {
					t.Errorf("the attempt ends with %v", err)
				}
			})
		})
	}
}

// TestFirstWordsAreWaitedForLessLong: an answer that comes once is waited for as long as the client says.
func TestFirstWordsAreWaitedForLessLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		c, err := New(Config{Kafka: config.Kafka{Brokers: []string{"a:1"}}, DialTimeout: 5 * time.Second,
			Dial: func(context.Context, string, string) (net.Conn, error) { return here, nil }})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := c.dial(t.Context(), "tcp", "a:1")
		if err != nil {
			t.Fatal(err)
		}
		read := func() time.Duration {
			began := time.Now()
			conn.SetReadDeadline(began.Add(10 * time.Second))
			conn.Read(make([]byte, 1))
			return time.Since(began)
		}
		if took := read(); took != firstWords {
			t.Errorf("the first words are waited for %v", took)
		}
		go io.WriteString(there, "x")
		if took := read(); took != 0 {
			t.Errorf("an answer took %v", took)
		}
		if took := read(); took != 10*time.Second {
			t.Errorf("after an answer the next one is waited for %v", took)
		}
	})
}

// TestAnAddressThatIsNotReachedTakesNoWholeQuestion: the attempt ends before the question does.
func TestAnAddressThatIsNotReachedTakesNoWholeQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Kafka: config.Kafka{Brokers: []string{"a:1"}}, DialTimeout: 5 * time.Second,
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := c.dial(t.Context(), "tcp", "a:1"); err == nil || time.Since(began) != reachTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestASlowBrokerIsReached: an address that was silent has all the time that there is at its next attempt.
func TestASlowBrokerIsReached(t *testing.T) {
	for name, node := range map[string]int32{"seed": -1 << 31, "broker": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				there := make(chan net.Conn, 2)
				c, err := New(Config{Kafka: config.Kafka{Brokers: []string{"a:1"}}, DialTimeout: 5 * time.Second,
					Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
						select {
						case <-ctx.Done():
							return nil, ctx.Err()
						case <-time.After(reachTimeout + time.Second):
						}
						conn, other := net.Pipe()
						there <- other
						return conn, nil
					}})
				if err != nil {
					t.Fatal(err)
				}
				at := kgo.BrokerMetadata{NodeID: node, Host: "a", Port: 1}
				_, err = c.dial(t.Context(), "tcp", "a:1")
				if c.tried(at, err); err == nil {
					t.Fatal("a quick attempt waits")
				}
				conn, err := c.dial(t.Context(), "tcp", "a:1")
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					time.Sleep(firstWords + time.Second)
					io.WriteString(<-there, "x")
				}()
				conn.SetReadDeadline(time.Now().Add(10 * time.Second))
				if _, err := conn.Read(make([]byte, 1)); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
