package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/config"
)

var minimal = []string{"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_DLQ_TOPIC=dead-letters"}

func do(t *testing.T, environ []string, args ...string) clitest.Result {
	t.Helper()
	return clitest.Call{Args: args, Environ: environ}.Do(t, Command)
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// environment has a value of every origin, and the files of two of them.
func environment(t *testing.T) (environ []string, group, first, second string) {
	t.Helper()
	group = file(t, "a group\n")
	first = file(t, "KAFKA_BROKERS=b:1\nLAYOVER_LANES=3\nLAYOVER_MAX_DELAY=36h\nOTHER=1\n")
	second = file(t, "LAYOVER_LANES=5\nLAYOVER_EGRESS_TOPIC=no\n")
	return []string{
		"LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_ON_INVALID=halt", "LAYOVER_GROUP_ID_FILE=" + group,
		"LAYOVER_MAX_PARKED_BYTES=100000001", "LAYOVER_GOMEMLIMIT=2048Mi", "LAYOVER_GOMAXPROCS=7",
	}, group, first, second
}

var columns = regexp.MustCompile(`^([A-Z0-9_]+) {2,}(\S.*?) {2,}(\S.*)$`)

func TestEverySettingIsPrintedWithWhereItIsFrom(t *testing.T) {
	environ, group, first, second := environment(t)
	got := do(t, environ, "--env-file", first, "print", "--env-file="+second)
	if got.Code != process.ExitOK || got.Stderr != "" {
		t.Fatalf("got %+v", got)
	}
	rows := make(map[string][2]string)
	var names []string
	for line := range strings.Lines(got.Stdout) {
		m := columns.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("printed %q", line)
		}
		names, rows[m[1]] = append(names, m[1]), [2]string{m[2], m[3]}
	}
	if !reflect.DeepEqual(names, config.Known()) {
		t.Errorf("printed are %q, want %q", names, config.Known())
	}
	for name, want := range map[string][2]string{
		"KAFKA_BROKERS":            {"b:1", "env file " + first},
		"LAYOVER_LANES":            {"5", "env file " + second},
		"LAYOVER_MAX_DELAY":        {"1d12h", "env file " + first},
		"LAYOVER_EGRESS_TOPIC":     {"ready", "environment"},
		"LAYOVER_GROUP_ID":         {"a group", "file " + group},
		"LAYOVER_DLQ_TOPIC":        {"-", "default"},
		"LAYOVER_MAX_PARKED_BYTES": {"100000001 (95.4 MiB)", "environment"},
		"LAYOVER_GOMEMLIMIT":       {"2Gi", "environment"},
		"LAYOVER_GOMAXPROCS":       {"7", "environment"},
		"LAYOVER_JOURNAL":          {"auto", "default"},
	} {
		if rows[name] != want {
			t.Errorf("%s: got %q, want %q", name, rows[name], want)
		}
	}
	if again := do(t, environ, "--env-file", first, "--env-file", second); again != got {
		t.Errorf("print is not the default: %+v", again)
	}
}

func TestWhatDependsOnTheMachineIsShownAsItComesOutHere(t *testing.T) {
	got := do(t, append([]string{"LAYOVER_GOMEMLIMIT=off", "GOMEMLIMIT="}, minimal...))
	for _, want := range []string{`(?m)^LAYOVER_GOMAXPROCS +auto \([1-9]\d* here\) +default$`, `(?m)^LAYOVER_GOMEMLIMIT +off \((none|[\d.]+( MiB)?) here\) +environment$`} {
		if !regexp.MustCompile(want).MatchString(got.Stdout) {
			t.Errorf("no %s in\n%s", want, got.Stdout)
		}
	}
	for number, want := range map[string]string{"none": "none", "7": "7", "1048575": "1048575", "1048576": "1.0 MiB", "1610612736": "1536.0 MiB"} {
		if got := inMiB(number); got != want {
			t.Errorf("%s: got %s, want %s", number, got, want)
		}
	}
}

