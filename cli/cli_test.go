package cli

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"layover/cli/process"
	"layover/config"
)

func TestVerbs(t *testing.T) {
	tests := map[string]struct {
		args, environ  []string
		code           int
		stdout, stderr string // parts
	}{
		"run is the default":         {nil, nil, 2, "", "KAFKA_BROKERS: required"},
		"all mistakes at once":       {[]string{"run"}, []string{"LAYOVER_LANES=x"}, 2, "", "LAYOVER_LANES: "},
		"a warning beside them":      {[]string{"run"}, []string{"LAYOVER_LANE=3"}, 2, "", "LAYOVER_LANES"},
		"run takes no argument":      {[]string{"run", "now"}, nil, 2, "", `"now"`},
		"run --help has the table":   {[]string{"run", "--help"}, nil, 0, "LAYOVER_TARGET_PATIENCE", ""},
		"version":                    {[]string{"version"}, nil, 0, "layover ", ""},
		"--version":                  {[]string{"--version"}, nil, 0, "go1.", ""},
		"version takes no argument":  {[]string{"version", "1"}, nil, 2, "", `"1"`},
		"help":                       {[]string{"help"}, nil, 0, "send", ""},
		"-h":                         {[]string{"-h"}, nil, 0, "send", ""},
		"--help":                     {[]string{"--help"}, nil, 0, "send", ""},
		"help of a verb":             {[]string{"help", "send"}, nil, 0, "--delay", ""},
		"help of help":               {[]string{"help", "help"}, nil, 0, "layover help", ""},
		"help of a flag":             {[]string{"help", "--help"}, nil, 0, "layover help", ""},
		"-v":                         {[]string{"-v"}, nil, 0, "layover ", ""},
		"-v beside a verb":           {[]string{"run", "-v"}, nil, 2, "", "unknown shorthand flag: 'v'"},
		"help of nothing":            {[]string{"help", "nope"}, nil, 2, "", `unknown verb "nope"` + "\n"},
		"help of a verb with a slip": {[]string{"help", "sned"}, nil, 2, "", `layover help: unknown verb "sned": did you mean send?` + "\n"},
		"unknown verb":               {[]string{"park"}, nil, 2, "", `layover: unknown verb "park"` + "\nSee 'layover help'.\n"},
		"a verb with a slip":         {[]string{"sned"}, nil, 2, "", `layover: unknown verb "sned": did you mean send?` + "\nSee 'layover help'.\n"},
		"a slip and flags":           {[]string{"jornal", "--topic", "a"}, nil, 2, "", `unknown verb "jornal": did you mean journal?` + "\n"},
		"a slip behind a flag":       {[]string{"--env-file", "x", "sned", "--delay=5s", "v"}, nil, 2, "", `unknown verb "sned": did you mean send?` + "\n"},
		"a beginning of a verb":      {[]string{"comp"}, nil, 2, "", "did you mean completion?"},
		"an operand of no verb":      {[]string{"--", "park"}, nil, 2, "", `"park"`},
		"help of too much":           {[]string{"help", "send", "it"}, nil, 2, "", `"it"`},
		"help of an action":          {[]string{"help", "journal", "show"}, nil, 0, "--runs", ""},
		"flags before an action":     {[]string{"journal", "--execute", "reset", "--help"}, nil, 0, "LAYOVER_START_OFFSET", ""},
		"flags between":              {[]string{"journal", "--topic", "t", "--partition", "1", "show", "--help"}, nil, 0, "--runs", ""},
		"-o in its long forms":       {[]string{"version", "--output=json"}, nil, 0, `"go":`, ""},
		"--o":                        {[]string{"version", "--o", "json"}, nil, 0, `"go":`, ""},
		"-o=json":                    {[]string{"version", "-o=json"}, nil, 0, `"go":`, ""},
		"unknown flag":               {[]string{"--port"}, nil, 2, "", "--port"},
		"unknown flag of run":        {[]string{"run", "--port"}, nil, 2, "", "-port"},
		"send":                       {[]string{"send"}, nil, 2, "", "layover send: "},
		"two dashes end the flags":   {[]string{"send", "--delay", "5s", "--", "-v"}, nil, 2, "", "layover send: no brokers"},
		"a dash is an operand":       {[]string{"send", "-", "--delay=5s"}, nil, 2, "", "layover send: no brokers"},
		"a negative value":           {[]string{"send", "v", "--delay", "-5s"}, nil, 2, "", "layover send: no brokers"},
		"a value like a verb":        {[]string{"send", "--to", "send", "--delay", "5s", "send"}, nil, 2, "", "layover send: no brokers"},
		"one dash":                   {[]string{"skip", "-execute", "delayed/0@1"}, nil, 2, "", "-execute"},
		"no file":                    {[]string{"--env-file=", "config"}, nil, 2, "", "--env-file: want the name of a file"},
		"runs":                       {[]string{"runs"}, nil, 2, "", "layover runs: an action is missing: show"},
		"help of runs":               {[]string{"help", "runs", "show"}, nil, 0, "--exact", ""},
		"journal":                    {[]string{"journal"}, nil, 2, "", "layover journal: an action is missing"},
		"help of journal":            {[]string{"help", "journal"}, nil, 0, "--execute", ""},
		"health":                     {[]string{"health", "--nope"}, nil, 2, "", "layover health: "},
		"help has the exit codes":    {[]string{"help"}, nil, 0, "\n  2  the command line", ""},
		"config":                     {[]string{"config", "check"}, nil, 2, "", "KAFKA_BROKERS: required"},
		"the settings there are":     {[]string{"config", "help"}, nil, 0, "LAYOVER_TOPIC_DELAYS", ""},
		"help of config":             {[]string{"help", "config"}, nil, 0, "  check ", ""},
		"completion of no shell":     {[]string{"completion"}, nil, 2, "", "bash, fish, powershell or zsh"},
		"completion of two":          {[]string{"completion", "bash", "zsh"}, nil, 2, "", `"zsh"`},
		"completion of another":      {[]string{"completion", "tcsh"}, nil, 2, "", `"tcsh"`},
		"help of completion":         {[]string{"completion", "bash", "--help"}, nil, 0, "source <(layover completion bash)", ""},
		"another output":             {[]string{"version", "-o", "xml"}, nil, 2, "", "text or json"},
		"dev":                        {[]string{"dev", "--nope"}, nil, 2, "", "layover dev: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := Run(t.Context(), &process.Process{Args: test.args, Environ: test.environ, Stdout: &stdout, Stderr: &stderr})
			if code != test.code || !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("code %d, stdout %q, stderr %q", code, &stdout, &stderr)
			}
			if (code == 0) != (stderr.Len() == 0) || (code == 0) == (stdout.Len() == 0) {
				t.Errorf("code %d: stdout %q, stderr %q", code, &stdout, &stderr)
			}
		})
	}
}

