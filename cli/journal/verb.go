package journal

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"layover/cli/process"
	"layover/config"
)

// The actions of the verb.
const (
	actionShow    = "show"
	actionRecover = "recover"
	actionReset   = "reset"
)

// options is a valid command line of the verb.
type options struct {
	action    string
	topic     string // "": all ingress topics
	partition int32  // -1: all
	runs      bool
	execute   bool
	json      bool // show prints objects
}

// command is one call of the verb. One goroutine has it.
type command struct {
	options
	process process.Process
	cfg     *config.Config
	brokers *brokers
	out     *bufio.Writer
	code    int
	done    int // partitions that were, or would be, changed
	failed  int // partitions that could not be
}

// Journal is the verb journal.
func Journal(ctx context.Context, p process.Process) int {
	o, err := parse(&p)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return p.Help(help)
	case err != nil:
		return p.FailUsage(err)
	}
	cfg, warnings, err := config.Load(p.Environ)
	for _, warning := range warnings {
		fmt.Fprintln(p.Stderr, "warning:", warning)
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return process.ExitUsage
	}
	if o.topic != "" && !slices.Contains(cfg.IngressTopics, o.topic) {
		return p.FailUsage(fmt.Errorf("--topic %q: not an ingress topic; LAYOVER_INGRESS_TOPICS has %s", o.topic, strings.Join(cfg.IngressTopics, ", ")))
	}
	b, err := connect(cfg.Brokers)
	if err != nil {
		return p.Fail(err)
	}
	defer b.close()
	c := &command{options: *o, process: p, cfg: cfg, brokers: b, out: bufio.NewWriter(p.Stdout)}
	c.run(ctx)
	if err := c.out.Flush(); err != nil {
		return p.Fail(fmt.Errorf("stdout: %w", err))
	}
	return c.code
}

// newFlags returns the flags of the verb, which go into o, and the files of
// settings into p.
func newFlags(p *process.Process, o *options) (*flag.FlagSet, *process.Output) {
	flags := process.NewFlags("journal")
	flags.Func("topic", "only the journal of ingress topic `TOPIC`", func(topic string) error {
		if o.topic = topic; topic == "" {
			return errors.New("want the name of an ingress topic")
		}
		return nil
	})
	flags.Func("partition", "only partition `N`", func(text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return errors.New("want a number from 0 on")
		}
		o.partition = int32(n)
		return nil
	})
	flags.BoolVar(&o.runs, "runs", false, "show the finished offsets of each record, too")
	flags.BoolVar(&o.execute, "execute", false, "do what recover and reset else only say")
	p.AddEnvFile(flags)
	return flags, process.AddOutput(flags)
}

// Flags returns the flags of the verb, for those who list them.
func Flags() *flag.FlagSet {
	flags, _ := newFlags(new(process.Process), new(options))
	return flags
}

// Actions returns the words that the verb takes, each with what it does.
func Actions() [][2]string {
	return [][2]string{
		{actionShow, "every record of the journals, and what a restart would find"},
		{actionRecover, "commit what the journal knows where the offset is gone"},
		{actionReset, "forget what is finished, and begin anew"},
	}
}

// parse reads the command line, and the files that it names. An error is the
// user's, flag.ErrHelp included.
func parse(p *process.Process) (*options, error) {
	o := &options{partition: -1}
	flags, output := newFlags(p, o)
	operands, err := process.ParseFlags(flags, p.Args)
	switch {
	case err != nil:
		return nil, err
	case len(operands) == 0:
		return nil, errors.New("an action is missing: show, recover or reset")
	case len(operands) > 1:
		return nil, fmt.Errorf("unexpected argument %q", operands[1])
	}
	o.action, o.json = operands[0], output.JSON()
	switch {
	case o.action != actionShow && o.action != actionRecover && o.action != actionReset:
		return nil, fmt.Errorf("unknown action %q: want show, recover or reset", o.action)
	case o.action != actionShow && o.runs:
		return nil, errors.New("--runs goes with show")
	case o.action != actionShow && o.json:
		return nil, errors.New("-o goes with show")
	case o.action == actionShow && o.execute:
		return nil, errors.New("--execute goes with recover and reset: show changes nothing")
	}
	return o, p.ReadEnvFiles()
}

// run asks for what is selected and carries the action out, a partition at a time.
func (c *command) run(ctx context.Context) {
	parts, problems, err := c.survey(ctx)
	if err != nil {
		c.fail(err)
		return
	}
	for _, problem := range problems {
		c.fail(problem)
	}
	if c.action == actionShow {
		c.each(ctx, parts, c.show)
		return
	}
	if len(problems) > 0 {
		c.fail(errors.New("nothing was done: mend that, or choose with --topic and --partition"))
		return
	}
	if err := c.alone(ctx); err != nil {
		c.fail(err)
		if c.execute {
			return
		}
	}
	if c.action == actionRecover {
		c.each(ctx, parts, c.recover)
		c.conclude("Nothing to recover.", "commits the offset of", "The offset was committed of")
		return
	}
	c.each(ctx, parts, c.reset)
	c.conclude("Nothing to reset.", "resets", "Reset:")
}

// alone is nil if the group has no members, while which alone an offset can be set.
func (c *command) alone(ctx context.Context) error {
	members, err := c.brokers.members(ctx, c.cfg.GroupID)
	if err == nil && members > 0 {
		err = fmt.Errorf("group %s has %s: %w", c.cfg.GroupID, count(int64(members), "member"), errMembers)
	}
	return err
}

// each calls f for each partition and says what went wrong.
func (c *command) each(ctx context.Context, parts []*partition, f func(context.Context, *partition) error) {
	for _, p := range parts {
		if err := f(ctx, p); err != nil {
			c.failed++
			c.fail(fmt.Errorf("%s: %w", p, err))
		}
		if err := c.out.Flush(); err != nil { // nobody reads any more
			return
		}
	}
}

// conclude says what all of it came to.
func (c *command) conclude(nothing, would, did string) {
	partitions := count(int64(c.done), "partition")
	switch {
	case c.done == 0 && c.failed > 0: // which was said
	case c.done == 0:
		c.say("%s\n", nothing)
	case c.execute:
		c.say("%s %s.\n", did, partitions)
	default:
		c.say("Dry run: nothing was done. With --execute it %s %s.\n", would, partitions)
	}
}

// say prints to stdout. What fails there fails again at its end.
func (c *command) say(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// fail says what went wrong, behind all that was printed before.
func (c *command) fail(err error) {
	c.out.Flush() // an error comes again at the end
	c.code = c.process.Fail(err)
}
