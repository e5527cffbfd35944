package journal

import (
	"context"
	"errors"
	"slices"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/journal/logs"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Times of a restore.
const (
	restoreRetry = 200 * time.Millisecond // between two questions
	// visibleWait is the time in which a record that a commit names has to become readable.
	visibleWait = 10 * time.Second
	// missingWait is how long a topic that a commit names may be unknown: a broker
	// that has just started knows none.
	missingWait = 2 * time.Second
	// namedWait and unnamedWait are how long a journal partition may make no progress before
	// its ingress partition begins without it.
	namedWait   = 30 * time.Second
	unnamedWait = 3 * time.Second
	stallWait   = 5 * time.Second // without a record, before bounds are asked for anew
	sayProgress = 10 * time.Second
	sayTook     = time.Second
)

// Restore reads the journals of partitions that begin, and adds the finished offsets to
// their windows. It calls done with each partition's answer, by the index of its ask, as
// soon as that one is complete. So a journal partition that is out of reach delays its own
// ingress partition alone. It returns after the last answer: at the latest after 30 s
// without progress, or when ctx ends.
func (j *Journal) Restore(ctx context.Context, asks []facts.Ask, done func(i int, a facts.Answer)) {
	r := &restoring{
		journal: j, began: time.Now(), answer: done, parts: make(map[offsets.TopicPartition]*part),
		bounds: make(chan cluster.Located), fetched: make(chan fetched), ends: make(chan epochEnd), fetching: make(map[int32]bool),
	}
	asking, cancel := context.WithCancel(ctx)
	r.begin(asks)
	r.run(asking)
	cancel()
	r.asking.Wait()
	if r.client != nil {
		r.client.Close()
	}
	r.sum(len(asks))
}

// run reads until all partitions are done.
func (r *restoring) run(ctx context.Context) {
	said := r.began
	for r.open > 0 {
		r.journal.turned()
		r.turn(ctx, time.Now())
		r.wait(ctx)
		if err := ctx.Err(); err != nil {
			r.stopped = true
			for _, p := range r.parts {
				r.finish(p, err)
			}
		}
		if now := time.Now(); now.Sub(said) >= sayProgress {
			said = now
			r.sayProgress()
		}
	}
}

// turn asks the questions that are due.
func (r *restoring) turn(ctx context.Context, now time.Time) {
	var unknown []offsets.TopicPartition
	ready := make(map[int32][]*part) // by leader
	for at, p := range r.parts {
		switch {
		case p.state == done:
		case r.silent(p, now):
			r.finish(p, p.silence())
		case p.asked || now.Before(p.due):
		case p.state == needsBounds:
			p.asked = true
			unknown = append(unknown, at)
		case p.state == needsEpochEnd:
			p.asked = true
			r.askEnd(ctx, p, p.wanted)
		case now.Sub(p.since) > stallWait:
			r.retry(p, now, cluster.ErrNoAnswer)
		default:
			ready[p.bounds.Leader] = append(ready[p.bounds.Leader], p)
		}
	}
	if len(unknown) > 0 {
		r.asking.Go(func() { // ends with its requests, or with ctx
			cluster.AskBounds(ctx, r.journal.cfg.Client, unknown, func(a cluster.Located) { send(ctx, r.bounds, a) })
		})
	}
	for leader, parts := range ready {
		if !r.fetching[leader] {
			r.fetch(ctx, leader, parts)
		}
	}
}

// fetched is a broker's answer, by partition.
type fetched struct {
	leader int32
	parts  map[offsets.TopicPartition]logs.Fetched
}

// send gives an answer to the goroutine of a restore, unless that has ended.
func send[T any](ctx context.Context, to chan<- T, answer T) {
	select {
	case to <- answer:
	case <-ctx.Done():
	}
}

// fetch asks a broker for the next records of partitions. Partitions that were left out of
// its last answer come first: it fills an answer in the order of the request.
func (r *restoring) fetch(ctx context.Context, leader int32, parts []*part) {
	if r.client == nil {
		var err error
		if r.client, err = logs.NewClient(r.journal.cfg.Options()); err != nil { // options that no client takes
			for _, p := range parts {
				r.finish(p, err)
			}
			return
		}
	}
	slices.SortFunc(parts, func(a, b *part) int { return a.progress.Compare(b.progress) })
	wants := make([]logs.Want, len(parts))
	for i, p := range parts {
		wants[i] = logs.Want{At: p.at, ID: p.bounds.TopicID, From: p.next}
	}
	r.fetching[leader] = true
	r.asking.Go(func() { // ends with its requests, or with ctx
		send(ctx, r.fetched, fetched{leader, logs.Fetch(ctx, r.client, leader, wants, limits())})
	})
}

// wait takes in the next answer: records, bounds, or the end of a leader epoch.
func (r *restoring) wait(ctx context.Context) {
	timer := time.NewTimer(restoreRetry / 4)
	defer timer.Stop()
	select {
	case a := <-r.bounds:
		r.bound(ctx, a)
	case e := <-r.ends:
		r.ended(e)
	case f := <-r.fetched:
		r.fetching[f.leader] = false
		for at, got := range f.parts {
			if p := r.parts[at]; p.state == reading && got.From == p.next {
				r.take(ctx, p, got)
			}
		}
	case <-timer.C:
	case <-ctx.Done():
	}
}

// retry asks for a partition's bounds again, after an error, or because records were
// deleted while it was read.
func (r *restoring) retry(p *part, due time.Time, err error) {
	p.state, p.asked, p.due, p.err = needsBounds, false, due, err
}

// bound takes the bounds of partitions.
func (r *restoring) bound(ctx context.Context, a cluster.Located) {
	now := time.Now()
	for at, b := range a {
		p := r.parts[at]
		if p.state != needsBounds {
			continue
		}
		p.asked, p.due = false, now.Add(restoreRetry)
		switch {
		case errors.Is(b.Err, cluster.ErrMissing), errors.Is(b.Err, kerr.TopicAuthorizationFailed):
			p.err = cluster.Allow(b.Err, "Read on topic "+at.Topic)
			switch {
			case !p.named():
				r.finish(p, nil) // no commit names a record of it
			case now.Sub(r.began) >= missingWait:
				r.finish(p, p.err)
			}
		case b.Err != nil:
			p.err = b.Err
		case p.ask.Committed.TopicID == b.TopicID && p.ask.Committed.To >= b.Stable && now.Sub(r.began) < visibleWait:
			p.err = errNotReadable
		default:
			p.bounds, p.state, p.since, p.due = b, reading, now, now
			if p.next < b.Start || p.next > b.Stable { // above the end: the log was truncated
				p.next = b.Start
			}
			if p.next >= b.Stable {
				r.finish(p, nil)
			} else if epoch := p.ask.LeaderEpoch; epoch >= 0 && !p.early { // most records are of that epoch
				p.early = true
				r.askEnd(ctx, p, epoch)
			}
		}
	}
}

var errNotReadable = errors.New("the record that the commit names is not readable yet")

// take takes in the records that were read of a partition.
func (r *restoring) take(ctx context.Context, p *part, got logs.Fetched) {
	now := time.Now()
	for _, rec := range got.Records {
		if rec.Offset >= p.bounds.Stable {
			break
		}
		err := p.reader.Add(rec.Offset, rec.Value, p.endOf)
		switch {
		case errors.Is(err, errEndUnknown): // the records from here on are read again then
			p.state, p.asked, p.err = needsEpochEnd, true, err
			r.askEnd(ctx, p, p.wanted)
			return
		case err != nil:
			r.refuse(p, err)
			return
		}
		p.next = rec.Offset + 1
		p.progress, p.since, r.taken = now, now, now
	}
	if got.Next > p.next { // gaps, aborted transactions and markers
		p.next, p.progress, p.since = got.Next, now, now
	}
	switch {
	case p.next >= p.bounds.Stable:
		r.finish(p, nil)
	case got.Err != nil:
		r.retry(p, now.Add(restoreRetry), got.Err)
	}
}

// epochEnd is the end of the ingress log of a leader epoch, or why it is not known.
type epochEnd struct {
	part  *part
	epoch int32
	end   int64
	err   error
}

// askEnd asks where the ingress log of a leader epoch ends.
func (r *restoring) askEnd(ctx context.Context, p *part, epoch int32) {
	r.asking.Go(func() { // ends with its question, within 5 s, or with ctx
		asking, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		end, err := p.ask.EndOf(asking, epoch)
		send(ctx, r.ends, epochEnd{p, epoch, end, err})
	})
}

// ended takes an answer of askEnd.
func (r *restoring) ended(e epochEnd) {
	p := e.part
	if e.err == nil {
		p.ends[e.epoch] = e.end
	}
	if p.state != needsEpochEnd || e.epoch != p.wanted {
		return
	}
	p.asked = false
	if e.err != nil {
		p.err, p.due = e.err, time.Now().Add(restoreRetry)
		return
	}
	p.state, p.since, p.due = reading, time.Now(), time.Time{}
}
