package daemon

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"
)

// machine is the wall clock of an instance's machine, which is stepped and outlives the
// instance. The monotonic clock is the bubble's. The lease of a member compares both, and is
// tested by itself: times of a bubble have no monotonic reading. Under rig.mu.
type machine struct {
	rig   *rig
	steps []clockStep // in order; the first is at the begin
}

// clockStep is when a clock began to be off, and by how much: whole milliseconds.
type clockStep struct {
	from time.Time
	off  time.Duration
}

// wall is what the machine's wall clock shows at an instant.
func (m *machine) wall(now time.Time) time.Time {
	m.rig.mu.Lock()
	defer m.rig.mu.Unlock()
	return now.Add(m.steps[len(m.steps)-1].off)
}

// step steps the clock of a slot's machine.
func (r *rig) step(slot int, by time.Duration) {
	r.note("the clock of instance %d is stepped by %v", slot, by)
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.machines[slot]
	m.steps = append(m.steps, clockStep{time.Now(), m.steps[len(m.steps)-1].off + by})
}

// setClocks sets the clock of every machine right.
func (r *rig) setClocks() {
	for slot, m := range r.machines {
		if off := m.wall(r.begun).Sub(r.begun); off != 0 {
			r.step(slot, -off)
		}
	}
}

// furthest returns by how much the clock is ahead that is ahead the most; 0 for none.
func (r *rig) furthest() (most time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.machines {
		most = max(most, m.steps[len(m.steps)-1].off)
	}
	return most
}

// offered returns when a record with a stamp of an instance was offered. That is the last time
// before the broker had it at which the clock showed the stamp, which is in whole milliseconds.
// ok is false where there is none: then the instance did not stamp by its clock.
func (m *machine) offered(stamp, applied time.Time) (at time.Time, ok bool) {
	for i, s := range m.steps {
		to := applied
		if i+1 < len(m.steps) && m.steps[i+1].from.Before(applied) {
			to = m.steps[i+1].from
		}
		if t := stamp.Add(-s.off); !s.from.Truncate(time.Millisecond).After(t) && !t.After(to) {
			at, ok = t, true
		}
	}
	return at, ok
}

// judgeStamps finds the time of each arrival's offer, by the clock of the machine that offered
// it. The checker holds stamps against deadlines: a stamp that no clock showed is a fault.
func (r *rig) judgeStamps(all []arrival) {
	r.mu.Lock()
	var found []string
	for i := range all {
		a := &all[i]
		a.offered = a.Timestamp
		m := r.delivery(a)
		if m == nil {
			continue
		}
		at, ok := r.machines[m.by.slot].offered(a.Timestamp, m.applied)
		if !ok {
			found = append(found, fmt.Sprintf("%s is stamped %v, and was delivered at %v: the clock of %s did not show that before",
				origin(a.Record).id, a.Timestamp.Sub(r.begun), m.applied.Sub(r.begun), slotName(m.by.slot)))
			continue
		}
		a.offered = at
	}
	r.mu.Unlock()
	for _, text := range found {
		r.fault("%s", text)
	}
}

// expiredBy finds the instant by which a letter says that its record had expired.
var expiredBy = regexp.MustCompile(`^the record expired at .*, and it is (\S+)$`)

