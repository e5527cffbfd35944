package purgatory

import "testing"

// TestAttemptsAreCountedByTheirNumber, and none of what waits for none.
func TestAttemptsAreCountedByTheirNumber(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for i, attempt := range []int64{1, 2, 2, 16, 17, 1_000_000, 0} {
		a := r.arrival(int64(i), 10_000, "0")
		a.Attempt = attempt
		r.take(0, 1, a)
	}
	h := r.Snapshot().Attempts[ingress]
	want := Histogram{SumMs: 1_000_038, Count: 6}
	want.Buckets[0], want.Buckets[1], want.Buckets[9], want.Buckets[10], want.Buckets[15] = 1, 2, 1, 1, 1
	if h == nil || *h != want {
		t.Errorf("got %+v, want %+v", h, want)
	}
}

// TestARecordThatIsInvalidAndWaitsAllTheSameIsCountedAndParked.
func TestARecordThatIsInvalidAndWaitsAllTheSameIsCountedAndParked(t *testing.T) {
	r := newRig(t, func(c *Config) { c.OnInvalid = Deliver })
	r.assign(0, 1, 0)
	a := r.arrival(0, 10_000, "0")
	a.Outcome, a.Despite = Invalid, "attempts_exhausted"
	r.take(0, 1, a)
	s := r.Snapshot()
	if s.Consumed[TopicOutcome{ingress, Invalid}] != 1 || s.Invalid[TopicReason{ingress, "attempts_exhausted"}] != 1 || s.Parked != 1 {
		t.Errorf("consumed %v, invalid %v, %d parked", s.Consumed, s.Invalid, s.Parked)
	}
	r.audit()
	r.pass(9_999)
	if ds := r.offer(); len(ds) != 0 {
		t.Errorf("offered %d before its deadline", len(ds))
	}
	r.pass(1)
	if ds := r.offer(); len(ds) != 1 || ds[0].Reason != "" || ds[0].DeadLettered {
		t.Errorf("offered %+v", ds)
	}
}
