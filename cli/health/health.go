// Package health is the verb health, which asks a running Layover how it is:
//
//	$ layover health --ready
//	ok
package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"layover/cli/process"
	"layover/config"
)

const (
	// timeout bounds the whole question. It is below the 5 s after which
	// a container engine gives up on a health check by itself.
	timeout = 3 * time.Second
	// maxAnswerBytes bounds the printed part of an answer, in case something
	// else listens there.
	maxAnswerBytes = 64 << 10
)

// Command returns the verb health.
func Command(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "ask a running Layover how it is",
		Long: `Asks a running Layover at LAYOVER_HTTP_ADDR (default :9846) and prints the
answer. Made for health checks in images without a shell. Only that setting is
read: a mistake in another one makes no running process unhealthy. Where
LAYOVER_HTTP_TLS_CERT is set it asks by TLS, and takes any certificate.

With --ready the answer begins with "degraded:" while something is sick, or
while records are late or go to the dead-letter topic. That is 0 all the same,
for a restart mends none of it; with --strict it is 1, for checks that nobody
answers with a restart.

With --url it asks a Layover elsewhere and reads no setting.

Exit code: 0 if the answer is 200, 1 if it is another or none comes within 3 s,
2 if the command line or LAYOVER_HTTP_ADDR is wrong.`,
		Args: cobra.NoArgs,
	}
	live := cmd.Flags().Bool("live", false, "ask whether its own loops move: /livez (the default)")
	ready := cmd.Flags().Bool("ready", false, "ask whether it has read its partitions: /readyz")
	strict := cmd.Flags().Bool("strict", false, "with --ready: degraded is an error, too")
	base := cmd.Flags().String("url", "", "ask the Layover at `URL`, such as http://layover:9846")
	p.AddEnvFile(cmd)
	output := process.AddOutput(cmd, "ok, url, status, degraded, answer, error")
	cmd.Run = p.Does("health", func(ctx context.Context, _ []string) int {
		if *live && *ready {
			return p.FailUsage(errors.New("--live and --ready are two questions: ask one"))
		}
		if *strict && !*ready {
			return p.FailUsage(errors.New("--strict is about --ready: give both"))
		}
		path := "/livez"
		if *ready {
			path = "/readyz"
		}
		url, err := probeAt(*base, path)
		if !cmd.Flags().Changed("url") {
			url, err = probe(p, path)
		}
		if err != nil {
			return p.FailUsage(err)
		}
		if output.JSON() {
			err = askInJSON(ctx, url, *strict, p.Stdout)
		} else {
			err = askFor(ctx, url, *strict, p.Stdout)
		}
		if err != nil {
			return p.Fail(err)
		}
		return process.ExitOK
	})
	return cmd
}

// probe returns the URL to ask. Only LAYOVER_HTTP_ADDR is read, and whether there is a
// certificate: a mistake in another variable is not a reason to call a running process
// unhealthy.
func probe(p *process.Process, path string) (string, error) {
	if err := p.ReadEnvFiles(); err != nil {
		return "", err
	}
	c, _, err := config.LoadClient(only(p.Environ, "LAYOVER_HTTP_ADDR", "LAYOVER_HTTP_ADDR_FILE"))
	if err != nil {
		return "", err
	}
	// A certificate that cannot be read is no reason either: the process goes on with the
	// one from before.
	tls := slices.ContainsFunc(only(p.Environ, "LAYOVER_HTTP_TLS_CERT", "LAYOVER_HTTP_TLS_CERT_FILE"), func(pair string) bool {
		_, value, _ := strings.Cut(pair, "=")
		return strings.TrimSpace(value) != ""
	})
	return ProbeURL(c.HTTPAddr, path, tls)
}

// probeAt is the URL of a probe of the Layover at base, which may be behind a path. A
// login is refused, for the URL is printed.
func probeAt(base, path string) (string, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return "", errors.New("--url: not a URL; example: --url http://layover:9846")
	case u.User != nil:
		return "", errors.New("--url: has a login, and Layover asks for none")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("--url %q: want http or https, a host, and nothing behind the path; example: --url http://layover:9846", base)
	}
	return u.JoinPath(path).String(), nil
}

// only returns the entries of environ for the variables of those names.
func only(environ []string, names ...string) []string {
	var found []string
	for _, pair := range environ {
		n, _, _ := strings.Cut(pair, "=")
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(n, name) }) {
			found = append(found, pair)
		}
	}
	return found
}

// ProbeURL is the URL of a probe of the Layover on this machine that listens on
// that address. For one that listens on every address it is 127.0.0.1's. The error names
// an address that no URL can have.
func ProbeURL(listen, path string, tls bool) (string, error) {
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
	if tls {
		probe.Scheme = "https"
	}
	text := probe.String()
	if _, err := url.Parse(text); err != nil {
		return "", fmt.Errorf("LAYOVER_HTTP_ADDR %q: no URL can have that host; want one such as [fe80::1%%eth0]:9846", listen)
	}
	return text, nil
}

// answerFacts is an answer as -o json prints it. The names are documented.
type answerFacts struct {
	OK     bool   `json:"ok"`
	URL    string `json:"url"`
	Status int    `json:"status,omitempty"` // of HTTP, absent without an answer
	// Degraded: something is sick, or records are late, dead or lost.
	Degraded bool   `json:"degraded"`
	Answer   string `json:"answer"`
	Error    string `json:"error,omitempty"`
}

// errDegraded is the error of a strict question.
var errDegraded = errors.New("it is degraded, which --strict takes for an error")

// degraded reports whether an answer of /readyz says that something is sick, late, dead or lost.
func degraded(answer string) bool { return strings.HasPrefix(answer, "degraded:") }

// judge returns the error of an answer that is 200; with strict that it is degraded.
func judge(answer string, strict bool, err error) error {
	if err == nil && strict && degraded(answer) {
		return errDegraded
	}
	return err
}

// askInJSON prints the answer, or the error, and returns the error as askFor does.
func askInJSON(ctx context.Context, url string, strict bool, out io.Writer) error {
	facts := answerFacts{URL: url}
	var err error
	facts.Status, facts.Answer, err = ask(ctx, url)
	if err = judge(facts.Answer, strict, err); err != nil {
		facts.Error = err.Error()
	}
	facts.Degraded = degraded(facts.Answer)
	facts.OK = err == nil
	return errors.Join(err, process.WriteJSON(out, facts))
}

// Ask prints the body of url's answer. An error is no answer, or one other than
// 200. Proxies are not asked: the process is meant, not the network.
func Ask(ctx context.Context, url string, out io.Writer) error { return askFor(ctx, url, false, out) }

// askFor is Ask; with strict an answer that is degraded is an error as well.
func askFor(ctx context.Context, url string, strict bool, out io.Writer) error {
	_, answer, err := ask(ctx, url)
	if answer != "" {
		fmt.Fprintln(out, answer)
	}
	return judge(answer, strict, err)
}

// ask returns the status and the body of url's answer, without line ends behind
// it.
func ask(ctx context.Context, url string) (status int, answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	// As the kubelet's probes do: nothing secret is asked or sent, and the certificate is
	// for the names that others use. Nor is it compared with the file, which may be newer
	// than the one in force, or bad.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, "", fmt.Errorf("no answer from %s: %w; is Layover running, and is that its LAYOVER_HTTP_ADDR?", url, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return resp.StatusCode, "", fmt.Errorf("answer of %s: %w", url, err)
	}
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return resp.StatusCode, strings.TrimRight(string(body), "\n"), err
}
