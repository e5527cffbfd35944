package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"layover/config"
)

func TestNoRedirectIsFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		withEndpoint(t, func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "http://localhost:8081/", status)
		}, func(e *endpoint) {
			var elsewhere atomic.Int32
			e.serve("localhost:8081", func(rw http.ResponseWriter, r *http.Request) {
				elsewhere.Add(1)
				numbered("")(rw, r)
			})
			e.fails("KAFKA_SASL_OAUTH_TOKEN_ENDPOINT", fmt.Sprint("no token in its answer: ", status))
			if elsewhere.Load() > 0 {
				t.Errorf("%d is followed", status)
			}
		})
	}
}

func TestACrowdMakesOneRequestAtATime(t *testing.T) {
	slowly := func(then http.HandlerFunc) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			then(rw, r)
		}
	}
	for name, want := range map[string]struct {
		answer http.HandlerFunc
		asked  int32
		took   time.Duration
	}{
		"with an end": {slowly(numbered(`,"expires_in":300`)), 1, time.Second},
		"without":     {slowly(numbered("")), 8, 8 * time.Second},
		"wrong":       {slowly(says(401, "")), 1, time.Second},
		"slow":        {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 1, tokenTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			withEndpoint(t, want.answer, func(e *endpoint) {
				began := time.Now()
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() { e.tokens.token(e.Context()) })
				}
				all.Wait()
				if e.asked.Load() != want.asked || e.most.Load() != 1 || time.Since(began) != want.took {
					t.Errorf("%d requests, %d at a time, in %v; want %d, 1, %v", e.asked.Load(), e.most.Load(), time.Since(began), want.asked, want.took)
				}
			})
		})
	}
}

func TestAClientThatIsClosedTakesNoTokenFromOthers(t *testing.T) {
	var n atomic.Int32
	withEndpoint(t, func(rw http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			<-r.Context().Done()
			return
		}
		numbered("")(rw, r)
	}, func(e *endpoint) {
		ctx, cancel := context.WithCancel(e.Context())
		waits := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := e.tokens.token(ctx)
				waits <- err
			}()
		}
		time.Sleep(time.Second)
		others := make(chan error, 1)
		go func() {
			_, err := e.tokens.token(e.Context())
			others <- err
		}()
		time.Sleep(time.Second)
		began := time.Now()
		cancel()
		for range 2 {
			if err := <-waits; err == nil {
				t.Error("a client that is closed has a token")
			}
		}
		if err := <-others; err != nil || time.Since(began) > 0 {
			t.Errorf("error %v after %v, want a token at once", err, time.Since(began))
		}
	})
}

func TestAnEndpointThatIsDown(t *testing.T) {
	inBubble(t, func(w *fixture) {
		e := &endpoint{fixture: w, tokens: newTokens(oauthSettings(), func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		})}
		e.fails("KAFKA_SASL_OAUTH_TOKEN_ENDPOINT", "no token: dial tcp: connection refused")
	})
}

func TestTheEndpointsCertificateIsVerified(t *testing.T) {
	ca, other := newAuthority(t, "right"), newAuthority(t, "other")
	for name, want := range map[string]struct {
		served  issued
		ca      string
		problem string
	}{
		"the right CA":     {ca.issue("localhost", true, year), ca.pem, ""},
		"another CA":       {ca.issue("localhost", true, year), other.pem, "unknown authority"},
		"the system's CAs": {ca.issue("localhost", true, year), "", "unknown authority"},
		"another name":     {ca.issue("other", false, year), ca.pem, "not"},
		"expired":          {ca.issue("localhost", true, -day), ca.pem, "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := serveTLS(t, server(want.served, nil), numbered(""))
			cfg := oauthSettings()
			cfg.TokenEndpoint = "https://" + addr
			if want.ca != "" {
				cfg.CA = config.NewSecret(want.ca)
			}
			e := &endpoint{fixture: overTCP(t), tokens: newTokens(cfg, new(net.Dialer).DialContext)}
			if want.problem == "" {
				e.gives("token-1")
			} else {
				e.fails("KAFKA_SASL_OAUTH_TOKEN_ENDPOINT", want.problem)
			}
		})
	}
	t.Run("a file that is gone", func(t *testing.T) {
		cfg := oauthSettings()
		cfg.CA = config.SecretFile(t.TempDir() + "/none")
		e := &endpoint{fixture: overTCP(t), tokens: newTokens(cfg, new(net.Dialer).DialContext)}
		e.fails("KAFKA_SASL_OAUTH_CA", "the file")
	})
}

// serveTLS serves https on this machine.
func serveTLS(t *testing.T, conf *tls.Config, h http.HandlerFunc) (addr string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ErrorLog: discard()}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// TestAProxyIsForTLSAlone: without TLS it would read the secret.
func TestAProxyIsForTLSAlone(t *testing.T) {
	inProxiedChild(t, func(proxied func() []string) {
		cfg := oauthSettings()
		for _, scheme := range []string{"http", "https"} {
			cfg.TokenEndpoint = scheme + "://169.254.170.2:1/" // as one at an address of the link
			e := &endpoint{fixture: overTCP(t), tokens: newTokens(cfg, func(ctx context.Context, network, addr string) (net.Conn, error) {
				if strings.HasPrefix(addr, "169.254.") {
					return nil, &net.OpError{Op: "dial", Err: errors.New("no proxy")}
				}
				return new(net.Dialer).DialContext(ctx, network, addr)
			})}
			text := "no proxy"
			if scheme == "https" {
				text = "cannot be understood"
			}
			e.fails("KAFKA_SASL_OAUTH_TOKEN_ENDPOINT", text)
		}
		if got := proxied(); len(got) != 1 || got[0] != "CONNECT 169.254.170.2:1" {
			t.Errorf("the proxy got %q, want the tunnel alone", got)
		}
	})
}