// settingsOf reads the object of -o json.
func settingsOf(t *testing.T, stdout string) []map[string]any {
	t.Helper()
	var object map[string][]map[string]any
	if err := json.Unmarshal([]byte(stdout), &object); err != nil || len(object) != 1 || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("%q: %v", stdout, err)
	}
	doc, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range object["settings"] {
		for name := range one {
			if !bytes.Contains(doc, []byte("`"+name+"`")) {
				t.Errorf("docs/configuration.md does not name the field %s", name)
			}
		}
	}
	return object["settings"]
}

func TestMachinesGetTheSame(t *testing.T) {
	environ, group, first, second := environment(t)
	got := do(t, environ, "-o", "json", "--env-file", first, "--env-file", second)
	byName := make(map[string]map[string]any)
	for i, one := range settingsOf(t, got.Stdout) {
		if one["name"] != config.Known()[i] {
			t.Errorf("at %d is %v, want %s", i, one["name"], config.Known()[i])
		}
		byName[one["name"].(string)] = one
	}
	for _, want := range []map[string]any{
		{"name": "KAFKA_BROKERS", "value": "b:1", "origin": "env file", "path": first, "secret": false},
		{"name": "LAYOVER_GROUP_ID", "value": "a group", "origin": "file", "path": group, "secret": false},
		{"name": "LAYOVER_EGRESS_TOPIC", "value": "ready", "origin": "environment", "secret": false},
		{"name": "LAYOVER_DLQ_TOPIC", "value": "", "origin": "default", "secret": false},
		{"name": "LAYOVER_GOMEMLIMIT", "value": "2Gi", "effective": "2147483648", "origin": "environment", "secret": false},
		{"name": "LAYOVER_MAX_PARKED_BYTES", "value": "100000001", "effective": "100000001", "origin": "environment", "secret": false},
	} {
		if have := byName[want["name"].(string)]; !reflect.DeepEqual(have, want) {
			t.Errorf("got %v, want %v", have, want)
		}
	}
}

func TestCheckSaysAllThatIsWrongAndNothingElse(t *testing.T) {
	if got := do(t, minimal, "check"); got != (clitest.Result{Code: process.ExitOK}) {
		t.Errorf("valid: got %+v", got)
	}
	got := do(t, append([]string{"LAYOVER_LANE=3"}, minimal...), "check")
	if got.Code != process.ExitOK || got.Stdout != "" || !strings.HasPrefix(got.Stderr, "warning: unknown variable LAYOVER_LANE ") {
		t.Errorf("a warning: got %+v", got)
	}
	for _, args := range [][]string{{"check"}, {"print"}, nil, {"-o", "json"}} {
		got := do(t, []string{"LAYOVER_LANES=x", "LAYOVER_MAX_DELAY=30", "LAYOVER_LANE=3"}, args...)
		if got.Code != process.ExitUsage || got.Stdout != "" {
			t.Fatalf("%q: got %+v", args, got)
		}
		for _, want := range []string{"warning: unknown variable LAYOVER_LANE ", "\nKAFKA_BROKERS: required", "\nLAYOVER_LANES: ", "\nLAYOVER_MAX_DELAY: "} {
			if !strings.Contains(got.Stderr, want) {
				t.Errorf("%q: no %q in %q", args, want, got.Stderr)
			}
		}
	}
}

func TestHelpIsTheWholeTableWhateverIsSet(t *testing.T) {
	got := do(t, []string{"LAYOVER_LANES=x"}, "help", "--env-file", "/none")
	if got.Code != process.ExitOK || got.Stderr != "" || got.Stdout != Table() {
		t.Errorf("got %+v", got)
	}
	objects := settingsOf(t, do(t, nil, "help", "-o", "json").Stdout)
	table := config.Table()
	if len(objects) != len(table) {
		t.Fatalf("%d settings, want %d", len(objects), len(table))
	}
	for i, row := range table {
		want := map[string]any{
			"name": row.Variable, "file": row.Variable + "_FILE", "default": row.Default, "values": row.Values,
			"description": row.Description, "example": row.Example, "secret": row.Secret,
		}
		if !reflect.DeepEqual(objects[i], want) {
			t.Errorf("got %v, want %v", objects[i], want)
		}
		for _, part := range []string{row.Variable + " ", row.Description + "\n", "default: " + row.Default + "; " + row.Values + "\n"} {
			if !strings.Contains(got.Stdout, part) {
				t.Errorf("no %q in the table", part)
			}
		}
	}
}

