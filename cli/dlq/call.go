package dlq

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"layover/cli/process"
	"layover/cluster"
	"layover/config"
	"layover/delay"
)

// command is one call of an action. One goroutine has it.
type command struct {
	options
	process *process.Process
	cfg     *config.Config
	names   *delay.Names // headers of other products; nil: none
	brokers *brokers
	out     *bufio.Writer
	meter   *meter // nil: nobody watches
}

// errStopped is the end by a signal.
var errStopped = errors.New("stopped")

// call is the frame of all actions: it loads the settings, connects, and lets work print
// to a buffered stdout.
func call(ctx context.Context, p *process.Process, o *options, redrives bool, work func(*command, context.Context) error) int {
	cfg, ok := p.LoadConfig(func(environ []string) (*config.Config, []string, error) {
		return config.LoadDLQ(environ, config.DLQSettings{From: o.from, Redrive: redrives})
	})
	switch {
	case !ok:
		return process.ExitUsage
	case cfg.DLQTopic == "":
		return p.FailUsage(errors.New("no dead-letter topic: set LAYOVER_DLQ_TOPIC or use --from; example: --from dead-letters"))
	case slices.Contains(cfg.IngressTopics, cfg.DLQTopic):
		return p.FailUsage(fmt.Errorf("%q is an ingress topic: its records are no dead letters", cfg.DLQTopic))
	}
	names, err := cfg.Names()
	if err != nil {
		return p.Fail(err)
	}
	b, err := connect(cfg.Kafka)
	if err != nil {
		return p.Fail(err)
	}
	defer b.Close()
	c := &command{options: *o, process: p, cfg: cfg, names: names, brokers: b, out: bufio.NewWriter(p.Stdout)}
	c.again.names = names
	if p.StderrIsTerminal {
		c.meter = newMeter(p.Stderr)
	}
	err = work(c, ctx)
	c.meter.hide()
	if flushed := c.out.Flush(); err == nil && flushed != nil {
		return p.FailStdout(flushed)
	}
	switch {
	case errors.Is(err, errStopped):
		p.Fail(err)
		return process.ExitStopped
	case err != nil:
		return p.Fail(err)
	}
	return process.ExitOK
}

// say prints to stdout. An error comes again when the output is flushed.
func (c *command) say(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// note prints a line to stderr at once, where the meter gets out of its way.
func (c *command) note(format string, args ...any) {
	c.meter.hide()
	fmt.Fprintf(c.process.Stderr, format+"\n", args...)
}

// survey asks for the dead-letter topic: the reader of it, and its bounds by partition, each of which may not be known.
func (c *command) survey(ctx context.Context) (*reader, []cluster.Bounds, error) {
	name := c.cfg.DLQTopic
	t, err := c.brokers.topic(ctx, name, "LAYOVER_DLQ_TOPIC or --from")
	if err != nil {
		return nil, nil, err
	}
	return &reader{c.brokers, name, t.ID}, c.brokers.Bounds(ctx, name, t.Partitions), nil
}

// noteGone says which letters were deleted before they were read.
func (c *command) noteGone(n int32, s stretch) {
	c.note("%s/%d: the offsets %d to %d are deleted, and are left out", c.cfg.DLQTopic, n, s.first, s.last)
}

// noteHidden says which letters are behind an open transaction.
func (c *command) noteHidden(all stretches) {
	for _, n := range slices.Sorted(maps.Keys(all)) {
		c.note("%s/%d: the offsets %d to %d are behind an open transaction, and are left out", c.cfg.DLQTopic, n, all[n].first, all[n].last)
	}
}

// noteUnknown says which partitions are left out, as no broker tells where they begin and end.
func (c *command) noteUnknown(log []cluster.Bounds, unknown stretches) {
	for _, n := range slices.Sorted(maps.Keys(unknown)) {
		c.note("left out are the letters of %v", log[n].Err)
	}
}

// leftOut is the error of a call that leaves these partitions out, nil for none.
func leftOut(unknown stretches) error {
	switch n := len(unknown); n {
	case 0:
		return nil
	case 1:
		return errors.New("1 partition is left out")
	default:
		return fmt.Errorf("%d partitions are left out", n)
	}
}

// obstacle returns why redrive passes a letter over, or none, as far as settings tell.
func (c *command) obstacle(l *letter) obstacle {
	t := routes{ingress: c.cfg.IngressTopics, group: c.cfg.GroupID, anyGroup: c.again.anyGroup}
	return t.obstacle(l)
}
