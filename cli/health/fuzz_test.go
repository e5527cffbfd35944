package health

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"layover/cli/process"
)

// FuzzHealthAsksAnAddressThatCanBeAsked turns addresses to listen on into URLs.
func FuzzHealthAsksAnAddressThatCanBeAsked(f *testing.F) {
	for _, addr := range []string{"", ":9846", "0.0.0.0:1", "[::]:65535", "[::1]:1", "[fe80::1%eth0]:9846", "[::ffff:0.0.0.0]:1", "[::%1]:1", "host:0", ":00", "host:http", "host", "a b:1", "host:+1", "host:0080", "[host]:1", "::1:1"} {
		f.Add(addr, false)
		f.Add(addr, true)
	}
	f.Fuzz(func(t *testing.T, addr string, ready bool) {
		path := "/livez"
		if ready {
			path = "/readyz"
		}
		text, err := probe(&process.Process{Environ: []string{"LAYOVER_HTTP_ADDR=" + addr, "LAYOVER_LANES=none"}}, path)
		if err != nil {
			return
		}
		u, err := url.Parse(text)
		if err != nil {
			t.Fatalf("%q: cannot be asked: %v", addr, err)
		}
		listen := strings.TrimSpace(addr)
		if listen == "" {
			listen = ":9846"
		}
		host, port, err := net.SplitHostPort(listen)
		if n, err2 := strconv.Atoi(u.Port()); err != nil || err2 != nil || n < 1 || n > 65535 || u.Port() != port {
			t.Fatalf("%q: port %q, %v, %v", addr, u.Port(), err, err2)
		}
		if ip := net.ParseIP(host); u.Hostname() != host && (host != "" && !ip.IsUnspecified() || u.Hostname() != "127.0.0.1") {
			t.Fatalf("%q: asks %q", addr, text)
		}
		if u.Path != path || u.RawQuery != "" || u.User != nil {
			t.Fatalf("%q, ready %v: asks %q", addr, ready, text)
		}
	})
}
