package consumer

import (
	"errors"
	"testing"

	"layover/cluster"
	"layover/offsets"
)

// TestAPartitionWhoseBoundsTookTwoQuestionsAsksForItsOffsetAgain: its topic may be another
// one by then, and the offset that it came with another log's.
func TestAPartitionWhoseBoundsTookTwoQuestionsAsksForItsOffsetAgain(t *testing.T) {
	one, two := cluster.Bounds{TopicID: offsets.TopicID{1}, End: 20}, cluster.Bounds{TopicID: offsets.TopicID{2}, End: 20}
	moved := one
	moved.Leader = 7
	for name, test := range map[string]struct {
		answers func(p *partition)
		want    stage
	}{
		"one question":          {func(p *partition) { p.bounded(one, "g") }, needsJournal},
		"two questions":         {func(p *partition) { p.unbounded(); p.bounded(one, "g") }, needsOffset},
		"two, and none is left": {func(p *partition) { p.unbounded(); p.bounded(one, "g"); p.committed(nil) }, needsStart},
		"two, and it is left":   {func(p *partition) { p.unbounded(); p.bounded(one, "g"); p.committed(p.was) }, needsJournal},
		"its leader moved":      {func(p *partition) { complete(t, p, one); p.bounded(moved, "g") }, needsEpoch},
		"another topic since":   {func(p *partition) { complete(t, p, one); p.bounded(two, "g") }, needsOffset},
		"another topic, which the coordinator does not know yet": {func(p *partition) {
			complete(t, p, one)
			p.bounded(two, "g")
			p.bounded(two, "g")
		}, needsOffset},
	} {
		t.Run(name, func(t *testing.T) {
			p := &partition{fetched: true, was: &offsets.Committed{Offset: 10, LeaderEpoch: 3}}
			test.answers(p)
			if name == "its leader moved" && p.at.Leader != 7 {
				t.Errorf("it is asked of broker %d, and 7 leads it", p.at.Leader)
			}
			if p.stage != test.want {
				t.Errorf("the partition is in stage %d, want %d", p.stage, test.want)
			}
		})
	}
}

// complete takes a partition to its last question, whose answer is an error.
func complete(t *testing.T, p *partition, at cluster.Bounds) {
	t.Helper()
	p.bounded(at, "g")
	p.unjournalled()
	if p.ended(cluster.EpochEnd{Err: errors.New("not the leader")}) == nil || p.stage != needsBounds {
		t.Fatalf("stage %d, want %d and the error", p.stage, needsBounds)
	}
}
