// Package clitest runs verbs in tests, and checks their output.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"layover/cli/process"
)

// Result is a verb's exit code and output.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Call is one call of a verb.
type Call struct {
	Args        []string
	Environ     []string
	Stdin       io.Reader // nil: empty
	OnATerminal bool      // stdout and stderr are one
}

// Do runs the verb to its end.
func (c Call) Do(t *testing.T, verb func(*process.Process) *cobra.Command) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if c.Stdin == nil {
		c.Stdin = strings.NewReader("")
	}
	code := Run(t.Context(), &process.Process{
		Args: c.Args, Environ: c.Environ, Stdin: c.Stdin, Stdout: &stdout, Stderr: &stderr,
		StdoutIsTerminal: c.OnATerminal, StderrIsTerminal: c.OnATerminal,
	}, verb)
	return Result{code, stdout.String(), stderr.String()}
}

// Run runs one verb alone. The arguments of p are those behind its name.
func Run(ctx context.Context, p *process.Process, verb func(*process.Process) *cobra.Command) int {
	root, cmd := &cobra.Command{Use: "layover"}, verb(p)
	root.AddCommand(cmd)
	p.Args = append([]string{cmd.Name()}, p.Args...)
	return p.Execute(ctx, root)
}

// Objects are the lines of stdout, each one JSON object. All their fields are
// in docs/command-line.md, or the test fails.
func Objects(t *testing.T, stdout string) []map[string]any {
	t.Helper()
	doc, err := os.ReadFile("../../docs/command-line.md")
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

// EnvFile writes a file for --env-file, and returns its path.
func EnvFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), ".env")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
