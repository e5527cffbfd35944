package endtoend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"layover/bench/broker"

	"github.com/twmb/franz-go/pkg/kgo"
)

// maxScatter is the longest of the short random delays.
const maxScatter = time.Minute

// fate is what becomes of a record.
type fate byte

const (
	atOnce    fate = iota // half of those that are neither of the last two
	scattered             // the other half: delivered after a random delay, long before the kill
	around                // due shortly before or after the kill, one in a hundred
	far                   // one in ten: parked all the time
)

// load is a window's records by their number, which is the key.
type load struct {
	fates   []fate
	kill    time.Time
	spread  time.Duration // before and after the kill
	scatter time.Duration

	far, around int
}

// plan decides what becomes of n records, at random and each time alike.
func plan(n int, kill time.Time, spread, scatter time.Duration) load {
	l := load{fates: make([]fate, n), kill: kill, spread: spread, scatter: scatter}
	random := rand.New(rand.NewPCG(7, 8))
	for i := range l.fates {
		switch u := random.IntN(200); {
		case u < 20:
			l.fates[i] = far
			l.far++
		case u < 22:
			l.fates[i] = around
			l.around++
		case u < 111:
			l.fates[i] = scattered
		}
	}
	return l
}

// delay is how long a record waits that is written now.
func (l *load) delay(f fate, now time.Time, random *rand.Rand) time.Duration {
	switch f {
	case scattered:
		return time.Millisecond + time.Duration(random.Int64N(int64(l.scatter)))
	case around:
		return max(l.kill.Add(-l.spread).Add(time.Duration(random.Int64N(int64(2*l.spread)))).Sub(now), 0)
	case far:
		return parkedFrom + time.Duration(random.Int64N(int64(parkedSpread)))
	}
	return 0
}

// write writes all records, as fast as the broker takes them.
func (l *load) write(ctx context.Context, addrs []string, topic string) error {
	sender, err := kgo.NewClient(
		kgo.SeedBrokers(addrs...), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(5*time.Millisecond),
	)
	if err != nil {
		return err
	}
	defer sender.Close()
	random := rand.New(rand.NewPCG(9, 10))
	var failed broker.Failure
	for i, f := range l.fates {
		now := time.Now()
		sender.Produce(ctx, record(strconv.Itoa(i), l.delay(f, now, random), now, random), failed.Note)
	}
	if err := sender.Flush(ctx); err != nil {
		return err
	}
	return failed.Get()
}

// audit is what all that was delivered comes to.
type audit struct {
	delivered int64 // with those that came again
	again     int64
}

// check reads all that was delivered. What is missing, or was not due, is an error.
func (r *restart) check(ctx context.Context) (a audit, err error) {
	_, dead, err := r.ends(ctx, r.dead())
	if err != nil {
		return a, err
	}
	_, end, err := r.ends(ctx, r.egress())
	if err != nil {
		return a, err
	}
	start := make(map[int32]int64)
	for p := range r.partitions {
		start[int32(p)] = 0
	}
	receiver, err := r.reader(r.egress(), start)
	if err != nil {
		return a, err
	}
	defer receiver.Close()
	seen, early := make([]bool, r.Window), 0
	for a.delivered < end {
		fetches := receiver.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return a, err
		}
		fetches.EachRecord(func(rec *kgo.Record) {
			a.delivered++
			n, err := strconv.Atoi(string(rec.Key))
			switch {
			case err != nil || n >= len(seen) || r.load.fates[n] == far:
				early++
			case seen[n]:
				a.again++
			default:
				seen[n] = true
			}
		})
	}
	want := int64(r.Window - r.load.far)
	if lost := want - (a.delivered - a.again - int64(early)); lost != 0 || early > 0 || dead > 0 {
		return a, fmt.Errorf("of %d records that were due %d were lost, %d others delivered, %d dead-lettered", want, lost, early, dead)
	}
	return a, nil
}
