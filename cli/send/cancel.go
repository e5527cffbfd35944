package send

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/process"
	"layover/delay"
	"layover/producer"
)

// Cancel returns the verb cancel.
func Cancel(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel [--partition N | --key KEY] [flags] ID",
		Short: "end the record with an id before it is delivered",
		Long: `Writes a cancel: a record that ends the one with that id, if it still waits, and
is never delivered itself. Prints the id of each cancel that is written.

An id is a name within one partition, and nobody knows in which one the record
is: clients hash keys differently, and topics grow. So a cancel is written to
every partition of the topic, and all but one of them meet no record. With
--partition one is written, and with --key as well, to the partition that
'layover send' takes for that key.

Exit code: 0 if all cancels were written, which is not to say that a record was
found: it may have been delivered before, and it is not looked for here. 1 if
one was not written, 2 if the command line or the environment is wrong.`,
		Example: `  $ layover cancel order-17
  delayed-0-18
  delayed-1-4`,
		DisableFlagsInUseLine: true,
	}
	f := newCancelFlags(cmd, p)
	cmd.Run = p.Does("cancel", func(ctx context.Context, operands []string) int {
		o, err := f.options(p, operands)
		if err != nil {
			return p.FailUsage(err)
		}
		if err := cancel(ctx, p, o); err != nil {
			return p.Fail(err)
		}
		return process.ExitOK
	})
	return cmd
}

// everywhere is the partition of a command line that names none.
const everywhere = -1

// cancelOptions is a valid command line of cancel.
type cancelOptions struct {
	address
	id        string
	partition int32  // or everywhere
	key       []byte // nil: none, else it chooses the partition
	headers   []kgo.RecordHeader
	json      bool // print objects
	refusal   refusal
}

// cancelFlags is the command line of cancel as it was given.
type cancelFlags struct {
	*cobra.Command
	partition int32
	key       string
	headers   []string
	address   *addressFlags
	output    *process.Output
}

func newCancelFlags(cmd *cobra.Command, p *process.Process) *cancelFlags {
	f := &cancelFlags{Command: cmd}
	cmd.Flags().Int32Var(&f.partition, "partition", 0, "write one cancel, to partition `N`, instead of one to\neach")
	cmd.Flags().StringVar(&f.key, "key", "", "write one cancel, with this `KEY`, to the partition\nthat 'layover send' takes for it")
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "a header `NAME=VALUE`; may be repeated, and the\norder is kept")
	f.address = addAddress(cmd, p)
	f.output = process.AddOutput(cmd, "an object for each cancel: topic, partition,\noffset, id, delay_id")
	return f
}

// options checks the command line, and completes it from the environment. An
// error is the user's.
func (f *cancelFlags) options(p *process.Process, operands []string) (*cancelOptions, error) {
	o := &cancelOptions{partition: everywhere, json: f.output.JSON()}
	switch {
	case len(operands) == 0:
		return nil, errors.New("an id is missing: that of the record to cancel")
	case len(operands) > 1:
		return nil, fmt.Errorf("one id is wanted, not %d: quote it if it has spaces", len(operands))
	}
	if err := delay.CheckID(operands[0]); err != nil {
		return nil, fmt.Errorf("id %w", err)
	}
	o.id = operands[0]
	hasPartition, hasKey := f.Flags().Changed("partition"), f.Flags().Changed("key")
	switch {
	case hasPartition && hasKey:
		return nil, errors.New("--partition and --key are two places: give one")
	case hasPartition && f.partition < 0:
		return nil, fmt.Errorf("--partition %d: want 0 or more", f.partition)
	case hasPartition:
		o.partition = f.partition
	case hasKey:
		o.key = []byte(f.key)
	}
	var err error
	for _, pair := range f.headers {
		if o.headers, err = addHeader(o.headers, pair); err != nil {
			return nil, err
		}
	}
	if o.address, err = f.address.read(p); err != nil {
		return nil, err
	}
	if err := checkMapped(f.headers, p.Environ); err != nil {
		return nil, err
	}
	o.refusal = refusalOf(p.Environ, o.topic, "")
	return o, nil
}

