package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/config"
)

// plainLogin is user and password that the broker of fixture.wants knows.
func plainLogin(password config.Secret) config.Kafka {
	return config.Kafka{SASL: config.SASL{Mechanism: config.MechanismPlain, Username: config.NewSecret("layover"), Password: password}}
}

// seconds are the times of logins since the first.
func seconds(all []login) (s []float64) {
	for _, l := range all {
		s = append(s, l.at.Sub(all[0].at).Seconds())
	}
	return s
}

// crowd has n clients ask until the context ends. The function that it returns waits for
// them.
func (w *fixture) crowd(ctx context.Context, c *Connection, n int) (wait func()) {
	var all sync.WaitGroup
	for range n {
		cl := w.client(c)
		all.Go(func() {
			for ctx.Err() == nil {
				cl.Ping(ctx)
				time.Sleep(time.Second)
			}
		})
	}
	return all.Wait
}

func TestACrowdWithAWrongPasswordTriesNoMoreThanThePausesAllow(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.start()
		var password atomic.Pointer[string]
		right, changed := "right", "changed"
		password.Store(&changed)
		w.wants(func() string { time.Sleep(100 * time.Millisecond); return *password.Load() }) // as Kafka answers a wrong login
		c := w.connect(plainLogin(config.NewSecret(right)))
		ctx, cancel := context.WithCancel(context.Background())
		wait := w.crowd(ctx, c, 8)
		time.Sleep(time.Minute)
		got := seconds(w.seen())
		if len(got) != 6 {
			t.Fatalf("logins %v s after the first, want 6 in a minute", got)
		}
		for i, least := range []float64{0, 1, 3, 7, 15, 31} {
			if got[i] < least || got[i] > least+3 {
				t.Errorf("login %d is %v s after the first, want %v to %v", i, got[i], least, least+3)
			}
		}
		time.Sleep(2 * time.Minute)
		if n := len(w.seen()); n < 8 || n > 10 {
			t.Errorf("%d logins in three minutes, want one in 30 s from the first minute on", n)
		}
		if n := c.Status().Refusals[ReasonLogin]; n != int64(len(w.seen())) {
			t.Errorf("the counter has %d, want %d", n, len(w.seen()))
		}
		if lines := w.logs.with(refusedLine); len(lines) < 4 || len(lines) > 6 {
			t.Errorf("%d log lines in three minutes, want one in 30 s", len(lines))
		}
		password.Store(&right)
		before := len(w.seen())
		time.Sleep(32 * time.Second)
		if s := c.Status(); len(s.Refused) > 0 || !s.Answered || len(w.seen()) < before+8 || len(w.logs.with(takenLine)) != 1 {
			t.Errorf("status %+v, %d more logins, lines %v, want all connected", s, len(w.seen())-before, w.logs.with(takenLine))
		}
		cancel()
		wait()
	})
}

func TestAPasswordThatIsChangedWhileConnectedDoesNotMeetACrowd(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.start()
		var wrong atomic.Bool
		w.wants(func() string {
			time.Sleep(100 * time.Millisecond)
			if wrong.Load() {
				return "changed"
			}
			return "right"
		})
		c := w.connect(plainLogin(config.NewSecret("right")))
		for range 8 {
			if err := w.ping(c); err != nil {
				t.Fatal(err)
			}
		}
		wrong.Store(true)
		before := len(w.seen())
		ctx, cancel := context.WithTimeout(context.Background(), 59*time.Second)
		defer cancel()
		wait := w.crowd(ctx, c, 8)
		wait()
		if n := len(w.seen()) - before; n < 4 || n > 6 {
			t.Errorf("%d logins in a minute, want 6 at most", n)
		}
	})
}

func TestAGateIsOneBrokersAlone(t *testing.T) {
	inBubble(t, func(w *fixture) {
		g := gates{alone: true}
		no := &Cause{Reason: ReasonLogin, LookAt: "somewhere", Message: "no"}
		if err := g.enter(w.Context(), "a:1"); err != nil {
			t.Fatal(err)
		}
		g.leave("a:1", errors.New("no"), no, time.Now())
		err := g.enter(w.Context(), "a:1")
		if !isPause(err) || err.Error() != "refused a moment ago, and tried again within 1s: no; look at somewhere" || !kgo.IsRetryableBrokerErr(err) {
			t.Errorf("error %v, want a pause with its cause that kgo waits for", err)
		}
		for _, addr := range []string{"b:1", "a:2"} {
			if err := g.enter(w.Context(), addr); err != nil {
				t.Errorf("%s: %v, want no pause", addr, err)
			}
		}
	})
}

