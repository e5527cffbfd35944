package connect

import (
	"context"
	"io"
	"net"
	"os"
	"syscall"
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
		"it answers":          {[]string{"a:1", "b:1"}, func(c *Connection) { answer(c); c.tried(a, 0, nil) }, false},
		"a broker's own":      {[]string{"a:1", "b:1"}, func(c *Connection) { answer(c); c.tried(advertised, 0, c.skips("a:1")) }, false},
		"skipped again":       {[]string{"a:1", "b:1"}, func(c *Connection) { answer(c); c.tried(a, 0, c.skips("a:1")) }, true},
		"both have been silent": {[]string{"a:1", "b:1"}, func(c *Connection) {
			b := a
			b.Host = "b"
			c.tried(b, 0, late)
			answer(c)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := New(Config{Kafka: config.Kafka{Brokers: test.brokers}, DialTimeout: 5 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				c.tried(a, 0, late)
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
				if c.tried(at, 0, err); err == nil {
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

// dialed makes an attempt at a:1 as kgo does, by a client's node id.
func dialed(ctx context.Context, c *Connection, node int32) (net.Conn, time.Duration, error) {
	began := time.Now()
	conn, err := c.dial(ctx, "tcp", "a:1")
	took := time.Since(began)
	c.OnBrokerConnect(kgo.BrokerMetadata{NodeID: node, Host: "a", Port: 1}, took, conn, err)
	return conn, took, err
}

// after returns a dialer whose connections take some time.
func after(wait time.Duration) dialFunc {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
		case <-time.After(wait):
		}
		here, _ := net.Pipe()
		return here, nil
	}
}

// TestASlowBrokerIsReachedAtOnceOnceItIsKnown: each client has connections of its own, and makes them again after idle times.
func TestASlowBrokerIsReachedAtOnceOnceItIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := reachTimeout + time.Second
		c, err := New(Config{Kafka: config.Kafka{Brokers: []string{"a:1", "b:1"}}, DialTimeout: 5 * time.Second,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				return after(wait)(ctx, network, addr)
			}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := dialed(t.Context(), c, 1); err == nil {
			t.Fatal("a quick attempt waits")
		}
		for range 3 {
			if _, _, err := dialed(t.Context(), c, 1); err != nil {
				t.Error(err)
			}
			c.accept("b:1", true)
			if err := c.skips("a:1"); err != nil {
				t.Errorf("it is left out though it answers: %v", err)
			}
		}
		wait = 0
		if _, _, err := dialed(t.Context(), c, 1); err != nil {
			t.Error(err)
		}
		wait = time.Hour
		if _, took, _ := dialed(t.Context(), c, 1); took != reachTimeout {
			t.Errorf("once it is fast again, an attempt takes %v", took)
		}
	})
}

// TestAQuestionThatEndsIsNoSilence: its last moment is too short for any broker.
func TestAQuestionThatEndsIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Kafka: config.Kafka{Brokers: []string{"a:1", "b:1"}}, DialTimeout: 5 * time.Second, Dial: after(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		c.accept("b:1", true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, _, err := dialed(ctx, c, -1<<31); err == nil {
			t.Error("it has a connection")
		}
		if err := c.skips("a:1"); err != nil {
			t.Error(err)
		}
	})
}

// TestARefusalIsNoSilence, though a group's member waits for whom it does not reach.
func TestARefusalIsNoSilence(t *testing.T) {
	for name, of := range map[string]struct {
		err    error
		silent bool
	}{
		"refused": {os.NewSyscallError("connect", syscall.ECONNREFUSED), false},
		"silent":  {os.ErrDeadlineExceeded, true},
	} {
		c, err := New(Config{Kafka: config.Kafka{Brokers: []string{"a:1", "b:1"}}, DialTimeout: 5 * time.Second,
			Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: of.err}
			}})
		if err != nil {
			t.Fatal(err)
		}
		c.accept("b:1", true)
		_, err = c.dialWaiting(t.Context(), "tcp", "a:1")
		c.tried(kgo.BrokerMetadata{NodeID: -1 << 31, Host: "a", Port: 1}, 0, err)
		if err := c.skips("a:1"); (err != nil) != of.silent {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSilentBrokersDoNotCountAsAddressesOfTheSettings: these are in the metadata alone, and many come and go.
func TestSilentBrokersDoNotCountAsAddressesOfTheSettings(t *testing.T) {
	c, err := New(Config{Kafka: config.Kafka{Brokers: []string{"a:1", "b:1"}}, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	late := &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	for n := range int32(maxPeers * 3 / 2) {
		c.tried(kgo.BrokerMetadata{NodeID: n, Host: "node", Port: n}, 0, late)
	}
	c.tried(kgo.BrokerMetadata{NodeID: -1 << 31, Host: "a", Port: 1}, 0, late)
	c.accept("b:1", true)
	if c.skips("a:1") == nil {
		t.Error("a silent address is asked though another one answers")
	}
	if n := len(c.silent); n > maxPeers {
		t.Errorf("%d silent addresses are remembered", n)
	}
}
