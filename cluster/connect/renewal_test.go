package connect

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/config"
)

// TestATokenThatABrokerRefusesIsNotKept: what is wrong with it may be mended at the
// endpoint, hours before its end.
func TestATokenThatABrokerRefusesIsNotKept(t *testing.T) {
	withEndpoint(t, numbered(`,"expires_in":3600`), func(e *endpoint) {
		e.start()
		var wrong atomic.Bool
		e.judge(func(auth string) (int16, string, string) {
			if wrong.Load() || strings.Contains(auth, "token-1\x01") {
				return 0, "", `{"status":"invalid_token"}`
			}
			return 0, "", ""
		})
		wrong.Store(true)
		c := e.connect(config.Kafka{SASL: config.SASL{Mechanism: config.MechanismOAuth, OAuth: *oauthSettings()}})
		ctx, cancel := context.WithCancel(context.Background())
		wait := e.crowd(ctx, c, 3)
		time.Sleep(5 * time.Minute)
		if asked, logins := int(e.asked.Load()), len(e.seen()); asked > logins {
			t.Errorf("%d tokens for %d logins", asked, logins)
		}
		wrong.Store(false)
		time.Sleep(35 * time.Second)
		if s := c.Status(); len(s.Refused) > 0 || !s.Answered {
			t.Errorf("status %+v 35 s after the cause is gone", s)
		}
		cancel()
		wait()
	})
}

// TestAWSCredentialsThatABrokerRefusesAreNotKept: a session may be revoked.
func TestAWSCredentialsThatABrokerRefusesAreNotKept(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.Setenv("AWS_REGION", "eu-west-1")
		w.start()
		w.judge(func(auth string) (int16, string, string) {
			if strings.Contains(auth, "ROLE1/") {
				return notTaken, "Access denied", ""
			}
			return 0, "", `{"version":"2020_10_22","request-id":"x"}`
		})
		var n atomic.Int32
		var asked []url.Values
		w.serve(endpointAddr, roles(&n, &asked))
		k := w.webIdentitySettings()
		k.Brokers, k.TLS.Enabled = nil, config.ToggleFalse // the broker here has no TLS
		c := w.connect(k)
		if err := w.ping(c); err == nil {
			t.Error("the first role is taken")
		}
		time.Sleep(2 * time.Second)
		if err := w.ping(c); err != nil {
			t.Errorf("error %v with a new role", err)
		}
	})
}

func TestAClientThatIsClosedWhileItAsksIsNotRefused(t *testing.T) {
	withEndpoint(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, func(e *endpoint) {
		e.start()
		e.judge(nil)
		c := e.connect(config.Kafka{SASL: config.SASL{Mechanism: config.MechanismOAuth, OAuth: *oauthSettings()}})
		cl := e.client(c)
		go cl.Ping(context.Background())
		time.Sleep(time.Second)
		cl.Close()
		synctest.Wait()
		if s := c.Status(); len(s.Refused) > 0 || len(e.logs.with(refusedLine)) > 0 {
			t.Errorf("status %+v, lines %v, want no refusal", s, e.logs.with(refusedLine))
		}
	})
}

// TestSessionsThatEndTogetherDoNotMeetACrowd has a broker that wants a new login every
// 30 s (KIP-368), and a password that is changed.
func TestSessionsThatEndTogetherDoNotMeetACrowd(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.start()
		var wrong atomic.Bool
		var logins atomic.Int32
		w.broker.ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.broker.KeepControl()
			return r.ResponseKind(), nil, true
		})
		w.broker.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.broker.KeepControl()
			resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			resp.SessionLifetimeMillis = 30_000
			if wrong.Load() {
				logins.Add(1)
				resp.ErrorCode = notTaken
			}
			return resp, nil, true
		})
		c := w.connect(plainLogin(config.NewSecret("right")))
		var all []*kgo.Client
		for range 10 {
			cl := w.client(c)
			if err := cl.Ping(w.Context()); err != nil {
				t.Fatal(err)
			}
			all = append(all, cl)
		}
		wrong.Store(true)
		time.Sleep(30 * time.Second)
		ctx, cancel := context.WithTimeout(w.Context(), 59*time.Second)
		defer cancel()
		for _, cl := range all {
			go func() {
				for ctx.Err() == nil {
					cl.Ping(ctx)
					time.Sleep(time.Second)
				}
			}()
		}
		<-ctx.Done()
		time.Sleep(2 * time.Second)
		if n := logins.Load(); n > 8 {
			t.Errorf("%d logins in a minute, want 6 and the one that found out", n)
		}
		wrong.Store(false)
		time.Sleep(30 * time.Second)
		for _, cl := range all {
			if err := cl.Ping(w.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAnOpenConnectionLogsInAgainWhereNewOnesAreRefusedByTLS(t *testing.T) {
	for reason, pauses := range map[string]bool{ReasonTLS: false, ReasonProtocol: false, ReasonLogin: true} {
		var g gates
		now := time.Now()
		g.leave("a:1", errors.New("no"), &Cause{Reason: reason}, now)
		if err := g.pausing("a:1", now); isPause(err) != pauses {
			t.Errorf("%s: %v, want a pause: %v", reason, err, pauses)
		}
		if err := g.pausing("a:1", now.Add(firstPause)); err != nil {
			t.Errorf("%s: %v behind the pause", reason, err)
		}
	}
}

// TestWhatWasWrongByTheClockIsLookedAtAgain: nothing in the files changes.
func TestWhatWasWrongByTheClockIsLookedAtAgain(t *testing.T) {
	reloading(t, func(r *reload) {
		next := r.ca.issue("client 2", false, year)
		r.write("cert", next.cert)
		r.write("key", next.key)
		if err := r.conn.certs.refresh(time.Now().Add(2 * year)); err == nil {
			t.Error("a certificate that has expired is taken")
		}
		r.connects("client 2")
	})
}
