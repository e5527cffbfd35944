package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"layover/cli/process"
	"layover/cluster"
	"layover/delay"
)

// redriving is one call of redrive. One goroutine has it.
type redriving struct {
	*command
	from      *reader
	all       stretches // what was asked for: the end is that of the first call
	hidden    stretches // behind an open transaction, where what was asked for has no end
	unknown   stretches // of partitions whose bounds no broker tells
	positions positions
	sender    *sender // nil: only counts

	read     int64 // records
	chosen   int64 // letters that filters choose and nothing keeps from being sent
	written  int64 // acknowledged
	filtered int64 // letters that the filters leave out
	passed   map[obstacle]int64
	byTopic  counts
	byReason counts
	full     bool // --limit is reached
}

// redrive sends letters again, or counts those that it would send.
func (c *command) redrive(ctx context.Context) error {
	r := &redriving{command: c, passed: make(map[obstacle]int64), byTopic: counts{}, byReason: counts{}}
	if err := r.begin(ctx); err != nil {
		return err
	}
	if !c.again.execute {
		err := r.each(ctx, func(l *letter) error { r.positions[l.Partition].passed(l.Offset + 1); return nil })
		if err == nil {
			r.conclude()
			err = leftOut(r.unknown)
		}
		return err
	}
	ctx, stop := process.UntilStopped(ctx)
	defer stop()
	err := r.execute(ctx)
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = errStopped
		if len(r.positions.left()) == 0 {
			err = nil // it came behind the last answer
		}
	}
	r.meter.hide()
	r.conclude()
	return cmp.Or(err, leftOut(r.unknown))
}

// begin finds what is to be read, before anything is written.
func (r *redriving) begin(ctx context.Context) error {
	from, log, err := r.survey(ctx)
	if err != nil {
		return err
	}
	r.from = from
	asked := len(log)
	if r.again.offsets == nil {
		r.all, r.hidden, r.unknown = readable(log), hidden(log), unknown(log)
	} else {
		asked = len(r.again.offsets)
		if err := r.clip(log); err != nil {
			return err
		}
	}
	r.noteHidden(r.hidden)
	r.noteUnknown(log, r.unknown)
	if len(r.unknown) == asked {
		return leftOut(r.unknown)
	}
	r.positions = newPositions(r.all)
	return nil
}

// clip takes --offsets, but for what the log has deleted meanwhile. An end that it does not
// have yet is of another log.
func (r *redriving) clip(log []cluster.Bounds) error {
	behind := hidden(log)
	r.all, r.hidden, r.unknown = make(stretches), make(stretches), make(stretches)
	for n, s := range r.again.offsets {
		if int(n) >= len(log) {
			return fmt.Errorf("--offsets: topic %q has no partition %d", r.cfg.DLQTopic, n)
		}
		at := log[n]
		if at.Err != nil {
			r.unknown[n] = s
			continue
		}
		if s.last == toEnd && s.first <= at.Stable {
			s = stretch{max(s.first, at.Start), at.Stable - 1}
			if h, ok := behind[n]; ok {
				r.hidden[n] = h
			}
		}
		if s.last >= at.Stable && s.last < at.End {
			return fmt.Errorf("--offsets: the offsets of partition %d of %q from %d on are behind an open transaction: go on when that has ended", n, r.cfg.DLQTopic, at.Stable)
		}
		if s.last >= at.Stable {
			return fmt.Errorf("--offsets: partition %d of %q ends below %d: are they of this topic, and was it made again?", n, r.cfg.DLQTopic, at.Stable)
		}
		if s.first < at.Start {
			r.noteGone(n, stretch{s.first, min(s.last, at.Start-1)})
			s.first = at.Start
		}
		if s.first <= s.last {
			r.all[n] = s
		}
	}
	return nil
}

