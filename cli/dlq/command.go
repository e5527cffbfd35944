package dlq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"layover/cli/process"
	"layover/delay"
)

// options are the flags of all actions, as far as an action has them.
type options struct {
	from string // instead of LAYOVER_DLQ_TOPIC; "" for that
	json bool

	only    filters
	payload bool
	again   redriveOptions
}

// Command returns the verb dlq.
func Command(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq list|show|redrive",
		Short: "count dead letters, show one, or send them again",
		Long: `Counts the dead letters of LAYOVER_DLQ_TOPIC, shows one, or sends them again:
redrives them. It reads the topic from its start to its end as it is now, and
neither deletes there nor joins a group. No key, value or header is printed,
but with show --payload.

Settings are the environment variables of run: brokers, LAYOVER_DLQ_TOPIC,
LAYOVER_INGRESS_TOPICS, LAYOVER_GROUP_ID, LAYOVER_EGRESS_TOPIC,
LAYOVER_TOPIC_TARGETS, LAYOVER_HEADERS, LAYOVER_HEADER_MAP. No others are read.
redrive needs the ingress topics.

It takes the ACLs Read and Describe on the dead-letter topic; redrive also
Describe on the ingress topics, with --execute also Write and DescribeConfigs.

Exit code: 0 if all of it was done, 1 if something failed, 2 if the command line
or the environment is wrong, 130 if redrive was stopped by a signal.`,
		Example: `  $ layover dlq list
  $ layover dlq show 0-1203
  $ layover dlq redrive --reason target_unavailable
  $ layover dlq redrive --reason target_unavailable --execute`,
		DisableFlagsInUseLine: true,
	}
	o := new(options)
	cmd.PersistentFlags().Func("from", "read `TOPIC` instead of LAYOVER_DLQ_TOPIC", func(topic string) error {
		if o.from = topic; !delay.IsTopicName(topic) {
			return errors.New("want the name of a topic")
		}
		return nil
	})
	cmd.AddCommand(listCommand(p, o), showCommand(p, o), redriveCommand(p, o))
	p.AddEnvFile(cmd)
	process.NeedsAction(cmd)
	return cmd
}

func listCommand(p *process.Process, o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "how many there are, why, and the newest",
		Long: `Prints how many dead letters there are, by ingress topic, target, reason and
day, and the ten newest, each with its place for show.`,
		Args: cobra.NoArgs,
	}
	addFilters(cmd, &o.only)
	output := process.AddOutput(cmd, "one object with total, by_topic, by_target,\nby_reason, by_day, newest")
	cmd.Run = p.Does("dlq", func(ctx context.Context, _ []string) int {
		o.json = output.JSON()
		return call(ctx, p, o, false, (*command).list)
	})
	return cmd
}

func showCommand(p *process.Process, o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show PARTITION-OFFSET",
		Short: "what one of them says",
		Long: `Prints what the error headers of one dead letter say, and what redrive would do
with it. PARTITION-OFFSET is its place in the dead-letter topic, as list has it.
With --payload key, value and the other headers are printed too, with escapes
for all that could disturb a terminal.`,
	}
	cmd.Flags().BoolVar(&o.payload, "payload", false, "print key, value and the other headers, too")
	output := process.AddOutput(cmd, "one object")
	cmd.Run = p.Does("dlq", func(ctx context.Context, operands []string) int {
		o.json = output.JSON()
		if len(operands) != 1 {
			return p.FailUsage(errors.New("want one PARTITION-OFFSET, such as 0-1203: list prints them"))
		}
		at, err := parsePlace(operands[0])
		if err != nil {
			return p.FailUsage(err)
		}
		return call(ctx, p, o, false, func(c *command, ctx context.Context) error { return c.show(ctx, at) })
	})
	return cmd
}

func redriveCommand(p *process.Process, o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "redrive",
		Short: "send them again",
		Long: `Sends dead letters again: writes each to the ingress topic and partition that it
came from, with its key, value and headers, and the time of now. Without
--execute it only counts what it would write.

Taken off are the error headers, x-delay-attempt, layover-hops and x-delay-id,
and x-expire-at where the record had expired, with an instant that has passed.
layover-redriven is added: the place of the letter. A delay counts from now
again; --delay stands in for it.

Passed over, and counted: what is no dead letter of Layover, letters of another
group or of a topic that LAYOVER_INGRESS_TOPICS does not have, cancels, letters
that stand for a batch, and those without the value of their record.

At the end, at Ctrl-C and at an error it prints the --offsets to go on with.
Partitions that are not in there are done. What is redriven twice is sent twice:
the letters stay where they are.`,
		Example: `  $ layover dlq redrive --since 2h
  $ layover dlq redrive --since 2h --execute
  $ layover dlq redrive --since 2h --execute --offsets 0:12-90,1:7-40`,
		Args: cobra.NoArgs,
	}
	addFilters(cmd, &o.only)
	o.again.add(cmd)
	output := process.AddOutput(cmd, "one object with read, written, passed_over,\noffsets and more")
	cmd.Run = p.Does("dlq", func(ctx context.Context, _ []string) int {
		o.json = output.JSON()
		return call(ctx, p, o, true, (*command).redrive)
	})
	return cmd
}

// addFilters adds the flags that choose among letters.
func addFilters(cmd *cobra.Command, f *filters) {
	cmd.Flags().Func("reason", "only those with `REASON`; may be repeated for more", func(text string) error {
		if !slices.Contains(delay.Reasons(), delay.Reason(text)) {
			return fmt.Errorf("want one of %s", strings.Join(reasonNames(), ", "))
		}
		f.reasons = append(f.reasons, delay.Reason(text))
		return nil
	})
	if err := cmd.RegisterFlagCompletionFunc("reason", cobra.FixedCompletions(reasonNames(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
	cmd.Flags().Func("ingress", "only those that came from ingress topic `TOPIC`", func(text string) error {
		if f.ingress = text; !delay.IsTopicName(text) {
			return errors.New("want the name of a topic")
		}
		return nil
	})
	cmd.Flags().Func("since", "only those dead-lettered at `TIME` or later: 2h or 1d\nago, a day (2026-11-23), or RFC 3339 with a zone", func(text string) (err error) {
		f.since, err = parseSince(text, time.Now().Truncate(time.Millisecond)) // as it is printed for a second call
		return err
	})
	cmd.Flags().Func("key", "only those with this `KEY`", func(text string) error {
		f.key, f.byKey = []byte(text), true
		return nil
	})
}

func reasonNames() (names []string) {
	for _, r := range delay.Reasons() {
		names = append(names, string(r))
	}
	return names
}

// parseSince reads an instant, a day in UTC, or a duration back from now. A bare number is
// refused: it would be milliseconds elsewhere.
func parseSince(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	d, err := delay.ParseDelay(text)
	if err != nil || d < 0 || strings.Trim(text, "0123456789") == "" {
		return time.Time{}, errors.New("want how long ago, like 90m, 2h or 1d, a day like 2026-11-23, or RFC 3339 with a zone")
	}
	return now.Add(-d), nil
}
