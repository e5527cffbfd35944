package admin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var paths = []string{"/", "/livez", "/readyz", "/startupz", "/metrics", "/status"}

func TestOnlyGetAndHeadAreAnswered(t *testing.T) {
	srv := newServer(sourceOf(busy(time.Now())))
	for _, path := range paths {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
			w := ask(t, srv, method, path)
			if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, path, w.Code, w.Header().Get("Allow"))
			}
		}
		if w := get(t, srv, path); w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("GET %s: %d with %d bytes", path, w.Code, w.Body.Len())
		}
	}
	for _, path := range []string{"/live", "/livez/", "/status/x", "/debug/pprof/"} {
		if w := get(t, srv, path); w.Code != http.StatusNotFound {
			t.Errorf("GET %s: %d, want 404", path, w.Code)
		}
	}
}

func TestIndexListsTheEndpoints(t *testing.T) {
	body := get(t, newServer(sourceOf(busy(time.Now()))), "/").Body.String()
	for _, want := range append(paths, "Layover 1.2.3") {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not in %q", want, body)
		}
	}
}

// serve starts a server on a free port; served has its end, after Shutdown.
func serve(t *testing.T, source Source) (srv *Server, url string, served chan error) {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv, served = newServer(source), make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // ends with Shutdown
	return srv, "http://" + l.Addr().String(), served
}

// sendTo makes one request on a connection of its own.
func sendTo(t *testing.T, method, url string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func TestHeadHasTheHeadersOfGetAndNoBody(t *testing.T) {
	srv, url, served := serve(t, sourceOf(busy(time.Now())))
	for _, path := range paths {
		resp, body, err := sendTo(t, http.MethodGet, url+path)
		if err != nil {
			t.Fatal(err)
		}
		head, empty, err := sendTo(t, http.MethodHead, url+path)
		if err != nil {
			t.Fatal(err)
		}
		if head.StatusCode != resp.StatusCode || head.Header.Get("Content-Type") != resp.Header.Get("Content-Type") {
			t.Errorf("HEAD %s: %d %v, GET %d %v", path, head.StatusCode, head.Header, resp.StatusCode, resp.Header)
		}
		if body == "" || empty != "" {
			t.Errorf("%s: GET has %d bytes, HEAD %d", path, len(body), len(empty))
		}
	}
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, _, err := sendTo(t, http.MethodGet, url+"/livez"); err == nil {
		t.Error("answers after Shutdown")
	}
}

func TestTakenPortNamesItsSetting(t *testing.T) {
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, addr := range []string{taken.Addr().String(), "127.0.0.1:99999", "nonsense"} {
		l, err := Listen(addr)
		if err == nil {
			l.Close()
			t.Fatalf("%s: listens", addr)
		}
		if !strings.Contains(err.Error(), "LAYOVER_HTTP_ADDR") || !strings.Contains(err.Error(), addr) {
			t.Errorf("%v does not name LAYOVER_HTTP_ADDR and %s", err, addr)
		}
	}
}

// stuck is a source that answers only once released.
type stuck struct{ asked, release chan struct{} }

func (s *stuck) Sample() Sample {
	s.asked <- struct{}{}
	<-s.release
	return Sample{}
}

func TestShutdownWaitsForNoLongerThanItsContext(t *testing.T) {
	source := &stuck{make(chan struct{}), make(chan struct{})}
	srv, url, served := serve(t, source)
	answered := make(chan error, 1)
	go func() {
		_, _, err := sendTo(t, http.MethodGet, url+"/livez")
		answered <- err
	}()
	<-source.asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := srv.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-answered; err == nil {
		t.Error("a request outlived the cut")
	}
	close(source.release)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestServeAfterShutdownReturns(t *testing.T) {
	srv := newServer(sourceOf(Sample{}))
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Serve(l); err != nil {
		t.Error(err)
	}
}

func TestServeReportsABrokenListener(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := newServer(sourceOf(Sample{})).Serve(l); err == nil || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("Serve: %v", err)
	}
}

// crowd is a source that counts who asks it at the same time.
type crowd struct{ now, most atomic.Int64 }

func (c *crowd) Sample() Sample {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for old := c.most.Load(); n > old && !c.most.CompareAndSwap(old, n); old = c.most.Load() {
	}
	time.Sleep(10 * time.Millisecond) // of a bubble: all others come meanwhile
	return ordinary(time.Now())
}

// TestManyTabsDoNotTakeAllMemory: bodies of /status may be large, and anybody may ask.
func TestManyTabsDoNotTakeAllMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(crowd)
		s := newServer(c)
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				path := "/status?format=" + []string{"page", "html", "json"}[i%3]
				if w := get(t, s, path); w.Code != http.StatusOK || w.Body.Len() == 0 {
					t.Errorf("%s: %d", path, w.Code)
				}
			})
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		synctest.Wait()
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, "/status", nil)) // does not wait
		all.Wait()
		if most := c.most.Load(); most != maxMade {
			t.Errorf("%d bodies were made at a time, want %d", most, maxMade)
		}
	})
}
