package health

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"layover/cli/clitest"
	"layover/cli/process"
)

func TestHealthIsTheAnswerOfTheProbe(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, "this is", r.URL.Path)
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args, environ []string
		code          int
		stdout        string
	}{
		"live by default": {nil, nil, process.ExitOK, "this is /livez\n"},
		"live":            {[]string{"--live"}, nil, process.ExitOK, "this is /livez\n"},
		"not live":        {[]string{"--live=false", "--ready"}, nil, process.ExitRuntime, "this is /readyz\n"},
		"ready":           {[]string{"--ready"}, nil, process.ExitRuntime, "this is /readyz\n"},
		"other settings do not matter": {nil,
			[]string{"KAFKA_BROKERS=?", "KAFKA_SASL_PASSWORD=x", "LAYOVER_LANES=none"}, process.ExitOK, "this is /livez\n"},
		"a proxy does not matter": {nil, []string{"HTTP_PROXY=http://127.0.0.1:1"}, process.ExitOK, "this is /livez\n"},
	}
	for name, test := range tests {
		for _, host := range []string{"", "0.0.0.0", "[::]", "127.0.0.1"} {
			t.Run(name+" at "+host, func(t *testing.T) {
				environ := append([]string{"LAYOVER_HTTP_ADDR=" + host + ":" + port}, test.environ...)
				got := clitest.Call{Args: test.args, Environ: environ}.Do(t, Command)
				if got.Code != test.code || got.Stdout != test.stdout {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestAnAnswerThatCannotBePrintedIsAnError, in both forms.
func TestAnAnswerThatCannotBePrintedIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }))
	defer server.Close()
	for _, form := range []string{"text", "json"} {
		var stderr bytes.Buffer
		code := clitest.Run(t.Context(), &process.Process{Args: []string{"--url", server.URL, "-o", form}, Stdout: fullDisk{}, Stderr: &stderr}, Command)
		if code != process.ExitRuntime || !strings.HasPrefix(stderr.String(), "layover health: ") || !strings.HasSuffix(stderr.String(), "no space left on device\n") {
			t.Errorf("-o %s: code %d, stderr %q", form, code, &stderr)
		}
	}
}

// TestOnlyAStrictQuestionTakesADegradedProcessForAnError: a restart mends none of it.
func TestOnlyAStrictQuestionTakesADegradedProcessForAnError(t *testing.T) {
	var answer string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer == "not ready" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, answer)
	}))
	defer server.Close()
	for _, test := range []struct {
		answer        string
		plain, strict int
	}{
		{"ready", process.ExitOK, process.ExitOK},
		{"ready: reading is paused: bytes", process.ExitOK, process.ExitOK},
		{"degraded: dead letters come: 512 since the start", process.ExitOK, process.ExitRuntime},
		{"not ready", process.ExitRuntime, process.ExitRuntime},
	} {
		answer = test.answer
		for _, form := range []string{"text", "json"} {
			environ := []string{"LAYOVER_HTTP_ADDR=" + server.Listener.Addr().String()}
			plain := clitest.Call{Args: []string{"--ready", "-o", form}, Environ: environ}.Do(t, Command)
			strict := clitest.Call{Args: []string{"--ready", "--strict", "-o", form}, Environ: environ}.Do(t, Command)
			if plain.Code != test.plain || strict.Code != test.strict {
				t.Errorf("%q as %s: %d, and strictly %d; want %d and %d", answer, form, plain.Code, strict.Code, test.plain, test.strict)
			}
			switch {
			case form == "text":
				if plain.Stdout != answer+"\n" || strict.Stdout != answer+"\n" {
					t.Errorf("%q: %q and %q", answer, plain.Stdout, strict.Stdout)
				}
			default:
				all := clitest.Objects(t, strict.Stdout)
				if len(all) != 1 || all[0]["ok"] != (test.strict == process.ExitOK) || all[0]["degraded"] != strings.HasPrefix(answer, "degraded") {
					t.Errorf("%q: %s", answer, strict.Stdout)
				}
			}
		}
	}
}

func TestHealthAsksByTLSWhereACertificateIsSet(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "this is", r.URL.Path) }))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	addr := "LAYOVER_HTTP_ADDR=" + server.Listener.Addr().String()
	for setting, code := range map[string]int{
		"LAYOVER_HTTP_TLS_CERT=-----BEGIN CERTIFICATE-----...": process.ExitOK, // a mistake makes no process unhealthy
		"LAYOVER_HTTP_TLS_CERT_FILE=/none":                     process.ExitOK,
		"LAYOVER_HTTP_TLS_CERT= ":                              process.ExitRuntime,
		"LAYOVER_HTTP_TLS_KEY_FILE=/none":                      process.ExitRuntime,
	} {
		got := clitest.Call{Environ: []string{addr, setting}}.Do(t, Command)
		if got.Code != code || (got.Stdout == "this is /livez\n") != (code == process.ExitOK) {
			t.Errorf("%s: got %+v", setting, got)
		}
	}
}

func TestHealthAsksTheLayoverOfAURL(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "this is", r.URL.Path) }))
	defer server.Close()
	secured := httptest.NewTLSServer(server.Config.Handler)
	defer secured.Close()
	for _, test := range []struct {
		args   []string
		stdout string
	}{
		{[]string{"--url", server.URL}, "this is /livez\n"},
		{[]string{"--url", server.URL + "/"}, "this is /livez\n"},
		{[]string{"--ready", "--url=" + server.URL + "/layover"}, "this is /layover/readyz\n"},
		{[]string{"--url", secured.URL, "--ready"}, "this is /readyz\n"},
	} {
		got := clitest.Call{Args: test.args, Environ: []string{"LAYOVER_HTTP_ADDR=nonsense"}}.Do(t, Command)
		if got.Code != process.ExitOK || got.Stdout != test.stdout {
			t.Errorf("%q: got %+v, want %q", test.args, got, test.stdout)
		}
	}
}

func TestHealthOfNothingIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	got := clitest.Call{Environ: []string{"LAYOVER_HTTP_ADDR=" + addr}}.Do(t, Command)
	if got.Code != process.ExitRuntime || got.Stdout != "" || !strings.Contains(got.Stderr, addr+"/livez") {
		t.Errorf("got %+v", got)
	}
}

func TestWrongUsageOfHealth(t *testing.T) {
	tests := map[string]struct{ args, environ []string }{
		"both questions":  {args: []string{"--live", "--ready"}},
		"strictly alive":  {args: []string{"--strict"}},
		"unknown flag":    {args: []string{"--alive"}},
		"an operand":      {args: []string{"now"}},
		"no port":         {environ: []string{"LAYOVER_HTTP_ADDR=localhost"}},
		"any free port":   {environ: []string{"LAYOVER_HTTP_ADDR=:0"}},
		"no URL":          {args: []string{"--url", ""}},
		"a URL of a host": {args: []string{"--url", "layover:9846"}},
		"another scheme":  {args: []string{"--url", "ftp://layover"}},
		"a URL and more":  {args: []string{"--url", "http://layover?x=y"}},
		"a login":         {args: []string{"--url", "http://me:hunter2@layover"}},
		"no URL at all":   {args: []string{"--url", "http://me:hunter2@lay over"}},
		"port of letters": {environ: []string{"LAYOVER_HTTP_ADDR=:http"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := clitest.Call{Args: test.args, Environ: test.environ}.Do(t, Command)
			if got.Code != process.ExitUsage || got.Stdout != "" || got.Stderr == "" || strings.Contains(got.Stderr, "hunter2") {
				t.Errorf("got %+v", got)
			}
		})
	}
}
