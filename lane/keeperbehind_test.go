package lane

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
	"layover/purgatory/far"
)

// tardyShelf is a shelf that answers an opening after 50 ms.
type tardyShelf struct{ *shelf }

func (s tardyShelf) Open(ctx context.Context, ask far.Ask, done func(*far.Opening)) {
	s.answers.Go(func() {
		time.Sleep(50 * time.Millisecond) // in a bubble
		s.shelf.Open(ctx, ask, done)
	})
}

// TestAnOpeningThatKnowsMoreThanTheKeeperLosesNothing: the topic was made again, another owner has moved records
// there, and the keeper hears of it a second later.
func TestAnOpeningThatKnowsMoreThanTheKeeperLosesNothing(t *testing.T) {
	shelved(t, func(c *Config) { c.Runs.Runs = tardyShelf{c.Runs.Runs.(*shelf)} }, nil, func(r *rig, s *shelf) {
		next := offsets.TopicID{10}
		s.set(func(s *shelf) { s.topic, s.log = next, nil })
		s.plant(3, 10, func(int) uint64 { return 1 }, func(int) time.Duration { return time.Minute })
		over := make(chan struct{})
		r.Lost(assignment(0, 1), func() { close(over) })
		<-over
		r.assign(0, 2)
		time.Sleep(time.Second)
		r.RunsChanged("delayed", RunsTopic{TopicID: next, Usable: true})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if v := r.Snapshot(); v.LostFromRuns != 0 {
			t.Errorf("%d count as lost, want none", v.LostFromRuns)
		}
		if n := len(r.values()); n != 3 {
			t.Errorf("%d are delivered, want 3", n)
		}
		s.set(func(s *shelf) {
			if len(s.openings) > 3 {
				t.Errorf("%d openings in a second", len(s.openings)-1)
			}
		})
		over = make(chan struct{})
		r.Lost(assignment(0, 2), func() { close(over) })
		<-over
	})
}