// fullDisk is /dev/full: it takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestWhatCannotBePrintedIsAnErrorOfEveryVerb(t *testing.T) {
	lines := [][]string{{"help"}, {"--help"}, {"version"}, {"--version"}, {"version", "-o", "json"}, {"completion", "bash"}, {"config", "help"}, {"config", "help", "-o", "json"}}
	for _, v := range commands() {
		lines = append(lines, append(words(v), "--help"), append([]string{"help"}, words(v)...))
	}
	for _, args := range lines {
		var stderr bytes.Buffer
		code := Run(t.Context(), &process.Process{Args: args, Stdout: fullDisk{}, Stderr: &stderr})
		if code != 1 || !strings.HasPrefix(stderr.String(), "layover") || !strings.HasSuffix(stderr.String(), ": stdout: no space left on device\n") {
			t.Errorf("%q: code %d, stderr %q", args, code, &stderr)
		}
	}
}

func TestLogsAreTextOnlyWhereAPersonReads(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tests := map[string]struct {
		format config.LogFormat
		want   string
	}{
		"auto into a file": {config.LogFormatAuto, `{"time"`},
		"json":             {config.LogFormatJSON, `{"time"`},
		"text":             {config.LogFormatText, "time="},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := file.Truncate(0); err != nil {
				t.Fatal(err)
			}
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			log, _ := process.NewLogger(slog.LevelWarn, test.format, file)
			log.Info("below the level")
			log.Warn("said")
			got, err := os.ReadFile(file.Name())
			if err != nil || !strings.HasPrefix(string(got), test.want) || strings.Count(string(got), "\n") != 1 {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