// each reads the topic, counts, and calls f with each letter that is to be sent. It ends
// at --limit too.
func (r *redriving) each(ctx context.Context, f func(*letter) error) error {
	ctx, stop := context.WithCancel(ctx)
	chunks := r.from.read(ctx, r.all)
	defer end(stop, chunks)
	for {
		c, err := r.nextChunk(ctx, chunks)
		if err != nil || c == nil {
			return err
		}
		if c.gone {
			r.noteGone(c.partition, c.stretch())
		}
		for _, record := range c.records {
			if r.full {
				return nil
			}
			r.read++
			l, fault := read(record, r.names)
			if !r.takes(&l, fault) {
				r.positions[c.partition].passed(record.Offset + 1)
				continue
			}
			if err := f(&l); err != nil {
				return err
			}
			r.full = r.again.limit > 0 && r.chosen == int64(r.again.limit)
		}
		if r.full {
			return nil
		}
		r.positions[c.partition].passed(c.next)
	}
}

// nextChunk waits for a chunk. It is nil behind the last.
func (r *redriving) nextChunk(ctx context.Context, chunks <-chan chunk) (*chunk, error) {
	ticker := time.NewTicker(paintEvery)
	defer ticker.Stop()
	for {
		select {
		case c, ok := <-chunks:
			if !ok {
				return nil, ctx.Err()
			}
			if c.err == nil {
				c.err = r.look(time.Now()) // where nothing is waited for, this is the only look
			}
			return &c, c.err
		case <-ctx.Done():
			return nil, ctx.Err()
		case a := <-r.sender.answers():
			if err := r.land(a); err != nil {
				return nil, err
			}
		case <-ticker.C:
		}
		if err := r.look(time.Now()); err != nil {
			return nil, err
		}
	}
}

// takes reports whether a letter is to be sent, and counts it.
func (r *redriving) takes(l *letter, fault string) bool {
	if fault != "" {
		r.passed[foreign]++
		return false
	}
	if !r.only.choose(l) {
		r.filtered++
		return false
	}
	if why := r.obstacle(l); why != none {
		r.passed[why]++
		return false
	}
	r.chosen++
	r.byTopic.add(l.origin.Topic)
	r.byReason.add(string(l.reason))
	return true
}

// look shows the progress.
func (r *redriving) look(now time.Time) error {
	r.meter.paint(now, func() string {
		seen, all := r.progress()
		if r.sender == nil {
			return fmt.Sprintf("read %s of %s, %s to write", process.Grouped(seen), process.Count(all, "offset"), process.Grouped(r.chosen))
		}
		return fmt.Sprintf("read %s of %s, written %s", process.Grouped(seen), process.Count(all, "offset"), process.Grouped(r.written))
	})
	if r.sender == nil {
		return nil
	}
	if now.Sub(r.sender.said) >= sayEvery {
		r.sender.said = now
		if left := r.left(); len(left) > 0 { // for whoever has to go on after a kill
			r.note("written %s so far; not done: %s", process.Grouped(r.written), r.goOn(left))
		}
	}
	return r.sender.stalled(now)
}

// progress counts the offsets that were looked at, and all that are wanted. Those without a
// record count as well: only offsets are known before all is read.
func (r *redriving) progress() (seen, all int64) {
	for n, s := range r.all {
		all += s.last - s.first + 1
		seen += min(r.positions[n].next, s.last+1) - s.first
	}
	return seen, all
}

// left returns what is not done, for --offsets.
func (r *redriving) left() stretches { return r.positions.left().and(r.unknown) }

// goOn are the flags of a call that takes what is left. How long ago --since is changes
// from call to call, and so it is an instant there.
func (r *redriving) goOn(left stretches) string {
	flags := "--offsets " + left.String()
	if !r.only.since.IsZero() {
		flags = "--since " + r.since() + " " + flags
	}
	return flags
}

// since is the instant of --since, "" without.
func (r *redriving) since() string {
	if r.only.since.IsZero() {
		return ""
	}
	return process.Clock(r.only.since)
}

// subject names a letter and where it goes, for errors.
func subject(a *answer) string {
	return fmt.Sprintf("%s to %s/%d", delay.ID(a.topic, a.partition, a.offset), a.record.Topic, a.record.Partition)
}
