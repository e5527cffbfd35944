package lane

import (
	"testing"
	"testing/synctest"
	"time"
)

// throttled is a throttle over a time in which answers take as a test says.
type throttled struct {
	throttle
	now time.Time
}

// pass lets n changes pass with ten answers before each, and returns the bound of 10,000 copies in an eighth
// of a share.
func (t *throttled) pass(n int, took func(i int) time.Duration) (most int) {
	for range n {
		for i := range 10 {
			t.answered(t.now, took(i))
		}
		t.now = t.now.Add(adaptEvery)
		most = t.most(t.now, 10_000, 100, 800)
		t.full = true
	}
	return most
}

func each(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

func TestCopiesGiveWayWhereDeliveriesAreAnsweredSlowly(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		before, took func(i int) time.Duration
		more         bool
	}{
		"as quickly as ever":                 {each(2 * ms), each(2 * ms), true},
		"always slowly, as from far away":    {each(80 * ms), each(80 * ms), true},
		"a little more slowly":               {each(2 * ms), each(6 * ms), true},
		"more slowly":                        {each(2 * ms), each(7 * ms), false},
		"a few, as from one sick partition":  {each(2 * ms), func(i int) time.Duration { return time.Duration(2+i/8*5000) * ms }, true},
		"three of ten":                       {each(2 * ms), func(i int) time.Duration { return time.Duration(2+i/7*10) * ms }, false},
		"a little more, from far away":       {each(80 * ms), each(160 * ms), true},
		"twice as slowly, from far away":     {each(80 * ms), each(161 * ms), false},
		"as slowly as for the last minute":   {func(i int) time.Duration { return 40 * ms }, each(40 * ms), true},
		"as slowly, but one of the last ten": {func(i int) time.Duration { return time.Duration(2+min(i, 1)*38) * ms }, each(40 * ms), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := throttled{now: time.Unix(1000, 0)}
			r.pass(10, each(time.Millisecond)) // forgotten in the minute
			r.now = r.now.Add(time.Minute)
			r.pass(10, test.before)
			r.now = r.now.Add(quickFor)
			r.pass(1, test.before)
			r.copies = 1000
			before := r.pass(1, test.before)
			after := r.pass(2, test.took)
			if more := after > before; more != test.more || after == before {
				t.Errorf("%d copies become %d, want more of them: %v", before, after, test.more)
			}
		})
	}
}

func TestABoundOfCopiesEnds(t *testing.T) {
	r := throttled{now: time.Unix(1000, 0)}
	if most := r.pass(200, each(time.Millisecond)); most != 10_000 {
		t.Errorf("%d copies after 10 s of quick answers, want all", most)
	}
	if most := r.pass(200, each(time.Second)); most != leastCopies {
		t.Errorf("%d copies after 10 s of slow answers, want the least", most)
	}
	r.full = false
	r.now = r.now.Add(adaptEvery)
	if most := r.most(r.now, 10_000, 100, 800); most != leastCopies {
		t.Errorf("%d copies where none waited, want as many as before", most)
	}
	if most := r.most(r.now, 50, 100, 800); most != 50 {
		t.Errorf("%d copies of 50 that may be", most)
	}
}

// TestNoCopyIsHeldBackWhereMemoryIsFull: reading would pause, and all behind it be late.
func TestNoCopyIsHeldBackWhereMemoryIsFull(t *testing.T) {
	r := throttled{now: time.Unix(1000, 0)}
	r.pass(200, func(i int) time.Duration { return time.Duration(1+i*100) * time.Millisecond })
	for used, want := range map[int64]int{0: leastCopies, 1350: leastCopies, 1375: 5064, 1400: 10_000, 5000: 10_000} {
		if most := r.most(r.now, 10_000, used, 1600); most != want {
			t.Errorf("%d of 1600 bytes: %d copies, want %d", used, most, want)
		}
	}
}

// queued lets short delays flow beside 25,000 far ones, whose copies share a broker with the deliveries: each takes
// it 20 us. It returns the most copies that a delivery was behind, and how many are written within ten seconds.
func queued(t *testing.T, plant func(*shelf), share int64) (behind, copies int) {
	shelved(t, nil, plant, func(r *rig, s *shelf) {
		s.set(func(s *shelf) { s.takes, s.share = 20*time.Microsecond, 1<<30 })
		r.kafka.set(func(k *kafka) {
			k.delivering = func(int) {
				s.set(func(s *shelf) {
					behind = max(behind, len(s.owed))
					k.slow = time.Millisecond + time.Duration(len(s.owed))*s.takes
				})
			}
		})
		const many = 25_000
		at := int64(0)
		for ; at < many; at++ {
			r.fetched(assignment(0, 1), r.record(at, 5*time.Hour))
		}
		for n := range 1500 {
			if n == 500 {
				synctest.Wait()
				used := r.Lane.Bytes()
				s.set(func(s *shelf) { s.share = used * 16 / share })
			}
			r.fetched(assignment(0, 1), r.record(at, 20*time.Millisecond))
			at++
			time.Sleep(10 * time.Millisecond)
		}
		copies = r.moved(s)
	})
	return behind, copies
}

func TestDeliveriesDoNotWaitBehindThousandsOfCopies(t *testing.T) {
	if behind, copies := queued(t, nil, 10); behind > 600 || copies < 5000 {
		t.Errorf("a delivery was behind %d copies of %d, want at most 600 of at least 5000", behind, copies)
	}
}

func TestCopiesAreHeldBackNoLonger(t *testing.T) {
	for name, test := range map[string]struct {
		share     int64
		retention time.Duration
	}{
		"where memory is full":        {16, 0},
		"where ingress may delete it": {10, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if behind, copies := queued(t, func(s *shelf) { s.retention = test.retention }, test.share); behind < 2000 {
				t.Errorf("a delivery was behind %d copies at most of %d, want thousands", behind, copies)
			}
		})
	}
}
