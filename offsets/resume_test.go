package offsets

import (
	"errors"
	"testing"
)

func TestAnAssignmentBeginsWhereNothingUnfinishedIsPassed(t *testing.T) {
	id := Identity{ClusterID: "c", TopicID: TopicID{1}, Partition: 3}
	other := id
	other.TopicID = TopicID{2}
	mirror := id
	mirror.ClusterID = "d"
	of := func(id Identity) string { // finished: below 10, and 12
		w := NewWindow(10)
		w.Finish(12)
		return w.Encode(id, MaxMetadata).Metadata
	}
	own := of(id)
	for name, c := range map[string]struct {
		was      Committed
		log      Bounds
		low      int64
		next     int64
		finished int64 // above low
		clipped  int64
		epoch    int32
		foreign  error
		err      error
	}{
		"as it was committed":    {was: Committed{10, 5, own}, log: Bounds{0, 20}, epoch: 5, low: 10, next: 10, finished: 1},
		"log starts above":       {was: Committed{10, 5, own}, log: Bounds{15, 20}, epoch: 5, low: 10, next: 15, finished: 1},
		"log ends below a fact":  {was: Committed{10, 5, own}, log: Bounds{0, 12}, epoch: 5, low: 10, next: 10, clipped: 1},
		"log ends below":         {was: Committed{10, 5, own}, log: Bounds{0, 9}, err: ErrBeyondEnd},
		"log ends at the offset": {was: Committed{10, 5, own}, log: Bounds{0, 10}, epoch: 5, low: 10, next: 10, clipped: 1},
		"an operator's reset":    {was: Committed{7, -1, ""}, log: Bounds{0, 20}, epoch: -1, low: 7, next: 7},
		"another client's":       {was: Committed{10, 5, "member-1"}, log: Bounds{0, 20}, epoch: -1, low: 10, next: 10, foreign: ErrForeign},
		"a mirror's copy":        {was: Committed{10, 5, of(mirror)}, log: Bounds{0, 20}, epoch: -1, low: 10, next: 10, foreign: ErrForeign},
		"beside another offset":  {was: Committed{11, 5, own}, log: Bounds{0, 20}, epoch: 5, low: 11, next: 11, foreign: ErrDamaged},
		"of another topic":       {was: Committed{10, 5, of(other)}, log: Bounds{2, 20}, epoch: -1, low: 2, next: 2, foreign: ErrOtherTopic},
		"of another, longer log": {was: Committed{10, 5, of(other)}, log: Bounds{2, 5}, epoch: -1, low: 2, next: 2, foreign: ErrOtherTopic},
		"written by a newer":     {was: Committed{10, 5, "layover.9.9.AAAA"}, log: Bounds{0, 20}, err: ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Resume(c.was, id, c.log)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			if s.Window.Low() != c.low || s.Next != c.next || s.Window.Above() != c.finished || s.Clipped != c.clipped || s.LeaderEpoch != c.epoch || !errors.Is(s.Foreign, c.foreign) {
				t.Errorf("low %d, next %d, %d finished above, %d clipped, epoch %d, %v; want %+v", s.Window.Low(), s.Next, s.Window.Above(), s.Clipped, s.LeaderEpoch, s.Foreign, c)
			}
		})
	}
}
