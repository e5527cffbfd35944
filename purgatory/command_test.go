package purgatory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// newIDRig has a partition whose records may have ids, and a topic for events.
func newIDRig(t testing.TB, edit func(*Config)) *rig {
	return newRig(t, func(c *Config) {
		c.EventsTopic, c.Event = events, eventText
		if edit != nil {
			edit(c)
		}
	})
}

// assigned hands over partition 0 in epoch 1 as edited.
func (r *rig) assigned(edit func(*facts.Assigned)) {
	a := facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: offsets.NewWindow(0), Committed: true}
	if edit != nil {
		edit(&a)
	}
	r.Assign(a)
}

// drain lets all targets take all, and returns what they got, sorted.
func (r *rig) drain() []string {
	r.Helper()
	clear(r.router)
	got := []string{}
	for range 80 {
		r.commitLow(0)
		r.pass(500)
		for _, d := range r.offer() {
			switch what, _, _ := strings.Cut(string(d.Body), ","); {
			case d.Event:
				got = append(got, what[1:])
			case d.Reason != "":
				got = append(got, fmt.Sprintf("%d dead: %s", d.Offset, d.Reason))
			default:
				got = append(got, fmt.Sprint(d.Offset))
			}
			r.end(Delivered, d)
		}
		r.audit()
	}
	slices.Sort(got)
	return got
}

func (r *rig) finished(from, to int64) bool {
	for o := from; o < to; o++ {
		if !r.parts.byTopic[partitionOf(0)].Window.Finished(o) {
			return false
		}
	}
	return true
}

// TestWhatACommandDoes to its record, wherever that is: the record is at offset 0 and the
// command at 1.
func TestWhatACommandDoes(t *testing.T) {
	flown := func(classes ...Class) func(*rig) func() {
		return func(r *rig) func() {
			r.must(r.named(0, 0, "a"))
			r.pass(1)
			flying := r.offer()
			return func() {
				for i, class := range classes {
					if i > 0 {
						r.pass(5000)
						flying = r.offer()
					}
					r.end(class, flying...)
				}
			}
		}
	}
	in := func(state where, set func(*rig)) func(*rig) func() {
		return func(r *rig) func() {
			set(r)
			l, ok := r.commands.index.find(0, []byte("a"))
			if !ok || r.store.spot(l).where != state {
				r.Fatalf("the record is not where the test wants it: %v", ok)
			}
			return func() {
				for id, f := range r.out.flights.list { // the record that was in the way
					if f.busy {
						r.end(Delivered, Delivery{ID: int32(id)})
					}
				}
			}
		}
	}
	cancelled, replaced := []string{"cancelled a 0 by 1"}, []string{"1", "replaced a 0 by 1"}
	late := []string{"0", "too_late a 0 by 1"}
	miss, ordinary := "cancel_miss a -1 by 1", "1"
	for name, test := range map[string]struct {
		set                 func(*rig) (answer func())
		cancel, replacement []string
	}{
		"parked": {in(inWheel, func(r *rig) { r.must(r.named(0, 1000, "a")) }), cancelled, replaced},
		"due and queued": {in(inQueue, func(r *rig) {
			r.router[egress] = Pending
			r.must(r.named(0, 0, "a"))
			r.pass(1)
			r.offer()
		}), cancelled, replaced},
		"held": {in(inQueue, func(r *rig) {
			r.router[egress] = Forbidden
			r.must(r.named(0, 0, "a"))
			r.pass(1)
			r.offer()
		}), cancelled, replaced},
		"routed to a partition that has its fill": {in(inOverflow, func(r *rig) {
			r.cfg.MaxInFlight = 1
			r.assign(1, 2, 0)
			r.take(1, 2, r.arrival(0, 0, "0 in the way"))
			r.pass(1)
			r.offer()
			r.must(r.named(0, 0, "a"))
			r.pass(1)
			r.offer()
		}), cancelled, replaced},
		"waiting for membership": {in(inWaiting, func(r *rig) {
			r.Suspend()
			r.must(r.named(0, 0, "a"))
			r.pass(1)
		}), cancelled, replaced},
		"waiting for the barrier": {in(behindBarrier, func(r *rig) {
			r.parts.byTopic[partitionOf(0)].StableEnd = 5
			r.parts.byTopic[partitionOf(0)].barrier.over, r.parts.byTopic[partitionOf(0)].src.shut = false, true
			r.replays.barred++
			r.must(r.named(0, 0, "a"))
			r.pass(1)
		}), cancelled, replaced},

		"in flight, and taken":                               {flown(Delivered), []string{"too_late a 0 by 1"}, []string{"1"}},
		"in flight, and the target gone":                     {flown(Unavailable), cancelled, replaced},
		"in flight, and too large":                           {flown(TooLarge), cancelled, replaced},
		"in flight, and rejected":                            {flown(Rejected), cancelled, replaced},
		"in flight, and without room":                        {flown(NoRoom), cancelled, replaced},
		"in flight, and nobody knows, and then taken":        {flown(Unknown), late, []string{"0", "1"}},
		"in flight, and nobody knows, and then rejected":     {flown(Unknown, Rejected, Rejected), cancelled, replaced},
		"in flight, and nobody knows, and rejected once":     {flown(Unknown, Rejected), late, []string{"0", "1"}},
		"in flight, and nobody knows, no room, and taken":    {flown(Unknown, NoRoom), late, []string{"0", "1"}},
		"in flight, and nobody knows, no room, and rejected": {flown(Unknown, NoRoom, Rejected, Rejected), cancelled, replaced},
		"in flight, and nobody knows, and twice too large":   {flown(Unknown, TooLarge, TooLarge), cancelled, replaced},
		"in flight, and nobody knows, too large, and taken":  {flown(Unknown, TooLarge), late, []string{"0", "1"}},

		"never there": {func(r *rig) func() {
			r.must(r.arrival(0, 0, "0"))
			return func() {}
		}, []string{"0", miss}, []string{"0", ordinary}},
		"delivered": {func(r *rig) func() {
			r.must(r.named(0, 0, "a"))
			r.pass(1)
			r.one(Delivered)
			return func() {}
		}, []string{miss}, []string{ordinary}},
		"bound for the dead-letter topic": {func(r *rig) func() {
			r.must(r.named(0, 0, "a"))
			r.pass(1)
			r.rejected()
			return func() {}
		}, []string{"0 dead: rejected", miss}, []string{"0 dead: rejected", ordinary}},
		"of another id": {func(r *rig) func() {
			r.must(r.named(0, 0, "b"))
			return func() {}
		}, []string{"0", miss}, []string{"0", ordinary}},
		"invalid": {func(r *rig) func() {
			a := r.named(0, 0, "a")
			a.Reason = "malformed_delay"
			r.must(a)
			return func() {}
		}, []string{"0 dead: malformed_delay", miss}, []string{"0 dead: malformed_delay", ordinary}},
	} {
		for command, want := range map[string][]string{"cancel": test.cancel, "replacement": test.replacement} {
			t.Run(name+", "+command, func(t *testing.T) {
				r := newIDRig(t, nil)
				r.assigned(nil)
				answer := test.set(r)
				r.parts.byTopic[partitionOf(0)].next = 1
				if command == "cancel" {
					r.must(r.cancelOf(1, "a"))
				} else {
					r.must(r.named(1, 20_000, "a"))
				}
				answer()
				if got := r.drain(); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
				if !r.finished(0, 2) {
					t.Error("not all is finished")
				}
			})
		}
	}
}

