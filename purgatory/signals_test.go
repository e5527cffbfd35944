package purgatory

import (
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// heldView is what a snapshot says of the only held target.
func (r *rig) heldView() HeldView {
	r.Helper()
	held := r.Snapshot().Held
	if len(held) != 1 {
		r.Fatalf("held %+v, want one target", held)
	}
	return held[0]
}

// numbersOf returns the partitions of a target that are held, by number.
func numbersOf(h HeldView) (out []int32) {
	for _, p := range h.Partitions {
		out = append(out, p.No)
	}
	return out
}

func TestADeadLetterIsInTheSnapshotOnceItsTopicHasTakenIt(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	bad := r.arrival(7, 0, "0")
	bad.Outcome, bad.Reason, bad.Message = Invalid, "invalid_delay", "header x-delay: no number"
	r.take(0, 1, bad)
	r.pass(1)
	d := r.offer()
	r.want(d, 7)
	if l := r.Snapshot().Letters; len(l) != 0 {
		t.Errorf("%+v before the topic has answered", l)
	}
	r.pass(500)
	r.end(Delivered, d...)
	want := Letter{partitionOf(0), 7, "invalid_delay", "header x-delay: no number", r.at.WallMs}
	if l := r.Snapshot().Letters; len(l) != 1 || l[0] != want {
		t.Errorf("%+v, want %+v", l, want)
	}
}

func TestAHeldTargetSaysHowLongItsOldestRecordMayWait(t *testing.T) {
	r := newRig(t, nil) // patience of a minute
	r.hold(1, Missing)
	r.pass(20_000)
	r.mustTake(0, 1, 0, 1) // a newer one changes nothing
	r.pass(1)
	if left := r.heldView().PatienceLeftMs; left != 39_999 {
		t.Errorf("%d ms left, want 39,999", left)
	}
	r.at.WallMs += 10_000 // no broker answers: patience stands still
	r.Tick(r.at, 1<<20)
	if left := r.heldView().PatienceLeftMs; left != 39_999 {
		t.Errorf("%d ms left after a silence, want 39,999", left)
	}
}

func TestAHeldTargetSaysHowManyOfItsRecordsBecameDeadLetters(t *testing.T) {
	r := newRig(t, nil)
	r.hold(2, Missing)
	r.pass(30_000)
	r.mustTake(0, 1, 0, 2)
	r.pass(1)
	r.pass(30_099)
	r.end(Delivered, r.offer()...) // the dead letters of the first two
	if h := r.heldView(); h.GivenUp != 2 || h.Records != 1 || h.PatienceLeftMs <= 29_000 || h.PatienceLeftMs > 30_000 {
		t.Errorf("%+v, want 2 given up, and almost 30 s for the third", h)
	}
	r.pass(30_000)
	r.end(Delivered, r.offer()...)
	r.offer()
	if s := r.Snapshot(); len(s.Held) != 0 || s.GivenUp[egress] != 3 {
		r.Errorf("held %+v, given up %v, want none held and 3 given up", s.Held, s.GivenUp)
	}
	r.mustTake(0, 1, 0, 3)
	r.pass(1)
	r.offer()
	if h := r.heldView(); h.GivenUp != 3 {
		t.Errorf("%+v: it was not usable between the holds, want 3 given up", h)
	}
	r.router[egress] = Usable
	r.pass(3000)
	r.one(Delivered)
	r.router[egress] = Missing
	r.mustTake(0, 1, 0, 4)
	r.pass(1)
	r.offer()
	if h := r.heldView(); h.GivenUp != 0 {
		t.Errorf("%+v: it was usable before this hold", h)
	}
}

func TestMissedAreRecordsThatWereDueBeforeTheAssignment(t *testing.T) {
	for name, test := range map[string]struct {
		offset, deadlineMs, timestampMs int64 // from the assignment on
		outcome                         Outcome
		want                            Missed
	}{
		"due an hour before":                    {3, -3_600_000, -7_200_000, PastDue, Missed{1, startMs - 3_600_000, startMs - 3_600_000, startMs, 3_600_005, startMs + 5}},
		"without a delay, written before":       {3, -60_000, -60_000, Passed, Missed{1, startMs - 60_000, startMs - 60_000, startMs, 60_005, startMs + 5}},
		"due ten seconds before":                {3, -10_000, -20_000, PastDue, Missed{1, startMs - 10_000, startMs - 10_000, startMs, 10_005, startMs + 5}},
		"due just before, as at a hand-over":    {3, -9_999, -20_000, PastDue, Missed{}},
		"due after":                             {3, 3, -20_000, Parked, Missed{}},
		"an instant from before it was written": {3, -3_600_000, -1000, PastDue, Missed{}},
		"not in the log then":                   {9, -3_600_000, -7_200_000, PastDue, Missed{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: offsets.NewWindow(0), Committed: true, StableEnd: 9})
			a := r.arrival(test.offset, 0, "0")
			a.DeadlineMs, a.TimestampMs, a.Outcome = startMs+test.deadlineMs, startMs+test.timestampMs, test.outcome
			r.take(0, 1, a)
			r.pass(5)
			r.one(Delivered)
			if got := r.Snapshot().Missed; got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestMissedOfLanesAddUp(t *testing.T) {
	var m Missed
	m.Add(&Missed{})
	m.Add(&Missed{2, 100, 300, 900, 800, 950})
	m.Add(&Missed{})
	m.Add(&Missed{3, 50, 200, 1000, 700, 940})
	if want := (Missed{5, 50, 300, 1000, 800, 950}); m != want {
		t.Errorf("%+v, want %+v", m, want)
	}
}

// TestASecondDowntimeHasNumbersOfItsOwn: else one record that was a minute late would be
// told with the hours of the downtime before.
func TestASecondDowntimeHasNumbersOfItsOwn(t *testing.T) {
	const hour = 3_600_000
	first, second := Missed{100, 1000, 2000, 3000, 2 * hour, 3500}, Missed{1, 9 * hour, 9 * hour, 10 * hour, 60_000, 10 * hour}
	for name, order := range map[string][2]Missed{"as it comes": {first, second}, "the other lane first": {second, first}} {
		var m Missed
		m.Add(&order[0])
		m.Add(&order[1])
		if m != second {
			t.Errorf("%s: %+v, want %+v", name, m, second)
		}
	}
}

func TestWhatWasGivenUpIsForgottenOnceTheTargetTakesARecord(t *testing.T) {
	r := newRig(t, nil)
	r.hold(1, Missing)
	r.pass(60_100)
	r.end(Delivered, r.offer()...) // the dead letter
	r.offer()
	if given := r.Snapshot().GivenUp[egress]; given != 1 {
		t.Fatalf("%d given up, want 1", given)
	}
	r.router[egress] = Usable
	r.mustTake(0, 1, 0, 1)
	r.pass(1)
	r.one(Delivered)
	if given := r.Snapshot().GivenUp; given != nil {
		t.Errorf("given up %v", given)
	}
}
