package journal

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"layover/cli/process"
	"layover/config"
)

// Journal returns the verb journal.
func Journal(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal show|recover|reset",
		Short: "show, recover or reset the finished offsets in the journals",
		Long: `Shows, or mends, the finished offsets. They are in the metadata of the group's
commits, and where a partition's do not fit there, in a journal: a topic beside
the ingress topic, named by LAYOVER_JOURNAL_TOPIC.

recover and reset only print their plan, unless there is --execute. All Layover
processes of the group have to be stopped for that.

Settings are the environment variables of run, and have to be the same: brokers,
ingress topics, group, LAYOVER_JOURNAL_TOPIC, LAYOVER_RUNS_TOPIC, for reset
LAYOVER_START_OFFSET. No others are read. show --topic takes any topic, also
where LAYOVER_INGRESS_TOPICS is unset or does not have it any more.

It takes the ACLs Describe on the ingress topics and on the runs topics,
Describe and Read on the journals, Describe on the group; --execute also Read on
the group and on the ingress topics, and reset Delete on the journals.

Exit code: 0 if all of it was done, 1 if something failed, 2 if the command line
or the environment is wrong.`,
		Example: `  $ layover journal show --topic delayed --partition 3
  $ layover journal recover
  $ layover journal recover --execute
  $ LAYOVER_START_OFFSET=latest layover journal reset --partition 3 --execute`,
		DisableFlagsInUseLine: true,
	}
	o := &options{partition: -1}
	process.AddPartitions(cmd, "only the journal of ingress topic `TOPIC`, not all", &o.topic, &o.partition)
	cmd.AddCommand(showCommand(p, o), recoverCommand(p, o), resetCommand(p, o))
	p.AddEnvFile(cmd)
	process.NeedsAction(cmd)
	return cmd
}

func showCommand(p *process.Process, o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "every record of the journals, and the finished set of a restart",
		Long: `Prints every record of the journals, which of them the group's commits name,
and the finished offsets that a restart would find.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&o.runs, "runs", false, "show the finished offsets of each record, too")
	output := process.AddOutput(cmd, "one object a line, of the types\npartition, record, total and incarnation")
	cmd.Run = p.Does("journal", func(ctx context.Context, _ []string) int {
		return call(ctx, p, o, o.showing, "", func(ctx context.Context, c *command) {
			c.json = output.JSON()
			c.showAll(ctx)
		})
	})
	return cmd
}

func recoverCommand(p *process.Process, o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "commit the journal's offsets where the group's are gone",
		Long: `For partitions whose offset expired or was deleted: commits the offset and the
finished ones that the journal knows, so that Layover goes on from there.
Partitions with an offset are left alone.`,
		Args: cobra.NoArgs,
	}
	addExecute(cmd, o)
	cmd.Run = o.mends(p, func(ctx context.Context, c *command) {
		c.mend(ctx, c.recover, conclusion{"Nothing to recover.", "commits the offset of", "The offset was committed of"})
	})
	return cmd
}

func resetCommand(p *process.Process, o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "forget the finished offsets, and begin anew",
		Long: `Forgets the finished offsets: commits the offset that LAYOVER_START_OFFSET says
(earliest or latest; none: commits nothing) and deletes the journal's records.
With earliest all records of the log are delivered again; with latest the parked
ones never are. Copies in runs are delivered all the same, and records that say
which of them are finished stay.`,
		Args: cobra.NoArgs,
	}
	addExecute(cmd, o)
	cmd.Run = o.mends(p, func(ctx context.Context, c *command) {
		c.mend(ctx, c.reset, conclusion{"Nothing to reset.", "resets", "Reset:"})
	})
	return cmd
}

func addExecute(cmd *cobra.Command, o *options) {
	cmd.Flags().BoolVar(&o.execute, "execute", false, "carry it out: without this only the plan is printed")
}

// showing reads the settings of show, which --topic may complete: it changes nothing.
func (o *options) showing(environ []string) (*config.Config, []string, error) {
	return config.LoadJournal(environ, config.JournalSettings{Topic: o.topic})
}

// mending reads the settings of recover and reset. LAYOVER_INGRESS_TOPICS has to be
// there: the group's name may follow from its first topic.
func mending(environ []string) (*config.Config, []string, error) {
	return config.LoadJournal(environ, config.JournalSettings{Start: true})
}

// mends makes f the work of an action that changes something.
func (o *options) mends(p *process.Process, f func(context.Context, *command)) func(*cobra.Command, []string) {
	return p.Does("journal", func(ctx context.Context, _ []string) int {
		return call(ctx, p, o, mending, "--topic "+strconv.Quote(o.topic), f)
	})
}
