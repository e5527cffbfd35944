package purgatory

import (
	"math"
	"testing"

	"layover/journal/runs"
	"layover/purgatory/far"
)

// crowdedBytes is what waits in the runs of one partition of a crowd.
const crowdedBytes = (runs.MaxRuns - 1) * crowdedCopies * 1000

// cleaningCrowd is a crowd of partitions whose runs may be moved again, and what makes all of them small.
func cleaningCrowd(t *testing.T, parts int32) (*rig, far.Cleaning) {
	r := crowd(t, parts)
	r.Runs().Usable(ingress, true)
	return r, far.Cleaning{Slack: math.MaxInt64 / 8, Small: 1 << 30, Few: 1024}
}

// TestWhatIsToBeMovedAgainIsLookedForInPart: nothing is delivered meanwhile. A call says whether others are left, and one
// after the last partition begins with the first.
func TestWhatIsToBeMovedAgainIsLookedForInPart(t *testing.T) {
	r, c := cleaningCrowd(t, 9)
	c.Small = 0 // none is
	for round := range 2 {
		if visits, more := r.Runs().Cleanings(nil, c, math.MaxInt64, 100); len(visits) > 0 || !more {
			t.Fatalf("round %d: %d visits of the first partitions, more %v", round, len(visits), more)
		}
		if visits, more := r.Runs().Cleanings(nil, c, math.MaxInt64, 100); len(visits) > 0 || more {
			t.Fatalf("round %d: %d visits of the last partitions, more %v", round, len(visits), more)
		}
	}
	c.Small = 1 << 30 // all are
	for _, want := range []int{5, 4, 0} {
		if visits, more := r.Runs().Cleanings(nil, c, math.MaxInt64, 100); len(visits) != want || !more {
			t.Errorf("%d visits begin in one call, more %v, want %d", len(visits), more, want)
		}
	}
}

// TestRunsAreMovedAgainOneAtATime where no more may be: each partition has its turn.
func TestRunsAreMovedAgainOneAtATime(t *testing.T) {
	r, c := cleaningCrowd(t, 3)
	for want := range int32(3) {
		if visits, more := r.Runs().Cleanings(nil, c, math.MaxInt64, 1); len(visits) != 1 || visits[0].Partition != want || !more {
			t.Errorf("visits %+v begin, more %v, want one of partition %d", visits, more, want)
		}
	}
}

// TestPartitionsWhoseSmallRunsBecomeOneHaveTheRoomInTurn: those behind wait until what the first ones have would fit. One
// that cannot be read keeps nobody waiting.
func TestPartitionsWhoseSmallRunsBecomeOneHaveTheRoomInTurn(t *testing.T) {
	for _, n := range []int{1, 2} {
		r, c := cleaningCrowd(t, 4)
		room := int64(n-1)*crowdedBytes + 1
		first, more := r.Runs().Cleanings(nil, c, room, 100)
		if len(first) != n || first[n-1].Partition != int32(n-1) || !more {
			t.Fatalf("with room for the runs of %d partitions and a byte there are visits %+v, more %v", n-1, first, more)
		}
		if again, more := r.Runs().Cleanings(nil, c, room, 100); len(again) > 0 || !more {
			t.Errorf("while these are under way there are visits %+v, more %v", again, more)
		}
		r.Runs().Unread(first[0])
		if other, _ := r.Runs().Cleanings(nil, c, room, 100); len(other) != 1 || other[0].Partition != int32(n) {
			t.Errorf("when that of the first has failed there are visits %+v", other)
		}
	}
}