func TestARecordInAnotherPartitionIsNotCancelled(t *testing.T) {
	r := newIDRig(t, nil)
	r.assign(0, 1, 0)
	r.assign(1, 2, 0)
	r.must(r.named(0, 0, "a"))
	if !r.take(1, 2, r.cancelOf(0, "a")) {
		t.Fatal("not taken")
	}
	if got, want := r.drain(), []string{"0", "cancel_miss a -1 by 0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOneCancelTakesWhatSeveralWaitFor: of a record that is refused the first one.
func TestOneCancelTakesWhatSeveralWaitFor(t *testing.T) {
	for class, want := range map[Class][]string{
		Rejected:  {"3", "cancel_miss a -1 by 2", "cancelled a 0 by 1"},
		Delivered: {"3", "too_late a 0 by 1", "too_late a 0 by 2"},
	} {
		r := newIDRig(t, nil)
		r.assigned(nil)
		r.must(r.named(0, 0, "a"))
		r.pass(1)
		flying := r.offer()
		r.must(r.cancelOf(1, "a"), r.cancelOf(2, "a"), r.named(3, 0, "a"))
		r.end(class, flying...)
		if got := r.drain(); !slices.Equal(got, want) || !r.finished(0, 4) {
			t.Errorf("class %d: got %q, want %q", class, got, want)
		}
	}
}

// TestACopyThatFindsNothingIsNotHeardOf, but finished and counted.
func TestACopyThatFindsNothingIsNotHeardOf(t *testing.T) {
	r := newIDRig(t, nil)
	r.assigned(nil)
	miss, hit := r.cancelOf(1, "b"), r.cancelOf(2, "a")
	miss.Copied, hit.Copied = true, true
	r.must(r.named(0, 1000, "a"), miss, hit)
	if got, want := r.drain(), []string{"cancelled a 0 by 2"}; !slices.Equal(got, want) || !r.finished(0, 3) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := r.stats.Cancels[TopicResult{ingress, "miss"}]; n != 1 {
		t.Errorf("%d misses", n)
	}
}

// TestAnInvalidCommandTouchesNoRecordAndIsNeverDelivered, whatever the policy says.
func TestAnInvalidCommandTouchesNoRecordAndIsNeverDelivered(t *testing.T) {
	for _, policy := range []Policy{DeadLetter, Deliver, Drop, Halt} {
		for _, dead := range []string{graves, ""} {
			r := newIDRig(t, func(c *Config) { c.OnInvalid, c.DeadLetterTopic = policy, dead })
			r.assigned(nil)
			cancel := r.cancelOf(1, "a")
			cancel.Reason, cancel.Message, cancel.Target, cancel.Label = "malformed_cancel", "the test says so", egress, egress
			r.must(r.named(0, 1000, "a"), cancel)
			want := []string{"0"}
			if dead != "" {
				want = append(want, "1 dead: malformed_cancel")
			}
			if got := r.drain(); !slices.Equal(got, want) || !r.finished(0, 2) {
				t.Errorf("policy %d, topic %q: got %q, want %q", policy, dead, got, want)
			}
			if n := total(r.stats.Dropped); (n == 1) != (dead == "") {
				t.Errorf("policy %d, topic %q: %d dropped", policy, dead, n)
			}
		}
	}
	r := newIDRig(t, nil)
	r.assigned(nil)
	newer := r.named(1, 0, "a")
	newer.Reason, newer.Message = "malformed_delay", "the test says so"
	r.must(r.named(0, 1000, "a"), newer)
	if got, want := r.drain(), []string{"0", "1 dead: malformed_delay"}; !slices.Equal(got, want) {
		t.Errorf("an invalid record replaces: got %q, want %q", got, want)
	}
}

// TestIDsAreComparedByTheirBytes, with ids for which the index has the same hash.
func TestIDsAreComparedByTheirBytes(t *testing.T) {
	r := newIDRig(t, nil)
	r.assigned(nil)
	seen := map[uint32]string{}
	var a, b string
	for n := 0; b == ""; n++ {
		id := fmt.Sprintf("timer-%d", n)
		hash := r.commands.index.hash(0, []byte(id))
		kept := uint32(hash>>32) ^ uint32(hash) // what the table keeps
		if seen[kept] != "" {
			a, b = seen[kept], id
		}
		seen[kept] = id
	}
	r.must(r.named(0, 1000, a), r.cancelOf(1, b), r.named(2, 1000, b), r.cancelOf(3, a))
	if got, want := r.drain(), []string{"2", "cancel_miss " + b + " -1 by 1", "cancelled " + a + " 0 by 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestARecordThatMayHaveBeenWrittenIsNotCalledCancelledForAnotherThatIsRefused in the same wave.
func TestARecordThatMayHaveBeenWrittenIsNotCalledCancelledForAnotherThatIsRefused(t *testing.T) {
	for _, last := range []bool{false, true} { // of its wave to be answered
		r := newIDRig(t, nil)
		r.assigned(nil)
		r.must(r.arrival(0, 0, "0 first"), r.named(1, 0, "a"))
		r.pass(1)
		written := r.offer()
		r.want(written, 0, 1)
		r.end(Unknown, written...) // both are written, and nobody knows
		r.must(r.cancelOf(2, "a"), r.arrival(3, 0, "0 bad"))
		r.pass(5000)
		r.one(Delivered)
		r.pass(1)
		wave := r.offer()
		r.want(wave, 1, 3)
		if last {
			slices.Reverse(wave)
		}
		r.end(Rejected, wave...) // for 3: a broker refuses a batch as a whole
		got := ""
		for range 20 {
			r.pass(100)
			for _, d := range r.offer() {
				class := Delivered
				if d.Offset == 3 && !d.DeadLettered {
					class = Rejected
				}
				if d.Event {
					got += string(d.Body)
				} else if d.Offset == 1 && !d.Alone {
					t.Error("it is in a wave again, which may be refused for it")
				}
				r.end(class, d)
			}
		}
		if !strings.Contains(got, "too_late a 1 by 2") || strings.Contains(got, "cancelled") {
			t.Errorf("answered last %t: got %q, but the target has the record", last, got)
		}
		r.audit()
	}
}

// TestARecordThatMayHaveBeenWrittenIsNotCalledCancelledAsItsTargetIsForbidden by now.
func TestARecordThatMayHaveBeenWrittenIsNotCalledCancelledAsItsTargetIsForbidden(t *testing.T) {
	r := newIDRig(t, nil)
	r.assigned(nil)
	r.must(r.named(0, 0, "a"))
	r.pass(1)
	r.one(Unknown) // it is written, and nobody knows
	r.must(r.cancelOf(1, "a"))
	r.pass(5000)
	r.one(Unavailable)
	if got, want := r.drain(), []string{"0", "too_late a 0 by 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
