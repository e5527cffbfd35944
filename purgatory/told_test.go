package purgatory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"layover/offsets"
)

// TestASharesEndIsToldAtOnceAndOnce, of a target and of all that a glob allows, each time.
func TestASharesEndIsToldAtOnceAndOnce(t *testing.T) {
	for name, label := range map[string]string{"a target": "jobs.7", "a glob": "jobs.*"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Patience = time.Hour })
			r.assign(0, 1, 0)
			told := func() (of map[string]int64) {
				of = make(map[string]int64)
				for _, s := range r.Shares(r.at, nil) {
					of[s.Name] = s.Own.Held
				}
				return of
			}
			for round := range int64(3) {
				a := r.arrival(round, 0, "0 a record")
				a.Target, a.Label = "jobs.7", label
				r.router[a.Target] = Missing
				r.take(0, 1, a)
				r.pass(1)
				r.want(r.offer())
				r.at.WallMs += checkEveryMs
				of := told() // before any look of the core's own
				if want := waitsWith(a); of["jobs.7"] != want || label != "jobs.7" && of[label] != want+heldTargetSize || len(of) > 2 {
					t.Errorf("round %d: told %v, want the %d bytes that are held", round, of, want)
				}
				r.Core.Tick(r.at, 1)
				if of := told(); len(of) != 0 {
					t.Errorf("round %d: told %v again at the same time", round, of)
				}
				r.router[a.Target] = Usable
				r.pass(holdMaxMs)
				r.one(Delivered)
				r.offer()
				if of := told(); len(of) == 0 || of["jobs.7"] != 0 {
					t.Errorf("round %d: told %v once nothing is held", round, of)
				} else if own, ok := of[label]; !ok && label == "jobs.7" || own != 0 {
					t.Errorf("round %d: told %v once nothing is held", round, of)
				}
				if of := told(); label == "jobs.7" && len(of) != 0 {
					t.Errorf("round %d: told %v twice", round, of)
				}
				for range 2 * checkEveryMs {
					r.at.WallMs++
					told()
					r.Core.Tick(r.at, 1)
				}
				r.at.WallMs += checkEveryMs
				if of := told(); len(of) != 0 {
					t.Errorf("round %d: told %v, and nothing is held for long", round, of)
				}
				r.audit()
			}
		})
	}
}

// TestAGlobsEndIsToldThoughTheCoreHasLookedBefore: else all others would count its bytes for
// ever.
func TestAGlobsEndIsToldThoughTheCoreHasLookedBefore(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = time.Hour })
	r.assign(0, 1, 0)
	for round := range int64(2) {
		a := r.arrival(round, 0, "0 a record")
		a.Target, a.Label = "jobs.7", "jobs.*"
		r.router[a.Target] = Missing
		r.take(0, 1, a)
		r.pass(1)
		r.want(r.offer())
		r.at.WallMs += checkEveryMs
		r.Shares(r.at, nil)
		r.router[a.Target] = Usable
		r.pass(holdMaxMs) // the core looks
		r.one(Delivered)
		r.offer()
		r.pass(checkEveryMs) // and looks again
		r.at.WallMs += checkEveryMs
		ended := slices.ContainsFunc(r.Shares(r.at, nil), func(s Share) bool { return s.Name == "jobs.*" && s.Own == ShareBytes{} })
		if !ended {
			t.Errorf("round %d: the end of what the glob's targets hold is not told", round)
		}
	}
}

