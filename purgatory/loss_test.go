package purgatory

import (
	"slices"
	"testing"

	"layover/journal/facts"
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

// TestWhatIsParkedOfATopicThatIsMadeAgainIsLost: in the wheel, due, and in flight without a
// delivery. A copy from runs is read again, and an answer that contradicts makes it as it was.
func TestWhatIsParkedOfATopicThatIsMadeAgainIsLost(t *testing.T) {
	for name, test := range map[string]struct {
		told []offsets.TopicID
		lost int64
	}{
		"another id":              {[]offsets.TopicID{{2}}, 4},
		"the same":                {[]offsets.TopicID{{1}}, 0},
		"none":                    {[]offsets.TopicID{{}}, 0},
		"another, then the first": {[]offsets.TopicID{{2}, {1}}, 0},
	} {
		r := newRig(t, func(c *Config) { c.MaxInFlight = 2 })
		for no := range int32(2) {
			r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(no), Epoch: 1}, TopicID: offsets.TopicID{1}, Window: offsets.NewWindow(0), Committed: true})
		}
		r.mustTake(0, 1, 0, 0, 1, 2) // two of them in flight, one due
		r.pass(1)
		flying := r.offer()
		r.mustTake(0, 1, 3_600_000, 3, 4)
		for _, id := range test.told {
			r.MadeAgain("another", offsets.TopicID{9}, 0)
			r.MadeAgain(partitionOf(0).Topic, id, 0)
		}
		said := r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
		r.end(Delivered, flying[0])
		r.end(Unknown, flying[1:]...)
		s := r.Snapshot()
		if s.LostToRetention != test.lost || s.HandedOver != 4 || sum(said) != max(0, test.lost-int64(len(flying)-1)) {
			t.Errorf("%s: %d lost, %d handed over, said %v, want %d lost", name, s.LostToRetention, s.HandedOver, said, test.lost)
		}
		if test.lost == 0 && (said != nil || s.Losses != nil) {
			t.Errorf("%s: said %v, %+v", name, said, s.Losses)
		}
		r.audit()
	}
}

// TestWhatWasSweptOfATopicThatIsKnownToBeAnotherOnlyThenIsLost: its next owner begins the new log. What was swept
// while the former one was seen is that owner's to count, and nothing counts twice.
func TestWhatWasSweptOfATopicThatIsKnownToBeAnotherOnlyThenIsLost(t *testing.T) {
	topic := partitionOf(0).Topic
	for name, test := range map[string]struct {
		topic string
		id    byte
		seen  int64 // ms from the sweep until the former id was last seen
		lost  int64 // by the news; then by the answer that is owed
		late  int64
	}{
		"seen before":                  {topic, 2, -60_000, 3, 1},
		"seen while another took over": {topic, 2, takeOverMs, 3, 1},
		"seen since":                   {topic, 2, takeOverMs + 1, 0, 0},
		"it is the same":               {topic, 1, 0, 0, 0},
		"another topic":                {"another", 2, 0, 0, 0},
	} {
		r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, TopicID: offsets.TopicID{1}, Window: offsets.NewWindow(0), Committed: true})
		r.mustTake(0, 1, 0, 0, 1) // one in flight, one due
		r.pass(1)
		flying := r.offer()
		r.mustTake(0, 1, 3_600_000, 2, 3)
		swept := r.at.MonotonicMs
		if said := r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}); said != nil {
			t.Errorf("%s: the sweep says %v", name, said)
		}
		r.pass(60_000)
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 2}, TopicID: offsets.TopicID{2}, Window: offsets.NewWindow(0), Committed: true})
		for range 2 { // the second time it is known
			if lost := sum(r.MadeAgain(test.topic, offsets.TopicID{test.id}, swept+test.seen)); lost != test.lost {
				t.Errorf("%s: %d are said to be lost, want %d", name, lost, test.lost)
			}
			test.late, test.lost = test.late+test.lost, 0
		}
		r.end(Unknown, flying...)
		if s := r.Snapshot(); s.LostToRetention != test.late || s.HandedOver != 4 {
			t.Errorf("%s: %d lost in the end, want %d; %d handed over", name, s.LostToRetention, test.late, s.HandedOver)
		}
		r.audit()
	}
}

// TestWhatIsRememberedOfSweepsIsBounded, and they are counted by topic.
func TestWhatIsRememberedOfSweepsIsBounded(t *testing.T) {
	var hs handovers
	part := func(no int32) *partition {
		return &partition{Assigned: facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(no)}, TopicID: offsets.TopicID{1}}}
	}
	for at := range int64(maxHandovers + 5) {
		for no := range int32(3) {
			hs.of(part(no), at).records++
		}
	}
	if n := hs.takeLost(partitionOf(0).Topic, offsets.TopicID{2}, 0); len(hs) != maxHandovers || n != 3*maxHandovers {
		t.Errorf("%d entries with %d records, want the last %d with three each", len(hs), n, maxHandovers)
	}
}

func sum(losses []Loss) (n int64) {
	for _, l := range losses {
		n += l.Offsets
	}
	return n
}

// TestACopyThatIsGoneFromTheMiddleOfItsLogIsCounted: three copies were read, and are not due yet. Then the broker
// compacts the runs topic, as somebody has set cleanup.policy, and the one in the middle is gone.
func TestACopyThatIsGoneFromTheMiddleOfItsLogIsCounted(t *testing.T) {
	r, a, found := renewing(t)
	for i := range found {
		found[i].DeadlineMs = r.at.WallMs + 60_000
	}
	if n, _ := r.loads(a, found, 0, 0); n != 0 {
		t.Fatalf("%d are loaded", n)
	}
	if got := r.Runs().outlook().Copies; got != 3 {
		t.Fatalf("%d copies wait", got)
	}
	r.pass(58_000)
	if n, _ := r.loads(a, append(found[:1:1], found[2]), 0, 0); n != 2 {
		t.Fatalf("%d are loaded", n)
	}
	r.pass(3000)
	sent := r.offer()
	r.end(Delivered, sent...)
	if n := r.Runs().outlook().Copies; len(sent) != 2 || n != 0 || r.stats.LostFromRuns != 1 {
		t.Errorf("of 3 copies %d are delivered, %d wait, and %d are counted as lost, want 1", len(sent), n, r.stats.LostFromRuns)
	}
	r.audit()
}