func TestASecretIsShownByItsLength(t *testing.T) {
	values := []config.Value{{Variable: "A_PASSWORD", Text: "set, 24 bytes", Secret: true, Origin: config.Origin{Kind: config.FromFile, Path: "/run/secrets/a"}}}
	var out bytes.Buffer
	if err := printValues(&out, values, false); err != nil || out.String() != "A_PASSWORD  set, 24 bytes  file /run/secrets/a\n" {
		t.Errorf("got %q, %v", &out, err)
	}
}

func TestSecretsAndBindingsOfAConnectionAreShownWithWhereTheyAreFrom(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"type": "kafka", "bootstrap.servers": "bound:9093", "sasl.mechanism": "SCRAM-SHA-512", "username": "bound-user", "password": "hunter2"} {
		path := filepath.Join(root, "kafka", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	environ := append([]string{"SERVICE_BINDING_ROOT=" + root, "KAFKA_TLS_ENABLED=true", "KAFKA_SASL_OAUTH_CLIENT_SECRET=hunter2 again"}, minimal[1:]...)
	got := do(t, environ)
	if got.Code != process.ExitOK || !strings.HasPrefix(got.Stderr, "warning: without effect with KAFKA_SASL_MECHANISM=SCRAM-SHA-512: KAFKA_SASL_OAUTH_CLIENT_SECRET") {
		t.Fatalf("got %+v", got)
	}
	for _, want := range []string{
		`KAFKA_BROKERS +bound:9093 +binding ` + root + `/kafka/bootstrap.servers`, `KAFKA_SASL_USERNAME +bound-user +binding `,
		`KAFKA_SASL_PASSWORD +set, 7 bytes +binding ` + root + `/kafka/password`, `KAFKA_SASL_OAUTH_CLIENT_SECRET +set, 13 bytes +environment`, `KAFKA_TLS_KEY +- +default`,
	} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(got.Stdout) {
			t.Errorf("no %s in\n%s", want, got.Stdout)
		}
	}
	inJSON := do(t, environ, "-o", "json")
	for _, one := range settingsOf(t, inJSON.Stdout) {
		if one["name"] == "KAFKA_SASL_PASSWORD" && (one["secret"] != true || one["origin"] != "binding" || one["path"] != root+"/kafka/password") {
			t.Errorf("got %v", one)
		}
	}
	for _, args := range [][]string{nil, {"-o", "json"}, {"check"}} {
		if got := do(t, environ, args...); strings.Contains(got.Stdout+got.Stderr, "hunter2") {
			t.Errorf("%q: a secret is in %+v", args, got)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	bad := file(t, "hunter2")
	for line, want := range map[string]string{
		"show":                  `unknown action "show": want check, help or print`,
		"print now":             `unknown command "now"`,
		"check -o json":         "-o json needs --connect",
		"-o yaml":               "want text or json",
		"--all":                 "-all",
		"--env-file " + bad:     bad + ":1: there is no =",
		"--env-file /none/such": "env file /none/such: cannot be read",
	} {
		got := do(t, minimal, strings.Fields(line)...)
		if got.Code != process.ExitUsage || got.Stdout != "" || !strings.Contains(got.Stderr, want) || strings.Contains(got.Stderr, "hunter2") {
			t.Errorf("%s: got %+v, want %q", line, got, want)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWhatCannotBePrintedIsAnError(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"-o", "json"}, {"help", "-o", "json"}} {
		var stderr bytes.Buffer
		code := clitest.Run(t.Context(), &process.Process{Args: args, Environ: minimal, Stdout: brokenPipe{}, Stderr: &stderr}, Command)
		if code != process.ExitRuntime || stderr.String() != "layover config: stdout: broken pipe\n" {
			t.Errorf("%q: code %d, stderr %q", args, code, &stderr)
		}
	}
}
