package purgatory

import (
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
)

// TestWhatIsHeldBehindARecordWithoutADelayIsOverdue.
func TestWhatIsHeldBehindARecordWithoutADelayIsOverdue(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = 24 * time.Hour })
	r.router[egress] = Missing
	r.assign(0, 1, 0)
	now := r.arrival(0, 0, "0")
	now.Outcome = Passed
	r.take(0, 1, now)
	r.take(0, 1, r.arrival(1, 1000, "0"))
	r.pass(1)
	r.offer()
	r.pass(3_600_000)
	r.offer()
	if got := r.Outlook().OldestOverdueMs; got == 0 || got > startMs+1000 {
		t.Errorf("the oldest is overdue since %d, want %d", got, startMs+1000)
	}
}

// TestALetterThatWaitsIsOverdue since its topic is held.
func TestALetterThatWaitsIsOverdue(t *testing.T) {
	r := newRig(t, nil) // a patience of a minute
	r.router[egress], r.router[graves] = Missing, Missing
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 1000, 0)
	for range 120 {
		r.pass(60_000)
		r.offer()
	}
	if got := r.Outlook().OldestOverdueMs; got == 0 || got > startMs+180_000 {
		t.Errorf("the oldest is overdue since %d, and it was given up two hours ago: %+v", got, r.heldView())
	}
}

// TestWhatWaitsBehindTheBarrierIsOverdue, also behind a record without a delay.
func TestWhatWaitsBehindTheBarrierIsOverdue(t *testing.T) {
	r := newRig(t, nil)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: offsets.NewWindow(0), StableEnd: 1000, Committed: true})
	r.commitLow(0)
	now := r.named(0, 0, "a")
	now.Outcome = Passed
	r.must(now)
	r.pass(1)
	r.offer()
	r.must(r.named(1, 1000, "b"))
	due := r.at.WallMs + 1000
	for o := range int64(300) { // a long log is read
		r.pass(1000)
		r.want(r.offer())
		r.must(r.arrival(2+o, 3_600_000, "0"))
	}
	if got := r.Outlook().OldestOverdueMs; got == 0 || got > due {
		t.Errorf("the oldest is overdue since %d, want %d", got, due)
	}
}

// TestWhatIsHeldIsNotLate: it is overdue, and nothing that the core does sooner helps it. So nothing else waits for it.
func TestWhatIsHeldIsNotLate(t *testing.T) {
	for name, hold := range map[string]func(r *rig, ds []Delivery){
		"a target": func(r *rig, ds []Delivery) { r.end(Unavailable, ds...) },
		"a partition that fails": func(r *rig, ds []Delivery) {
			r.end(Unknown, ds...)
		},
		"a partition that is silent": func(r *rig, _ []Delivery) { r.pass(stallMs + 200) },
	} {
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		r.mustTake(0, 1, 0, 0)
		r.pass(1)
		ds := r.offer()
		r.pass(100)
		due := r.at.WallMs - 101
		if o := r.Outlook(); o.OldestOverdueMs != due || o.OldestLateMs != due {
			t.Errorf("%s, in flight: %d and %d, want %d", name, o.OldestOverdueMs, o.OldestLateMs, due)
		}
		hold(r, ds)
		if o := r.Outlook(); o.OldestOverdueMs != due || o.OldestLateMs != 0 {
			t.Errorf("%s is held: %d and %d, want %d and 0", name, o.OldestOverdueMs, o.OldestLateMs, due)
		}
	}
}
