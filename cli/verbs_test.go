package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/config"
	"layover/daemon"
)

// do runs a command line and returns its exit code and output.
func do(environ []string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = Run(context.Background(), &process.Process{Args: args, Environ: environ, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err})
	return code, out.String(), err.String()
}

// commands are all that there are, those with a verb and an action too.
func commands() []*cobra.Command {
	p := new(process.Process)
	top := root(p)
	all := []*cobra.Command{top}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Commands()...)
	}
	return all
}

// words are the arguments that name a command.
func words(cmd *cobra.Command) []string { return strings.Fields(cmd.CommandPath())[1:] }

func TestEveryCommandIsExplainedWithinATerminal(t *testing.T) {
	for _, cmd := range commands() {
		code, stdout, stderr := do(nil, append([]string{"help"}, words(cmd)...)...)
		if code != process.ExitOK || stderr != "" || cmd.Short == "" || !strings.Contains(stdout, "Usage:\n  "+cmd.CommandPath()) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", cmd.CommandPath(), code, stdout, stderr)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || !strings.Contains(stdout, "--"+f.Name) {
				t.Errorf("%s: --%s is not explained", cmd.CommandPath(), f.Name)
			}
		})
		text, _, _ := strings.Cut(stdout, "Settings are environment variables;") // each in a line as long as it is
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; n > 80 && !strings.HasPrefix(cmd.CommandPath(), "layover completion") {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	}
}

// candidates are the words that a shell is offered behind others.
func candidates(t *testing.T, words ...string) []string {
	t.Helper()
	code, stdout, _ := do(nil, append([]string{"__complete"}, words...)...)
	lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
	if last := lines[len(lines)-1]; code != process.ExitOK || !strings.HasPrefix(last, ":") {
		t.Fatalf("%q: code %d, %q", words, code, stdout)
	}
	var all []string
	for _, line := range lines {
		word, _, _ := strings.Cut(line, "\t")
		all = append(all, word)
	}
	return all
}

// The last one tells the shell whether to offer more: 4 is nothing, 0 files, 16 folders.
func TestShellsAreOfferedWhatThereIs(t *testing.T) {
	for line, want := range map[string]string{
		"":                         "cancel completion config dev dlq doctor health help journal run runs send skip topics version :4",
		"--env-file x ":            "cancel completion config dev dlq doctor health help journal run runs send skip topics version :4",
		"--env-file ":              ":0",
		"jour":                     "journal :4",
		"help jo":                  "journal :4",
		"journal ":                 "recover reset show :4",
		"journal --topic t ":       "recover reset show :4",
		"journal show ":            ":4",
		"journal show --r":         "--runs :4",
		"runs ":                    "show :4",
		"runs --topic t ":          "show :4",
		"runs show --":             "--env-file --partition --topic --exact --help --output :4",
		"runs show -o ":            "text json :4",
		"journal show --topic ":    ":4",
		"journal reset --e":        "--env-file --execute :4",
		"config ":                  "check help print :4",
		"config check --c":         "--connect :4",
		"doctor -o ":               "text json :4",
		"completion ":              "bash fish powershell zsh :4",
		"version -o ":              "text json :4",
		"send v --delay 5s -o j":   "text json :4", // the shell chooses
		"send --delay 5s ":         ":4",
		"cancel a --p":             "--partition :4",
		"cancel ":                  ":4",
		"dlq ":                     "list redrive show :4",
		"dlq --from t ":            "list redrive show :4",
		"dlq redrive --re":         "--reason :4",
		"dlq show ":                ":4",
		"dev --data-dir ":          ":16",
		"health --env-file ":       ":0",
		"skip --":                  "--drop --env-file --execute --help --output :4",
		"health --live --":         "--env-file --help --output --ready --strict --url :4",
		"send --header a=b --head": "--header :4",
	} {
		words := strings.Split(line, " ")
		if got := strings.Join(candidates(t, words...), " "); got != want {
			t.Errorf("%q: offered is %q, want %q", line, got, want)
		}
	}
}

func TestTheScriptsAreScripts(t *testing.T) {
	for shell, args := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		t.Run(shell, func(t *testing.T) {
			code, script, stderr := do(nil, "completion", shell)
			if code != process.ExitOK || stderr != "" {
				t.Fatalf("code %d, stderr %q", code, stderr)
			}
			path := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s is not installed", shell)
			}
			if out, err := exec.Command(program, append(args, path)...).CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("the script is not one of %s: %v, %s", shell, err, out)
			}
		})
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestVersionForMachines(t *testing.T) {
	code, stdout, _ := do(nil, "version", "-o", "json")
	var got map[string]string
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != process.ExitOK {
		t.Fatalf("%q: %v", stdout, err)
	}
	doc := read(t, "../docs/command-line.md")
	for _, field := range []string{"version", "revision", "go", "os", "arch"} {
		if got[field] == "" || !strings.Contains(doc, "`"+field+"`") {
			t.Errorf("%s is %q", field, got[field])
		}
	}
	if got["os"] != runtime.GOOS || got["go"] != runtime.Version() || len(got) != 5 {
		t.Errorf("got %v", got)
	}
}

