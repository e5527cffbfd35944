package daemon

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"layover/verify"
)

// timerWish is the part of a wish that is about an id, or an expiry.
type timerWish struct {
	name    string // "" for no id
	cancel  bool
	copied  bool // one of several cancels
	expires bool
	expiry  time.Duration // after the deadline
}

// enterTimer adds to a record of the ledger what its wish has of an id and an expiry.
func (r *rig) enterTimer(w *wish, s *verify.Sent) {
	t := w.timer
	add := func(name, value string) { s.Record.Headers = append(s.Record.Headers, text(name, value)) }
	if t.name != "" {
		add("x-delay-id", t.name)
	}
	s.Timer = verify.Timer{Name: t.name, Cancel: t.cancel, Copied: t.copied}
	if t.cancel {
		add("X-Delay-Cancel", "true")
		s.To, s.Dead = "", nil
	}
	if t.copied {
		add("layover-cancel-of", t.name+"/4")
		r.mu.Lock()
		r.ids.quiet[w.id] = true
		r.mu.Unlock()
	}
	if !t.expires {
		return
	}
	due := s.Due
	if due.IsZero() {
		due = s.Record.Timestamp
	}
	if s.Expires = due.Add(t.expiry); t.expiry%2 == 0 {
		add("x-expire-at", strconv.FormatInt(s.Expires.UnixMilli(), 10))
	} else {
		add("X-Expire-At", s.Expires.UTC().Format(time.RFC3339Nano))
	}
	s.Expires = s.Expires.Truncate(time.Millisecond)
	if s.Dropped = r.plan.drops; !s.Dropped {
		s.Dead = append(s.Dead, "expired")
	}
}

// nameIt gives some records of a run with sick things an id of their own. What is sick
// elsewhere keeps them no longer than others.
func (b *beside) nameIt(dice *rand.Rand, s *verify.Sent) {
	if len(s.Dead) > 0 || dice.IntN(5) > 0 {
		return
	}
	s.Timer.Name = s.ID
	s.Record.Headers = append(s.Record.Headers, text("x-delay-id", s.ID))
}

// timerPlan is what a plan has for records with an id.
type timerPlan struct {
	events  bool          // there is a topic for events
	drops   bool          // what expires is dropped
	missing time.Duration // how long the topic for events is missing at first
}

// chooseTimers adds records with an id, their cancels and replacements, and what happens to
// the topic of events. Its dice are its own, so that the rest of a seed's plan stays.
func (p *plan) chooseTimers(over time.Duration) {
	dice := rand.New(rand.NewPCG(p.seed, 0x6c61796f76696473))
	if p.events = dice.IntN(8) > 0 || p.quiet; p.events {
		p.settings = append(p.settings, "LAYOVER_EVENTS_TOPIC="+events)
	}
	if p.events && !p.quiet {
		p.chooseEventFaults(dice)
	}
	if p.drops = dice.IntN(2) == 0; p.drops {
		p.settings = append(p.settings, "LAYOVER_ON_EXPIRED=drop")
	}
	t := &timerLoad{plan: p, dice: dice}
	for at := 2500 * time.Millisecond; at < over; at += time.Duration(1+dice.IntN(16_000)) * time.Millisecond {
		t.story(at)
	}
}

// chooseEventFaults has the topic of events missing, forbidden, silent and made again.
func (p *plan) chooseEventFaults(dice *rand.Rand) {
	if dice.IntN(4) == 0 {
		p.timerPlan.missing = time.Duration(1+dice.IntN(600)) * time.Second
		p.at(p.timerPlan.missing, func(r *rig) { r.create(events, 2) })
	}
	for at := time.Duration(dice.IntN(300)) * time.Second; at < p.healAt; at += time.Duration(60+dice.IntN(600)) * time.Second {
		length := time.Duration(500+dice.IntN(90_000)) * time.Millisecond
		if dice.IntN(8) == 0 {
			length = 8 * time.Minute // longer than some plans are patient
		}
		length = min(length, p.healAt-at)
		if kind := dice.IntN(3); kind == 0 {
			n := 1 + dice.Int32N(3)
			p.at(at, func(r *rig) { r.deleteTarget(events) })
			p.at(at+length, func(r *rig) { r.create(events, n) })
		} else {
			p.at(at, func(r *rig) { r.refuseEvents(kind == 1, length) })
		}
	}
}

// timerPrefix is what the ledger's ids of these records begin with.
const timerPrefix = "timer-"

// timerLoad makes the records with an id of a plan.
type timerLoad struct {
	plan   *plan
	dice   *rand.Rand
	number int
}

