package cluster

import (
	"cmp"
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Change is a topic that an answer has changed.
type Change struct {
	Topic Topic
	// Renewed: the topic was deleted and made again, or has appeared.
	Renewed bool
	// FormerUntil is when an answer last had the id before a renewal; zero: none had.
	FormerUntil time.Time
}

// askPinned asks about the topics that the configuration names, in a request of their
// own. Its success or failure says whether brokers answer.
func (w *Watcher) askPinned(ctx context.Context) []Change {
	var names []string
	w.mu.Lock()
	w.names.plan(time.Now())
	for name := range w.topics {
		names = append(names, name)
	}
	w.mu.Unlock()
	wasRefused := w.refused()
	began := time.Now()
	resp, err := w.askTwice(ctx, names)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.asked, w.wasRefused, w.othersAnswer = now, wasRefused, err != nil && w.answersSince(began)
	if lately := cmp.Or(w.last, w.since); w.othersAnswer && now.Sub(lately) < patience { // the client asks another broker next
		return nil
	}
	if silent := w.err != nil || w.last.IsZero(); silent == (err == nil) { // a start counts as silence
		w.since = now
	}
	if w.err = err; err != nil {
		return nil
	}
	if gap := now.Sub(w.last); !w.last.IsZero() {
		w.answered += min(gap, maxAnswerGap)
	}
	w.last = now
	w.brokers = len(resp.Brokers)
	return w.note(resp, now)
}

// askTwice asks another broker where the first fails within the time of one question: the client goes through the
// brokers and the addresses of the settings in turn, and one of them may be no broker.
func (w *Watcher) askTwice(ctx context.Context, names []string) (resp *kmsg.MetadataResponse, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if resp, err = Metadata(ctx, w.client, names, askTimeout, false); err != nil && ctx.Err() == nil {
		return Metadata(ctx, w.client, names, askTimeout, false)
	}
	return resp, err
}

// answersSince reports whether some broker has answered some client since an instant.
func (w *Watcher) answersSince(at time.Time) bool {
	return w.cfg.Heard != nil && !w.cfg.Heard().Before(at)
}

// askNames asks about some of the names that headers chose. After a failure each of them
// is asked about again with fewer others. A failure says nothing about the brokers.
func (w *Watcher) askNames(ctx context.Context) []Change {
	w.mu.Lock()
	batch := w.names.next(time.Now())
	names := make([]string, len(batch))
	for i, t := range batch {
		names[i] = t.Name
	}
	w.mu.Unlock()
	if len(batch) == 0 {
		return nil
	}
	resp, err := Metadata(ctx, w.client, names, namesTimeout, false)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.askedNames = time.Now()
	if err != nil {
		w.names.failed(batch)
		w.cfg.Log.Debug("names that headers chose: no answer", "count", len(batch), "err", err)
		return nil
	}
	for _, t := range batch {
		t.batchLimit = 0
	}
	return w.note(resp, w.askedNames)
}

// note takes each topic of an answer, and returns the changes. Callers hold mu.
func (w *Watcher) note(resp *kmsg.MetadataResponse, now time.Time) (changes []Change) {
	for i := range resp.Topics {
		rt := &resp.Topics[i]
		if rt.Topic == nil {
			continue
		}
		t := w.topic(*rt.Topic)
		if t == nil { // forgotten meanwhile
			continue
		}
		old := *t
		t.read(rt)
		if rt.ErrorCode == 0 && rt.TopicID == t.ID {
			t.known = now
		}
		if !t.pinned {
			w.names.bytes += t.bytes() - old.bytes()
		}
		if old.State != t.State {
			t.Since = now
		}
		if t.State == Missing { // what was wrong with its configuration went with it
			delete(w.warnings, t.Name)
		}
		renewed := t.State == Usable && old.ID != t.ID && (old.ID != [16]byte{} || old.State == Missing)
		if old.State != t.State || old.Partitions != t.Partitions || renewed {
			changes = append(changes, Change{*t, renewed, old.known})
		}
	}
	return changes
}

// topic returns a topic that is known, or nil. Callers hold mu.
func (w *Watcher) topic(name string) *Topic {
	if t := w.topics[name]; t != nil {
		return t
	}
	return w.names.known[name]
}
