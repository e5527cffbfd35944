package daemon

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"layover/admin"
	"layover/consumer"
)

const (
	lookForSick = time.Second
	// saySickEvery is the least time between two lines about one thing: what comes and
	// goes all the time gives two lines a minute.
	saySickEvery = 30 * time.Second
	// afterRefusal is the time in which answers come once brokers take connections.
	afterRefusal = 10 * time.Second
	// firstRefusal is the time in which it turns out whether all brokers refuse: the
	// watcher's next question, with its time-out of 5 s.
	firstRefusal = 8 * time.Second
	// mostSickSaid is how many things of a kind the log names at a time. A topic may have
	// thousands of partitions, and /status has the others.
	mostSickSaid = 20
)

// sickLog says in the log what becomes sick and what is well again. It says a line for
// each change, with what is wrong, what goes on and what to do, in the words of /status.
// One goroutine calls it.
type sickLog struct {
	log  *slog.Logger
	look func(now time.Time) []admin.Sickness // the most severe first
	// ours says whether a partition is this process's; one that is not may be sick still.
	ours func(topic string, partition int32) bool

	said    map[admin.SickKey]*saidSick
	refused time.Time      // the last look at which all brokers refused the connection
	began   time.Time      // begin of the last wait for firstRefusal
	group   time.Time      // since when the group is sick, zero: it is not
	more    map[string]int // by kind, how many the last line did not name
}

// saidSick is what the log has about one thing.
type saidSick struct {
	reason string    // "" once it is well again
	since  time.Time // the first look that saw it sick after it was said to be well, or at all; zero: none has
	well   time.Time // the first look that saw it well since the last that saw it sick; zero: none has
	last   time.Time // of the last line
}

// run looks every second until the context ends.
func (s *sickLog) run(ctx context.Context, turns *atomic.Int64) {
	every(ctx, lookForSick, turns, s.say)
}

// say logs what has changed since the last line about it.
func (s *sickLog) say(now time.Time) {
	all, known := s.withoutRefusals(s.look(now), now)
	all = s.withoutNewGroup(all, now)
	if !known {
		return
	}
	named, more := make(map[string]int), make(map[string]int)
	for k := range s.said {
		named[k.Kind]++
	}
	sick := make(map[admin.SickKey]bool)
	for _, one := range all {
		k := one.Key()
		switch {
		case s.said[k] != nil:
		case named[k.Kind] >= mostSickSaid:
			more[k.Kind]++
			continue
		default:
			named[k.Kind]++
			s.said[k] = new(saidSick)
		}
		sick[k] = true
		s.saySick(k, &one, now)
	}
	s.sayMore(more)
	if !sick[admin.SickKey{Kind: admin.SickKafka, Partition: -1}] { // or nothing is known of the others
		s.sayWell(sick, now)
	}
}

// withoutRefusals leaves out what cluster/connect logs. Nothing is known of the others while
// all brokers refuse, until there may be answers again, and while the first has just refused.
// A broker that comes and goes makes the log wait once in saySickEvery.
func (s *sickLog) withoutRefusals(all []admin.Sickness, now time.Time) (rest []admin.Sickness, known bool) {
	for _, one := range all {
		if one.Kind != admin.SickKafka || one.Reason != admin.Refused {
			rest = append(rest, one)
		} else if one.Name == "" {
			s.refused = now
		} else if now.Sub(one.Since.Time) < firstRefusal && now.Sub(s.began) >= saySickEvery {
			s.began = now
		}
	}
	return rest, now.Sub(s.refused) >= afterRefusal && now.Sub(s.began) >= firstRefusal
}

// withoutNewGroup leaves out that the group is sick until it is known whether Kafka answers
// at all. A member hears of an outage before the watcher does, and one outage is one line.
func (s *sickLog) withoutNewGroup(all []admin.Sickness, now time.Time) []admin.Sickness {
	at := slices.IndexFunc(all, func(one admin.Sickness) bool { return one.Kind == admin.SickGroup })
	if at < 0 {
		s.group = time.Time{}
		return all
	}
	if s.group.IsZero() {
		s.group = now
	}
	if now.Sub(s.group) >= firstRefusal || s.said[all[at].Key()] != nil {
		return all
	}
	return slices.Delete(slices.Clone(all), at, at+1)
}

func (s *sickLog) saySick(k admin.SickKey, one *admin.Sickness, now time.Time) {
	was := s.said[k]
	was.well = time.Time{}
	if was.since.IsZero() {
		was.since = now
	}
	if was.reason == one.Reason || !was.last.IsZero() && now.Sub(was.last) < saySickEvery {
		return
	}
	was.reason, was.last = one.Reason, now
	s.log.Warn("sick", append(about(k), "reason", one.Reason, "text", one.Text)...)
}

// sayWell logs what was sick and is not any more, and forgets what was well long enough.
func (s *sickLog) sayWell(sick map[admin.SickKey]bool, now time.Time) {
	for k, was := range s.said {
		if sick[k] {
			continue
		}
		if was.well.IsZero() {
			was.well = now
		}
		if now.Sub(was.last) < saySickEvery {
			continue
		}
		if was.reason == "" {
			delete(s.said, k)
			continue
		}
		message := "well again"
		if k.Kind == admin.SickPartition && !s.ours(k.Name, k.Partition) {
			message = "sick partition is not this process's any more"
		}
		s.log.Info(message, append(about(k), "after", was.well.Sub(was.since).Round(time.Second).String())...)
		was.reason, was.since, was.last = "", time.Time{}, now
	}
}

// sayMore counts what is sick of a kind beyond what the log names. It does so when there
// is such for the first time, and when there is none any more.
func (s *sickLog) sayMore(more map[string]int) {
	for kind, n := range more {
		if s.more[kind] == 0 {
			s.log.Warn("more are sick than the log names; /status has them", "kind", kind, "more", n)
		}
	}
	s.more = more
}

// about are the attributes that name a thing.
func about(k admin.SickKey) []any {
	out := []any{"kind", k.Kind}
	switch k.Kind {
	case admin.SickKafka, admin.SickNames:
	case admin.SickGroup:
		out = append(out, "group", k.Name)
	case admin.SickTarget, admin.SickDeadLetter, admin.SickEvents:
		out = append(out, "target", k.Name)
	default:
		out = append(out, "topic", k.Name)
	}
	if k.Partition >= 0 {
		out = append(out, "partition", k.Partition)
	}
	return out
}

// newSickLog returns one that has said nothing.
func (d *Daemon) newSickLog() sickLog {
	return sickLog{
		log:  d.log,
		look: func(now time.Time) []admin.Sickness { return admin.SickForLog(d.Sample(), now) },
		ours: func(topic string, partition int32) bool {
			return slices.ContainsFunc(d.consumer.Status().Partitions, func(p consumer.View) bool { return p.Topic == topic && p.Partition == partition })
		},
		said: make(map[admin.SickKey]*saidSick),
	}
}
