package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Does makes f the work of a verb's command: f gets the operands and returns
// the exit code.
func (p *Process) Does(verb string, f func(ctx context.Context, operands []string) int) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, operands []string) {
		p.Verb = verb
		p.code = f(cmd.Context(), operands)
	}
}

// UntilStopped returns a context that ends with SIGTERM or SIGINT, for a verb
// that runs until then. A second signal kills the process.
func UntilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// withoutMousetrap lets Windows' Explorer start it as well. What it sets is cobra's, and of
// the whole process.
var withoutMousetrap = sync.OnceFunc(func() { cobra.MousetrapHelpText = "" })

// Execute runs the command of root that p's arguments name, and returns the
// exit code. An error of cobra's own is a mistake on the command line. An error of stdout
// that a verb passes over is an error of the verb all the same.
func (p *Process) Execute(ctx context.Context, root *cobra.Command) int {
	withoutMousetrap()
	p.Stdout = p.Out()
	root.SetArgs(append([]string{}, p.Args...)) // nil would be the arguments of the test
	root.SetOut(p.Out())
	root.SetErr(p.Stderr)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetGlobalNormalizationFunc(normalize)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	// Without this, completion offers no verb behind a flag of root. Other calls
	// go without: a verb would not see the flags in front of it.
	root.TraverseChildren = len(p.Args) > 0 && strings.HasPrefix(p.Args[0], cobra.ShellCompRequestCmd)
	cmd, err := root.ExecuteContextC(ctx)
	path := cmd.CommandPath()
	switch {
	case p.out.err != nil && p.code == ExitOK: // else the verb has said what went wrong
		fmt.Fprintf(p.Stderr, "%s: stdout: %v\n", path, p.out.err)
		return ExitRuntime
	case err != nil:
		_, words, _ := strings.Cut(path+" ", " ")
		fmt.Fprintf(p.Stderr, "%s: %s\nSee '%s'.\n", path, strings.TrimSpace(err.Error()), strings.TrimSpace("layover help "+words))
		return ExitUsage
	}
	return p.code
}

// Out returns stdout, whose errors Execute reports.
func (p *Process) Out() io.Writer {
	if p.out == nil {
		p.out = &checked{Writer: p.Stdout}
	}
	return p.out
}

// checked remembers the first error of its writer: cobra, for one, prints help and does
// not look at it.
type checked struct {
	io.Writer
	err error
}

func (c *checked) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// normalize takes --o for --output.
func normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "o" {
		name = outputFlag
	}
	return pflag.NormalizedName(name)
}

// NeedsAction makes cmd refuse a call without one of its actions. Flags of the
// actions may stand before them, so that cmd knows them too.
func NeedsAction(cmd *cobra.Command) {
	KnowsFlagsOfActions(cmd)
	cmd.Args = func(_ *cobra.Command, operands []string) error {
		if len(operands) == 0 {
			return fmt.Errorf("an action is missing: %s", actions(cmd))
		}
		return unknownAction(cmd, operands[0])
	}
	cmd.Run = func(*cobra.Command, []string) {} // Args refuses every call before
}

// OnlyActions refuses an operand of a command that has actions: it is none of
// them.
func OnlyActions(cmd *cobra.Command, operands []string) error {
	if len(operands) == 0 {
		return nil
	}
	return unknownAction(cmd, operands[0])
}

// KnowsFlagsOfActions gives cmd the flags of its actions. Without them cobra
// takes the word behind such a flag for its value, and not for the action.
func KnowsFlagsOfActions(cmd *cobra.Command) {
	for _, action := range cmd.Commands() {
		cmd.Flags().AddFlagSet(action.Flags())
	}
}

func unknownAction(cmd *cobra.Command, word string) error {
	return fmt.Errorf("unknown action %q: want %s", word, actions(cmd))
}

// actions are the names of cmd's actions: a, b or c.
func actions(cmd *cobra.Command) string {
	var names []string
	for _, action := range cmd.Commands() {
		names = append(names, action.Name())
	}
	slices.Sort(names)
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
