package send

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"layover/cli/clitest"
	"layover/cli/process"
)

func TestSendPrintsAnObjectForEachRecordToMachines(t *testing.T) {
	_, environ := startKafka(t, 1)
	got := clitest.Call{Environ: environ, Args: []string{"-o", "json", "--at", "2031-05-06T09:08:09.5+02:00", "-"}, Stdin: strings.NewReader("a\nb\n"), OnATerminal: true}.Do(t, Command)
	var want []map[string]any
	for offset := range 2 {
		want = append(want, map[string]any{
			"topic": "delayed", "partition": 0.0, "offset": float64(offset), "id": "delayed-0-" + strconv.Itoa(offset), "due": "2031-05-06T07:08:09.500Z",
		})
	}
	if all := clitest.Objects(t, got.Stdout); got.Code != process.ExitOK || !reflect.DeepEqual(all, want) {
		t.Errorf("got %+v, want %v", got, want)
	}
}

func TestSendTellsMachinesTheIDThatARecordHas(t *testing.T) {
	_, environ := startKafka(t, 1)
	got := clitest.Call{Environ: environ, Args: []string{"-o", "json", "--at", "2031-05-06T09:08:09Z", "--id", "größe 1", "v"}}.Do(t, Command)
	want := []map[string]any{{"topic": "delayed", "partition": 0.0, "offset": 0.0, "id": "delayed-0-0", "due": "2031-05-06T09:08:09.000Z", "delay_id": "größe 1"}}
	if all := clitest.Objects(t, got.Stdout); got.Code != process.ExitOK || !reflect.DeepEqual(all, want) {
		t.Errorf("got %+v, want %v", got, want)
	}
}

func TestAddressesMayBeInFiles(t *testing.T) {
	cluster, environ := startKafka(t, 1)
	path := clitest.EnvFile(t, strings.Join(environ, "\n"))
	if got := (clitest.Call{Args: []string{"--delay", "1h", "v", "--env-file", path}}).Do(t, Command); got.Code != process.ExitOK || !strings.HasPrefix(got.Stdout, "delayed-0-0 due ") {
		t.Errorf("send: got %+v", got)
	}
	brokers := clitest.EnvFile(t, cluster.Addr())
	environ = []string{"KAFKA_BROKERS_FILE=" + brokers, "LAYOVER_INGRESS_TOPICS_FILE=/none", "LAYOVER_HTTP_ADDR_FILE=/none"}
	if got := (clitest.Call{Args: []string{"--delay", "1h", "v", "--topic", "delayed"}, Environ: environ}).Do(t, Command); got.Code != process.ExitOK || !strings.HasPrefix(got.Stdout, "delayed-0-1 due ") {
		t.Errorf("a flag stands for its variable's file too: got %+v", got)
	}
}

func TestABadEnvFileIsWrongUsage(t *testing.T) {
	bad := clitest.EnvFile(t, "KAFKA_BROKERS=b:1\nhunter2\n")
	got := clitest.Call{Args: []string{"--env-file", bad, "--delay", "1s", "v"}, Environ: someKafka}.Do(t, Command)
	if got.Code != process.ExitUsage || got.Stdout != "" || !strings.Contains(got.Stderr, bad+":2: there is no =") || strings.Contains(got.Stderr, "hunter2") {
		t.Errorf("got %+v", got)
	}
}

func TestAnotherFormIsWrongUsage(t *testing.T) {
	got := clitest.Call{Args: []string{"--delay", "1s", "v", "-o", "x"}, Environ: someKafka}.Do(t, Command)
	if got.Code != process.ExitUsage || !strings.Contains(got.Stderr, "want text or json") {
		t.Errorf("got %+v", got)
	}
}
