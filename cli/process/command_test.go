package process

import (
	"bytes"
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// fullDisk is /dev/full: it takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestAVerbThatPassesOverAnErrorOfStdoutFails, and what a verb says of itself is not said twice.
func TestAVerbThatPassesOverAnErrorOfStdoutFails(t *testing.T) {
	for name, test := range map[string]struct {
		code   func(p *Process) int
		want   int
		stderr string
	}{
		"it went well":   {func(*Process) int { return ExitOK }, ExitRuntime, "layover verb: stdout: no space left on device\n"},
		"it says it":     {func(p *Process) int { return p.FailStdout(syscall.ENOSPC) }, ExitRuntime, "layover verb: stdout: no space left on device\n"},
		"it was stopped": {func(*Process) int { return ExitStopped }, ExitStopped, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			p := &Process{Args: []string{"verb"}, Stdout: fullDisk{}, Stderr: &stderr}
			root, verb := &cobra.Command{Use: "layover"}, &cobra.Command{Use: "verb"}
			verb.Run = p.Does("verb", func(context.Context, []string) int {
				fmt.Fprintln(p.Stdout, "ok")
				return test.code(p)
			})
			root.AddCommand(verb)
			if code := p.Execute(t.Context(), root); code != test.want || stderr.String() != test.stderr {
				t.Errorf("code %d, stderr %q", code, &stderr)
			}
		})
	}
}
