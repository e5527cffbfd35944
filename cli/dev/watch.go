package dev

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
)

// maxShown is how many bytes of a value are printed.
const maxShown = 60

// arrival is a record that came out, with nothing of the client's memory.
type arrival struct {
	ours     bool          // Layover delivered it, by its headers
	id       string        // of the ingress record; empty: the record does not say
	due      time.Time     // zero: the record does not say
	lateness time.Duration // from due until the record was read here
	value    string        // quoted, and cut to maxShown
	missed   bool          // written and due before dev began
	note     string        // printed instead, where it is not empty: about an ingress record or a dead letter
}

// watcher reads the topics.
type watcher struct {
	cl       *kgo.Client
	began    time.Time
	maxDelay time.Duration
	log      *slog.Logger
	ingress  []string
}

// watch reads until ctx ends and then closes arrivals.
func (w *watcher) watch(ctx context.Context, arrivals chan<- arrival) {
	defer close(arrivals)
	for {
		fetches := w.cl.PollFetches(ctx)
		now := time.Now()
		if ctx.Err() != nil {
			return
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			w.log.Warn("topic cannot be read", "topic", topic, "partition", partition, "err", err)
		})
		for r := range fetches.RecordsAll() {
			a, ok := w.arrival(r, now)
			if !ok {
				continue
			}
			select {
			case arrivals <- a:
			case <-ctx.Done():
				return
			}
		}
	}
}

// arrival is what is to be printed of a record, if anything is.
func (w *watcher) arrival(r *kgo.Record, now time.Time) (a arrival, ok bool) {
	switch {
	case slices.Contains(w.ingress, r.Topic):
		hint := delay.HintOf(r.Headers)
		return arrival{note: fmt.Sprintf("%s  note: x-delay is %s", delay.ID(r.Topic, r.Partition, r.Offset), hint)}, hint != ""
	case r.Topic == dlqTopic:
		return arrival{note: deadLetter(r, w.maxDelay, now)}, true
	}
	return newArrival(r, w.began, now), true
}

func newArrival(r *kgo.Record, began, now time.Time) arrival {
	var a arrival
	var written time.Time
	for _, h := range r.Headers {
		a.ours = a.ours || delay.IsStamped(h.Key)
		switch h.Key {
		case delay.HeaderID:
			a.id = printable(h.Value)
		case delay.HeaderDue:
			if due, err := time.Parse(time.RFC3339, string(h.Value)); err == nil {
				a.due, a.lateness = due, now.Sub(due)
			}
		case delay.HeaderOriginalTimestamp:
			written, _ = time.Parse(time.RFC3339, string(h.Value))
		}
	}
	a.value = shown(r.Value)
	// A record of this run may ask for an instant in the past: that one is printed.
	a.missed = !a.due.IsZero() && !written.IsZero() && a.due.Before(began) && written.Before(began)
	return a
}

// shown is a value in quotes, cut to maxShown.
func shown(value []byte) string {
	if len(value) > maxShown {
		return fmt.Sprintf("%q...", value[:maxShown])
	}
	return fmt.Sprintf("%q", value)
}

// print writes one line. The lateness is a consumer's: until the record was
// read, not only until it was written.
func (a arrival) print(w io.Writer) {
	if a.note != "" {
		fmt.Fprintf(w, "  %s\n", a.note)
		return
	}
	if !a.ours {
		fmt.Fprintf(w, "  %s  (not delivered by Layover: it has none of its headers)\n", a.value)
		return
	}
	if a.id != "" {
		fmt.Fprintf(w, "  %s", a.id)
	}
	if !a.due.IsZero() {
		fmt.Fprintf(w, "  due %s  lateness %d ms", a.due.UTC().Format("15:04:05.000"), a.lateness.Milliseconds())
	}
	fmt.Fprintf(w, "  %s\n", a.value)
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