// decided returns the stamp that an arrival is judged by. A letter of an expired record is judged by the instant that it
// names: it may have waited for the dead-letter topic while the clock was stepped back. A clock has to have shown it.
func (r *rig) decided(a *arrival) time.Time {
	var text []byte
	for _, h := range a.Headers {
		if h.Name == "layover.errors.message" {
			text = h.Value
		}
	}
	found := expiredBy.FindSubmatch(text)
	if a.Topic != dlq || found == nil {
		return a.Timestamp
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at, err := time.Parse(time.RFC3339, string(found[1]))
	m := r.delivery(a)
	if err != nil || m == nil {
		return a.Timestamp
	}
	if _, ok := r.machines[m.by.slot].offered(at, m.applied); !ok {
		r.faults = append(r.faults, fmt.Sprintf("no clock showed what the letter of %s says: %s", origin(a.Record).id, text))
	}
	return at
}

// ordealsOfClocks has steps of the clocks of all machines, each by a length of its own: whoever
// has a partition is stepped. Records are parked that are due within moments by the clock as it
// was, and others by the clock as it is.
func (p *plan) ordealsOfClocks(dice *rand.Rand) (out []ordeal) {
	for _, o := range []struct {
		kind        string
		least, most time.Duration
	}{
		{"a clock goes back by less than a second", -950 * time.Millisecond, -50 * time.Millisecond},
		{"a clock goes back", -2 * time.Minute, -30 * time.Second},
		{"a clock goes forwards", 2 * time.Second, 10 * time.Minute},
	} {
		var by [maxInstances]time.Duration
		for slot := range by {
			by[slot] = o.least + time.Duration(dice.Int64N(int64((o.most-o.least)/time.Millisecond)))*time.Millisecond
		}
		out = append(out, ordeal{kind: o.kind, do: func(r *rig, _ time.Duration) bool {
			ids, due := r.pulseIn(1500*time.Millisecond, 3*time.Second, 40*time.Second)
			r.pass(time.Now().Add(time.Second)) // they are parked
			for slot := range p.instances {
				r.step(slot, by[slot])
			}
			r.awaitDue(o.kind, ids, due)
			ids, due = r.pulseIn(time.Second, 2*time.Second)
			r.awaitDue(o.kind, ids, due)
			return true
		}})
	}
	return out
}

// pulseIn sends a record with each delay to each ingress partition, and returns their ids and
// when the last is due.
func (r *rig) pulseIn(delays ...time.Duration) (ids []string, due time.Time) {
	for _, after := range delays {
		ids = append(ids, r.pulse(wish{ask: relative(after, after.String()), target: egress})...)
		due = time.Now().Add(after)
	}
	return ids, due
}

// promptly is how late a record may be while all is well.
const promptly = 20 * time.Second

// awaitDue waits until records are delivered, promptly after they are due by the clock that is
// furthest behind. With little memory they may not have been read.
func (r *rig) awaitDue(kind string, ids []string, due time.Time) {
	by := due
	r.mu.Lock()
	for _, m := range r.machines {
		if at := due.Add(-m.steps[len(m.steps)-1].off); at.After(by) {
			by = at
		}
	}
	r.mu.Unlock()
	for by = by.Add(promptly); ; r.pass(time.Now().Add(time.Second)) {
		if time.Now().After(by) {
			r.lookAgain()
		}
		open := ids[:0:0]
		for _, id := range ids {
			if !r.egress.has(id) {
				open = append(open, id)
			}
		}
		if len(open) == 0 || r.plan.full {
			return
		}
		if time.Now().After(by) {
			r.fault("%s: %v are not delivered %v after their deadlines by every clock", kind, open, promptly)
			return
		}
	}
}

// TestJudgesOfClocksKnowWhatAClockShowed: a stamp counts for the last time at which the clock
// showed it, and one that it did not show for none.
func TestJudgesOfClocksKnowWhatAClockShowed(t *testing.T) {
	begun := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return begun.Add(time.Duration(s * float64(time.Second))) }
	m := &machine{steps: []clockStep{{begun, 0}, {at(10), 60 * time.Second}, {at(20), 55 * time.Second}}}
	for _, test := range []struct {
		stamp, applied, offered float64
		ok                      bool
	}{
		{5, 6, 5, true}, {5, 4, 0, false}, // before any step; not yet shown
		{12, 15, 0, false}, {71, 15, 11, true}, // gone over by the step forwards; shown behind it
		{76, 19, 16, true}, {76, 30, 21, true}, // shown twice
		{90, 30, 0, false},
	} {
		got, ok := m.offered(at(test.stamp), at(test.applied))
		if ok != test.ok || ok && !got.Equal(at(test.offered)) {
			t.Errorf("stamp %v, applied at %v: offered at %v (%v), want %v (%v)", test.stamp, test.applied, got.Sub(begun), ok, test.offered, test.ok)
		}
	}
}
