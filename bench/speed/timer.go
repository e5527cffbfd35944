package speed

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/bench/broker"
	"layover/cluster"
)

// timerOrder is what a bare producer is to write, from memory.
type timerOrder struct {
	Brokers []string
	To      string
	Tag     string // of the keys
	First   int    // number of the first record
	Value   int    // bytes
	N       int
	FromMs  int64         // the first is due then, in Unix milliseconds
	Every   time.Duration // the others follow

	Read string // topic that is read meanwhile, as a Layover reads its own; "" is none

	Probe    string  // topic that has a record of its own at each instant of ProbesMs, numbered behind the others
	ProbesMs []int64 // Unix milliseconds, in order
}

// dueMs is when a record is due: in whole milliseconds, rounded up as a Layover does.
func (o *timerOrder) dueMs(i int) int64 {
	after := time.Duration(i) * o.Every
	return o.FromMs + int64((after+time.Millisecond-1)/time.Millisecond)
}

// serveTimer writes each record when it is due, and then waits for in to end.
func serveTimer(in, out *os.File) error {
	var o timerOrder
	ctx, rest, stop, err := begin(in, &o)
	if err != nil {
		return err
	}
	defer stop()
	opts := []kgo.Opt{kgo.SeedBrokers(o.Brokers...), kgo.ProducerLinger(0), kgo.MaxBufferedRecords(max(o.N, 10_000))}
	if o.Read != "" {
		opts = append(opts, kgo.ConsumeTopics(o.Read))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	if o.Read != "" {
		go read(ctx, cl) // ended by stop
	}
	go answer(rest, out, stop) // ended by the end of in, or with the process
	var failed broker.Failure
	o.write(ctx, cl, &failed)
	<-ctx.Done()
	flush, cancel := context.WithTimeout(context.Background(), arriveWithin)
	defer cancel()
	if err := cl.Flush(flush); err != nil {
		return fmt.Errorf("bare produce: %w", err)
	}
	return failed.Get()
}

// read reads what comes, and drops it.
func read(ctx context.Context, cl *kgo.Client) {
	for ctx.Err() == nil {
		cl.PollFetches(ctx)
	}
}

// write returns when all records are with the client.
func (o *timerOrder) write(ctx context.Context, cl *kgo.Client, failed *broker.Failure) {
	values := newPool(o.Value)
	produce := func(topic string, number int) {
		r := &kgo.Record{Topic: topic, Key: key(o.Tag, number), Value: values.next()}
		cl.Produce(context.Background(), r, failed.Note)
	}
	for i, probes := 0, 0; (i < o.N || probes < len(o.ProbesMs)) && ctx.Err() == nil; {
		now := time.Now().UnixMilli()
		for ; probes < len(o.ProbesMs) && o.ProbesMs[probes] <= now; probes++ {
			produce(o.Probe, o.First+o.N+probes)
		}
		for ; i < o.N && o.dueMs(i) <= now; i++ {
			produce(o.To, o.First+i)
		}
		next := int64(0)
		if i < o.N {
			next = o.dueMs(i)
		}
		if probes < len(o.ProbesMs) && (next == 0 || o.ProbesMs[probes] < next) {
			next = o.ProbesMs[probes]
		}
		if next > 0 && cluster.Pause(ctx, time.Until(time.UnixMilli(next))) != nil {
			return
		}
	}
}
