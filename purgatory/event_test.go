package purgatory

import (
	"slices"
	"testing"
	"time"

	"layover/offsets"
)

// TestAnEventFinishesItsOffsetsWhenItIsAcknowledged, and not before.
func TestAnEventFinishesItsOffsetsWhenItIsAcknowledged(t *testing.T) {
	r := newIDRig(t, nil)
	r.assigned(nil)
	r.must(r.named(0, 1000, "a"), r.cancelOf(1, "a"), r.named(2, 1000, "b"), r.named(3, 60_000, "b"), r.cancelOf(4, "none"))
	low := func(want int64, next ...int64) {
		t.Helper()
		p := r.parts.byTopic[partitionOf(0)]
		if got := p.Window.Low(); got != want {
			t.Errorf("finished up to %d, want %d", got, want)
		}
		for _, o := range next {
			if !p.Window.Finished(o) {
				t.Errorf("%d is not finished", o)
			}
		}
		r.audit()
	}
	low(0)
	ds := r.offer()
	if len(ds) != 3 {
		t.Fatalf("%d events: %+v", len(ds), ds)
	}
	r.end(Unknown, ds[0])
	low(0)
	r.end(Delivered, ds[1:]...)
	low(0, 2, 4)
	r.pass(5000)
	again := r.one(Delivered)
	if low(3, 4); string(again.Body) != string(ds[0].Body) {
		t.Errorf("sent again as %q, was %q", again.Body, ds[0].Body)
	}
	if n := r.stats.Events["acknowledged"]; n != 3 || r.stats.EventsWaiting != 0 {
		t.Errorf("%v, %d wait", r.stats.Events, r.stats.EventsWaiting)
	}
}

// TestAnEventThatItsTopicDoesNotTakeIsGivenUp, and its offsets are finished without it.
func TestAnEventThatItsTopicDoesNotTakeIsGivenUp(t *testing.T) {
	for name, fail := range map[string]func(r *rig){
		"rejected": func(r *rig) { r.rejected() },
		"too large": func(r *rig) {
			r.one(TooLarge)
			r.one(TooLarge)
			r.one(TooLarge)
		},
		"its topic forbidden": func(r *rig) {
			r.router[events] = Forbidden
			r.offer()
			r.pass(5000)
			if r.want(r.offer()); r.finished(0, 1) || len(r.Snapshot().Held) != 1 {
				t.Error("it is not held with patience")
			}
			r.pass(6000)
		},
	} {
		for _, dead := range []string{graves, ""} {
			t.Run(name, func(t *testing.T) {
				r := newIDRig(t, func(c *Config) { c.Patience, c.DeadLetterTopic = 10*time.Second, dead })
				r.assigned(nil)
				r.must(r.named(0, 1000, "a"), r.cancelOf(1, "a"))
				fail(r)
				r.audit()
				if !r.finished(0, 2) || r.stats.Events["given_up"] != 1 || r.stats.EventsWaiting != 0 || len(r.Pauses()) > 0 {
					t.Errorf("finished is %v, %v, pauses %v", r.finished(0, 2), r.stats.Events, r.Pauses())
				}
				r.want(r.offer())
			})
		}
	}
}

// TestAnEventOfAnAssignmentThatEndsIsForgotten: its next owner says it again.
func TestAnEventOfAnAssignmentThatEndsIsForgotten(t *testing.T) {
	for name, flying := range map[string]bool{"due": false, "in flight": true} {
		r := newIDRig(t, nil)
		r.assigned(nil)
		r.must(r.named(0, 1000, "a"), r.cancelOf(1, "a"), r.cancelOf(2, "a"))
		var ds []Delivery
		if flying {
			ds = r.offer()
		}
		p := r.parts.byTopic[partitionOf(0)]
		r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
		r.audit()
		r.end(Delivered, ds...)
		if r.audit(); p.Window.Low() != 0 || r.stats.EventsWaiting != 0 || r.store.live != 0 {
			t.Errorf("%s: finished up to %d, %d events and %d records left", name, p.Window.Low(), r.stats.EventsWaiting, r.store.live)
		}
	}
}

// TestACancelWhosePartitionWentSaysNothing, whatever becomes of its record: it is read again.
func TestACancelWhosePartitionWentSaysNothing(t *testing.T) {
	for _, class := range []Class{Delivered, Rejected, Unknown, NoRoom} {
		r := newIDRig(t, nil)
		r.assigned(nil)
		r.must(r.named(0, 0, "a"))
		r.pass(1)
		ds := r.offer()
		r.must(r.cancelOf(1, "a"))
		r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
		r.audit()
		r.end(class, ds...)
		r.audit()
		if r.store.live != 0 || len(r.commands.pending) != 0 || total(r.stats.Cancels) != 0 || slices.ContainsFunc(r.parts.list, func(p *partition) bool { return p != nil }) {
			t.Errorf("class %d: %d records, %d that commands wait for, counted %v", class, r.store.live, len(r.commands.pending), r.stats.Cancels)
		}
	}
}

// TestACancelThatWaitsInTheWheelGoesWithItsAssignment: the next record of its number is
// another one.
func TestACancelThatWaitsInTheWheelGoesWithItsAssignment(t *testing.T) {
	r := newIDRig(t, nil)
	r.assigned(nil)
	r.pass(5000)
	r.must(r.named(0, 0, "a"))
	r.pass(1)
	r.one(Unknown)
	r.step(-3000)
	r.pass(100)
	r.want(r.offer())
	r.must(r.cancelOf(1, "a")) // it is parked again, and may have been written
	if r.stats.Parked != 1 || len(r.commands.pending) != 1 {
		t.Fatalf("%d parked, commands for %d", r.stats.Parked, len(r.commands.pending))
	}
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	if r.audit(); len(r.commands.pending) != 0 || r.stats.HandedOver != 2 {
		t.Errorf("commands for %d, %d handed over", len(r.commands.pending), r.stats.HandedOver)
	}
}

// TestManyEventsAtOnceKeepNoMemory: of one record any number of cancels may wait.
func TestManyEventsAtOnceKeepNoMemory(t *testing.T) {
	const cancels = keptEntries + 1
	r := newIDRig(t, func(c *Config) { c.MaxInFlight, c.MaxInFlightBytes = 10*cancels, 1<<30 })
	r.assigned(nil)
	r.must(r.named(0, 0, "a"))
	r.pass(1)
	ds := r.offer()
	for o := int64(1); o <= cancels; o++ {
		r.must(r.cancelOf(o, "a"))
	}
	r.end(Delivered, ds...)
	if r.audit(); r.stats.EventsWaiting != cancels || len(r.events.due) != 0 || cap(r.events.due) > keptEntries {
		t.Errorf("%d events wait, %d are not queued, with room for %d", r.stats.EventsWaiting, len(r.events.due), cap(r.events.due))
	}
}
