package client

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// objects are the lines of stdout, each one object whose fields are documented.
func objects(t *testing.T, stdout string) []map[string]any {
	t.Helper()
	doc, err := os.ReadFile("../docs/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for line := range strings.Lines(stdout) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for name := range one {
			if !strings.Contains(string(doc), "`"+name+"`") {
				t.Errorf("docs/command-line.md does not name the field %s", name)
			}
		}
		all = append(all, one)
	}
	return all
}

func TestSendPrintsAnObjectForEachRecordToMachines(t *testing.T) {
	_, environ := kafka(t, 1)
	got := call{environ: environ, args: []string{"-o", "json", "--at", "2031-05-06T09:08:09.5+02:00", "-"}, stdin: strings.NewReader("a\nb\n"), onATerminal: true}.do(t, Send)
	var want []map[string]any
	for offset := range 2 {
		want = append(want, map[string]any{
			"topic": "delayed", "partition": 0.0, "offset": float64(offset), "id": "delayed-0-" + strconv.Itoa(offset), "due": "2031-05-06T07:08:09.500Z",
		})
	}
	if all := objects(t, got.stdout); got.code != ExitOK || !reflect.DeepEqual(all, want) {
		t.Errorf("got %+v, want %v", got, want)
	}
}

func TestHealthPrintsWhatBecameOfTheQuestionToMachines(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, "this is <"+r.URL.Path+">")
	}))
	addr := server.Listener.Addr().String()
	environ := []string{"LAYOVER_HTTP_ADDR=" + addr}
	tests := []struct {
		args []string
		code int
		want map[string]any
	}{
		{nil, ExitOK, map[string]any{"ok": true, "url": "http://" + addr + "/livez", "status": 200.0, "answer": "this is </livez>"}},
		{[]string{"--ready"}, ExitRuntime, map[string]any{
			"ok": false, "url": "http://" + addr + "/readyz", "status": 503.0, "answer": "this is </readyz>", "error": "http://" + addr + "/readyz answers 503 Service Unavailable",
		}},
	}
	for _, test := range tests {
		got := call{environ: environ, args: append(test.args, "-o", "json")}.do(t, Health)
		if all := objects(t, got.stdout); got.code != test.code || len(all) != 1 || !reflect.DeepEqual(all[0], test.want) || !strings.Contains(got.stdout, "<") {
			t.Errorf("got %+v, want %v", got, test.want)
		}
	}
	server.Close()
	got := call{environ: environ, args: []string{"-o=json"}}.do(t, Health)
	all := objects(t, got.stdout)
	if got.code != ExitRuntime || len(all) != 1 || all[0]["ok"] != false || all[0]["status"] != nil || !strings.Contains(all[0]["error"].(string), "no answer from ") {
		t.Errorf("nobody there: got %+v", got)
	}
}

func TestOtherFormsAreWrongUsage(t *testing.T) {
	for _, form := range []string{"yaml", "", "JSON"} {
		if got := (call{args: []string{"-o", form}}).do(t, Health); got.code != ExitUsage || !strings.Contains(got.stderr, "want text or json") {
			t.Errorf("%q: got %+v", form, got)
		}
	}
	if got := (call{args: []string{"--delay", "1s", "v", "-o", "x"}, environ: someKafka}).do(t, Send); got.code != ExitUsage || !strings.Contains(got.stderr, "want text or json") {
		t.Errorf("got %+v", got)
	}
}

func envFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAddressesMayBeInFiles(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "here") }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	value := envFile(t, ":"+port+"\n")
	tests := map[string]call{
		"an env file":                 {args: []string{"--env-file", envFile(t, "LAYOVER_HTTP_ADDR=':"+port+"'")}},
		"the last of two":             {args: []string{"--env-file", envFile(t, "LAYOVER_HTTP_ADDR=:1"), "--env-file=" + envFile(t, "LAYOVER_HTTP_ADDR=:"+port)}},
		"the environment over a file": {environ: []string{"LAYOVER_HTTP_ADDR=:" + port}, args: []string{"--env-file", envFile(t, "LAYOVER_HTTP_ADDR=:1")}},
		"a file with the value":       {environ: []string{"LAYOVER_HTTP_ADDR_FILE=" + value}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got := c.do(t, Health); got != (result{ExitOK, "here\n", ""}) {
				t.Errorf("got %+v", got)
			}
		})
	}
	cluster, kafkaEnviron := kafka(t, 1)
	path := envFile(t, strings.Join(kafkaEnviron, "\n"))
	if got := (call{args: []string{"--delay", "1h", "v", "--env-file", path}}).do(t, Send); got.code != ExitOK || !strings.HasPrefix(got.stdout, "delayed-0-0 due ") {
		t.Errorf("send: got %+v", got)
	}
	brokers := envFile(t, cluster.ListenAddrs()[0])
	environ := []string{"KAFKA_BROKERS_FILE=" + brokers, "LAYOVER_INGRESS_TOPICS_FILE=/none", "LAYOVER_HTTP_ADDR_FILE=/none"}
	if got := (call{args: []string{"--delay", "1h", "v", "--topic", "delayed"}, environ: environ}).do(t, Send); got.code != ExitOK || !strings.HasPrefix(got.stdout, "delayed-0-1 due ") {
		t.Errorf("a flag stands for its variable's file too: got %+v", got)
	}
}

func TestABadEnvFileIsWrongUsage(t *testing.T) {
	bad := envFile(t, "KAFKA_BROKERS=b:1\nhunter2\n")
	for _, verb := range []call{{args: []string{"--env-file", bad}}, {args: []string{"--env-file", bad, "--delay", "1s", "v"}, environ: someKafka}} {
		run := Health
		if len(verb.args) > 2 {
			run = Send
		}
		got := verb.do(t, run)
		if got.code != ExitUsage || got.stdout != "" || !strings.Contains(got.stderr, bad+":2: there is no =") || strings.Contains(got.stderr, "hunter2") {
			t.Errorf("got %+v", got)
		}
	}
	if got := (call{args: []string{"--env-file="}}).do(t, Health); got.code != ExitUsage || !strings.Contains(got.stderr, "name of a file") {
		t.Errorf("no name: got %+v", got)
	}
}

func TestEnvFilesBeforeTheVerbComeFirst(t *testing.T) {
	tests := map[string]struct {
		args, rest, files []string
		wrong             bool
	}{
		"none":            {args: []string{"run", "--env-file", "a"}, rest: []string{"run", "--env-file", "a"}},
		"nothing":         {},
		"one":             {args: []string{"--env-file", "a", "run"}, rest: []string{"run"}, files: []string{"a"}},
		"in both forms":   {args: []string{"-env-file=a", "--env-file", "b"}, rest: []string{}, files: []string{"a", "b"}},
		"an equals sign":  {args: []string{"--env-file=a=b", "x"}, rest: []string{"x"}, files: []string{"a=b"}},
		"no name":         {args: []string{"--env-file"}, wrong: true},
		"an empty name":   {args: []string{"--env-file=", "run"}, wrong: true},
		"a flag like it":  {args: []string{"--env-files", "a"}, rest: []string{"--env-files", "a"}},
		"behind the verb": {args: []string{"--env-file", "a", "send", "--env-file", "b"}, rest: []string{"send", "--env-file", "b"}, files: []string{"a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := Process{Args: test.args}
			err := p.TakeEnvFiles()
			if (err != nil) != test.wrong {
				t.Fatal(err)
			}
			if !test.wrong && (!reflect.DeepEqual(p.Args, test.rest) || !reflect.DeepEqual(p.EnvFiles, test.files)) {
				t.Errorf("left %q, files %q", p.Args, p.EnvFiles)
			}
		})
	}
	first, second := envFile(t, "LAYOVER_HTTP_ADDR=:1\n"), envFile(t, "LAYOVER_HTTP_ADDR=:2\n")
	p := Process{EnvFiles: []string{first}, Args: []string{"--env-file", second}}
	if url, _, err := healthURL(&p); err != nil || url != "http://127.0.0.1:2/livez" || p.EnvFrom["LAYOVER_HTTP_ADDR"] != second {
		t.Errorf("got %s, %v, from %q", url, err, p.EnvFrom)
	}
}