// TestWhatOthersHoldOfATargetCountsAgainstItsShare, and not against another's. What waits behind refusals does not.
func TestWhatOthersHoldOfATargetCountsAgainstItsShare(t *testing.T) {
	const share = 10_000
	for name, test := range map[string]struct {
		others map[string]ShareBytes
		letter bool
	}{
		"nobody":               {nil, false},
		"up to the share":      {map[string]ShareBytes{egress: {Held: share - 1000}}, false},
		"beyond the share":     {map[string]ShareBytes{egress: {Held: share}}, true},
		"behind refusals":      {map[string]ShareBytes{egress: {Rejected: share}}, false},
		"of another target":    {map[string]ShareBytes{other: {Held: share}}, false},
		"of a target by glob":  {map[string]ShareBytes{"jobs.*": {Held: share}}, false},
		"of the dead letters'": {map[string]ShareBytes{graves: {Held: share}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *Config) { c.Patience, c.HeldShare = time.Hour, share })
			r.elsewhere = func(of TargetName, _ ShareBytes) ShareBytes { return test.others[of.Name] }
			r.hold(1, Missing)
			r.pass(2 * checkEveryMs)
			r.pass(2 * checkEveryMs)
			if ds := r.offer(); (len(ds) == 1 && ds[0].DeadLettered) != test.letter {
				t.Errorf("on offer are %+v", ds)
			}
			r.audit()
		})
	}
}

// TestTheNextDeadlineIsThatOfTheRecordThatIsDueFirst, whatever was asked before.
func TestTheNextDeadlineIsThatOfTheRecordThatIsDueFirst(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	next := func() int64 { return r.Snapshot().NextDueMs }
	if next() != 0 {
		t.Errorf("nothing is parked, and %d is the next", next())
	}
	for round := range int64(3) {
		for i, delayMs := range []int64{60_000, 1000, 30_000, 10} {
			r.mustTake(0, 1, delayMs, 4*round+int64(i))
			want := r.at.WallMs + []int64{60_000, 1000, 1000, 10}[i]
			if got := next(); got != want {
				t.Errorf("round %d: the next is %d ms after the start, want %d", round, got-startMs, want-startMs)
			}
		}
		for _, want := range []int64{990, 29_000, 30_000} {
			due := next() - r.at.WallMs
			r.pass(due)
			r.one(Delivered)
			if got := next(); got != r.at.WallMs+want {
				t.Errorf("round %d: then it is %d ms later, want %d", round, got-r.at.WallMs, want)
			}
		}
		r.pass(30_000)
		r.one(Delivered)
		if next() != 0 {
			t.Errorf("round %d: nothing is parked, and %d is the next", round, next())
		}
	}
}

// TestTheLastErrorOfATargetIsItsOwn, word for word.
func TestTheLastErrorOfATargetIsItsOwn(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for round := range int64(2) {
		r.mustTake(0, 1, 0, round)
		r.pass(1)
		ds := r.offer()
		detail := fmt.Sprintf("fault %d", round)
		r.Outcomes(r.at, []Result{{ID: ds[0].ID, Class: Rejected, Detail: detail}})
		r.one(Delivered) // the dead letter
		if got := r.Snapshot().Errors; !slices.Contains(got, TargetError{egress, detail}) {
			t.Errorf("%+v, want the error of %s", got, egress)
		}
	}
}

// TestAPartitionThatAnswersIsUsableWhateverItAnswers: what it gave up before is over.
func TestAPartitionThatAnswersIsUsableWhateverItAnswers(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	for round := range int64(2) {
		r.mustTake(0, 1, 0, 2*round, 2*round+1)
		r.pass(1)
		silent := r.offer()
		r.want(silent, 2*round)
		for range 75 { // longer than the patience
			r.pass(1000)
			for _, d := range r.offer() {
				if !d.DeadLettered {
					t.Fatalf("%+v goes out", d)
				}
				r.end(Delivered, d)
			}
		}
		if h := r.heldView(); h.GivenUp != 1 {
			t.Fatalf("%+v, want one given up", h)
		}
		r.end(Rejected, silent...)
		if s := r.Snapshot(); len(s.GivenUp) != 0 || len(s.Held) != 0 {
			t.Errorf("it has answered, and given up are %v, held %+v", s.GivenUp, s.Held)
		}
		r.one(Delivered) // the dead letter of the refused one
		r.audit()
	}
}

