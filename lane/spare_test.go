package lane

import (
	"errors"
	"testing"
	"time"

	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestAMailThatIsDealtWithPinsNothing: a record that was fetched pins the whole answer.
func TestAMailThatIsDealtWithPinsNothing(t *testing.T) {
	m := mail{
		orders:  []order{stop{}},
		fetched: []fetched{{records: []*kgo.Record{{}}, bytes: 7}},
		ended:   []ended{{id: 3, err: errors.New("x")}},
	}
	e := m.empty()
	if len(e.orders)+len(e.fetched)+len(e.ended)+len(e.committed) != 0 {
		t.Errorf("it is not empty: %+v", e)
	}
	if o, f, d := m.orders[0], m.fetched[0], m.ended[0]; o != nil || f.records != nil || f.bytes != 0 || d.err != nil {
		t.Errorf("%v, %+v and %+v are kept", o, f, d)
	}
}

// TestOffersWaitForEachOtherWhileAnAnswerIsOwed: two milliseconds, and longer for none.
func TestOffersWaitForEachOtherWhileAnAnswerIsOwed(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(2 * time.Second)
		for round := range int64(2) {
			r.kafka.set(func(k *kafka) { k.slow, k.deliveries = 500*time.Millisecond, nil })
			var records []*kgo.Record
			for n := range int64(200) { // one falls due each millisecond
				records = append(records, r.record(round*200+n, 100*time.Millisecond+time.Duration(n)*time.Millisecond))
			}
			r.fetched(assignment(0, 1), records...)
			time.Sleep(time.Second)
			at := make(map[time.Time]bool)
			for _, d := range r.seen().deliveries {
				at[d.at] = true
			}
			if len(r.seen().deliveries) != 200 || len(at) < 90 || len(at) > 102 {
				t.Errorf("round %d: %d deliveries at %d instants, want 200 at 100", round, len(r.seen().deliveries), len(at))
			}
			time.Sleep(5 * time.Second)
		}
	})
}

// TestWhatIsSentIsSeenSoon, though nothing but time made it due.
func TestWhatIsSentIsSeenSoon(t *testing.T) {
	inBubble(t, func(c *Config) { c.CommitInterval = time.Minute }, func(r *rig) {
		r.assign(0, 1)
		r.kafka.set(func(k *kafka) { k.slow = 300 * time.Millisecond })
		for o := range int64(3) {
			r.fetched(assignment(0, 1), r.record(o, 10*time.Second+350*time.Millisecond))
			time.Sleep(10*time.Second + 350*time.Millisecond + publishEvery + time.Millisecond)
			if s := r.Snapshot(); s.InFlight != 1 || s.Parked != 0 {
				t.Errorf("%d in flight, %d parked are seen", s.InFlight, s.Parked)
			}
			time.Sleep(5 * time.Second)
			if s := r.Snapshot(); s.InFlight != 0 {
				t.Errorf("%d in flight are seen behind the answer", s.InFlight)
			}
		}
	})
}

// TestAStopTriesARefusedCommitAgainSoon, and not at its interval.
func TestAStopTriesARefusedCommitAgainSoon(t *testing.T) {
	inBubble(t, func(c *Config) { c.CommitInterval = time.Minute }, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(time.Second)
		r.fetched(assignment(0, 1), r.record(0, 0))
		time.Sleep(time.Second)
		before := r.commits()
		r.kafka.set(func(k *kafka) { k.refuse, k.refusals = errors.New("coordinator loading"), 3 })
		began := time.Now()
		r.Stop(began.Add(20 * time.Second))
		<-r.Done()
		if took := time.Since(began); took < 3*soon || took > 3*soon+late || r.commits()-before != 4 {
			t.Errorf("stopping took %v and %d commits, want %v and 4", took, r.commits()-before, 3*soon)
		}
		if low, _ := r.lastCommit(); low != 1 {
			t.Errorf("committed %d", low)
		}
	})
}

// TestAPauseIsToldWhileItLasts, each time: reading is governed by it.
func TestAPauseIsToldWhileItLasts(t *testing.T) {
	inBubble(t, func(c *Config) { c.Core.Patience = 2 * time.Second }, func(r *rig) { // without a dead-letter topic
		r.assign(0, 1)
		for o := range int64(2) {
			time.Sleep(5 * time.Second)
			if p := r.Pauses(); len(p) != 0 {
				t.Errorf("round %d: %+v while all is well", o, p)
			}
			r.kafka.set(func(k *kafka) { k.verdict = purgatory.Missing })
			r.fetched(assignment(0, 1), r.record(o, 0))
			time.Sleep(10 * time.Second)
			if p := r.Pauses(); len(p) != 1 || p[0].Target != "ready" || p[0].Label != "ready" || p[0].Reason == "" {
				t.Errorf("round %d: %+v behind the end of patience", o, p)
			}
			r.kafka.set(func(k *kafka) { k.verdict = purgatory.Usable })
			time.Sleep(5 * time.Second)
		}
	})
}
