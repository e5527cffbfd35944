package consumer

import (
	"errors"
	"strings"
	"testing"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
)

// TestAPartitionWhoseBoundsTookTwoQuestionsAsksForItsOffsetAgain: its topic may be another
// one by then, and the offset that it came with another log's.
func TestAPartitionWhoseBoundsTookTwoQuestionsAsksForItsOffsetAgain(t *testing.T) {
	one, two := cluster.Bounds{TopicID: offsets.TopicID{1}, LeaderEpoch: 3, End: 20}, cluster.Bounds{TopicID: offsets.TopicID{2}, LeaderEpoch: 3, End: 20}
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

// TestWhatAFormerLeaderSaysIsNotTaken, by whatever the log is known to have a later epoch, and however long nobody else
// answers. What brokers without topic ids say is taken in the end: it may be another log.
func TestWhatAFormerLeaderSaysIsNotTaken(t *testing.T) {
	led := func(epoch int32, id byte) cluster.Bounds {
		return cluster.Bounds{TopicID: offsets.TopicID{id}, LeaderEpoch: epoch, End: 20}
	}
	commit := &offsets.Committed{Offset: 10, LeaderEpoch: 3}
	w := offsets.NewWindow(10)
	former := w.Encode(offsets.Identity{TopicID: offsets.TopicID{9}}, offsets.MaxMetadata).Metadata
	for name, test := range map[string]struct {
		was     *offsets.Committed
		answers func(p *partition) error
		taken   bool
	}{
		"of the committed epoch":             {commit, func(p *partition) error { return p.bounded(led(3, 1), "g") }, true},
		"of a later one":                     {commit, func(p *partition) error { return p.bounded(led(4, 1), "g") }, true},
		"of an earlier one":                  {commit, func(p *partition) error { return p.bounded(led(2, 1), "g") }, false},
		"of the first one":                   {commit, func(p *partition) error { return p.bounded(led(0, 1), "g") }, false},
		"of none":                            {commit, func(p *partition) error { return p.bounded(led(-1, 1), "g") }, true},
		"of an earlier one, for long":        {commit, func(p *partition) error { p.believes = true; return p.bounded(led(2, 1), "g") }, false},
		"of an earlier one, without ids":     {commit, func(p *partition) error { return p.bounded(led(2, 0), "g") }, false},
		"for long, without ids":              {commit, func(p *partition) error { p.believes = true; return p.bounded(led(2, 0), "g") }, true},
		"and a commit without an epoch":      {&offsets.Committed{Offset: 10, LeaderEpoch: -1}, func(p *partition) error { return p.bounded(led(0, 1), "g") }, true},
		"and no commit":                      {nil, func(p *partition) error { return p.bounded(led(0, 1), "g") }, true},
		"of a topic that was made again":     {&offsets.Committed{Offset: 10, LeaderEpoch: 3, Metadata: former}, func(p *partition) error { return p.bounded(led(0, 1), "g") }, true},
		"of an earlier one, told first":      {nil, func(p *partition) error { p.fetched = false; p.bounded(led(2, 1), "g"); return p.committed(commit) }, false},
		"of an earlier one than the journal": {commit, func(p *partition) error { p.bounded(led(3, 1), "g"); return p.restored(facts.Answer{LeaderEpoch: 4}) }, false},
		"of that of the journal":             {commit, func(p *partition) error { p.bounded(led(4, 1), "g"); return p.restored(facts.Answer{LeaderEpoch: 4}) }, true},
		"of one, and then of the journal's": {commit, func(p *partition) error {
			p.bounded(led(3, 1), "g")
			p.restored(facts.Answer{LeaderEpoch: 4})
			return p.bounded(led(4, 1), "g")
		}, true},
		"twice, and the journal knows better": {commit, func(p *partition) error {
			p.bounded(led(3, 1), "g")
			p.restored(facts.Answer{LeaderEpoch: 4})
			return p.bounded(led(3, 1), "g")
		}, false},
		"where the leader alone was wanted": {commit, func(p *partition) error { complete(t, p, led(3, 1)); return p.bounded(led(2, 1), "g") }, false},
		"where the journal's topic is gone": {commit, func(p *partition) error {
			p.bounded(led(3, 1), "g")
			p.restored(facts.Answer{LeaderEpoch: 4})
			p.bounded(led(0, 2), "g")
			return p.committed(nil)
		}, true},
	} {
		p := &partition{fetched: true, was: test.was}
		err := test.answers(p)
		if test.taken != (err == nil) || test.taken == (p.stage == needsBounds) || p.reason != "" || !test.taken && !errors.Is(err, errFormerLeader) {
			t.Errorf("%s: stage %d, %v, %q", name, p.stage, err, p.reason)
		}
	}
}

// TestALeaderIsAskedInItsOwnEpoch, unless it is not known, or was only believed.
func TestALeaderIsAskedInItsOwnEpoch(t *testing.T) {
	for leads, want := range map[int32]int32{-1: -1, 2: -1, 3: 3, 4: 4} {
		p := &partition{at: cluster.Bounds{LeaderEpoch: leads}}
		p.LeaderEpoch = 3
		if got := p.leadsIn(); got != want {
			t.Errorf("it leads in epoch %d, and is asked in %d, want %d", leads, got, want)
		}
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

// TestALowerLeaderEpochIsBelievedInTheEndWhereTopicsHaveNoIDs: a topic that was made again begins with epoch 0.
func TestALowerLeaderEpochIsBelievedInTheEndWhereTopicsHaveNoIDs(t *testing.T) {
	for name, opts := range map[string][]kfake.Opt{"with ids": nil, "without": {kfake.MaxVersions(kversion.V2_7_0())}} {
		inGroup(t, func(g *group) {
			g.produce(0, 10)
			g.Commit("g", kadm.Offset{Topic: "t", Partition: 0, At: 4, LeaderEpoch: 3})
			m := g.join(nil)
			time.Sleep(believeAfter - 2*time.Second)
			if v := m.view(0); v.Loaded || !v.Trying || !strings.Contains(v.Stopped, "former leader") {
				t.Errorf("%s, at first: %+v", name, v)
			}
			time.Sleep(4 * time.Second)
			if got := m.view(0).Loaded; got != (opts != nil) {
				t.Errorf("%s, in the end: %+v", name, m.view(0))
			}
		}, opts...)
	}
}
