package client

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// result is what a verb leaves behind.
type result struct {
	code           int
	stdout, stderr string
}

type call struct {
	args        []string
	environ     []string
	stdin       io.Reader
	onATerminal bool // stdout and stderr are one
}

func (c call) do(t *testing.T, verb func(context.Context, Process) int) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if c.stdin == nil {
		c.stdin = strings.NewReader("")
	}
	code := verb(t.Context(), Process{
		Verb: "verb", Args: c.args, Environ: c.environ, Stdin: c.stdin, Stdout: &stdout, Stderr: &stderr,
		StdoutIsTerminal: c.onATerminal, StderrIsTerminal: c.onATerminal,
	})
	return result{code, stdout.String(), stderr.String()}
}
