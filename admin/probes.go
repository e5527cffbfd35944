package admin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// stuckAfter is how long one of our loops, each of which turns about once a
	// second, may stand still before the process is better started again.
	stuckAfter = 60 * time.Second
	// degradedAfter is how long Kafka may be silent before a process that has
	// read nothing yet counts as ready nevertheless: an outage of Kafka must not
	// keep whoever shares our pod from starting.
	degradedAfter = 10 * time.Second
)

// live names the loops that stand still, with for how long; none: all move. It
// does not look at Kafka: a restart does not mend a broker.
func live(s Sample, now time.Time) (stuck []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Loops)) {
		turned := s.Loops[name]
		if turned.IsZero() {
			turned = s.Started
		}
		if still := now.Sub(turned); still >= stuckAfter {
			stuck = append(stuck, fmt.Sprintf("%s has not moved for %s", name, seconds(still)))
		}
	}
	return stuck
}

// readiness is the answer of /readyz. Degraded: ready, but Kafka does not answer.
type readiness struct {
	ready, degraded bool
	why             string // "" only if ready without anything to add
}

// String returns the body of /readyz.
func (r readiness) String() string {
	word := "not ready"
	switch {
	case r.degraded:
		word = "ready, degraded"
	case r.ready:
		word = "ready"
	}
	if r.why == "" {
		return word
	}
	return word + ": " + r.why
}

// ready decides from the sample and the time alone, so the same look at the
// process always gets the same answer, however often it was asked before.
func ready(v *view) readiness {
	if v.Draining {
		return readiness{why: "draining"}
	}
	down := v.silence()
	paused := len(v.Pauses) > 0
	switch {
	case !v.Kafka.Answering && (v.CaughtUp || paused || down >= degradedAfter):
		return readiness{ready: true, degraded: true, why: v.kafkaDown()}
	case paused:
		return readiness{ready: true, why: "reading is paused: " + v.pauseNames()}
	case v.CaughtUp && len(v.Kafka.Missing) > 0:
		return readiness{ready: true, degraded: true, why: strings.Join(v.Kafka.Missing, ", ")}
	case v.CaughtUp:
		why, stopped := v.stopped()
		return readiness{ready: true, degraded: stopped, why: why}
	}
	return readiness{why: v.waitingFor()}
}

// stopped names a partition that is not read any more, and says how many others there
// are.
func (v *view) stopped() (why string, stopped bool) {
	n := 0
	for i := range v.parts {
		if s, is := v.parts[i].stop(); is {
			if n++; n == 1 {
				why = v.parts[i].stopText(s)
			}
		}
	}
	if n > 1 {
		why += fmt.Sprintf(" (and %d more)", n-1)
	}
	return why, n > 0
}

func (p *part) stopText(s stop) string {
	return fmt.Sprintf("reading of %s/%d stopped at offset %d: %s", p.topic, p.partition, s.offset, s.why)
}

// silence returns for how long no broker has answered; 0 while they do. One that
// never answered is silent since the start.
func (v *view) silence() time.Duration {
	if v.Kafka.Answering {
		return 0
	}
	since := v.Kafka.Since
	if since.IsZero() {
		since = v.Started
	}
	return v.now.Sub(since)
}

func (v *view) kafkaDown() string {
	text := "Kafka has not answered for " + seconds(v.silence())
	if v.Kafka.Err != "" {
		text += ": " + v.Kafka.Err
	}
	return text
}

func (v *view) pauseNames() string {
	names := make([]string, len(v.Pauses))
	for i, p := range v.Pauses {
		names[i] = p.Reason
		if p.Target != "" {
			names[i] += " (" + p.Target + ")"
		}
	}
	return strings.Join(names, ", ")
}

// waitingFor says what is between here and being ready, nearest first.
func (v *view) waitingFor() string {
	switch {
	case !v.Kafka.Answering:
		return v.kafkaDown()
	case !v.Group.Joined:
		text := "joining the group " + v.Group.ID
		if len(v.Kafka.Missing) > 0 {
			text += ", missing topics: " + strings.Join(v.Kafka.Missing, ", ")
		}
		if v.Group.LastError != "" {
			text += ": " + v.Group.LastError
		}
		return text
	}
	if text, more := v.unread(); text != "" {
		if more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
		return text
	}
	return "reading the first assignment"
}

// unread describes the first partition that is not read up to the stable end it
// was assigned with, and counts the others. A stopped one is described only where
// nothing else is left.
func (v *view) unread() (first string, more int) {
	var stopped string
	for i := range v.parts {
		p := &v.parts[i]
		var text string
		s, is := p.stop()
		switch {
		case is:
			stopped = p.stopText(s)
			continue
		case p.core == nil:
			text = fmt.Sprintf("loading the committed offset of %s/%d", p.topic, p.partition)
			if p.member.Loaded {
				text = fmt.Sprintf("reading %s/%d: at offset %d", p.topic, p.partition, p.member.Next)
			}
		case p.core.Next < p.core.StableEnd:
			text = fmt.Sprintf("reading %s/%d: at offset %d of %d", p.topic, p.partition, p.core.Next, p.core.StableEnd)
		default:
			continue
		}
		if first == "" {
			first = text
		} else {
			more++
		}
	}
	if first == "" {
		return stopped, 0
	}
	return first, more
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", int64(d/time.Second)) }
