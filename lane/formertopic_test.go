package lane

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
)

// TestALateAnswerAboutAFormerTopicChangesNothing: the index of the next one is there already, and its copies are
// read on.
func TestALateAnswerAboutAFormerTopicChangesNothing(t *testing.T) {
	plant := func(s *shelf) {
		s.slow = 5 * time.Second
		s.plant(3, 10, func(int) uint64 { return 1 }, func(int) time.Duration { return time.Hour })
	}
	shelved(t, nil, plant, func(r *rig, s *shelf) { // the first visit is under way
		next := offsets.TopicID{10}
		s.set(func(s *shelf) { s.topic, s.log = next, nil })
		s.plant(3, 10, func(int) uint64 { return 1 }, func(int) time.Duration { return time.Minute })
		r.RunsChanged("delayed", RunsTopic{TopicID: next, Usable: true})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		s.set(func(s *shelf) {
			if len(s.openings) != 2 {
				t.Errorf("%d openings, want one for each topic", len(s.openings))
			}
		})
		if n := len(r.values()); n != 3 {
			t.Errorf("%d copies are delivered, want the 3 of the topic that is there", n)
		}
	})
}
