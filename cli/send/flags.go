package send

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/process"
	"layover/config"
	"layover/delay"
)

// Command returns the verb send.
func Command(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send --delay D | --at T [flags] VALUE | -",
		Short: "write a delayed record",
		Long: `Writes a delayed record to an ingress topic and prints its id and when it is
due, in UTC.

VALUE is the record's value. "-" reads one record per line from stdin, each
printed in the order of the lines once the brokers have it; an empty line is a
record with an empty value, and the line's end (LF or CR LF) is not part of it.
If stderr is a terminal and stdin is none, a line there counts them meanwhile.
Flags may stand before and behind VALUE; "--" ends them.

No other setting is needed. A delay counts from the record's timestamp, which
is now; if the topic stamps records itself (LogAppendTime), from the broker's.

Layover's own settings, as far as they are here, say what it will refuse: a
deadline beyond LAYOVER_MAX_DELAY, a target that is not allowed. send writes
such a record all the same, and warns on stderr.

Exit code: 0 if all records were written, 1 if one was not, 2 if the command
line or the environment is wrong.`,
		Example: `  $ layover send --delay 30s hello
  delayed-0-17 due 2026-01-01T12:00:30.000Z`,
		DisableFlagsInUseLine: true,
	}
	f := newFlags(cmd, p)
	cmd.Run = p.Does("send", func(ctx context.Context, operands []string) int {
		o, err := f.options(p, operands)
		if err != nil {
			return p.FailUsage(err)
		}
		return send(ctx, p, o)
	})
	return cmd
}

// options is a valid command line of send.
type options struct {
	kafka   config.Kafka
	topic   string
	key     []byte // nil: none
	headers []kgo.RecordHeader
	lines   bool // the values are lines of stdin, else value
	value   string
	json    bool // print objects

	delay *time.Duration // Invariant: one of delay and atMs is set
	atMs  *int64         // Unix milliseconds
	hint  string         // about the delay, for people; "" for none

	refusal refusal
}

// flags is the command line of send as it was given.
type flags struct {
	*pflag.FlagSet
	delay, at, to, key, brokers, topic string
	headers                            []string
	output                             *process.Output
}

func newFlags(cmd *cobra.Command, p *process.Process) *flags {
	f := &flags{FlagSet: cmd.Flags()}
	f.StringVar(&f.delay, "delay", "", "wait for `TIME`: milliseconds, 1h30m, 2d, 1w, or\nISO 8601 (PT5M)")
	f.StringVar(&f.at, "at", "", "not before `TIME`: RFC 3339 with a zone, or Unix\nmilliseconds")
	f.StringVar(&f.to, "to", "", "deliver to `TOPIC` instead of the egress topic, if\nit is allowed")
	f.StringVar(&f.key, "key", "", "the record's `KEY`; without it the record has none")
	f.StringArrayVar(&f.headers, "header", nil, "a header `NAME=VALUE`; may be repeated, and the\norder is kept")
	f.StringVar(&f.brokers, "brokers", "", "connect to a `LIST` of host:port instead of\nKAFKA_BROKERS")
	f.StringVar(&f.topic, "topic", "", "write to `TOPIC` instead of the first of\nLAYOVER_INGRESS_TOPICS")
	p.AddEnvFile(cmd)
	f.output = process.AddOutput(cmd, "an object for each record: topic, partition,\noffset, id, due")
	return f
}

// options checks the command line, and completes it from the environment. An
// error is the user's.
func (f *flags) options(p *process.Process, operands []string) (*options, error) {
	o := &options{json: f.output.JSON()}
	if f.Changed("key") {
		o.key = []byte(f.key)
	}
	for _, pair := range f.headers {
		if err := o.addHeader(pair); err != nil {
			return nil, fmt.Errorf("--header %q: %w", pair, err)
		}
	}
	if err := o.takeValue(operands); err != nil {
		return nil, err
	}
	if err := o.takeWait(f.Changed("delay"), f.delay, f.Changed("at"), f.at); err != nil {
		return nil, err
	}
	if err := o.takeTarget(f.Changed("to"), f.to); err != nil {
		return nil, err
	}
	if err := p.ReadEnvFiles(); err != nil {
		return nil, err
	}
	if err := o.takeAddress(f.brokers, f.topic, p); err != nil {
		return nil, err
	}
	o.refusal = refusalOf(p.Environ, o.topic, f.to)
	return o, nil
}

