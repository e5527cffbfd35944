package purgatory

import (
	"slices"
	"testing"
	"time"
)

// expires is a record that is due and expires so long from now.
func (r *rig) expires(offset, delayMs, expireMs int64) Arrival {
	a := r.arrival(offset, delayMs, "0 expires")
	a.Expires, a.ExpireMs = true, r.at.WallMs+expireMs
	return a
}

// TestARecordIsNotHandedOutFromItsExpiryOn, and is dropped or dead-lettered.
func TestARecordIsNotHandedOutFromItsExpiryOn(t *testing.T) {
	for name, test := range map[string]struct {
		delayMs, expireMs, offerMs int64
		expired                    bool
	}{
		"before":                   {100, 200, 199, false},
		"at":                       {100, 200, 200, true},
		"at the deadline":          {60_000, 60_000, 0, true},
		"before the deadline":      {60_000, 10, 0, true},
		"in the past":              {60_000, -10, 0, true},
		"a millisecond behind":     {100, 101, 100, false},
		"due at once and in time":  {0, 1, 0, false},
		"due at once and not":      {0, 0, 0, true},
		"an expiry without a wait": {-5000, -4000, 0, true},
	} {
		for _, policy := range []Policy{DeadLetter, Drop} {
			for _, dead := range []string{graves, ""} {
				r := newIDRig(t, func(c *Config) { c.OnExpired, c.DeadLetterTopic = policy, dead })
				r.assigned(nil)
				r.must(r.expires(0, test.delayMs, test.expireMs))
				r.pass(test.offerMs)
				ds := append(r.offer(), r.offer()...)
				what := "none"
				if len(ds) == 1 {
					what = map[bool]string{true: "event"}[ds[0].Event] + ds[0].Reason
				}
				want := ""
				if test.expired {
					want = map[bool]string{true: "expired", false: "event"}[policy == DeadLetter && dead != ""]
				}
				if what != want {
					t.Errorf("%s, policy %d, topic %q: got %q, want %q", name, policy, dead, what, want)
				}
				r.audit()
			}
		}
	}
}