func TestEnvFilesStandBeforeAndBehindTheVerb(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(path, []byte("KAFKA_BROKERS=b:1\nLAYOVER_LANES=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, v := range commands()[1:] {
		if v.HasSubCommands() {
			continue
		}
		before := append([]string{"--env-file", path}, words(v)...)
		if v.Flag("env-file") == nil {
			if code, stdout, stderr := do(nil, before...); code != process.ExitUsage || stdout != "" || !strings.Contains(stderr, "unknown flag: --env-file") {
				t.Errorf("%s: code %d, stdout %q, stderr %q", v.CommandPath(), code, stdout, stderr)
			}
			continue
		}
		if slices.Contains([]string{"health", "send", "cancel", "dev", "help", "show", "recover", "reset", "list", "redrive"}, v.Name()) {
			continue // these read their few settings, and have tests for it
		}
		var extra []string
		if v.Name() == "skip" {
			extra = []string{"delayed/0@1"}
		}
		for _, args := range [][]string{append(before, extra...), append(append(words(v), "--env-file="+path), extra...)} {
			code, _, stderr := do(nil, args...)
			if code != process.ExitUsage || !strings.Contains(stderr, "LAYOVER_LANES: ") || strings.Contains(stderr, "KAFKA_BROKERS: ") {
				t.Errorf("%q: code %d, stderr %q", args, code, stderr)
			}
		}
	}
	if code, _, stderr := do(nil, "--env-file", path); code != process.ExitUsage || !strings.Contains(stderr, "LAYOVER_LANES: ") {
		t.Errorf("without a verb: code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := do(nil, "--env-file"); code != process.ExitUsage || stderr != "layover: flag needs an argument: --env-file\nSee 'layover help'.\n" {
		t.Errorf("without a file: code %d, stderr %q", code, stderr)
	}
}

// The daemon tunes the Go runtime as config shows. That changes the process, so that it
// is put back.
func TestTheGoRuntimeIsTunedAsConfigShows(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	t.Setenv("GOMEMLIMIT", "")
	cores, limit := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1)
	defer func() { runtime.GOMAXPROCS(cores); debug.SetMemoryLimit(limit) }()
	for _, mode := range []string{"auto", "off", "set"} {
		t.Run(mode, func(t *testing.T) {
			runtime.GOMAXPROCS(cores)
			debug.SetMemoryLimit(limit)
			environ := []string{"KAFKA_BROKERS=b:1", "LAYOVER_INGRESS_TOPICS=a", "LAYOVER_EGRESS_TOPIC=b", "LAYOVER_ON_INVALID=halt",
				"LAYOVER_GOMAXPROCS=" + mode, "LAYOVER_GOMEMLIMIT=" + mode}
			if mode == "set" {
				environ = append(environ, "LAYOVER_GOMAXPROCS=5", "LAYOVER_GOMEMLIMIT=3Gi")
			}
			cfg, _, err := config.Load(environ)
			if err != nil {
				t.Fatal(err)
			}
			values, _, err := config.Effective(environ, nil)
			if err != nil {
				t.Fatal(err)
			}
			daemon.TuneRuntime(cfg)
			memory := "none" // no limit of the Go runtime
			if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
				memory = fmt.Sprint(limit)
			}
			for variable, got := range map[string]string{"LAYOVER_GOMAXPROCS": fmt.Sprint(runtime.GOMAXPROCS(0)), "LAYOVER_GOMEMLIMIT": memory} {
				at := slices.IndexFunc(values, func(v config.Value) bool { return v.Variable == variable })
				if shown := values[at].Effective; shown != got {
					t.Errorf("%s is shown as %s, and in force is %s", variable, shown, got)
				}
			}
		})
	}
}

func TestOfSeveralEnvFilesTheLastWinsWhereverItStands(t *testing.T) {
	first := clitest.EnvFile(t, "LAYOVER_HTTP_ADDR=:1\nKAFKA_BROKERS=a:1\n")
	second := clitest.EnvFile(t, "LAYOVER_HTTP_ADDR=:2\n")
	environ := []string{"LAYOVER_INGRESS_TOPICS=a", "LAYOVER_EGRESS_TOPIC=b", "LAYOVER_ON_INVALID=halt"}
	for _, args := range [][]string{
		{"--env-file", first, "--env-file=" + second, "config"},
		{"--env-file", first, "config", "--env-file", second},
		{"--env-file=" + first, "config", "print", "--env-file", second},
		{"config", "--env-file", first, "print", "--env-file", second},
	} {
		code, stdout, stderr := do(environ, args...)
		addr, broker := setting(stdout, "LAYOVER_HTTP_ADDR"), setting(stdout, "KAFKA_BROKERS")
		if code != process.ExitOK || addr != ":2" || broker != "a:1" {
			t.Errorf("%q: code %d, stderr %q, got %s and %s", args, code, stderr, addr, broker)
		}
	}
}

// TestTheDocumentSaysWhichVerbsTakeAnEnvFile by those that take none.
func TestTheDocumentSaysWhichVerbsTakeAnEnvFile(t *testing.T) {
	var without []string
	for _, verb := range root(new(process.Process)).Commands() {
		if verb.Flag("env-file") == nil {
			without = append(without, "`"+verb.Name()+"`")
		}
	}
	slices.Sort(without)
	last := len(without) - 1
	want := fmt.Sprintf("\nEvery verb but %s and %s takes it. ", strings.Join(without[:last], ", "), without[last])
	if !strings.Contains(read(t, "../docs/configuration.md"), want) {
		t.Errorf("docs/configuration.md does not say: %s", want)
	}
}

// setting is the value of a setting that config printed.
func setting(printed, name string) string {
	for line := range strings.Lines(printed) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			return words[1]
		}
	}
	return ""
}