// addHeader takes one --header. Layover's own headers are refused: their flags
// check the value, and a mistake here would be dead-lettered.
func (o *options) addHeader(pair string) error {
	name, value, ok := strings.Cut(pair, "=")
	switch {
	case !ok || name == "":
		return errors.New("want NAME=VALUE")
	case delay.IsControl(name):
		return errors.New("this header is written by --delay, --at and --to: use those")
	}
	o.headers = append(o.headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	return nil
}

func (o *options) takeValue(operands []string) error {
	switch len(operands) {
	case 0:
		return errors.New("a value is missing, or - for one record per line of stdin")
	case 1:
		o.value, o.lines = operands[0], operands[0] == "-"
		return nil
	}
	return fmt.Errorf("one value is wanted, not %d: quote it if it has spaces", len(operands))
}

// takeWait checks the form of the delay or the instant as the server will: no record is
// written that is malformed. A delay goes into the header as it was typed.
func (o *options) takeWait(hasDelay bool, delayText string, hasAt bool, atText string) error {
	switch {
	case !hasDelay && !hasAt:
		return errors.New("--delay or --at is missing; --delay 0 is at once")
	case hasDelay && hasAt:
		return errors.New("--delay and --at are two deadlines: give one")
	case hasDelay:
		d, err := delay.ParseDelay(delayText)
		if err != nil {
			return fmt.Errorf("--delay %w", err)
		}
		o.delay = &d
		o.headers = append(o.headers, kgo.RecordHeader{Key: delay.HeaderDelay, Value: []byte(delayText)})
		if hint := delay.Hint([]byte(delayText)); hint != "" {
			o.hint = "--delay " + delayText + " is " + hint
		}
	case hasAt:
		ms, err := delay.ParseInstant(atText)
		if err != nil {
			return fmt.Errorf("--at %w", err)
		}
		o.atMs = &ms
		o.headers = append(o.headers, delay.Headers(nil, o.atMs, "")...)
	}
	return nil
}

// takeTarget checks the name alone: which targets are allowed is the server's to say.
func (o *options) takeTarget(hasTo bool, to string) error {
	if !hasTo {
		return nil
	}
	if _, err := delay.NewTargets(to, nil, nil, nil); err != nil || to == "" {
		return fmt.Errorf("--to %q: want the name of a topic, not of an internal one", to)
	}
	o.headers = append(o.headers, delay.Headers(nil, nil, to)...)
	return nil
}

// takeAddress reads the brokers and the topic. A flag takes the place of its
// variable before that is checked: a mistake in the variable does not matter
// then, and the check is the same.
func (o *options) takeAddress(brokers, topic string, p *process.Process) error {
	environ := p.Environ
	flagOf := make(map[string]string)
	set := func(flag, variable, value string) {
		if value != "" {
			environ = append(environ[:len(environ):len(environ)], variable+"="+value, variable+"_FILE=")
			flagOf[variable] = flag
		}
	}
	set("--brokers", "KAFKA_BROKERS", brokers)
	set("--topic", "LAYOVER_INGRESS_TOPICS", topic)
	if strings.Contains(topic, ",") {
		return fmt.Errorf("--topic %q: want one topic", topic)
	}
	// The address of the server is none of send's settings.
	c, warnings, err := config.LoadClient(append(environ[:len(environ):len(environ)], "LAYOVER_HTTP_ADDR=", "LAYOVER_HTTP_ADDR_FILE="))
	p.Judge(warnings, nil)
	if problems, ok := errors.AsType[*config.Errors](err); ok {
		for _, p := range problems.Problems {
			if flag := flagOf[p.Variable]; flag != "" {
				_, value, _ := strings.Cut(p.Example, "=")
				return fmt.Errorf("%s: %s; example: %s %s", flag, p.Reason, flag, value)
			}
		}
	}
	switch {
	case err != nil:
		return err
	case len(c.Kafka.Brokers) == 0:
		return errors.New("no brokers: set KAFKA_BROKERS or use --brokers; example: --brokers kafka:9092")
	case c.Topic == "":
		return errors.New("no topic: set LAYOVER_INGRESS_TOPICS or use --topic; example: --topic delayed")
	}
	o.kafka, o.topic = c.Kafka, c.Topic
	return nil
}

// record returns a new record for value, which it shares.
func (o *options) record(value []byte, now time.Time) *kgo.Record {
	return &kgo.Record{Topic: o.topic, Key: o.key, Value: value, Headers: o.headers, Timestamp: now}
}

// dueMs is the deadline of a record with that timestamp, in Unix milliseconds, and
// its later layover-due: the timestamp itself for a delay of 0 or less.
func (o *options) dueMs(timestamp time.Time) int64 {
	if o.atMs != nil {
		return *o.atMs
	}
	wait := max(*o.delay, 0)
	if part := wait % time.Millisecond; part > 0 {
		return timestamp.UnixMilli() + (wait - part).Milliseconds() + 1
	}
	return timestamp.UnixMilli() + wait.Milliseconds()
}
