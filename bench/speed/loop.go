package speed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/bench/broker"
	"layover/bench/process"
)

// The kinds of process that are started beside a Layover.
const (
	loopChild  = "copy"
	timerChild = "timer"
)

// Children are the kinds of process that this package starts beside the daemon's.
func Children() map[string]process.Serve {
	return map[string]process.Serve{loopChild: serveLoop, timerChild: serveTimer}
}

// loopOrder is what a loop is to copy. The client is kgo's as it comes, but for the linger.
type loopOrder struct {
	Brokers  []string
	Group    string
	From, To string // topics
	Linger   time.Duration
	Stamp    bool     // add the headers that a Layover adds
	Strip    []string // headers that are not copied: what a scheduler takes out
	Chooses  string   // header that names another topic than To, "" is none
	Delay    string   // header with milliseconds, by which Stamp knows when a record was due
}

// serveLoop copies until in ends.
func serveLoop(in, out *os.File) error {
	var o loopOrder
	ctx, rest, stop, err := begin(in, &o)
	if err != nil {
		return err
	}
	defer stop()
	cl, err := kgo.NewClient(kgo.SeedBrokers(o.Brokers...), kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(o.From),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ProducerLinger(o.Linger))
	if err != nil {
		return err
	}
	defer cl.Close()
	go answer(rest, out, stop) // ended by the end of in, or with the process
	var failed broker.Failure
	for ctx.Err() == nil && failed.Get() == nil {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil && ctx.Err() == nil {
			return fmt.Errorf("loop: %w", err)
		}
		for r := range fetches.RecordsAll() {
			cl.Produce(ctx, o.copyOf(r), func(_ *kgo.Record, err error) {
				if !errors.Is(err, context.Canceled) {
					failed.Note(nil, err)
				}
			})
		}
	}
	return failed.Get()
}

// begin decodes a child's first line. rest has what follows, and ctx ends with stop.
func begin(in io.Reader, order any) (ctx context.Context, rest io.Reader, stop func(), err error) {
	lines := bufio.NewReader(in)
	first, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(first, order)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("order: %w", err)
	}
	ctx, stop = context.WithCancel(context.Background())
	return ctx, lines, stop, nil
}

// answer greets, and answers orders until there are no more.
func answer(orders io.Reader, out io.Writer, stop func()) {
	defer stop()
	encode := json.NewEncoder(out)
	if encode.Encode(process.Greeting{}) == nil {
		process.TakeOrders(orders, encode)
	}
}

// copyOf is the record as it is written.
func (o *loopOrder) copyOf(r *kgo.Record) *kgo.Record {
	c := &kgo.Record{Topic: o.To, Key: r.Key, Value: r.Value, Headers: make([]kgo.RecordHeader, 0, len(r.Headers)+3)}
	due := r.Timestamp
	for _, h := range r.Headers {
		switch h.Key {
		case o.Chooses:
			c.Topic = string(h.Value)
		case o.Delay:
			ms, _ := strconv.ParseInt(string(h.Value), 10, 64)
			due = due.Add(time.Duration(ms) * time.Millisecond)
		}
		if !contains(o.Strip, h.Key) {
			c.Headers = append(c.Headers, h)
		}
	}
	if o.Stamp {
		c.Headers = append(c.Headers, stamps(r, due)...)
	}
	return c
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// stampLayout is how a Layover writes times.
const stampLayout = "2006-01-02T15:04:05.000Z"

// stamps are the headers that a Layover adds.
func stamps(r *kgo.Record, due time.Time) []kgo.RecordHeader {
	text := make([]byte, 0, len(r.Topic)+2*len("-9999999999")+2*len(stampLayout))
	text = append(append(text, r.Topic...), '-')
	text = append(strconv.AppendInt(text, int64(r.Partition), 10), '-')
	text = strconv.AppendInt(text, r.Offset, 10)
	id := len(text)
	text = due.UTC().AppendFormat(text, stampLayout)
	at := len(text)
	text = r.Timestamp.UTC().AppendFormat(text, stampLayout)
	return []kgo.RecordHeader{
		{Key: "layover-id", Value: text[:id:id]}, {Key: "layover-due", Value: text[id:at:at]}, {Key: "layover-original-timestamp", Value: text[at:]},
	}
}
