package monitoring

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"layover/admin"
	"layover/cli"
	"layover/cli/process"
	"layover/config"
	"layover/daemon"
	"layover/verify/kafkatest"
	"layover/verify/long"
)

// operating is the document with a section for each alert.
const operating = "docs/operating.md"

var (
	// metricName is how a metric of Layover looks in running text.
	metricName  = regexp.MustCompile(`layover_[a-z][a-z0-9_]*[a-z]`)
	alertHeader = regexp.MustCompile(`(?m)^### (Layover\w+)$`)
	// curlLine is the one form in which the document asks a running Layover.
	curlLine = regexp.MustCompile(`^curl -s localhost:9846(/[a-z]+)(?: \| (jq|grep) (\S+))?$`)
	// controlLine is the form in which it asks the port for operators.
	controlLine = regexp.MustCompile(`^curl -s( -X POST)?( -o [a-z.]+)? localhost:9847(/[a-z/-]+)(\?[a-z]+=\w+)?$`)
	innerRef    = regexp.MustCompile(`\]\(#([a-z0-9-]+)\)`)
	header      = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

func TestEachAlertHasASectionAndEachSectionAnAlert(t *testing.T) {
	doc := read(t, "../../"+operating)
	sections := make(map[string]string)
	at := alertHeader.FindAllStringSubmatchIndex(doc, -1)
	for i, m := range at {
		end := len(doc)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		sections[doc[m[2]:m[3]]] = doc[m[1]:end]
	}
	pages, _, _ := strings.Cut(doc, "\n## Alerts that are tickets\n")
	for _, a := range alerts(t) {
		section, ok := sections[a.name]
		if !ok {
			t.Errorf("%s has no section for %s", operating, a.name)
			continue
		}
		delete(sections, a.name)
		for _, part := range []string{"**Means:**", "**Why", "**Do not**", "\n    "} {
			if !strings.Contains(section, part) {
				t.Errorf("the section %s has no %q", a.name, part)
			}
		}
		if isPage := strings.Contains(pages, "### "+a.name+"\n"); isPage != strings.Contains(a.text, "severity: page") {
			t.Errorf("%s is among pages in the document: %v", a.name, isPage)
		}
	}
	for name := range sections {
		t.Errorf("%s has a section for %s, which is no alert", operating, name)
	}
}

func TestLinksInsideTheDocumentLeadSomewhere(t *testing.T) {
	doc := read(t, "../../"+operating)
	there := anchors(doc)
	links := innerRef.FindAllStringSubmatch(doc, -1)
	if len(links) == 0 {
		t.Error("no links")
	}
	for _, m := range links {
		if there[m[1]] == "" {
			t.Errorf("%s links to #%s, which is not there", operating, m[1])
		}
	}
}

// anchors are those that are made of the headings of a document, each with its heading. They
// are in small letters, with a dash for each space, and have nothing but letters, digits,
// dashes and underlines. The second heading of the same words gets -1 and so on.
func anchors(doc string) map[string]string {
	out := make(map[string]string)
	for _, m := range header.FindAllStringSubmatch(doc, -1) {
		anchor := strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		unique := anchor
		for n := 1; out[unique] != ""; n++ {
			unique = fmt.Sprintf("%s-%d", anchor, n)
		}
		out[unique] = m[1]
	}
	return out
}

var noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// commands are the lines of the document that are to be typed.
func commands(doc string) []string {
	var out []string
	for line := range strings.Lines(doc) {
		if line, is := strings.CutPrefix(line, "    "); is {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// TestTheCommandsOfTheDocumentWork runs all that ask Layover or its brokers, as they
// stand, but for addresses. Those for Kafka's own tools and for Kubernetes need both,
// and are run among the integration tests.
func TestTheCommandsOfTheDocumentWork(t *testing.T) {
	long.InChecks(t)
	o := startReal(t)
	ran := 0
	for _, line := range commands(read(t, "../../"+operating)) {
		word, _, _ := strings.Cut(line, " ")
		switch word {
		case "curl":
			if strings.Contains(line, ":9847") {
				o.control(line)
			} else {
				o.curl(line)
			}
		case "layover":
			o.verb(line)
		case "kcat":
			o.kcat(line)
		case "promtool":
			args := strings.Fields(strings.ReplaceAll(line, "deploy/monitoring/", ""))[1:]
			t.Run(line, func(t *testing.T) {
				if out, err := promtool(t, args...); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		case "date":
			if out, err := exec.Command(word, strings.Fields(line)[1:]...).CombinedOutput(); err != nil || len(out) == 0 {
				t.Errorf("%s: %v %s", line, err, out)
			}
		case "kubectl", "sed": // sed has a test of its own
			continue
		default:
			if !strings.HasPrefix(line, word+" --bootstrap-server kafka:9092 ") && line != word+" --bootstrap-server kafka:9092" || !strings.HasSuffix(word, ".sh") {
				t.Errorf("a command that nothing is known of: %s", line)
			}
			continue
		}
		ran++
	}
	if ran < 30 {
		t.Errorf("only %d commands were run", ran)
	}
}

// real is a Layover and a broker on ports of this machine, as commands need them.
type real struct {
	*testing.T
	http, broker string
	operators    string // LAYOVER_ADMIN_ADDR, with its port
	environ      []string
}

func startReal(t *testing.T) *real {
	t.Helper()
	k := kafkatest.Start(t, 1, kfake.SeedTopics(2, "delayed"), kfake.SeedTopics(2, "ready"), kfake.SeedTopics(1, "dead-letters"))
	o := &real{T: t, broker: k.Addr()}
	o.environ = []string{
		"KAFKA_BROKERS=" + o.broker, "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready",
		"LAYOVER_DLQ_TOPIC=dead-letters", "LAYOVER_ADMIN_ADDR=127.0.0.1:0", "LAYOVER_HTTP_ADDR=127.0.0.1:0",
	}
	o.verb("layover send --delay 1h hello")
	o.verb("layover send --delay 1h --to nowhere hello")
	cfg, _, err := config.Load(o.environ)
	if err != nil {
		t.Fatal(err)
	}
	serves := make(chan string, 1)
	d, err := daemon.New(cfg, daemon.Options{
		Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar), Ready: func(addr string) { serves <- addr },
		ListenControl: func(addr string) (net.Listener, error) {
			l, err := admin.ListenControl(addr)
			if err == nil {
				o.operators = l.Addr().String()
			}
			return l, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }() // ended by cancel
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stopping: %v", err)
		}
	})
	o.http = <-serves
	o.environ[len(o.environ)-1] = "LAYOVER_HTTP_ADDR=" + o.http
	// With something parked, as otherwise nothing can be deleted too early, and with a
	// dead letter.
	o.await("layover_ready 1", "layover_ingress_retention_headroom_seconds{",
		`layover_dead_lettered_records_total{reason="target_not_allowed",topic="delayed"} 1`)
	return o
}

// await asks until there are the series that say that all is up, as whoever waits for
// a Layover has to.
func (o *real) await(metrics ...string) {
	o.Helper()
	ctx, cancel := context.WithTimeout(o.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, body := o.get("/metrics")
		if !slices.ContainsFunc(metrics, func(m string) bool { return !strings.Contains(body, "\n"+m) }) {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			o.Fatalf("not all of %v after a minute:\n%s", metrics, body)
		}
	}
}

// curl does what the line does. jq's paths are walked here, so that a path that no
// status has is an error; jq would say null.
func (o *real) curl(line string) {
	o.Helper()
	m := curlLine.FindStringSubmatch(line)
	if m == nil {
		o.Errorf("not of the form that is tested, %v: %s", curlLine, line)
		return
	}
	code, body := o.get(m[1])
	if code != http.StatusOK {
		o.Errorf("%s: %d, %s", line, code, body)
	}
	switch m[2] {
	case "jq":
		if err := walk(body, m[3]); err != nil {
			o.Errorf("%s: %v", line, err)
		}
	case "grep":
		if !regexp.MustCompile(`(?m)^` + m[3]).MatchString(body) {
			o.Errorf("%s: finds nothing", line)
		}
	}
}

// control does what the line does; a profile of half a minute takes one second here.
func (o *real) control(line string) {
	o.Helper()
	m := controlLine.FindStringSubmatch(line)
	if m == nil {
		o.Errorf("not of the form that is tested, %v: %s", controlLine, line)
		return
	}
	method := http.MethodGet
	if m[1] != "" {
		method = http.MethodPost
	}
	if code, body := o.ask(method, "http://"+o.operators+m[3]+strings.Replace(m[4], "seconds=30", "seconds=1", 1)); code != http.StatusOK || body == "" {
		o.Errorf("%s: %d, %s", line, code, body)
	}
}

func (o *real) get(path string) (int, string) {
	o.Helper()
	return o.ask(http.MethodGet, "http://"+o.http+path)
}

func (o *real) ask(method, url string) (int, string) {
	o.Helper()
	req, err := http.NewRequestWithContext(o.Context(), method, url, nil)
	if err != nil {
		o.Fatal(err)
	}
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // nothing of it is left at the end
	resp, err := web.Do(req)
	if err != nil {
		o.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		o.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// walk follows a path of jq that has names only.
func walk(body, path string) error {
	var at any
	if err := json.Unmarshal([]byte(body), &at); err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
		object, ok := at.(map[string]any)
		if ok {
			at, ok = object[name]
		}
		if !ok {
			return fmt.Errorf("there is no %q of %s", name, path)
		}
	}
	return nil
}

// verb runs a verb of Layover. One that refuses while the group has members says so:
// that is no mistake on the command line.
func (o *real) verb(line string) {
	o.Helper()
	words := strings.Fields(line)[1:]
	if !slices.Contains([]string{"health", "journal", "runs", "skip", "send", "cancel"}, words[0]) {
		o.Errorf("not a verb that is tested: %s", line)
		return
	}
	var stdout, stderr bytes.Buffer
	code := cli.Run(o.Context(), &process.Process{Args: words, Environ: o.environ, Stdout: &stdout, Stderr: &stderr})
	refused := slices.Contains(words, "recover") && strings.Contains(stderr.String(), "member")
	if code != process.ExitOK && !refused || stdout.Len()+stderr.Len() == 0 {
		o.Errorf("%s: code %d, %s%s", line, code, &stdout, &stderr)
	}
}

func (o *real) kcat(line string) {
	o.Run(line, func(t *testing.T) {
		path, err := exec.LookPath("kcat")
		if err != nil {
			t.Skip("skipped: kcat is not installed; Debian has it in the package of that name")
		}
		_, rest, _ := strings.Cut(strings.ReplaceAll(line, "kafka:9092", o.broker), " ")
		out, err := exec.CommandContext(t.Context(), "sh", "-c", path+" "+rest).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "layover.errors.message=") {
			t.Errorf("want a dead letter with its message, got %v\n%s", err, out)
		}
	})
}