func TestAnExpiredRecordIsSaidOnce(t *testing.T) {
	for _, events := range []string{events, ""} {
		r := newIDRig(t, func(c *Config) { c.OnExpired, c.EventsTopic = Drop, events })
		r.assigned(nil)
		a := r.named(0, 1000, "a")
		a.Expires, a.ExpireMs = true, a.DeadlineMs
		r.must(a, r.expires(1, 1000, 1000))
		want := []string{"expired  1 by -1", "expired a 0 by -1"}
		if events == "" {
			want = []string{}
		}
		if got := r.drain(); !slices.Equal(got, want) || !r.finished(0, 2) {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := r.stats.Ended[TopicResult{ingress, "expired"}]; n != 2 {
			t.Errorf("%d expired", n)
		}
	}
}

// TestAnExpiryDoesNotMatterToWhatMayHaveBeenWritten, also where the clock took it back.
func TestAnExpiryDoesNotMatterToWhatMayHaveBeenWritten(t *testing.T) {
	for _, back := range []int64{0, 3000} {
		for _, class := range []Class{Unknown, NoRoom} {
			r := newIDRig(t, func(c *Config) { c.OnExpired = Drop })
			r.assigned(nil)
			r.pass(5000)
			r.must(r.expires(0, 0, 10))
			r.pass(1)
			r.one(class)
			if r.step(-back); back > 0 {
				r.pass(100)
				r.offer() // it is parked again
				if n := r.stats.Parked; n != 1 {
					t.Fatalf("%d parked", n)
				}
			}
			r.pass(20_000)
			ds := append(r.offer(), r.offer()...)
			if len(ds) != 1 || ds[0].Event != (class == NoRoom) {
				t.Errorf("class %d, clock %d back: offered %+v", class, back, ds)
			}
			r.audit()
		}
	}
}

// TestAHeldRecordExpires when its target is back.
func TestAHeldRecordExpires(t *testing.T) {
	r := newIDRig(t, func(c *Config) { c.OnExpired = Drop })
	r.assigned(nil)
	r.router[egress] = Missing
	r.must(r.expires(0, 0, 500))
	r.pass(1)
	r.want(r.offer())
	r.pass(1000)
	if got, want := r.drain(), []string{"expired  0 by -1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAHeldRecordExpiresWhenThePatienceIsUsedUp, also where it was not due yet. Nobody gets it as one whose target was away.
func TestAHeldRecordExpiresWhenThePatienceIsUsedUp(t *testing.T) {
	for name, delayMs := range map[string]int64{"long due": 0, "not due": 3_600_000} {
		for _, policy := range []Policy{DeadLetter, Drop} {
			r := newIDRig(t, func(c *Config) { c.OnExpired, c.Patience = policy, time.Minute })
			r.assigned(nil)
			r.router[egress] = Missing
			r.must(r.expires(0, delayMs, 500), r.arrival(1, 0, "0 stays"))
			r.pass(1)
			r.want(r.offer())
			r.pass(61_000)
			want := []string{"1 dead: target_unavailable", "expired  0 by -1"}
			if policy == DeadLetter {
				want = []string{"0 dead: expired", "1 dead: target_unavailable"}
			}
			if got := r.drain(); !slices.Equal(got, want) {
				t.Errorf("%s, policy %d: got %q, want %q", name, policy, got, want)
			}
			r.audit()
		}
	}
}

// TestAnExpiredRecordDoesNotWaitForItsDeadline where the clock is stepped back as it is read.
func TestAnExpiredRecordDoesNotWaitForItsDeadline(t *testing.T) {
	r := newIDRig(t, func(c *Config) { c.OnExpired = Drop })
	r.assigned(nil)
	r.must(r.expires(0, 60_000, 1))
	r.step(-100_000)
	r.pass(1)
	r.offer()
	if n := r.stats.Ended[TopicResult{ingress, "expired"}]; n != 1 {
		t.Errorf("%d expired", n)
	}
}

// TestAnExpiredRecordIsNotGivenUpWithoutALease: its membership is not confirmed when the patience is used up.
func TestAnExpiredRecordIsNotGivenUpWithoutALease(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		r := newIDRig(t, func(c *Config) { c.OnExpired = Drop })
		r.assigned(nil)
		r.router[egress] = Missing
		r.must(r.expires(0, 0, 500))
		r.pass(1)
		r.want(r.offer())
		if suspended {
			r.Suspend()
		}
		r.pass(61_000)
		if suspended {
			r.commitLow(0)
		}
		if got := r.drain(); len(got) != 1 || got[0] != "expired  0 by -1" {
			t.Errorf("suspended %t: got %q", suspended, got)
		}
		r.audit()
	}
}

// TestALetterOfAnExpiredRecordSaysWhen: one that expires before it is due has not when it is read.
func TestALetterOfAnExpiredRecordSaysWhen(t *testing.T) {
	for want, ms := range map[string][3]int64{ // delay, expiry, offered
		"the record expired at 2023-11-14T22:13:20.200Z, was due at 2023-11-14T22:13:20.100Z, and it is 2023-11-14T22:13:20.300Z":                 {100, 200, 300},
		"the record expires at 2023-11-14T22:13:20.050Z, no later than it is due at 2023-11-14T22:13:20.100Z, and it is 2023-11-14T22:13:20.000Z": {100, 50, 0},
	} {
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		r.commitAll()
		r.take(0, 1, r.expires(0, ms[0], ms[1]))
		r.pass(ms[2])
		if ds := append(r.offer(), r.offer()...); len(ds) != 1 || ds[0].Message != want {
			t.Errorf("offered %+v, want the message %q", ds, want)
		}
	}
}
