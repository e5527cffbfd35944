package admin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// stuckAfter is how long one of our loops may stand still before the process is better
// started again. Each turns about once a second.
const stuckAfter = 60 * time.Second

// The most that /readyz says.
const (
	maxReadySick = 3   // things that it names; it counts the others
	maxReadyText = 250 // characters of each
)

// live names the loops that stand still, and for how long; it is empty while all move.
// It does not look at Kafka: a restart does not mend a broker.
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

// readiness is the answer of /readyz. Degraded: ready, but something is sick, or records
// are late, dead or lost.
type readiness struct {
	ready, degraded bool
	paused          bool   // degraded by a pause of reading alone
	why             string // "" only if ready without anything to add
}

// String returns the body of /readyz.
func (r readiness) String() string {
	word := "not ready"
	switch {
	case r.degraded:
		word = "degraded"
	case r.ready:
		word = "ready"
	}
	if r.why == "" {
		return word
	}
	return word + ": " + r.why
}

// ready decides from the sample and the time alone. So the same look at the process
// always gets the same answer, however often it was asked before.
//
// Invariant: once ready, a process stays so until it drains, even if something is sick.
func ready(v *view) readiness {
	switch {
	case v.Draining:
		return readiness{why: "draining"}
	case !v.CaughtUp:
		return readiness{why: v.waitingFor()}
	}
	var says []string
	if len(v.sick) > 0 {
		short := make([]string, len(v.sick))
		for i := range v.sick {
			short[i] = v.sick[i].short
		}
		says = append(says, firstFew(short, v.total.heldRest, "; "))
	}
	concerns := v.concerns()
	says = append(says, concerns...)
	if len(v.Pauses) > 0 {
		says = append(says, v.pauseShort())
	}
	degraded := len(v.sick)+len(concerns) > 0
	return readiness{ready: true, degraded: degraded || v.lateUnread(), paused: !degraded, why: strings.Join(says, "; ")}
}

// state is how it is in a word, or two.
func (v *view) state(r readiness) string {
	switch {
	case v.Draining:
		return "draining"
	case !r.ready:
		return "not ready"
	case len(v.Pauses) > 0 && r.degraded && !r.paused:
		return "degraded, paused"
	case len(v.Pauses) > 0:
		return "paused"
	case r.degraded:
		return "degraded"
	}
	return "ready"
}

// firstFew joins the first maxReadySick texts, each cut to maxReadyText. It counts the
// rest, and adds others, which have no text.
func firstFew(texts []string, others int, separator string) string {
	shown := make([]string, min(len(texts), maxReadySick))
	for i := range shown {
		shown[i] = clip(texts[i], maxReadyText)
	}
	joined := strings.Join(shown, separator)
	if more := len(texts) - len(shown) + others; more > 0 {
		joined += fmt.Sprintf(" (and %d more)", more)
	}
	return joined
}

func (p *part) stopText(s stop) string {
	if !s.begun {
		return fmt.Sprintf("%s/%d is not read: %s", p.topic, p.partition, s.why)
	}
	return fmt.Sprintf("reading of %s/%d stopped at offset %d: %s", p.topic, p.partition, s.offset, s.why)
}

// silence returns for how long no broker has answered; 0 while one answers. Without any
// answer yet it counts from the start of the process.
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
	if v.Kafka.OthersAnswer {
		text = "Kafka has not said for " + seconds(v.silence()) + " which topics there are"
	}
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
	return firstFew(names, 0, ", ")
}

// waitingFor returns the next condition for being ready.
func (v *view) waitingFor() string {
	switch {
	case !v.Kafka.Answering:
		return v.kafkaDown()
	case !v.Group.Joined:
		text := "joining the group " + v.Group.ID
		if len(v.Kafka.Faults) > 0 {
			text += ", " + strings.Join(v.Kafka.Faults, ", ")
		}
		if v.Group.LastError != "" {
			text += ": " + v.Group.LastError
		}
		return text
	}
	if text, more := v.parts.unread(); text != "" {
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
func (all parts) unread() (first string, more int) {
	var stopped string
	for i := range all {
		p := &all[i]
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
