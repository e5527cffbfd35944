// Package send is the verb send, which writes records to an ingress topic:
//
//	$ layover send --brokers kafka:9092 --topic delayed --delay 30s hello
//	delayed-0-17 due 2026-01-01T12:00:30.000Z
//
// It is not a Kafka tool: there is nothing here to read records with or to
// create topics.
package send

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/process"
	"layover/delay"
	"layover/producer"
)

// send writes the records of one command line, and returns the exit code.
//
//	stdin ──▶ feeder ──▶ sent, in order of the lines ──▶ printer ──▶ stdout
//	             │                                          ▲
//	             └────────▶ kgo, any number at once ────────┘ done
//
// The printer is the caller's goroutine. Both queues are bounded, so the
// memory is too, however long stdin is.
func send(ctx context.Context, p *process.Process, o *options) int {
	placed := placedByKey
	if o.placedByID() {
		placed = placedByUs
	}
	conn, err := connect(ctx, o.address, "layover-send", placed)
	if err != nil {
		return p.Fail(err)
	}
	defer conn.Close()
	s := newSender(o, conn)
	next := once(o.value)
	if o.lines {
		next = linesOf(p.Stdin, int(conn.intake.BatchBytes))
		if p.StderrIsTerminal && !p.StdinIsTerminal { // it would paint over the user's typing
			s.counter = newCounter(p.Stderr, p.StdoutIsTerminal)
		}
	}
	s.out, s.stderr = bufio.NewWriter(s.counter.above(p.Stdout)), p.Stderr
	if o.hint != "" {
		s.say("note: " + o.hint)
	}
	if conn.intake.Stamps && o.atMs == nil {
		s.say(fmt.Sprintf("note: topic %q stamps records itself (LogAppendTime): due is by this machine's clock, and Layover counts from the broker's", o.topic))
	}
	err = s.run(ctx, next)
	s.counter.stop()
	if err != nil {
		return p.Fail(err)
	}
	return process.ExitOK
}

// sender writes the values of one source. The feeder owns the source, the
// printer owns out.
type sender struct {
	o    *options
	conn *connection
	out  *bufio.Writer
	sent chan *sentRecord // in order of the source; closed at its end
	stop chan struct{}    // closed by the printer at the first failure
	over bool             // no answer is waited for any more: what was sent may be written or not

	partition int32 // of each record, where the id chooses it

	stderr  io.Writer
	counter *counter // nil: nobody watches
}

func newSender(o *options, conn *connection) *sender {
	s := &sender{o: o, conn: conn, sent: make(chan *sentRecord, maxInFlight), stop: make(chan struct{})}
	if o.placedByID() {
		s.partition = producer.Pick([]byte(o.id), conn.partitions, nil)
	}
	return s
}

// sentRecord is one value on its way.
type sentRecord struct {
	line   int
	record *kgo.Record
	done   chan error // one result, never blocks
}

// run sends the values of next until io.EOF and prints each record. At the
// first failure it stops, after it has printed the records that got through.
//
// The feeder ends with the source, or after stop. It is not waited for: a read
// from a terminal cannot be interrupted, and the process is about to end.
func (s *sender) run(ctx context.Context, next func() ([]byte, error)) error {
	go s.feed(ctx, next)
	failure := s.print()
	if err := s.out.Flush(); failure == nil && err != nil {
		failure = fmt.Errorf("stdout: %w", err)
	}
	return failure
}

// feed sends one value after the other. Where kgo's buffer is full, Produce
// waits.
func (s *sender) feed(ctx context.Context, next func() ([]byte, error)) {
	defer close(s.sent)
	for line := 1; ; line++ {
		value, err := next()
		if err == io.EOF {
			return
		}
		r := &sentRecord{line: line, done: make(chan error, 1)}
		if err != nil {
			r.done <- err
		} else {
			r.record = s.o.record(value, time.Now())
			r.record.Partition = s.partition
			s.counter.sawRead()
		}
		select {
		case <-s.stop:
			return
		default:
		}
		select {
		case s.sent <- r:
		case <-s.stop:
			return
		}
		if err != nil {
			return
		}
		s.conn.Produce(ctx, r.record, func(record *kgo.Record, err error) {
			record.Value = nil // it may wait behind a slow one: only its place is needed
			r.done <- err
		})
	}
}

