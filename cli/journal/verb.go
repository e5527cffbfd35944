package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"layover/cli/process"
	"layover/config"
)

// options are the flags of both verbs.
type options struct {
	topic     string // ingress topic; "" is all of them, for the verb journal alone
	partition int32  // -1: all
	runs      bool   // print the finished offsets of each record, too
	execute   bool
	json      bool
}

// command is one call of a verb. One goroutine has it.
type command struct {
	options
	process *process.Process
	cfg     *config.Config
	brokers *brokers
	out     *bufio.Writer
	code    int
	done    int // changed partitions, or those that would be
	failed  int // partitions with an error
}

// loader reads the settings that a verb or an action needs, and no others.
type loader = func(environ []string) (*config.Config, []string, error)

// call is the frame of both verbs: it loads the settings, connects, and lets
// work print to a buffered stdout. asked is how the topic was asked for; "" where it
// may be any: records may wait in one that was taken out of the settings.
func call(ctx context.Context, p *process.Process, o *options, load loader, asked string, work func(context.Context, *command)) int {
	cfg, ok := p.LoadConfig(load)
	if !ok {
		return process.ExitUsage
	}
	if asked != "" && o.topic != "" && !slices.Contains(cfg.IngressTopics, o.topic) {
		return p.FailUsage(fmt.Errorf("%s: not an ingress topic; LAYOVER_INGRESS_TOPICS has %s", asked, strings.Join(cfg.IngressTopics, ", ")))
	}
	b, err := connect(cfg.Kafka)
	if err != nil {
		return p.Fail(err)
	}
	defer b.Close()
	c := &command{options: *o, process: p, cfg: cfg, brokers: b, out: bufio.NewWriter(p.Stdout)}
	work(ctx, c)
	if err := c.out.Flush(); err != nil {
		return p.FailStdout(err)
	}
	return c.code
}

// showAll prints the selected partitions, one after the other.
func (c *command) showAll(ctx context.Context) {
	parts, problems, err := c.survey(ctx)
	if err != nil {
		c.fail(err)
		return
	}
	for _, problem := range problems {
		c.fail(problem)
	}
	c.each(ctx, parts, c.show)
}

// mend changes the selected partitions, one after the other, or says how it
// would. Where one cannot be surveyed, none is changed.
func (c *command) mend(ctx context.Context, change func(context.Context, *partition) error, end conclusion) {
	parts, problems, err := c.survey(ctx)
	if err != nil {
		c.fail(err)
		return
	}
	for _, problem := range problems {
		c.fail(problem)
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
	c.each(ctx, parts, change)
	c.conclude(end)
}

// alone is nil if the group has no members: only then an offset can be set.
func (c *command) alone(ctx context.Context) error {
	members, err := c.brokers.members(ctx, c.cfg.GroupID)
	if err == nil && members > 0 {
		err = fmt.Errorf("group %s has %s: %w", c.cfg.GroupID, count(int64(members), "member"), errMembers)
	}
	return err
}

// each calls f for each partition and prints its error.
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

// conclusion is how a change of several partitions is summed up.
type conclusion struct{ nothing, would, did string }

// conclude prints how many partitions were changed, or would be.
func (c *command) conclude(end conclusion) {
	partitions := count(int64(c.done), "partition")
	switch {
	case c.done == 0 && c.failed > 0: // stderr has the reasons
	case c.done == 0:
		c.say("%s\n", end.nothing)
	case c.execute:
		c.say("%s %s.\n", end.did, partitions)
	default:
		c.say("Dry run: nothing was done. With --execute it %s %s.\n", end.would, partitions)
	}
}

// say prints to stdout. An error comes again when the output is flushed.
func (c *command) say(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// fail prints an error, behind the output so far.
func (c *command) fail(err error) {
	c.out.Flush() // an error comes again at the end
	c.code = c.process.Fail(err)
}
