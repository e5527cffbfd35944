package runs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/kafka"
	"layover/cli/process"
	"layover/config"
	"layover/journal"
	"layover/journal/copies"
	"layover/journal/logs"
)

// command is one call of the verb. One goroutine has it.
type command struct {
	options
	process *process.Process
	cfg     *config.Config
	ingress []string // topics that are looked at
	left    []string // others of the group, of which copies may wait
	brokers *kafka.Brokers
	reading *kgo.Client // of reading alone
	copies  *copies.Copies
	out     *bufio.Writer
	now     time.Time // from which what is due soon is counted
	code    int
}

// call loads the settings, connects, and shows to a buffered stdout.
func call(ctx context.Context, p *process.Process, o *options) int {
	cfg, ok := p.LoadConfig(o.load)
	if !ok {
		return process.ExitUsage
	}
	c := &command{options: *o, process: p, cfg: cfg, ingress: cfg.IngressTopics, out: bufio.NewWriter(p.Stdout), now: time.Now()}
	if o.topic != "" { // one of the settings or not: records may wait in one that was taken out of them
		c.ingress = []string{o.topic}
	}
	if err := c.connect(); err != nil {
		return p.Fail(err)
	}
	defer c.close()
	c.show(ctx)
	if err := c.out.Flush(); err != nil {
		return p.FailStdout(err)
	}
	return c.code
}

// connect makes the clients. They ask nothing yet.
func (c *command) connect() (err error) {
	if c.brokers, err = kafka.Ask(c.cfg.Kafka, "layover-runs", kgo.DisableClientMetrics()); err != nil { // or closing may take a second
		return err
	}
	options := func() []kgo.Opt { return c.brokers.Opts }
	quiet := slog.New(slog.DiscardHandler) // the findings say it
	facts := journal.New(journal.Config{
		Group: c.cfg.GroupID, Ingress: c.ingress, Name: c.cfg.JournalName, Auto: true, Client: c.brokers.Client, Options: options, Log: quiet,
	})
	if c.reading, err = logs.NewClient(c.brokers.Opts); err == nil {
		c.copies, err = copies.New(copies.Config{
			Group: c.cfg.GroupID, Name: c.cfg.RunsName, Journal: facts, Client: c.brokers.Client, Options: options, Batch: func(string) int { return limits.Batch }, Log: quiet,
		})
	}
	if err != nil {
		c.close()
	}
	return err
}

func (c *command) close() {
	if c.copies != nil {
		c.copies.Close()
	}
	if c.reading != nil {
		c.reading.Close()
	}
	c.brokers.Close()
}

// show prints the selected partitions, one after the other, and the verdict.
func (c *command) show(ctx context.Context) {
	parts, all, problems, err := c.known(ctx)
	if err != nil {
		c.fail(err)
		return
	}
	v := verdict{all: c.wholeGroup(), failed: len(problems), left: c.left}
	for _, problem := range problems {
		c.fail(problem)
	}
	for i, looked := range all {
		p := parts[i]
		f, err := c.find(ctx, p, looked)
		if f != nil {
			v.add(p, f)
			c.showPartition(p, f)
		}
		if err != nil {
			v.failed++
			c.fail(fmt.Errorf("%s: %w", p, err))
		}
		if c.out.Flush() != nil { // nobody reads any more
			return
		}
	}
	if len(parts) > 0 {
		c.showVerdict(&v)
	}
}

// showPartition prints one partition.
func (c *command) showPartition(p *partition, f *findings) {
	if c.json {
		c.object(p.facts(f))
		return
	}
	c.say("%s", p.text(f))
}

// showVerdict prints the verdict.
func (c *command) showVerdict(v *verdict) {
	if c.json {
		c.object(v.facts())
		return
	}
	c.say("%s", v.text(c.now))
}

// say prints to stdout. An error comes again when the output is flushed.
func (c *command) say(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// object prints one object. An error comes again when the output is flushed.
func (c *command) object(facts any) { _ = process.WriteJSON(c.out, facts) }

// fail prints an error, behind the output so far.
func (c *command) fail(err error) {
	c.out.Flush() // an error comes again at the end
	c.code = c.process.Fail(err)
}

var errBusy = errors.New("its runs have changed while they were read, again and again: ask once more")
