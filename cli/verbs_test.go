package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"layover/cli/process"
	"layover/config"
	"layover/daemon"
)

// do runs a command line and returns what it leaves behind.
func do(environ []string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(process.Process{Args: args, Environ: environ, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err})
	return code, out.String(), err.String()
}

// flagsOf are the flags that a verb lists, as they are written.
func flagsOf(v verb) []string {
	var names []string
	if v.flags != nil {
		v.flags().VisitAll(func(f *flag.Flag) {
			dashes := "--"
			if len(f.Name) == 1 {
				dashes = "-"
			}
			names = append(names, dashes+f.Name)
		})
	}
	return names
}

var inHelp = regexp.MustCompile(`(?m)^  (--?[a-z][a-z-]*)\b`)

// The scripts of completion are made of the flags that verbs list. That they are
// those that a verb takes, and those that its help explains, is held here.
func TestEveryVerbTakesAndExplainsTheFlagsThatItLists(t *testing.T) {
	values := map[string]string{"-o": "json", "--partition": "0", "--header": "a=b", "--runs": "true", "--execute": "true", "--drop": "true", "--live": "true", "--ready": "true"}
	for _, v := range verbs() {
		if v.name == "help" {
			continue // its own help is that of all verbs
		}
		t.Run(v.name, func(t *testing.T) {
			_, text, _ := do(nil, v.name, "--help")
			var explained []string
			for _, m := range inHelp.FindAllStringSubmatch(text, -1) {
				explained = append(explained, m[1])
			}
			listed := flagsOf(v)
			slices.Sort(explained)
			if slices.Sort(listed); !slices.Equal(explained, listed) {
				t.Errorf("the help explains %q, listed are %q", explained, listed)
			}
			for _, name := range listed {
				value := values[name]
				if value == "" {
					value = "x"
				}
				if code, stdout, stderr := do(nil, v.name, name+"="+value, "--help"); code != process.ExitOK || stdout != text {
					t.Errorf("%s=%s is not taken: code %d, stderr %q", name, value, code, stderr)
				}
			}
			if code, _, _ := do(nil, v.name, "--nonesuch", "--help"); code != process.ExitUsage {
				t.Errorf("a flag that is not listed: code %d", code)
			}
			if v.words != nil {
				for _, word := range v.words() {
					if !strings.Contains(text, word[0]) {
						t.Errorf("the help does not explain %s", word[0])
					}
				}
			}
		})
	}
}

func TestTheScriptsKnowEveryVerbAndFlag(t *testing.T) {
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
			if shell == "bash" {
				completeInBash(t, program, path)
			}
		})
	}
}

// completeInBash asks for the flags and the words of each verb.
func completeInBash(t *testing.T, bash, script string) {
	const ask = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _layover; echo "${COMPREPLY[@]}"`
	complete := func(words ...string) []string {
		out, err := exec.Command(bash, append([]string{"--norc", "--noprofile", "-c", ask, "bash", script, "layover"}, words...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	var names []string
	for _, v := range verbs() {
		names = append(names, v.name)
		if got, want := complete(v.name, "-"), append(flagsOf(v), "--help"); !equalSets(got, want) {
			t.Errorf("%s: offered is %q, want %q", v.name, got, want)
		}
		var want []string
		if v.words != nil {
			for _, word := range v.words() {
				want = append(want, word[0])
			}
		}
		if got := complete(v.name, ""); !equalSets(got, want) {
			t.Errorf("%s: offered is %q, want %q", v.name, got, want)
		}
	}
	if got := complete(""); !equalSets(got, names) {
		t.Errorf("offered is %q, want %q", got, names)
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

func equalSets(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
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
	for _, v := range verbs() {
		before := []string{"--env-file", path, v.name}
		if !v.readsSettings() {
			if code, stdout, stderr := do(nil, before...); code != process.ExitUsage || stdout != "" || !strings.Contains(stderr, "--env-file goes with") {
				t.Errorf("%s: code %d, stdout %q, stderr %q", v.name, code, stdout, stderr)
			}
			continue
		}
		if v.name == "health" || v.name == "send" || v.name == "dev" {
			continue // which read their own few settings, and have tests for it
		}
		extra := map[string][]string{"journal": {"show"}, "skip": {"delayed/0@1"}}[v.name]
		for _, args := range [][]string{append(before, extra...), append([]string{v.name, "--env-file=" + path}, extra...)} {
			code, _, stderr := do(nil, args...)
			if code != process.ExitUsage || !strings.Contains(stderr, "LAYOVER_LANES: ") || strings.Contains(stderr, "KAFKA_BROKERS: ") {
				t.Errorf("%q: code %d, stderr %q", args, code, stderr)
			}
		}
	}
	if code, _, stderr := do(nil, "--env-file", path); code != process.ExitUsage || !strings.Contains(stderr, "LAYOVER_LANES: ") {
		t.Errorf("without a verb: code %d, stderr %q", code, stderr)
	}
	if code, _, stderr := do(nil, "--env-file"); code != process.ExitUsage || stderr != "layover: --env-file: want the name of a file\n" {
		t.Errorf("without a file: code %d, stderr %q", code, stderr)
	}
}

// What config shows of the Go runtime, daemon does. It changes the process, so that
// this is put back.
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
			memory := "none" // what the Go runtime has where it has no limit
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
