// Package cli is the command line: the table of verbs, and the verbs run and
// version. Every other verb is a package below it.
package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"layover/cli/config"
	"layover/cli/dev"
	"layover/cli/dlq"
	"layover/cli/doctor"
	"layover/cli/health"
	"layover/cli/journal"
	"layover/cli/process"
	"layover/cli/runs"
	"layover/cli/send"
	"layover/cli/topics"
)

// Main runs the verb that the process's arguments name, and returns its exit
// code. version and revision are as they were linked, or empty.
func Main(version, revision string) int {
	return Run(context.Background(), process.OfSystem(version, revision))
}

// Run is Main for any process. A verb that can be stopped ends with ctx.
func Run(ctx context.Context, p *process.Process) int { return p.Execute(ctx, root(p)) }

// root returns the command line. Without a verb it is the verb run.
func root(p *process.Process) *cobra.Command {
	run := runCommand(p)
	cmd := &cobra.Command{
		Use:   "layover",
		Short: "deliver Kafka records when they are due",
		Long: `Layover delivers Kafka records when they are due.

Without a verb it runs, as 'layover run' does. 'layover help VERB' says more;
'layover config help' lists the settings.

Exit codes:
  0  fine, or stopped by a signal where that is how it ends
  1  something went wrong: Kafka, a file, the network, an unhealthy answer
  2  the command line, an env file or a setting is wrong; nothing was done
  130  dlq redrive was stopped by a signal`,
		Version: "of layover", // for --version, which prints the text of the template
		Args:    knownVerb,
		Run:     run.Run,

		SuggestionsMinimumDistance: 2, // cobra's own, which it sets too late for knownVerb
	}
	cmd.SetFlagErrorFunc(flagError)
	cmd.Flags().AddFlagSet(run.Flags())
	cmd.Flags().BoolP("version", "v", false, "print the version")
	cmd.SetVersionTemplate(versionText(p))
	cmd.AddCommand(run, dev.Command(p), send.Command(p), send.Cancel(p), journal.Journal(p), journal.Skip(p), runs.Command(p), dlq.Command(p),
		health.Command(p), doctor.Command(p), config.Command(p), topics.Command(p), versionCommand(p))
	cmd.SetOut(p.Out()) // before completion, which keeps it
	addHelp(cmd)
	addCompletion(cmd)
	return cmd
}

// knownVerb refuses an operand where a verb is expected: cobra found no verb of that name.
func knownVerb(root *cobra.Command, operands []string) error {
	if len(operands) == 0 {
		return nil
	}
	return unknownVerb(root, operands[0])
}

// flagError is cobra's error about a flag. Behind an unknown verb every flag is unknown,
// and the verb is the mistake.
func flagError(cmd *cobra.Command, err error) error {
	if words := cmd.Flags().Args(); !cmd.HasParent() && len(words) > 0 {
		return unknownVerb(cmd, words[0])
	}
	return err
}

// unknownVerb names the verbs that are near the word.
func unknownVerb(root *cobra.Command, word string) error {
	if near := root.SuggestionsFor(word); len(near) > 0 {
		return fmt.Errorf("unknown verb %q: did you mean %s?", word, strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown verb %q", word)
}

// addHelp adds cobra's verb help. It exits with code 0 for an unknown verb; here
// that is an error.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Short = "print this, or the help of a verb"
	help.Args = func(_ *cobra.Command, operands []string) error {
		_, rest, err := root.Find(operands)
		if err == nil && len(rest) > 0 {
			err = unknownVerb(root, rest[0])
		}
		return err
	}
}

// addCompletion adds cobra's verb completion. It exits with code 0 without a
// shell; here that is an error.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Use, completion.Short = "completion SHELL", "print a script that completes this in a shell"
	process.NeedsAction(completion)
}