// record makes a record of an id that is due after a delay.
func (t *timerLoad) record(name string, delay time.Duration) wish {
	w := mix{}.wishRecord(t.dice, t.id())
	w.ask = relative(delay, strconv.FormatInt(delay.Milliseconds(), 10))
	w.target = []string{"", "", "", egress, other, other, late, small}[t.dice.IntN(8)]
	w.timer = &timerWish{name: name}
	if t.dice.IntN(4) == 0 {
		w.timer.expires = true
		w.timer.expiry = []time.Duration{-5 * time.Second, 0, time.Microsecond, time.Millisecond, time.Second, 30*time.Second + 1, 5 * time.Minute}[t.dice.IntN(7)]
	}
	return w
}

// cancel makes a cancel.
func (t *timerLoad) cancel(name string) wish {
	return wish{id: t.id(), ask: ask{none: true}, timer: &timerWish{name: name, cancel: true, copied: t.dice.IntN(5) == 0}}
}

// invalid makes a record that touches no other, whatever id it has.
func (t *timerLoad) invalid(name string) wish {
	id, cancels := text("x-delay-id", name), text("x-delay-cancel", "true")
	w := []wish{
		{ask: invalid("x-delay-id", "", "malformed_id")},
		{ask: invalid("x-delay-id", strings.Repeat("x", 257), "malformed_id")},
		{ask: invalid("x-delay-id", "a\nb", "malformed_id")},
		{ask: invalid("x-delay-cancel", "true", "malformed_cancel")},
		{ask: invalid("x-delay-cancel", "yes", "malformed_cancel"), headers: []verify.Header{id}},
		{ask: invalid("x-delay", "5s", "malformed_cancel"), headers: []verify.Header{id, cancels}},
		{ask: invalid("x-deliver-to", other, "malformed_cancel"), headers: []verify.Header{id, cancels}},
		{ask: invalid("x-expire-at", "soon", "malformed_expire_at"), headers: []verify.Header{id}},
		{ask: invalid("x-delay", "tomorrow", "malformed_delay"), headers: []verify.Header{id}},
	}[t.dice.IntN(9)]
	w.id = t.id()
	return w
}

func (t *timerLoad) id() string {
	t.number++
	return fmt.Sprint(timerPrefix, t.number)
}

// upTo chooses a time from a millisecond to another.
func (t *timerLoad) upTo(d time.Duration) time.Duration {
	return time.Duration(1+t.dice.Int64N(max(d.Milliseconds(), 1))) * time.Millisecond
}

// story is what happens to one id: records, and commands in time, too late, twice.
func (t *timerLoad) story(at time.Duration) {
	name := fmt.Sprintf("n%d", t.number)
	if t.dice.IntN(4) == 0 { // others have it, too
		name = fmt.Sprintf("shared %d", t.dice.IntN(6))
	}
	partition := t.dice.Uint32N(uint32(t.plan.partitions))
	send := func(at time.Duration, wishes ...wish) {
		b := &burst{partition: partition, wishes: wishes}
		if t.dice.IntN(20) == 0 {
			b.how = shakily
		}
		for i := range wishes {
			t.plan.lastDue = max(t.plan.lastDue, at+wishes[i].dueBy())
		}
		t.plan.at(at, func(r *rig) { r.send(b) })
	}
	delay := t.upTo([]time.Duration{time.Second, 10 * time.Second, time.Minute, 20 * time.Minute}[t.dice.IntN(4)])
	first := t.record(name, delay)
	if t.dice.IntN(12) == 0 {
		send(at+t.upTo(delay), t.invalid(name))
	}
	switch n := t.dice.IntN(13); {
	case n < 4: // a cancel in time
		lead := []time.Duration{time.Millisecond, 200 * time.Millisecond, time.Second + t.upTo(500*time.Millisecond), 5 * time.Second, delay / 2}[t.dice.IntN(5)]
		send(at, first)
		send(at+max(delay-lead, time.Millisecond), t.cancel(name))
	case n < 5: // in the same batch
		send(at, first, t.cancel(name))
	case n < 6: // too late
		send(at, first)
		send(at+delay+[]time.Duration{0, time.Millisecond, time.Second, 30 * time.Second}[t.dice.IntN(4)], t.cancel(name))
	case n < 7: // twice
		send(at, first)
		send(at+delay/3, t.cancel(name))
		send(at+delay/3+[]time.Duration{0, time.Millisecond, 2 * time.Second}[t.dice.IntN(3)], t.cancel(name))
	case n < 9: // replaced, earlier or later, and then it may be cancelled
		send(at, first)
		newer, when := t.upTo(2*delay), at+t.upTo(delay)
		send(when, t.record(name, newer))
		if t.dice.IntN(2) == 0 {
			send(when+t.upTo(newer), t.cancel(name))
		}
	case n < 10: // three in one batch
		send(at, slices.Concat([]wish{first, t.record(name, t.upTo(delay))}, []wish{t.cancel(name), t.record(name, delay)}[t.dice.IntN(2):][:1])...)
	case n < 11: // of nothing
		send(at, t.cancel(name))
	default:
		send(at, first)
	}
}
