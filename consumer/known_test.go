package consumer

import (
	"context"
	"errors"
	"testing"

	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"
)

// shelf is a journal that says of one partition what a test wants.
type shelf struct {
	Journal
	held bool
	err  error
}

func (s *shelf) Holds(_ context.Context, ids map[offsets.TopicPartition]offsets.Identity) (held map[offsets.TopicPartition]bool, unknown map[offsets.TopicPartition]error) {
	held, unknown = make(map[offsets.TopicPartition]bool), make(map[offsets.TopicPartition]error)
	for tp := range ids {
		if s.err != nil {
			unknown[tp] = s.err
		} else {
			held[tp] = s.held
		}
	}
	return held, unknown
}

func (s *shelf) Restore(context.Context, []facts.Ask, func(int, facts.Answer)) {}

// TestAPartitionWithoutAnOffsetWaitsForWhatItsJournalSays in a known group, each time: one
// that cannot be asked leaves the start open, one with records keeps it from being read.
func TestAPartitionWithoutAnOffsetWaitsForWhatItsJournalSays(t *testing.T) {
	lost, neighbour := offsets.TopicPartition{Topic: "t", Partition: 7}, offsets.TopicPartition{Topic: "t", Partition: 1}
	s := &shelf{}
	g := groupStart{group: groupOffsets{name: "g"}, offset: "earliest", journal: s}
	decide := func() startAt {
		return g.known(context.Background(), map[offsets.TopicPartition]cluster.Bounds{lost: {Start: 40, End: 90}},
			map[offsets.TopicPartition]offsets.Committed{neighbour: {Offset: 5}}, nil)[lost]
	}
	away := errors.New("the journal is away")
	for round := range 3 {
		s.held, s.err = false, away
		if got := decide(); !errors.Is(got.err, away) || got.reason != "" {
			t.Errorf("round %d, a journal that is away: %+v", round, got)
		}
		s.held, s.err = true, nil
		if got := decide(); got.err != nil || got.reason == "" {
			t.Errorf("round %d, a journal with records: %+v", round, got)
		}
		s.held = false
		if got := decide(); got.err != nil || got.reason != "" || got.offset != 40 {
			t.Errorf("round %d, an empty journal: %+v", round, got)
		}
	}
}
