package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/kafka"
	"layover/cli/process"
	"layover/cluster"
	"layover/producer"
)

const (
	// maxInFlight and maxInFlightBytes bound the records that were sent and not answered.
	// One record goes whatever its size.
	maxInFlight      = 10_000
	maxInFlightBytes = 32 << 20

	// deliveryTimeout bounds how long a record is tried. The client looks at it only
	// between attempts, so silentTimeout, which is final, is above it.
	deliveryTimeout = 30 * time.Second
	silentTimeout   = 40 * time.Second
	// drainTimeout is how long answers are waited for after a signal or an error.
	drainTimeout = 5 * time.Second

	// sayEvery is the time between two lines with the offsets that are not done.
	sayEvery = 10 * time.Second
	// burst is how much time of a late loop may be made up for.
	burst = 20 * time.Millisecond
)

// answer is a letter that was sent, and what became of it.
type answer struct {
	topic     string // place of the letter
	partition int32
	offset    int64
	record    *kgo.Record
	bytes     int64
	alone     bool // in a batch of its own
	err       error
}

// sender writes records to ingress topics. One goroutine has it; promises of the client
// only put answers into its channel, which has room for all in flight.
type sender struct {
	*brokers
	producer *producer.Producer
	topics   map[string]kafka.Topic
	limits   *limits
	results  chan answer
	interval time.Duration // between two records

	next     time.Time // when the next record may go
	inFlight int
	bytes    int64     // in flight
	large    []answer  // refused beside others, and to be sent alone
	alone    bool      // one of those is in flight
	stopping bool      // nothing is sent any more
	changed  time.Time // last answer, or the first record in flight
	said     time.Time // last line of progress
}

// newSender makes a sender, which the caller closes. Records need all in-sync replicas,
// and the client sends none twice by itself.
func newSender(b *brokers, rate int) (*sender, error) {
	s := &sender{
		brokers: b, topics: make(map[string]kafka.Topic), limits: &limits{of: make(map[string]int32)}, results: make(chan answer, maxInFlight),
		interval: time.Second / time.Duration(rate), said: time.Now(),
	}
	var err error
	s.producer, err = producer.New(producer.Config{
		Compression:   []kgo.CompressionCodec{kgo.SnappyCompression(), kgo.NoCompression()},
		MaxBuffered:   2 * maxInFlight, // the client counts a record until its promise has returned
		MaxBatchBytes: s.limits.batchBytes,
		Options: func(string) []kgo.Opt {
			return append(slices.Clip(b.Opts), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(deliveryTimeout))
		},
	})
	return s, err
}

func (s *sender) close() { s.producer.Close() }

// answers is where answers come; a nil sender has none.
func (s *sender) answers() <-chan answer {
	if s == nil {
		return nil
	}
	return s.results
}

// to returns an ingress topic, and asks for it once.
func (s *sender) to(ctx context.Context, name string) (kafka.Topic, error) {
	if t, ok := s.topics[name]; ok {
		return t, nil
	}
	t, err := s.topic(ctx, name, "LAYOVER_INGRESS_TOPICS")
	if err == nil {
		s.limits.set(name, kafka.AskIntake(ctx, s.Admin, name).BatchBytes)
		s.topics[name] = t
	}
	return t, err
}

// limits are the largest batches of topics, in bytes. The client asks from goroutines of
// its own.
type limits struct {
	mu sync.Mutex
	of map[string]int32
}

func (l *limits) set(topic string, bytes int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of[topic] = bytes
}

// batchBytes is Kafka's default for a topic that is not known.
func (l *limits) batchBytes(topic string) int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.of[topic], kafka.DefaultBatchBytes)
}

// wait is how long a record of that size has to wait for the rate; full says that it also
// has to wait for answers. What goes alone goes first: else it would gather here.
func (s *sender) wait(now time.Time, bytes int64) (d time.Duration, full bool) {
	full = s.inFlight >= maxInFlight || s.inFlight > 0 && s.bytes+bytes > maxInFlightBytes || len(s.large) > 0
	return s.next.Sub(now), full
}

// send sends a record, for which there is room. Its answer comes by the channel.
func (s *sender) send(a answer, now time.Time) {
	s.next = later(s.next, now.Add(-burst)).Add(s.interval)
	if s.inFlight == 0 {
		s.changed = now
	}
	s.inFlight++
	s.bytes += a.bytes
	s.producer.Deliver(a.record, a.alone, func(_ *kgo.Record, err error) {
		a.err = err
		s.results <- a
	})
}

