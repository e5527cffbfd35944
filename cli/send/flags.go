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
	"layover/delay"
)

// Command returns the verb send.
func Command(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send --delay D | --at T [--id ID] [flags] VALUE | -",
		Short: "write a delayed record",
		Long: `Writes a delayed record to an ingress topic and prints its id and when it is
due, in UTC.

VALUE is the record's value. "-" reads one record per line from stdin, each
printed in the order of the lines once the brokers have it; an empty line is a
record with an empty value, and the line's end (LF or CR LF) is not part of it.
If stderr is a terminal and stdin is none, a line there counts them meanwhile.
Flags may stand before and behind VALUE; "--" ends them.

With --id a later record of that id replaces this one while it waits, and
'layover cancel ID' ends it. An id is a name within one partition: without --key
the id chooses it as a key would, and the record has no key all the same.

No other setting is needed. A delay counts from the record's timestamp, which
is now; if the topic stamps records itself (LogAppendTime), from the broker's.
What is printed is by this machine's clock then, and a note on stderr says so.
With a back-off this is the first attempt, and auto is LAYOVER_BACKOFF.

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
	address
	key     []byte // nil: none
	headers []kgo.RecordHeader
	lines   bool // the values are lines of stdin, else value
	value   string
	json    bool // print objects

	delay   *time.Duration // Invariant: one of delay, atMs and backoff is set
	atMs    *int64         // Unix milliseconds
	backoff *delay.Backoff
	hint    string // about the delay, for people; "" for none
	id      string // that the record has; "" for none

	refusal refusal
}

// flags is the command line of send as it was given.
type flags struct {
	*pflag.FlagSet
	delay, at, to, key, id, expireAt string
	headers                          []string
	address                          *addressFlags
	output                           *process.Output
}

func newFlags(cmd *cobra.Command, p *process.Process) *flags {
	f := &flags{FlagSet: cmd.Flags()}
	f.StringVar(&f.delay, "delay", "", "wait for `TIME`: milliseconds, 1h30m, 2d, 1w, or\nISO 8601 (PT5M); or back off: auto, '1s..1h x2'")
	f.StringVar(&f.at, "at", "", "not before `TIME`: RFC 3339 with a zone, or Unix\nmilliseconds")
	f.StringVar(&f.to, "to", "", "deliver to `TOPIC` instead of the egress topic, if\nit is allowed")
	f.StringVar(&f.key, "key", "", "the record's `KEY`; without it the record has none")
	f.StringArrayVar(&f.headers, "header", nil, "a header `NAME=VALUE`; may be repeated, and the\norder is kept")
	f.StringVar(&f.id, "id", "", "name the record `ID`: it replaces the one of that id\nthat still waits")
	f.StringVar(&f.expireAt, "expire-at", "", "not delivered from `TIME` on, in the forms of --at")
	f.address = addAddress(cmd, p)
	f.output = process.AddOutput(cmd, "an object for each record: topic, partition,\noffset, id, due, delay_id")
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
		var err error
		if o.headers, err = addHeader(o.headers, pair); err != nil {
			return nil, err
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
	if err := o.takeID(f.Changed("id"), f.id); err != nil {
		return nil, err
	}
	if err := o.takeExpiry(f.Changed("expire-at"), f.expireAt); err != nil {
		return nil, err
	}
	var err error
	if o.address, err = f.address.read(p); err != nil {
		return nil, err
	}
	if err := checkMapped(f.headers, p.Environ); err != nil {
		return nil, err
	}
	o.refusal = refusalOf(p.Environ, o.topic, f.to)
	if f.delay == delay.BackoffAuto {
		o.backoff = &o.refusal.auto
	}
	return o, nil
}

// addHeader takes one --header. Layover's own headers are refused: their flags
// check the value, and a mistake here would be dead-lettered.
func addHeader(headers []kgo.RecordHeader, pair string) ([]kgo.RecordHeader, error) {
	name, value, ok := strings.Cut(pair, "=")
	switch {
	case !ok || name == "":
		return nil, fmt.Errorf("--header %q: want NAME=VALUE", pair)
	case strings.EqualFold(name, delay.HeaderDelayCancel), strings.EqualFold(name, delay.HeaderCancelOf):
		return nil, fmt.Errorf("--header %q: this header is written by layover cancel: use that", pair)
	case delay.IsControl(name), delay.IsExpireAt(name):
		return nil, fmt.Errorf("--header %q: this header is written by --delay, --at, --to, --id and --expire-at of layover send: use those", pair)
	}
	return append(headers, kgo.RecordHeader{Key: name, Value: []byte(value)}), nil
}

// checkMapped refuses each --header of another product that counts as Layover's own. Only environ with the files of
// --env-file says which these are, and so it comes behind addHeader.
func checkMapped(pairs []string, environ []string) error {
	mapped := mappedBy(environ)
	for _, pair := range pairs {
		if name, _, _ := strings.Cut(pair, "="); mapped(name) {
			return fmt.Errorf("--header %q: this header is a control header by LAYOVER_HEADERS or LAYOVER_HEADER_MAP here: use --delay, --at, --to, --id and --expire-at of layover send", pair)
		}
	}
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
	case hasDelay && delay.IsBackoff(delayText):
		b, err := delay.ParseBackoff(delayText)
		if err != nil && delayText != delay.BackoffAuto { // which the environment completes
			return fmt.Errorf("--delay %w", err)
		}
		o.backoff = &b
		o.headers = append(o.headers, kgo.RecordHeader{Key: delay.HeaderDelay, Value: []byte(delayText)})
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

// takeID checks the id as the server will. Lines of stdin have none: each would replace the
// one before.
func (o *options) takeID(has bool, id string) error {
	switch {
	case !has:
		return nil
	case o.lines:
		return errors.New("--id names one record: with - each line would replace the one before")
	}
	if err := delay.CheckID(id); err != nil {
		return fmt.Errorf("--id %w", err)
	}
	o.id = id
	o.headers = append(o.headers, delay.IDHeaders(id, nil)...)
	return nil
}

// placedByID reports whether the id chooses the partition, so that a second record of that
// id, or a cancel, meets the first.
func (o *options) placedByID() bool { return o.id != "" && o.key == nil }

// takeExpiry checks the form alone: a record that expires before it is due is written, with
// a warning.
func (o *options) takeExpiry(has bool, text string) error {
	if !has {
		return nil
	}
	ms, err := delay.ParseExpiry(text)
	if err != nil {
		return fmt.Errorf("--expire-at %w", err)
	}
	o.headers = append(o.headers, delay.IDHeaders("", &ms)...)
	return nil
}

// record returns a new record for value, which it shares.
func (o *options) record(value []byte, now time.Time) *kgo.Record {
	return &kgo.Record{Topic: o.topic, Key: o.key, Value: value, Headers: o.headers, Timestamp: now}
}

// dueMs is the deadline of a record that was written, in Unix milliseconds, and
// its later layover-due. For a delay of 0 or less it is the timestamp itself. Where the
// topic stamps records it is not the later one: the client does not tell that timestamp.
func (o *options) dueMs(r *kgo.Record) int64 {
	timestamp := r.Timestamp
	switch {
	case o.atMs != nil:
		return *o.atMs
	case o.backoff != nil:
		return o.backoff.Due(r)
	}
	wait := max(*o.delay, 0)
	if part := wait % time.Millisecond; part > 0 {
		return timestamp.UnixMilli() + (wait - part).Milliseconds() + 1
	}
	return timestamp.UnixMilli() + wait.Milliseconds()
}
