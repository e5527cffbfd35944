package runs

import (
	"context"

	"github.com/spf13/cobra"

	"layover/cli/process"
	"layover/config"
)

// options are the flags of the verb.
type options struct {
	topic     string // ingress topic; "" is all of them
	partition int32  // -1: all
	exact     bool   // read all copies
	json      bool
}

// Command returns the verb runs.
func Command(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs show",
		Short: "show the copies that wait in the runs topics",
		Long: `Shows the copies of records that are due far off. They wait in a topic beside
the ingress topic, named by LAYOVER_RUNS_TOPIC.

Settings are the environment variables of run, and have to be the same: brokers,
ingress topics, group, LAYOVER_RUNS_TOPIC, LAYOVER_JOURNAL_TOPIC. No others are
read. show --topic takes any topic, also where LAYOVER_INGRESS_TOPICS is unset
or does not have it any more.

It changes nothing, and takes the ACLs Describe on the ingress topics and on the
group, Describe and Read on the runs topics and on the journals.

Exit code: 0 if all of it was shown, whatever it says; 1 if something failed, 2
if the command line or the environment is wrong.`,
		Example: `  $ layover runs show
  $ layover runs show --topic delayed --partition 3 --exact`,
		DisableFlagsInUseLine: true,
	}
	o := &options{partition: -1}
	process.AddPartitions(cmd, "only the runs of ingress topic `TOPIC`, not all", &o.topic, &o.partition)
	cmd.AddCommand(showCommand(p, o))
	p.AddEnvFile(cmd)
	process.NeedsAction(cmd)
	return cmd
}

func showCommand(p *process.Process, o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "how many copies wait until when, and is a downgrade safe",
		Long: `Prints for each partition: what the group's commit says of its runs, how many
copies wait and when they are due, and what is finished and not deleted. At the
end it says whether a downgrade is safe, to a release that knows no runs.

Most copies are counted by a directory in the runs topic, which costs one
request. It lists runs of copies and not single ones, so the numbers are upper
bounds. A downgrade is not known to be safe while the group has moved records of
a topic that the settings do not have any more.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&o.exact, "exact", false, "read every copy, and count what waits exactly: this\nreads the whole topic")
	output := process.AddOutput(cmd, "one object a line, of the types partition and\ntotal")
	cmd.Run = p.Does("runs", func(ctx context.Context, _ []string) int {
		o.json = output.JSON()
		return call(ctx, p, o)
	})
	return cmd
}

// load reads the settings, which --topic may complete: the verb changes nothing.
func (o *options) load(environ []string) (*config.Config, []string, error) {
	return config.LoadJournal(environ, config.JournalSettings{Topic: o.topic})
}