// print prints the records in order and returns the first failure. After one
// it takes only the records under way, and after a stall only the answers that are there.
func (s *sender) print() error {
	var failed *sentRecord
	var why error
	for broken := false; !broken; {
		s.counter.paintIfDue()
		r, ok := s.nextSent(failed != nil)
		if !ok {
			break
		}
		err := s.wait(r)
		if err == nil {
			err = s.printOne(r.record)
			broken = err != nil // the answers behind it are not looked at
			s.over = s.over || broken
		}
		if err != nil && failed == nil {
			failed, why = r, err
			close(s.stop)
		}
	}
	return s.describe(failed, why)
}

// nextSent waits for the next record, or takes one only if it is there. Printed
// lines are visible before it waits.
func (s *sender) nextSent(onlyPresent bool) (*sentRecord, bool) {
	select {
	case r, ok := <-s.sent:
		return r, ok
	default:
	}
	if onlyPresent {
		return nil, false
	}
	s.out.Flush() // an error comes again at the next write
	for {
		select {
		case r, ok := <-s.sent:
			return r, ok
		case <-s.counter.due():
			s.counter.paint()
		}
	}
}

// wait returns the result of r. Once one has not come, others are not waited for.
func (s *sender) wait(r *sentRecord) error {
	select {
	case err := <-r.done:
		return err
	default:
	}
	if s.over {
		return errStalled
	}
	s.out.Flush() // an error comes again at the next write
	timer := time.NewTimer(stalled)
	defer timer.Stop()
	for {
		select {
		case err := <-r.done:
			return err
		case <-timer.C:
			s.over = true
			return errStalled
		case <-s.counter.due():
			s.counter.paint()
		}
	}
}

var errStalled = fmt.Errorf("no answer for %v, the record may have been written or not", stalled)

// sentFacts is a record as -o json prints it. The names are documented.
type sentFacts struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	ID        string `json:"id"`
	Due       string `json:"due"` // RFC 3339 in UTC
	DelayID   string `json:"delay_id,omitempty"`
}

// printOne prints the id and the due time of a written record.
func (s *sender) printOne(r *kgo.Record) error {
	s.counter.sawWritten()
	if warning := s.o.refusal.warning(r); warning != "" {
		s.say("warning: " + warning)
	}
	f := sentFacts{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset,
		ID: delay.ID(r.Topic, r.Partition, r.Offset), Due: delay.FormatTime(s.o.dueMs(r)), DelayID: s.o.id,
	}
	var err error
	if s.o.json {
		err = process.WriteJSON(s.out, f)
	} else {
		_, err = fmt.Fprintf(s.out, "%s due %s\n", f.ID, f.Due)
	}
	if err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	return nil
}

// say writes a line to stderr, where the counter gets out of its way.
func (s *sender) say(line string) {
	if s.counter != nil {
		s.counter.hide()
	}
	fmt.Fprintln(s.stderr, line)
}

// describe says which record has failed first, nil for none, and what is known of those that are not printed.
func (s *sender) describe(failed *sentRecord, why error) error {
	if failed == nil {
		return nil
	}
	why = s.conn.kafka.Explain(why)
	switch {
	case s.o.lines && s.over:
		return fmt.Errorf("line %d: %w; the lines that are not printed may have been written or not", failed.line, why)
	case s.o.lines:
		return fmt.Errorf("line %d: %w; the lines from there on that are not printed were not acknowledged", failed.line, why)
	}
	return fmt.Errorf("topic %q: %w", s.o.topic, why)
}

// once is a source of one value.
func once(value string) func() ([]byte, error) {
	taken := false
	return func() ([]byte, error) {
		if taken {
			return nil, io.EOF
		}
		taken = true
		return []byte(value), nil
	}
}

// linesOf is a source of the lines of in, without their ends. A line of more
// than maxBytes is an error: no record holds it.
func linesOf(in io.Reader, maxBytes int) func() ([]byte, error) {
	lines := bufio.NewScanner(in)
	// The buffer holds the end of the line as well.
	lines.Buffer(make([]byte, 0, min(64<<10, maxBytes)), maxBytes+len("\r\n"))
	tooLong := fmt.Errorf("longer than the %d bytes that the topic takes", maxBytes)
	return func() ([]byte, error) {
		if lines.Scan() {
			if len(lines.Bytes()) > maxBytes {
				return nil, tooLong
			}
			return append([]byte{}, lines.Bytes()...), nil
		}
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			return nil, tooLong
		case err != nil:
			return nil, fmt.Errorf("stdin: %w", err)
		}
		return nil, io.EOF
	}
}