// took takes an answer. It reports whether that is the last word: a record that is too
// large beside others, or before compression, is sent again alone.
func (s *sender) took(a *answer, now time.Time) (final bool) {
	s.inFlight--
	s.bytes -= a.bytes
	s.changed = now
	if a.alone {
		s.alone = false
	}
	if final = a.alone || producer.Classify(a.err) != producer.TooLarge; !final {
		again := *a
		again.alone, again.err = true, nil
		s.large = append(s.large, again)
	}
	if len(s.large) > 0 && !s.alone && !s.stopping {
		first := s.large[0]
		s.large, s.alone = s.large[1:], true
		s.send(first, now)
	}
	return final
}

// idle reports whether no answer is to come.
func (s *sender) idle() bool { return s.inFlight == 0 && (s.stopping || len(s.large) == 0) }

// stalled is the error of answers that do not come.
func (s *sender) stalled(now time.Time) error {
	if s.inFlight == 0 || now.Sub(s.changed) < silentTimeout {
		return nil
	}
	return s.explain(cluster.ErrNoAnswer, fmt.Sprintf("no answer to %s for %v, which may have been written or not", process.Count(int64(s.inFlight), "record"), silentTimeout), "")
}

// later returns the later of two instants.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// execute sends the letters, and waits for their answers: after an error or a signal no
// longer than drainTimeout.
func (r *redriving) execute(ctx context.Context) error {
	if len(r.all) == 0 {
		return nil
	}
	s, err := newSender(r.brokers, r.again.rate)
	if err != nil {
		return err
	}
	defer s.close()
	r.sender = s
	r.note("redriving %s", r.goOn(r.left())) // for whoever has to go on after a kill
	err = r.each(ctx, func(l *letter) error { return r.send(ctx, l) })
	if err == nil {
		err = r.until(ctx, s.idle)
	}
	if err != nil {
		s.stopping = true
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
		defer cancel()
		for !s.idle() && within.Err() == nil {
			if failed := r.until(within, s.idle); !errors.Is(failed, context.DeadlineExceeded) {
				err = cmp.Or(unlessStopped(err), failed, err)
			}
		}
	}
	return err
}

// unlessStopped is nil for the end of a context: an error of a record says more.
func unlessStopped(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// send sends one letter again, when rate and room allow it.
func (r *redriving) send(ctx context.Context, l *letter) error {
	s := r.sender
	to, err := s.to(ctx, l.origin.Topic)
	if err != nil {
		return fmt.Errorf("%s: %w", l.id(), err)
	}
	now := time.Now()
	a := answer{topic: l.Topic, partition: l.Partition, offset: l.Offset, record: r.again.record(l, to.Partitions, now)}
	a.bytes = sizeOf(a.record)
	if err := r.until(ctx, func() bool {
		wait, full := s.wait(time.Now(), a.bytes)
		return wait <= 0 && !full
	}); err != nil {
		return err
	}
	a.record.Timestamp = time.Now()
	r.positions[l.Partition].sent(l.Offset)
	s.send(a, a.record.Timestamp)
	return nil
}

// until takes answers until what it waits for is so, or ctx ends.
func (r *redriving) until(ctx context.Context, so func() bool) error {
	for !so() {
		wait, full := r.sender.wait(time.Now(), 0)
		if full || wait <= 0 || wait > paintEvery {
			wait = paintEvery
		}
		err := r.turn(ctx, wait)
		if err == nil {
			err = r.look(time.Now())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// turn takes one answer, or waits.
func (r *redriving) turn(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-r.sender.answers():
		return r.land(a)
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// land takes the answer to one letter. An error ends the call.
func (r *redriving) land(a answer) error {
	if !r.sender.took(&a, time.Now()) {
		return nil
	}
	if a.err == nil {
		r.written++
		r.positions[a.partition].acknowledged(a.offset)
		return nil
	}
	if producer.Classify(a.err) == producer.TooLarge {
		return fmt.Errorf("%s: refused as too large: %w; raise max.message.bytes of %s, or leave this letter out: begin --offsets of partition %d behind %d",
			subject(&a), a.err, a.record.Topic, a.partition, a.offset)
	}
	return r.brokers.explain(a.err, subject(&a), "Write on topic "+a.record.Topic)
}
