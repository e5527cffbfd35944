package purgatory

import (
	"slices"
	"testing"

	"layover/offsets"
	"layover/purgatory/far"
)

// TestLossesAreKnownByTopicWithTheTimeOfTheLast, and what loses nothing leaves none.
func TestLossesAreKnownByTopicWithTheTimeOfTheLast(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	a := offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
	r.LogStart(a.TopicPartition, a.Epoch, 0)
	r.Runs().Begin(a, offsets.TopicID{7}, far.New(far.Beginning{Window: offsets.NewWindow(0)}), 0)
	if got := r.Snapshot().Losses; len(got) != 0 {
		t.Errorf("nothing is lost: %+v", got)
	}
	r.LogStart(a.TopicPartition, a.Epoch, 4)
	r.pass(1000)
	r.LogStart(a.TopicPartition, a.Epoch, 10)
	second := r.at.WallMs
	r.pass(1000)
	r.LogStart(a.TopicPartition, a.Epoch, 10) // said again
	r.Runs().Begin(a, offsets.TopicID{7}, far.New(far.Beginning{Window: offsets.NewWindow(0)}), 3)
	want := []Loss{{a.Topic, false, 10, second}, {a.Topic, true, 3, r.at.WallMs}}
	s := r.Snapshot()
	if !slices.Equal(s.Losses, want) || s.LostToRetention != 10 || s.LostFromRuns != 3 {
		t.Errorf("%+v, %d and %d in all, want %+v", s.Losses, s.LostToRetention, s.LostFromRuns, want)
	}
}
