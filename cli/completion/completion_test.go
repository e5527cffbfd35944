package completion

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// choice is a flag's value of a few words.
type choice struct{ string }

func (c *choice) String() string        { return c.string }
func (c *choice) Set(text string) error { c.string = text; return nil }
func (c *choice) Words() []string       { return []string{"text", "json"} }

// odd has everything that a shell might take for its own.
const odd = `it's "odd": [all] (of) $HOME {a,b} \t ~ * # ; & | <x>`

// verbs is a command line with a flag of every kind.
func verbs() []Verb {
	flags := flag.NewFlagSet("go", flag.ContinueOnError)
	flags.String("name", "", "a `NAME` "+odd)
	flags.String("from", "", "a `FILE`")
	flags.String("into", "", "a `DIR`")
	flags.String("env-file", "", "settings from a `FILE`")
	flags.Bool("dry", false, odd)
	flags.Var(new(choice), "o", "in a `FORMAT`")
	return []Verb{
		{Name: "go", Synopsis: odd, Flags: flags},
		{Name: "list", Synopsis: "a list", Words: [][2]string{{"alpha", odd}, {"beta", "the second"}}},
		{Name: "none", Synopsis: "nothing"},
	}
}

// folder is a new one with a few files, and the script in it.
func folder(t *testing.T, shell string) (dir, script string) {
	t.Helper()
	text, err := Script(shell, verbs())
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, name := range []string{"a file.env", "other.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "a folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	script = filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, script
}

// run returns what a shell prints, in a folder and with a home of its own.
func run(t *testing.T, dir, shell string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("%s is not installed", shell)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=dumb")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%s %q: %v, stderr %q", shell, args, err, stderr.String())
	}
	return string(out)
}

// offered are lines of the command line and what is offered at their end, in any
// order.
var offered = map[string][]string{
	"layover ":                             {"go", "list", "none"},
	"layover l":                            {"list"},
	"layover x":                            nil,
	"layover --env-file 'x' ":              {"go", "list", "none"},
	"layover --env-file x list ":           {"alpha", "beta"},
	"layover list ":                        {"alpha", "beta"},
	"layover list b":                       {"beta"},
	"layover list alpha ":                  nil,
	"layover none ":                        nil,
	"layover none --":                      {"--help"},
	"layover go ":                          nil,
	"layover go --":                        {"--help", "--name", "--from", "--into", "--env-file", "--dry"},
	"layover go --name x --d":              {"--dry"},
	"layover go --name ":                   nil,
	"layover go -o ":                       {"text", "json"},
	"layover go -o j":                      {"json"},
	"layover go --dry -o j":                {"json"},
	"layover go --into ":                   {"a folder"},
	"layover go --from a":                  {"a file.env", "a folder"},
	"layover go --env-file o":              {"other.txt"},
	"layover --env-file o":                 {"other.txt"},
	"layover --env-file x go --env-file o": {"other.txt"},
}