func TestAGateLetsOneTryAtATime(t *testing.T) {
	inBubble(t, func(w *fixture) {
		g := gates{alone: true}
		no := &Cause{Message: "no"}
		fails := func() {
			if err := g.enter(w.Context(), "a:1"); err != nil {
				t.Fatal(err)
			}
			g.leave("a:1", errors.New("no"), no, time.Now())
		}
		fails()
		time.Sleep(time.Second)
		if err := g.enter(w.Context(), "a:1"); err != nil { // the trial
			t.Fatal(err)
		}
		began := time.Now()
		if err := g.enter(w.Context(), "a:1"); !isPause(err) || time.Since(began) != crowdWait {
			t.Errorf("error %v after %v, want a pause after %v", err, time.Since(began), crowdWait)
		}
		time.Sleep(trialTime)
		if err := g.enter(w.Context(), "a:1"); err != nil {
			t.Errorf("error %v behind a trial that has no end, want another", err)
		}
		g.leave("a:1", nil, nil, time.Now())
		for range 2 {
			if err := g.enter(w.Context(), "a:1"); err != nil {
				t.Errorf("error %v behind a success, want an open gate", err)
			}
		}
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		fails2 := g.enter(ctx, "a:1")
		if fails2 != nil && !isPause(fails2) {
			t.Errorf("error %v of a client that is closed, want a pause", fails2)
		}
	})
}

func TestWhoWaitsGetsTheAnswerOfTheOther(t *testing.T) {
	for name, taken := range map[string]bool{"refused": false, "taken": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				g := gates{alone: true}
				if err := g.enter(w.Context(), "a:1"); err != nil {
					t.Fatal(err)
				}
				answers := make(chan error, 5)
				for range cap(answers) {
					go func() {
						err := g.enter(w.Context(), "a:1")
						if err == nil {
							g.leave("a:1", nil, nil, time.Now())
						}
						answers <- err
					}()
				}
				time.Sleep(crowdWait / 2)
				synctest.Wait()
				if len(answers) > 0 {
					t.Errorf("%d did not wait", len(answers))
				}
				if taken {
					g.leave("a:1", nil, nil, time.Now())
				} else {
					g.leave("a:1", io.EOF, new(Cause), time.Now())
				}
				synctest.Wait()
				if len(answers) != cap(answers) {
					t.Fatalf("%d of %d have an answer", len(answers), cap(answers))
				}
				for range cap(answers) {
					if err := <-answers; isPause(err) == taken {
						t.Errorf("error %v", err)
					}
				}
			})
		})
	}
}

func TestABrokerThatSaysNothingHoldsNobodyUpForLong(t *testing.T) {
	inBubble(t, func(w *fixture) {
		g := gates{alone: true}
		began := time.Now()
		for range 3 {
			if err := g.enter(w.Context(), "a:1"); err != nil {
				t.Fatal(err)
			}
		}
		if waited := time.Since(began); waited != 2*crowdWait {
			t.Errorf("waited for %v, want %v for each behind the first", waited, crowdWait)
		}
		g.leave("a:1", context.DeadlineExceeded, nil, time.Now())
		began = time.Now()
		if err := g.enter(w.Context(), "a:1"); err != nil || time.Since(began) > 0 {
			t.Errorf("error %v after %v, want none at once", err, time.Since(began))
		}
	})
}

func TestAPauseStaysUntilAnAnswer(t *testing.T) {
	inBubble(t, func(w *fixture) {
		g := gates{alone: true}
		for range 3 {
			g.leave("a:1", io.EOF, new(Cause), time.Now())
			time.Sleep(time.Until(g.by["a:1"].until))
		}
		if err := g.enter(w.Context(), "a:1"); err != nil {
			t.Fatal(err)
		}
		g.leave("a:1", context.Canceled, nil, time.Now()) // a client that is closed proves nothing
		if err := g.enter(w.Context(), "a:1"); err != nil {
			t.Fatal(err)
		}
		g.leave("a:1", io.EOF, new(Cause), time.Now())
		if pause := time.Until(g.by["a:1"].until); pause != 8*time.Second {
			t.Errorf("pause of %v, want the fourth, of 8 s", pause)
		}
		time.Sleep(lasts + 10*time.Second)
		g.leave("b:1", io.EOF, new(Cause), time.Now())
		if len(g.by) != 1 {
			t.Errorf("%d gates, want those of brokers that are gone to be forgotten", len(g.by))
		}
	})
}

