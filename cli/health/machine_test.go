package health

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"layover/cli/clitest"
	"layover/cli/process"
)

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
		{nil, process.ExitOK, map[string]any{"ok": true, "url": "http://" + addr + "/livez", "status": 200.0, "degraded": false, "answer": "this is </livez>"}},
		{[]string{"--ready"}, process.ExitRuntime, map[string]any{
			"ok": false, "url": "http://" + addr + "/readyz", "status": 503.0, "degraded": false, "answer": "this is </readyz>", "error": "http://" + addr + "/readyz answers 503 Service Unavailable",
		}},
	}
	for _, test := range tests {
		got := clitest.Call{Environ: environ, Args: append(test.args, "-o", "json")}.Do(t, Command)
		if all := clitest.Objects(t, got.Stdout); got.Code != test.code || len(all) != 1 || !reflect.DeepEqual(all[0], test.want) || !strings.Contains(got.Stdout, "<") {
			t.Errorf("got %+v, want %v", got, test.want)
		}
	}
	server.Close()
	got := clitest.Call{Environ: environ, Args: []string{"-o=json"}}.Do(t, Command)
	all := clitest.Objects(t, got.Stdout)
	if got.Code != process.ExitRuntime || len(all) != 1 || all[0]["ok"] != false || all[0]["status"] != nil || !strings.Contains(all[0]["error"].(string), "no answer from ") {
		t.Errorf("nobody there: got %+v", got)
	}
}

func TestOtherFormsAreWrongUsage(t *testing.T) {
	for _, form := range []string{"yaml", "", "JSON"} {
		if got := (clitest.Call{Args: []string{"-o", form}}).Do(t, Command); got.Code != process.ExitUsage || !strings.Contains(got.Stderr, "want text or json") {
			t.Errorf("%q: got %+v", form, got)
		}
	}
}

func TestAddressesMayBeInFiles(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "here") }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	value := clitest.EnvFile(t, ":"+port+"\n")
	tests := map[string]clitest.Call{
		"an env file":                 {Args: []string{"--env-file", clitest.EnvFile(t, "LAYOVER_HTTP_ADDR=':"+port+"'")}},
		"the last of two":             {Args: []string{"--env-file", clitest.EnvFile(t, "LAYOVER_HTTP_ADDR=:1"), "--env-file=" + clitest.EnvFile(t, "LAYOVER_HTTP_ADDR=:"+port)}},
		"the environment over a file": {Environ: []string{"LAYOVER_HTTP_ADDR=:" + port}, Args: []string{"--env-file", clitest.EnvFile(t, "LAYOVER_HTTP_ADDR=:1")}},
		"a file with the value":       {Environ: []string{"LAYOVER_HTTP_ADDR_FILE=" + value}},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if got := c.Do(t, Command); got != (clitest.Result{Code: process.ExitOK, Stdout: "here\n"}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestABadEnvFileIsWrongUsage(t *testing.T) {
	bad := clitest.EnvFile(t, "KAFKA_BROKERS=b:1\nhunter2\n")
	got := clitest.Call{Args: []string{"--env-file", bad}}.Do(t, Command)
	if got.Code != process.ExitUsage || got.Stdout != "" || !strings.Contains(got.Stderr, bad+":2: there is no =") || strings.Contains(got.Stderr, "hunter2") {
		t.Errorf("got %+v", got)
	}
	if got := (clitest.Call{Args: []string{"--env-file="}}).Do(t, Command); got.Code != process.ExitUsage || !strings.Contains(got.Stderr, "name of a file") {
		t.Errorf("no name: got %+v", got)
	}
}
