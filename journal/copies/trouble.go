package copies

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"layover/journal/runs"
	"layover/offsets"
)

const (
	// silentAfter is how long copies of a partition may go without an answer before that is trouble.
	silentAfter = 10 * time.Second
	// troubleFor is how long a failure is told after which nothing of its kind was tried.
	troubleFor = time.Minute
)

// Trouble is what is wrong with the runs topic of an ingress topic at the moment; "" is nothing.
type Trouble struct {
	Moving  string // copies are refused, or not answered
	Reading string // what waits there is not known, or not read

	MovingSince, ReadingSince time.Time
	Elsewhere                 bool // Reading is about the topic's name: brokers are well
}

// Troubles returns what is wrong with runs topics, by ingress topic. Of several partitions it is
// the lowest one's.
func (c *Copies) Troubles() map[string]Trouble { return c.troubles.all(time.Now()) }

// troubles follows what is asked of runs topics, by ingress partition. Any goroutine may use it.
type troubles struct {
	mu      sync.Mutex
	flying  map[offsets.TopicPartition]flight
	refused map[offsets.TopicPartition]failure // copies
	unread  map[offsets.TopicPartition]failure // openings and visits
}

// flight is the copies of a partition that are not answered.
type flight struct {
	count int
	since time.Time // of the last answer, or of the first copy when none was in flight
}

// failure is the last thing of a kind that a partition was asked for, where it failed.
type failure struct {
	since, at time.Time // of the first, where nothing of its kind has succeeded in between, and of the last
	text      string
	elsewhere bool
}

func newTroubles() troubles {
	return troubles{flying: make(map[offsets.TopicPartition]flight), refused: make(map[offsets.TopicPartition]failure), unread: make(map[offsets.TopicPartition]failure)}
}

// sent takes a copy that is on its way.
func (t *troubles) sent(tp offsets.TopicPartition, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.flying[tp]
	if f.count++; f.count == 1 {
		f.since = now
	}
	t.flying[tp] = f
}

// answered takes the answer to a copy.
func (t *troubles) answered(tp offsets.TopicPartition, err error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.flying[tp]; f.count > 1 {
		t.flying[tp] = flight{f.count - 1, now}
	} else {
		delete(t.flying, tp)
	}
	if !errors.Is(err, runs.ErrTooLarge) { // of which the keeper warns: the topic may take all others, or none
		note(t.refused, tp, err, now)
	}
}

// read takes how an opening or a visit ended.
func (t *troubles) read(tp offsets.TopicPartition, err error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	note(t.unread, tp, err, now)
}

func note(in map[offsets.TopicPartition]failure, tp offsets.TopicPartition, err error, now time.Time) {
	if err == nil {
		delete(in, tp)
		return
	}
	since := now
	if last, again := in[tp]; again && now.Sub(last.at) <= troubleFor {
		since = last.since
	}
	in[tp] = failure{since, now, err.Error(), errors.Is(err, ErrElsewhere)}
}

// all returns the troubles of now, and forgets the failures that are over.
func (t *troubles) all(now time.Time) map[string]Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]Trouble)
	lowest := make(map[string]int32)
	for tp, f := range t.flying {
		if silent := now.Sub(f.since); silent > silentAfter && lower(lowest, tp) {
			out[tp.Topic] = Trouble{Moving: fmt.Sprintf("partition %d has not answered for %d s", tp.Partition, silent/time.Second), MovingSince: f.since}
		}
	}
	eachFailure(t.refused, now, func(tp offsets.TopicPartition, last *failure) {
		out[tp.Topic] = Trouble{Moving: fmt.Sprintf("partition %d refuses copies: %s", tp.Partition, last.text), MovingSince: last.since}
	})
	eachFailure(t.unread, now, func(tp offsets.TopicPartition, last *failure) {
		is := out[tp.Topic]
		is.Reading, is.ReadingSince = fmt.Sprintf("partition %d is not read: %s", tp.Partition, last.text), last.since
		is.Elsewhere = last.elsewhere
		out[tp.Topic] = is
	})
	return out
}

// eachFailure calls f with the failure of the lowest partition of each topic, and with those above
// it before, in no order. It forgets those that are over.
func eachFailure(in map[offsets.TopicPartition]failure, now time.Time, f func(tp offsets.TopicPartition, last *failure)) {
	lowest := make(map[string]int32)
	for tp, last := range in {
		switch {
		case now.Sub(last.at) > troubleFor:
			delete(in, tp)
		case lower(lowest, tp):
			f(tp, &last)
		}
	}
}

// lower reports whether a partition is the lowest one of its topic up to now.
func lower(lowest map[string]int32, tp offsets.TopicPartition) bool {
	p, known := lowest[tp.Topic]
	if known && p < tp.Partition {
		return false
	}
	lowest[tp.Topic] = tp.Partition
	return true
}
