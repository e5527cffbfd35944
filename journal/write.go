package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/journal/logs"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Write appends a record to the journal of an ingress partition. It calls done once,
// from any goroutine, and at once where there is no such journal. Records of one
// partition are appended in the order of the calls.
func (j *Journal) Write(tp offsets.TopicPartition, w facts.Write, done func(facts.Result)) {
	name, err := j.writable(tp)
	if err != nil {
		j.flights.refused(tp, err, j.cfg.Log, time.Now())
		done(result(w.Seq, err))
		return
	}
	j.flights.begin(tp, time.Now())
	j.cfg.Produce(&kgo.Record{Topic: name, Partition: tp.Partition, Value: w.Value}, func(r *kgo.Record, err error) {
		j.flights.end(tp, time.Now())
		if err == nil {
			done(facts.Result{Seq: w.Seq, Offset: r.Offset})
			return
		}
		err = cluster.Allow(err, "Write on topic "+name)
		j.flights.refused(tp, err, j.cfg.Log, time.Now())
		answer := result(w.Seq, err)
		answer.TooLarge = isTooLarge(err)
		done(answer)
	})
}

// isTooLarge says whether a record was refused for its size: the next ones are smaller.
// After any other refusal the whole set is written anew.
func isTooLarge(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge)
}

// writable returns the topic that a partition's records are written to.
func (j *Journal) writable(tp offsets.TopicPartition) (string, error) {
	switch t, ok := j.keeper.of(j.journals, tp.Topic); {
	case !ok:
		return "", fmt.Errorf("%s is no ingress topic", tp.Topic)
	case t.state != usable:
		return "", fmt.Errorf("journal topic %.300s: %s", t.name, t.state)
	case tp.Partition >= t.partitions:
		return "", fmt.Errorf("journal topic %s has %d partitions, and no partition %d", t.name, t.partitions, tp.Partition)
	default:
		return t.name, nil
	}
}

// silentAfter is how long a journal may take to answer. saySilence is the time between two
// lines about one that takes longer.
const (
	silentAfter = 3 * time.Second
	saySilence  = 30 * time.Second
)

// flights follows the records that are not answered.
type flights struct {
	mu     sync.Mutex
	open   map[offsets.TopicPartition]flight // by ingress partition
	silent bool                              // that nothing answers is logged
	said   time.Time                         // when that was last logged
	failed time.Time                         // when a refusal was last logged
	errs   map[string]string                 // last error of each ingress topic, until a record is appended
}

// flight is a partition with records in flight.
type flight struct {
	count int
	since time.Time // of the last answer, or of the first record when none was in flight
}

func (f *flights) begin(tp offsets.TopicPartition, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.open[tp]
	if o.count++; o.count == 1 {
		o.since = now
	}
	f.open[tp] = o
}

func (f *flights) end(tp offsets.TopicPartition, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.errs, tp.Topic)
	if o := f.open[tp]; o.count > 1 {
		f.open[tp] = flight{o.count - 1, now}
		return
	}
	delete(f.open, tp)
}

// refused notes a record that was not appended, and logs that at most every 30 s.
func (f *flights) refused(tp offsets.TopicPartition, err error, log *slog.Logger, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.errs == nil {
		f.errs = make(map[string]string)
	}
	f.errs[tp.Topic] = err.Error()
	if f.failed.IsZero() || now.Sub(f.failed) >= saySilence {
		f.failed = now
		log.Warn("journal refuses a record, delivering and committing go on", "topic", tp.Topic, "partition", tp.Partition, "err", err)
	}
}

// errors returns the last refusal of each ingress topic.
func (f *flights) errors() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make(map[string]string, len(f.errs))
	for k, v := range f.errs {
		out[k] = v
	}
	return out
}

// say logs every 30 s that records are not answered, and once that they are again.
func (f *flights) say(log *slog.Logger, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	silent, oldest, first := 0, now, offsets.TopicPartition{}
	for tp, o := range f.open {
		if now.Sub(o.since) <= silentAfter {
			continue
		}
		silent++
		if o.since.Before(oldest) {
			oldest, first = o.since, tp
		}
	}
	switch {
	case silent > 0 && (f.said.IsZero() || now.Sub(f.said) >= saySilence):
		f.silent, f.said = true, now
		log.Warn("journal does not answer, delivering and committing go on", "topic", first.Topic, "partition", first.Partition,
			"partitions", silent, "for", now.Sub(oldest).Round(time.Second))
	case silent == 0 && f.silent:
		f.silent = false
		log.Info("journal answers again")
	}
}

// Delete deletes the records of an ingress partition's journal below an offset, in the
// background. It calls done once, within 5 s.
func (j *Journal) Delete(tp offsets.TopicPartition, below int64, done func(error)) {
	j.deletes.Go(func() { // ends with its request, which has a time limit
		err := logs.Delete(context.Background(), j.cfg.Client, j.at(tp), below)
		j.sayDeletion(tp, err)
		done(err)
	})
}

// sayDeletion logs once for a topic that deleting is not allowed, until it is.
func (j *Journal) sayDeletion(tp offsets.TopicPartition, err error) {
	name := j.cfg.Name(tp.Topic)
	refused := errors.Is(err, kerr.TopicAuthorizationFailed)
	if err != nil && !refused { // which says nothing about the right
		j.cfg.Log.Debug("records of the journal are not deleted yet", "topic", name, "partition", tp.Partition, "err", err)
		return
	}
	j.mu.Lock()
	said := j.refused[name]
	if delete(j.refused, name); refused {
		j.refused[name] = true
	}
	j.mu.Unlock()
	if refused && !said {
		j.cfg.Log.Warn("records of the journal cannot be deleted, and it grows", "topic", name, "partition", tp.Partition,
			"err", cluster.Allow(err, "Delete on topic "+name))
	}
}
