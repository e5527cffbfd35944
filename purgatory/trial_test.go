package purgatory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/offsets"
)

// forbid gives the egress topic n records whose bodies begin with to, and has the
// first refused. The target is to be tried again holdFirstMs later.
func (r *rig) forbid(n int64, to byte) {
	r.Helper()
	r.assign(0, 1, 0)
	for o := range n {
		r.take(0, 1, r.arrival(o, 0, fmt.Sprintf("%c record %d", to, o)))
	}
	r.pass(1)
	ds := r.offer()
	r.refuse(Forbidden, ds[:1]...)
}

// refuse ends deliveries with an answer about their target.
func (r *rig) refuse(v Verdict, ds ...Delivery) {
	results := make([]Result, len(ds))
	for i, d := range ds {
		results[i] = Result{ID: d.ID, Class: Unavailable, Verdict: v, Detail: "said the broker"}
	}
	r.Outcomes(r.at, results)
}

func TestAnyRecordWhosePartitionHasRoomIsTheTrial(t *testing.T) {
	for name, silent := range map[string]int64{"a few in front": 5, "more in front than a look takes": 3*trialLook + 5} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.MaxInFlight = 2 })
			r.forbid(silent, '0') // the second one is in flight, and never answered
			r.take(0, 1, r.arrival(silent, 0, "1 of a healthy partition"))
			for r.at.WallMs < startMs+2_000 {
				r.pass(100)
				for _, d := range r.offer() {
					if d.TargetPartition == 0 {
						t.Fatalf("offered %+v to a partition that does not answer", d)
					}
					if r.end(Delivered, d); d.Offset != silent || d.DeadLettered {
						t.Errorf("tried with %d, want %d", d.Offset, silent)
					}
					r.audit()
					return
				}
			}
			t.Error("no record is tried, though one has a healthy partition")
		})
	}
}

func TestATrialThatIsNotAnsweredIsFollowedByOneElsewhere(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.forbid(3, '0')
	r.take(0, 1, r.arrival(3, 0, "2 of a silent partition"))
	r.take(0, 1, r.arrival(4, 0, "1 of a healthy partition"))
	r.pass(100)
	first := r.offer()
	r.want(first, 3)
	r.pass(stuckMs - 1)
	r.want(r.offer())
	r.pass(200)
	if d := r.one(Delivered); d.Offset != 4 {
		t.Errorf("tried with %+v", d)
	}
	r.want(r.offer(), 0) // to see whether that one is back
	if h := r.heldView(); h.Verdict != Unreachable || !slices.Equal(numbersOf(h), []int32{0}) || h.Records != 2 {
		t.Errorf("held %+v, though another partition took a record", h)
	}
	r.audit()
	r.refuse(Forbidden, first...) // late, and as good as any answer
	if h := r.heldView(); h.Verdict != Forbidden || h.Records != 3 {
		t.Errorf("held %+v, want three records of a forbidden target", h)
	}
	r.audit()
}

func TestATrialThatFailsGoesBackToWhereItWaited(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.Patience = 2, 10*time.Second })
	r.forbid(3, '0') // the second is in flight; the first and the third wait from here on
	r.pass(5_000)
	r.take(0, 1, r.arrival(3, 0, "1"))
	r.pass(100)
	trial := r.offer()
	r.want(trial, 3)
	r.refuse(Forbidden, trial...)
	r.pass(5_000)
	ds := r.offer()
	if len(ds) != 3 {
		t.Fatalf("offered %+v, want two dead letters and the next trial", ds)
	}
	for _, d := range ds {
		if d.DeadLettered != (d.Offset != 3) {
			t.Errorf("offered %+v: want those whose patience is used up as dead letters, and no other", d)
		}
	}
	if low := r.Snapshot().DeadLettered; len(low) != 0 {
		t.Errorf("dead-lettered %v", low)
	}
	r.audit()
}

func TestAHoldEndsWhenMetadataTakesItsReasonBack(t *testing.T) {
	for _, v := range []Verdict{Missing, Forbidden, Mismatched} {
		t.Run(v.String(), func(t *testing.T) {
			r := newRig(t, nil)
			r.hold(3, v)
			r.pass(2000)
			r.want(r.offer())
			r.router[egress] = Usable
			r.pass(2000)
			r.Take()
			r.want(r.offer(), 0, 1, 2)
			if h := r.Take().Holds; len(h) != 1 || h[0].Held {
				t.Errorf("notices %+v, want one that the target is back", h)
			}
			r.audit()
		})
	}
}

