package lane

import "time"

const (
	// leastCopies is how many copies a lane may have in flight at least. Answered within 10 ms, those are 12,800 a
	// second.
	leastCopies = 128
	// adaptEvery is the time between two changes of that bound.
	adaptEvery = 50 * time.Millisecond
	// slack is how much longer than the quickest an answer takes at least that is slow. It takes twice as long, too.
	slack = 4 * time.Millisecond
	// quickFor is how long the quickest answer counts at least; it counts for twice that at most.
	quickFor = 10 * time.Second

	// roomy is how many of 32 parts of the share may be used where the throttle decides alone. From one more on,
	// where reading pauses, nothing is held back.
	roomy = 27
)

// throttle bounds the copies in flight, so that deliveries do not wait behind them: copies take the same brokers
// and cores. Whether they wait is seen from how long deliveries are answered after they were produced. That is
// compared with the quickest, as another data centre is no reason to move less. Without deliveries nothing is
// held back.
//
// It belongs to the lane's loop.
type throttle struct {
	copies  int       // bound while memory has room
	full    bool      // since the last change, so many were in flight that no more were offered
	changes time.Time // no change before

	slow, answers int // since the last change

	quickest [2]time.Duration // of the time up to renewed, and of that before it; 0: no answer
	renewed  time.Time
}

// answered takes how long a delivery took that was acknowledged.
func (t *throttle) answered(now time.Time, took time.Duration) {
	if !now.Before(t.renewed) {
		t.renewed = now.Add(quickFor)
		t.quickest = [2]time.Duration{took, t.quickest[0]}
	}
	t.quickest[0] = min(t.quickest[0], took)
	quickest := t.quickest[0]
	if t.quickest[1] > 0 {
		quickest = min(quickest, t.quickest[1])
	}
	t.answers++
	if took > max(2*quickest, quickest+slack) {
		t.slow++
	}
}

// most returns how many copies may be in flight now, of all that ever may be. used is what the lane's records
// take, those on their way to the runs topics with them, of its share.
func (t *throttle) most(now time.Time, all int, used, share int64) int {
	if !now.Before(t.changes) {
		t.change()
		t.changes = now.Add(adaptEvery)
	}
	t.copies = min(max(t.copies, leastCopies), all)
	part := max(share/32, 1)
	over := min(max(used-roomy*part, 0), part)
	return t.copies + int(int64(all-t.copies)*over/part)
}

// change makes the bound a quarter less where a quarter of the answers was slow. Else it becomes an eighth more, if
// it has held something back.
func (t *throttle) change() {
	switch {
	case t.slow*4 > t.answers:
		t.copies -= t.copies / 4
	case t.full:
		t.copies += t.copies / 8
	}
	t.slow, t.answers, t.full = 0, 0, false
}