// cancel writes the cancels of one command line. A partition that takes none does not keep
// the others from theirs.
func cancel(ctx context.Context, p *process.Process, o *cancelOptions) error {
	conn, err := connect(ctx, o.address, "layover-cancel", placedByUs)
	if err != nil {
		return err
	}
	defer conn.Close()
	partitions, err := o.partitions(conn.partitions)
	if err != nil {
		return err
	}
	all := o.produce(ctx, conn, partitions)
	ctx, stop := context.WithTimeout(ctx, stalled)
	defer stop()
	out := bufio.NewWriter(p.Stdout)
	failed, err := o.report(ctx, p, out, all)
	if flushed := out.Flush(); err == nil && flushed != nil {
		err = fmt.Errorf("stdout: %w", flushed)
	}
	if len(failed) > 0 {
		return conn.explainCancels(o.topic, failed, len(all))
	}
	return err
}

// partitions are those that a cancel is written to, of a topic that has so many.
func (o *cancelOptions) partitions(has int32) ([]int32, error) {
	switch {
	case o.key != nil:
		return []int32{producer.Pick(o.key, has, nil)}, nil
	case o.partition >= has:
		return nil, fmt.Errorf("--partition %d: topic %q has the partitions 0 to %d", o.partition, o.topic, has-1)
	case o.partition != everywhere:
		return []int32{o.partition}, nil
	}
	all := make([]int32, has)
	for i := range all {
		all[i] = int32(i)
	}
	return all, nil
}

// cancelled is one cancel on its way.
type cancelled struct {
	record *kgo.Record
	done   chan error // one result, never blocks
}

// produce sends a cancel to each of the partitions.
func (o *cancelOptions) produce(ctx context.Context, conn *connection, partitions []int32) []cancelled {
	headers := append(o.headers[:len(o.headers):len(o.headers)], delay.CancelHeaders(o.id, len(partitions))...)
	all := make([]cancelled, len(partitions))
	now := time.Now()
	for i, partition := range partitions {
		done := make(chan error, 1)
		all[i] = cancelled{&kgo.Record{Topic: o.topic, Partition: partition, Key: o.key, Headers: headers, Timestamp: now}, done}
		conn.Produce(ctx, all[i].record, func(_ *kgo.Record, err error) { done <- err })
	}
	return all
}

// wait returns the result, or an error once ctx has ended. An answer that is there counts.
func (c *cancelled) wait(ctx context.Context) error {
	select {
	case err := <-c.done:
		return err
	default:
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer for %v, the cancel may have been written or not", stalled)
	}
}

// unwritten is a partition that has no cancel, for certain or as far as is known.
type unwritten struct {
	partition int32
	err       error
}

// report waits for all cancels until ctx ends, prints those that were written, in the order
// of the partitions, and returns the others. An error is stdout's.
func (o *cancelOptions) report(ctx context.Context, p *process.Process, out *bufio.Writer, all []cancelled) (failed []unwritten, err error) {
	for _, c := range all {
		if wrong := c.wait(ctx); wrong != nil {
			failed = append(failed, unwritten{c.record.Partition, wrong})
			continue
		}
		if warning := o.refusal.warning(c.record); warning != "" {
			fmt.Fprintln(p.Stderr, "warning: "+warning)
		}
		if wrong := o.printOne(out, c.record); err == nil && wrong != nil {
			err = fmt.Errorf("stdout: %w", wrong)
		}
	}
	return failed, err
}

// cancelFacts is a cancel as -o json prints it. The names are documented.
type cancelFacts struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	ID        string `json:"id"` // of the cancel
	DelayID   string `json:"delay_id"`
}

func (o *cancelOptions) printOne(out *bufio.Writer, r *kgo.Record) error {
	id := delay.ID(r.Topic, r.Partition, r.Offset)
	if o.json {
		return process.WriteJSON(out, cancelFacts{r.Topic, r.Partition, r.Offset, id, o.id})
	}
	_, err := fmt.Fprintln(out, id)
	return err
}

// maxNamed bounds the partitions that an error names: a topic may have thousands.
const maxNamed = 10

// explainCancels is the error of the partitions without a cancel. Those that have one are
// printed.
func (c *connection) explainCancels(topic string, failed []unwritten, all int) error {
	var names []string
	for _, u := range failed[:min(len(failed), maxNamed)] {
		names = append(names, fmt.Sprint(u.partition))
	}
	if more := len(failed) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	what := fmt.Sprintf("%d of %d cancels were not written, to the partitions %s", len(failed), all, strings.Join(names, ", "))
	if len(failed) == 1 {
		what = fmt.Sprintf("the cancel to partition %s was not written, of %d", names[0], all)
	}
	return fmt.Errorf("topic %q: %s; those that are printed were: %w", topic, what, c.kafka.Explain(failed[0].err))
}
