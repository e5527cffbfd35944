package admin

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// both calls f in a bubble for each of the two servers.
func both(t *testing.T, f func(t *testing.T, client *http.Client)) {
	t.Helper()
	for name, make := range map[string]func(l *logged) *endpoint{
		"for all":       func(*logged) *endpoint { return newServer(sourceOf(busy(time.Now()))).endpoint },
		"for operators": func(l *logged) *endpoint { return NewControl(&l.level, nil, l.log).endpoint },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, stop := serveInBubble(t, make(newLogged()))
				defer stop()
				f(t, client)
			})
		})
	}
}

// dialed is a connection to the server in the bubble.
func dialed(t *testing.T, client *http.Client) net.Conn {
	t.Helper()
	c, err := client.Transport.(*http.Transport).DialContext(t.Context(), "tcp", "localhost:9847")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAClientThatSendsItsHeadersSlowlyIsCutOff(t *testing.T) {
	both(t, func(t *testing.T, client *http.Client) {
		began := time.Now()
		c := dialed(t, client)
		var writer sync.WaitGroup
		writer.Go(func() { // ends with the connection
			_, err := io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: localhost\r\n")
			for n := 0; err == nil; n++ {
				time.Sleep(100 * time.Millisecond)
				_, err = fmt.Fprintf(c, "X-%d: x\r\n", n)
			}
		})
		_, err := io.Copy(io.Discard, c)
		if took := time.Since(began); took != readHeaderTimeout {
			t.Errorf("cut off after %v, want %v (%v)", took, readHeaderTimeout, err)
		}
		c.Close()
		writer.Wait()
	})
}

func TestAConnectionWithoutARequestIsCutOff(t *testing.T) {
	both(t, func(t *testing.T, client *http.Client) {
		began := time.Now()
		c := dialed(t, client)
		defer c.Close()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		io.Copy(io.Discard, c)
		if took := time.Since(began); took != idleTimeout {
			t.Errorf("cut off after %v, want %v", took, idleTimeout)
		}
	})
}

func TestHugeHeadersAreRefused(t *testing.T) {
	both(t, func(t *testing.T, client *http.Client) {
		for size, want := range map[int]int{maxHeaderBytes / 2: http.StatusOK, 2 * maxHeaderBytes: http.StatusRequestHeaderFieldsTooLarge, 64 * maxHeaderBytes: http.StatusRequestHeaderFieldsTooLarge} {
			c := dialed(t, client)
			var writer sync.WaitGroup
			writer.Go(func() { // ends with the connection
				fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: %s\r\n\r\n", strings.Repeat("x", size))
			})
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != want {
				t.Errorf("%d bytes: %v, %v, want %d", size, resp, err, want)
			}
			c.Close()
			writer.Wait()
		}
	})
}

func TestAFailedHandshakeIsNoWarning(t *testing.T) {
	l := newLogged()
	complaints := errorLog(l.log)
	complaints.Print("http: TLS handshake error from 192.0.2.1:1: EOF")
	if lines := l.take(); lines != "" {
		t.Errorf("log %q", lines)
	}
	complaints.Print("http: panic serving 192.0.2.1:1: x\ny")
	if lines := l.take(); !strings.Contains(lines, "level=WARN") || strings.Count(lines, "\n") != 1 {
		t.Errorf("log %q", lines)
	}
}

// serveInBubble serves on the virtual network at localhost:9847.
func serveInBubble(t *testing.T, e *endpoint) (client *http.Client, stop func()) {
	t.Helper()
	network := &kfake.VirtualNetwork{}
	l, err := network.Listen("tcp", "localhost:9847")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- e.Serve(l) }() // ends with stop
	client = &http.Client{Transport: &http.Transport{DialContext: network.DialContext, DisableKeepAlives: true}}
	return client, func() {
		if err := e.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}