// TestPartitionsThatFellSilentTogetherAreToldByTheFirst.
func TestPartitionsThatFellSilentTogetherAreToldByTheFirst(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for round := range int64(2) {
		for i, body := range []string{"5", "2", "8"} {
			r.take(0, 1, r.arrival(3*round+int64(i), 0, body))
		}
		r.pass(1)
		silent := r.offer()
		r.pass(stallMs)
		h := r.heldView()
		if h.Detail != "partition 2 has not answered for 10 s" || !slices.Equal(numbersOf(h), []int32{2, 5, 8}) || h.SinceMs != r.at.WallMs {
			t.Errorf("%+v", h)
		}
		r.end(Delivered, silent...)
	}
}

// TestOnlySilentPartitionsOfATargetThatGoesIdleAreForgotten: its client had no room for the
// last record, which went with its partition.
func TestOnlySilentPartitionsOfATargetThatGoesIdleAreForgotten(t *testing.T) {
	r := newRig(t, nil)
	for epoch := uint64(1); epoch <= 2; epoch++ {
		r.assign(0, epoch, 0)
		r.take(0, epoch, r.arrival(0, 0, "1"))
		r.take(0, epoch, r.arrival(1, 0, "2"))
		r.pass(1)
		ds := r.offer()
		r.want(ds, 0, 1)
		r.end(Delivered, ds[0])
		r.pass(stallMs)
		r.offer()
		r.Take()
		r.Revoke(partitionOf(0), epoch)
		r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: epoch})
		r.end(NoRoom, ds[1])
		if h := r.Take().Holds; !slices.Equal(h, []HoldNotice{{Target: egress, Label: egress, Forgotten: true}}) {
			t.Errorf("assignment %d: notices %+v, want one for the partition that was silent", epoch, h)
		}
		if held := r.Snapshot().Held; len(held) != 0 {
			t.Errorf("assignment %d: held %+v", epoch, held)
		}
		r.pass(fullPauseMs)
		r.audit()
	}
}

// TestATargetThatHeldNothingIsNotTold, whatever it held before, and neither is a glob.
func TestATargetThatHeldNothingIsNotTold(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = time.Hour })
	r.Targets([]TargetState{{TargetName: TargetName{Name: "of which nothing is here"}}})
	r.assign(0, 1, 0)
	next := int64(0)
	for round := range 3 {
		for range 2 { // nothing is held: it goes at once
			r.mustTake(0, 1, 0, next)
			next++
			r.pass(1)
			r.one(Delivered)
			r.offer()
			r.at.WallMs += checkEveryMs
			if told := r.Shares(r.at, nil); len(told) != 0 {
				t.Errorf("round %d: told %+v", round, told)
			}
		}
		a := r.arrival(next, 0, "0 a record")
		next++
		a.Target, a.Label = "jobs.7", "jobs.*"
		r.router[a.Target] = Missing
		r.take(0, 1, a)
		r.pass(1)
		r.want(r.offer())
		r.pass(checkEveryMs) // the core looks, and nobody asks
		r.router[a.Target] = Usable
		r.pass(holdMaxMs)
		r.one(Delivered)
		r.offer()
		r.at.WallMs += checkEveryMs
		if told := r.Shares(r.at, nil); len(told) != 0 {
			t.Errorf("round %d: told %+v, which was never told to be held", round, told)
		}
		r.router[egress] = Missing // held, and told
		r.mustTake(0, 1, 0, next)
		next++
		r.pass(1)
		r.want(r.offer())
		r.at.WallMs += checkEveryMs
		held := r.Shares(r.at, nil)
		r.router[egress] = Usable
		r.pass(holdMaxMs)
		r.one(Delivered)
		r.offer()
		if told := r.Shares(r.at, nil); len(held) != 1 || len(told) != 1 || told[0].Own != (ShareBytes{}) {
			t.Errorf("round %d: told %+v, and then %+v", round, held, told)
		}
	}
}