func TestWithoutALoginNobodyWaits(t *testing.T) {
	inBubble(t, func(w *fixture) {
		c := w.connect(config.Kafka{})
		began := time.Now()
		for range 10 {
			if err := c.gates.enter(w.Context(), brokerAddr); err != nil {
				t.Fatal(err)
			}
		}
		if time.Since(began) > 0 {
			t.Errorf("waited for %v", time.Since(began))
		}
	})
}

// TestAConnectionThatIsClosedAtOnceDoesNotPause: it may be a broker that starts or ends.
func TestAConnectionThatIsClosedAtOnceDoesNotPause(t *testing.T) {
	var dials atomic.Int32
	w := overTCP(t)
	addr := serveTCP(t, func(*net.TCPConn) { dials.Add(1) })
	c := w.connect(config.Kafka{Brokers: []string{addr}})
	for i := range int32(5) {
		if err := w.ping(c); err == nil || isPause(err) || dials.Load() <= i {
			t.Fatalf("error %v and %d connections, want one each time", err, dials.Load())
		}
	}
	if s := c.Status().Refused; len(s) != 1 || !s[0].Unsure || s[0].Reason != ReasonProtocol {
		t.Errorf("refusals %+v, want one that is unsure", s)
	}
}

// TestOneBrokerThatRefusesLeavesTheOthersAlone has two brokers, of which one takes the
// login.
func TestOneBrokerThatRefusesLeavesTheOthersAlone(t *testing.T) {
	w := overTCP(t)
	w.start()
	w.wants(func() string { return "right" })
	other := overTCP(t)
	other.start()
	other.wants(func() string { return "another" })
	good, bad := w.broker.ListenAddrs()[0], other.broker.ListenAddrs()[0]
	k := plainLogin(config.NewSecret("right"))
	k.Brokers = []string{good, bad}
	c := w.connect(k)
	for i := range 10 {
		if err := w.ping(c); err != nil { // by either seed
			t.Fatalf("attempt %d: %v", i, err)
		}
		k := kgoSeed(t, w, c, bad)
		k.Close()
	}
	if s := c.Status(); len(s.Refused) != 1 || s.Refused[0].Broker != bad || !s.Answered {
		t.Errorf("status %+v, want a refusal of %s alone", s, bad)
	}
	if n := len(other.seen()); n < 1 || n > 2 {
		t.Errorf("%d logins at the broker that refuses, want the pause to hold", n)
	}
	if !slices.ContainsFunc(w.seen(), func(l login) bool { return l.auth == "\x00layover\x00right" }) {
		t.Error(fmt.Sprint("no login at the other: ", w.seen()))
	}
}

// kgoSeed asks one broker.
func kgoSeed(t *testing.T, w *fixture, c *Connection, addr string) *kgo.Client {
	t.Helper()
	cl := w.client(c, kgo.SeedBrokers(addr), kgo.RequestRetries(0))
	if err := cl.Ping(w.Context()); err == nil {
		t.Errorf("%s takes the login", addr)
	}
	return cl
}

func TestWithALoginOneAttemptWaitsForTheEndOfAnother(t *testing.T) {
	for name, of := range map[string]struct {
		kafka config.Kafka
		want  int32 // attempts under way at a time
	}{
		"with a login":    {plainLogin(config.NewSecret("right")), 1},
		"without a login": {config.Kafka{}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dials atomic.Int32
				c, err := New(Config{Kafka: of.kafka, DialTimeout: time.Second, Dial: func(context.Context, string, string) (net.Conn, error) {
					dials.Add(1)
					near, _ := net.Pipe()
					return near, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					go c.dial(t.Context(), "tcp", "127.0.0.1:9092")
				}
				synctest.Wait()
				if n := dials.Load(); n != of.want {
					t.Errorf("%d attempts at a time, want %d", n, of.want)
				}
				c.OnBrokerConnect(kgo.BrokerMetadata{Host: "127.0.0.1", Port: 9092}, 0, nil, nil)
				synctest.Wait()
				if n := dials.Load(); n != 2 {
					t.Errorf("%d attempts once the first has ended, want both", n)
				}
			})
		})
	}
}
