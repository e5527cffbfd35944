package dev

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
)

// maxShown is how many bytes of a value are printed.
const maxShown = 60

// arrival is a delivered record, with nothing of the client's memory.
type arrival struct {
	id       string        // of the ingress record; empty: Layover did not deliver it
	due      time.Time     // zero: the record does not say
	lateness time.Duration // from due until the record was read here
	value    string        // quoted, and cut to maxShown
}

// watch reads the egress topic until ctx ends and then closes arrivals.
func watch(ctx context.Context, cl *kgo.Client, arrivals chan<- arrival, log *slog.Logger) {
	defer close(arrivals)
	for {
		fetches := cl.PollFetches(ctx)
		now := time.Now()
		if ctx.Err() != nil {
			return
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			log.Warn("egress topic cannot be read", "topic", topic, "partition", partition, "err", err)
		})
		for r := range fetches.RecordsAll() {
			select {
			case arrivals <- newArrival(r, now):
			case <-ctx.Done():
				return
			}
		}
	}
}

func newArrival(r *kgo.Record, now time.Time) arrival {
	var a arrival
	for _, h := range r.Headers {
		switch h.Key {
		case delay.HeaderID:
			a.id = string(h.Value)
		case delay.HeaderDue:
			if due, err := time.Parse(time.RFC3339, string(h.Value)); err == nil {
				a.due, a.lateness = due, now.Sub(due)
			}
		}
	}
	if len(r.Value) > maxShown {
		a.value = fmt.Sprintf("%q...", r.Value[:maxShown])
	} else {
		a.value = fmt.Sprintf("%q", r.Value)
	}
	return a
}

// print writes one line. The lateness is a consumer's: until the record was
// read, not only until it was written.
func (a arrival) print(w io.Writer) {
	if a.due.IsZero() {
		fmt.Fprintf(w, "  %s  (not delivered by Layover: it has no layover-due)\n", a.value)
		return
	}
	fmt.Fprintf(w, "  %s  due %s  lateness %d ms  %s\n",
		a.id, a.due.UTC().Format("15:04:05.000"), a.lateness.Milliseconds(), a.value)
}

// samples is how many records show at once how Layover works.
const samples = 5

// park sends the samples, due after 1 to 5 s, and returns their ids.
func park(ctx context.Context, cl *kgo.Client) (map[string]bool, error) {
	records := make([]*kgo.Record, samples)
	for i := range records {
		wait := time.Duration(i+1) * time.Second
		records[i] = &kgo.Record{
			Topic:     ingressTopic,
			Key:       fmt.Appendf(nil, "sample-%d", i+1),
			Value:     fmt.Appendf(nil, "sample %d of %d: %v later", i+1, samples, wait),
			Headers:   delay.Headers(&wait, nil, ""),
			Timestamp: time.Now(),
		}
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, fmt.Errorf("sample records: %w", err)
	}
	ids := make(map[string]bool, samples)
	for _, r := range records {
		ids[delay.ID(r.Topic, r.Partition, r.Offset)] = true
	}
	return ids, nil
}