func TestAHoldThatAnAnswerBeganEndsByAnAnswer(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 }) // metadata calls the target usable all the time
	r.forbid(3, '0')
	r.Take()
	for range 10 {
		r.pass(holdMaxMs)
		ds := r.offer()
		r.want(ds, 0)
		r.refuse(Forbidden, ds...)
		for _, h := range r.Take().Holds {
			t.Fatalf("notice %+v of a hold that goes on", h)
		}
	}
	r.pass(holdMaxMs)
	r.one(Delivered)
	if h := r.Take().Holds; len(h) != 1 || h[0].Held {
		t.Errorf("notices %+v, want one that the target is back", h)
	}
}

func TestAHoldThatHasAnotherReasonNowSaysSoOnce(t *testing.T) {
	r := newRig(t, nil)
	r.hold(1, Missing)
	r.Take()
	r.router[egress] = Forbidden
	var changes []HoldNotice
	for range 10 {
		r.pass(holdMaxMs)
		r.want(r.offer())
		changes = append(changes, r.Take().Holds...)
	}
	if len(changes) != 1 || !changes[0].Held || !changes[0].Changed || changes[0].Verdict != Forbidden {
		t.Errorf("notices %+v, want one that it is forbidden now", changes)
	}
	r.pass(40_000)
	ds := r.offer()
	r.want(ds, 0)
	if !strings.Contains(ds[0].Message, Forbidden.String()) || strings.Contains(ds[0].Message, Missing.String()) {
		t.Errorf("dead letter %q does not name the reason in force", ds[0].Message)
	}
}

func TestAStalledPartitionOfATargetThatIsHeldIsSaidToBeBackOnce(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	for o, body := range []string{"0", "0", "1"} {
		r.take(0, 1, r.arrival(int64(o), 0, body))
	}
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0, 2)
	silent, other := ds[:1], ds[1:]
	r.end(Delivered, other...)
	r.pass(stallMs)
	r.take(0, 1, r.arrival(3, 0, "1"))
	r.pass(1)
	r.refuse(Forbidden, r.offer()...)
	r.pass(60)
	r.pass(60) // the partition is looked at once more
	r.end(Delivered, silent...)
	for range 2 {
		r.pass(holdMaxMs)
		r.end(Delivered, r.offer()...)
	}
	open := 0
	for _, h := range r.Take().Holds {
		if open--; h.Held {
			open += 2
		}
	}
	if open != 0 {
		t.Errorf("%d holds have begun and not ended", open)
	}
	r.audit()
}

// TestALookThatFindsNothingIsNotRepeatedAtOnce: it costs, and only time makes it find more.
func TestALookThatFindsNothingIsNotRepeatedAtOnce(t *testing.T) {
	placed := 0
	r := newRig(t, func(c *Config) {
		place := c.Place
		c.MaxInFlight, c.Patience = 2, time.Hour
		c.Place = func(s *TargetState, from offsets.TopicPartition, body []byte) Route {
			placed++
			return place(s, from, body)
		}
	})
	r.forbid(5, '0') // the second one is in flight, and never answered
	for look := range 3 {
		r.pass(holdFirstMs)
		for turn := range 50 {
			before := placed
			r.want(r.offer())
			if some := placed > before; some != (turn == 0) {
				t.Errorf("look %d, turn %d: %d records are looked at", look, turn, placed-before)
			}
			r.at.WallMs++
			r.Core.Tick(r.at, 1)
		}
	}
}

// TestANumberOfATargetIsUsedAgain.
func TestANumberOfATargetIsUsedAgain(t *testing.T) {
	d := newDirectory(nil, false)
	for n := range 5 {
		one, two := d.target(TargetName{Name: fmt.Sprint(n)}, "*"), d.target(TargetName{Name: fmt.Sprint(n, "b")}, "*")
		if d.target(one.key, "*") != one || one.index == two.index || one.state.Verdict != Pending {
			t.Errorf("targets %+v and %+v", one, two)
		}
		d.drop(one)
		again := d.target(TargetName{Name: "again"}, "*")
		if again.index != one.index || len(d.list) != 2 {
			t.Errorf("number %d, %d in all", again.index, len(d.list))
		}
		d.drop(again)
		d.drop(two)
		if d.overhead != 0 || len(d.byKey) != 0 {
			t.Errorf("%d bytes and %d names are left", d.overhead, len(d.byKey))
		}
	}
}
