package endtoend

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"layover/bench/broker"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	keySize    = 16
	valueSize  = 100
	headerName = "x-delay"

	// Parked records are due in one to two hours, far beyond any run. Each of
	// these delays is seven digits, so that all records are of the same size.
	parkedFrom   = time.Hour
	parkedSpread = time.Hour

	// payload is what the sender gave each parked record: key, value, and the
	// header's name and value. Layover keeps all of it.
	payload = keySize + valueSize + len(headerName) + len("3600000")

	// Short delays are one to three seconds.
	shortFrom   = time.Second
	shortSpread = 2 * time.Second

	// sendEvery is how often the sender catches up with its rate.
	sendEvery = 5 * time.Millisecond
)

// parkedKey begins the keys of parked records; those of short ones are digits.
const parkedKey = "parked-"

// record makes a record that waits for delay, a whole number of milliseconds,
// from now on.
func record(key string, delay time.Duration, now time.Time, random *rand.Rand) *kgo.Record {
	value := make([]byte, 0, valueSize+8)
	for len(value) < valueSize {
		value = binary.LittleEndian.AppendUint64(value, random.Uint64())
	}
	return &kgo.Record{
		Key: []byte(key), Value: value[:valueSize], Timestamp: now,
		Headers: []kgo.RecordHeader{{Key: headerName, Value: strconv.AppendInt(nil, delay.Milliseconds(), 10)}},
	}
}

// park writes n records that are due in hours, as fast as the broker takes them.
func park(ctx context.Context, sender *kgo.Client, n int) error {
	random := rand.New(rand.NewPCG(1, 2))
	var failed broker.Failure
	now := time.Now()
	for i := range n {
		delay := parkedFrom + time.Duration(random.Int64N(parkedSpread.Milliseconds()))*time.Millisecond
		key := fmt.Sprintf("%s%0*d", parkedKey, keySize-len(parkedKey), i)
		sender.Produce(ctx, record(key, delay, now, random), failed.Note)
	}
	if err := sender.Flush(ctx); err != nil {
		return err
	}
	return failed.Get()
}

// flow writes perSecond records a second with short delays, until ctx ends,
// which is no error. What falls behind is caught up with: the rate is that of
// the whole, not of the sender's good moments.
func flow(ctx context.Context, sender *kgo.Client, l *ledger, perSecond int) error {
	random := rand.New(rand.NewPCG(3, 4))
	var failed broker.Failure
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	began, sent := time.Now(), 0
	for ctx.Err() == nil && failed.Get() == nil {
		now := time.Now()
		for ; sent < int(now.Sub(began).Seconds()*float64(perSecond)); sent++ {
			delay := shortFrom + time.Duration(random.Int64N(shortSpread.Milliseconds()))*time.Millisecond
			number := l.sent(now.UnixMilli() + delay.Milliseconds())
			key := fmt.Sprintf("%0*d", keySize, number)
			// Not with ctx: its end stops the sending and fails no record.
			sender.Produce(context.WithoutCancel(ctx), record(key, delay, now, random), failed.Note)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), arriveWithin)
	defer cancel()
	if err := sender.Flush(flush); err != nil {
		return err
	}
	return failed.Get()
}

// receive enters in the ledger what comes out, until ctx ends, which is no error.
func receive(ctx context.Context, receiver *kgo.Client, l *ledger) error {
	for {
		fetches := receiver.PollFetches(ctx)
		at := time.Now()
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("receiver: %w", err)
		}
		fetches.EachRecord(func(r *kgo.Record) { l.arrived(r, at) })
	}
}