func TestBashOffersWhatThereIs(t *testing.T) {
	dir, script := folder(t, "bash")
	const ask = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _layover; printf '%s\n' "${COMPREPLY[@]}"`
	lines := map[string][]string{ // an equals sign is a word for bash
		"layover go -o=":                 {"text", "json"},
		"layover go -o=j":                {"json"},
		"layover --env-file=o":           {"other.txt"},
		"layover --env-file=x go --dr":   {"--dry"},
		"layover -env-file x go -name ":  nil,
		"layover go --name x -o j":       {"json"},
		"layover list --help alpha beta": nil,
	}
	for line, want := range offered {
		lines[line] = want
	}
	for line, want := range lines {
		words := strings.Fields(strings.ReplaceAll(line, "=", " = "))
		if strings.HasSuffix(line, " ") {
			words = append(words, "")
		}
		out := run(t, dir, "bash", append([]string{"--norc", "--noprofile", "-c", ask, "bash", script}, words...)...)
		same(t, line, strings.Split(strings.TrimSuffix(out, "\n"), "\n"), want)
	}
}

func TestFishOffersWhatThereIs(t *testing.T) {
	dir, script := folder(t, "fish")
	for line, want := range offered {
		out := run(t, dir, "fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, script, line)
		var got []string
		for candidate := range strings.Lines(out) {
			candidate, _, _ = strings.Cut(strings.TrimSuffix(candidate, "\n"), "\t")
			got = append(got, strings.ReplaceAll(strings.TrimSuffix(candidate, "/"), `\ `, " "))
		}
		same(t, line, got, want)
	}
	out := run(t, dir, "fish", "--no-config", "-c", `source $argv[1]; complete -C 'layover list a'; complete -C 'layover go --dr'`, script)
	if want := "alpha\t" + odd + "\n--dry\t" + odd + "\n"; out != want {
		t.Errorf("described as %q, want %q", out, want)
	}
}

// same checks what is offered; zero candidates may be one empty line.
func same(t *testing.T, line string, got, want []string) {
	t.Helper()
	got = slices.DeleteFunc(slices.Clone(got), func(candidate string) bool { return candidate == "" })
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%q: offered is %q, want %q", line, got, want)
	}
}

// Zsh completes only where somebody types: another zsh does so, on a terminal that
// it makes, with a key that writes down what the line has become.
func TestZshCompletesWhatThereIs(t *testing.T) {
	dir, script := folder(t, "zsh")
	setup := filepath.Join(dir, "setup")
	text := `autoload -Uz compinit; compinit -D -u
source ` + script + `
written_down() { print -r -- "$BUFFER|" >> became; BUFFER= }
zle -N written_down
bindkey '^B' written_down
`
	const drive = `zmodload zsh/zpty
zpty driven 'zsh -f -i'
zpty -w driven "source $1"
shift
for line in "$@"; do zpty -w -n driven $line$'\t\x02'; done
zpty -w driven exit
while zpty -r driven ignored; do :; done`
	if err := os.WriteFile(setup, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := [][2]string{ // typed, and what it becomes
		{"layover l", "layover list "},
		{"layover --env-file x l", "layover --env-file x list "},
		{"layover list b", "layover list beta "},
		{"layover none --he", "layover none --help "},
		{"layover go --dr", "layover go --dry "},
		{"layover go --name x --fr", "layover go --name x --from "},
		{"layover go -o j", "layover go -o json "},
		{"layover go --dry -o t", "layover go --dry -o text "},
		{"layover go --into a", `layover go --into a\ folder/`},
		{"layover go --from oth", "layover go --from other.txt "},
		{"layover --env-f", "layover --env-file "},
		{"layover --env-file oth", "layover --env-file other.txt "},
		{"layover go --name oth", "layover go --name oth"},
		{"layover none oth", "layover none oth"},
		{"layover list alpha be", "layover list alpha be"},
	}
	args := []string{"-f", "-c", drive, "zsh", setup}
	var want strings.Builder
	for _, line := range lines {
		args = append(args, line[0])
		want.WriteString(line[1] + "|\n")
	}
	run(t, dir, "zsh", args...)
	got, err := os.ReadFile(filepath.Join(dir, "became"))
	if err != nil || string(got) != want.String() {
		t.Errorf("the lines became\n%s%v, want\n%s", got, err, want.String())
	}
}

func TestThereIsAScriptForEveryShellAndNoOther(t *testing.T) {
	for _, shell := range Shells() {
		if script, err := Script(shell[0], verbs()); err != nil || script == "" {
			t.Errorf("%s: %v", shell[0], err)
		}
		if !strings.Contains(Help, "\n  "+shell[0]+" ") {
			t.Errorf("the help says nothing of %s", shell[0])
		}
	}
	if _, err := Script("tcsh", verbs()); err == nil || !strings.Contains(err.Error(), `"tcsh"`) || !strings.Contains(err.Error(), "bash, zsh or fish") {
		t.Errorf("got %v", err)
	}
}
