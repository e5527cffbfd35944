package client

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"layover/config"
)

const (
	// healthTimeout bounds the whole question. It is below the 5 s after which
	// a container engine gives up on a health check by itself.
	healthTimeout = 3 * time.Second
	// maxHealthBytes bounds what is printed of an answer, in case something
	// else listens there.
	maxHealthBytes = 64 << 10
)

const healthHelp = `Usage: layover health [--live | --ready]

Asks a running Layover at LAYOVER_HTTP_ADDR (default :9846) and prints the
answer. Made for health checks in images without a shell.

  --live    whether its own loops move: /livez (the default)
  --ready   whether it has read its partitions: /readyz

Exit code: 0 if the answer is 200, 1 if it is another or none comes within 3 s,
2 if the command line or LAYOVER_HTTP_ADDR is wrong.
`

// Health is the verb health.
func Health(ctx context.Context, p Process) int {
	url, err := healthURL(p.Args, p.Environ)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return p.Help(healthHelp)
	case err != nil:
		return p.FailUsage(err)
	}
	if err := Ask(ctx, url, p.Stdout); err != nil {
		return p.Fail(err)
	}
	return ExitOK
}

// healthURL is what to ask. Only LAYOVER_HTTP_ADDR is read: a mistake in
// another variable is not a reason to call a running process unhealthy.
func healthURL(args, environ []string) (string, error) {
	flags := NewFlags("health")
	live := flags.Bool("live", false, "")
	ready := flags.Bool("ready", false, "")
	operands, err := ParseFlags(flags, args)
	switch {
	case err != nil:
		return "", err
	case len(operands) > 0:
		return "", fmt.Errorf("unexpected argument %q", operands[0])
	case *live && *ready:
		return "", errors.New("--live and --ready are two questions: ask one")
	}
	c, err := config.LoadClient(only(environ, "LAYOVER_HTTP_ADDR"))
	if err != nil {
		return "", err
	}
	if *ready {
		return ProbeURL(c.HTTPAddr, "/readyz")
	}
	return ProbeURL(c.HTTPAddr, "/livez")
}

// only returns the entries of environ for the variable name.
func only(environ []string, name string) []string {
	var found []string
	for _, pair := range environ {
		if n, _, _ := strings.Cut(pair, "="); strings.EqualFold(n, name) {
			found = append(found, pair)
		}
	}
	return found
}

// ProbeURL is the URL of a probe of a Layover that listens there on this machine:
// every address of the machine means the machine itself.
func ProbeURL(listen, path string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("LAYOVER_HTTP_ADDR: %w", err)
	}
	if strings.Trim(port, "0") == "" {
		return "", fmt.Errorf("LAYOVER_HTTP_ADDR %q: port 0 is any free port, and only the log of the process says which; set it to that port", listen)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	// Not by concatenation: a URL escapes the zone of an IPv6 address.
	probe := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: path}
	return probe.String(), nil
}

// Ask prints the body of what url answers. An error is no answer, or one that
// is not 200. Proxies are not asked: the process is meant, not the network.
func Ask(ctx context.Context, url string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("no answer from %s: %w; is Layover running, and is LAYOVER_HTTP_ADDR the same there?", url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHealthBytes))
	if err != nil {
		return fmt.Errorf("answer of %s: %w", url, err)
	}
	if len(body) > 0 {
		fmt.Fprintln(out, strings.TrimRight(string(body), "\n"))
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
