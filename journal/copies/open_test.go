package copies

import (
	"errors"
	"testing"
	"testing/synctest"

	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"
)

// TestAnOpeningHasWhatTheJournalSays, and asks nobody where nothing can be finished.
func TestAnOpeningHasWhatTheJournalSays(t *testing.T) {
	inBubble(t, func(w *stack) {
		if o := w.open(far.Ask{}); o.Window.Low() != 0 || o.Facts == nil || w.notes.asked != 0 {
			w.Errorf("of an empty log: low %d, the journal was asked %d times", o.Window.Low(), w.notes.asked)
		}
		w.fill(6)
		w.notes.finished = []int64{0, 1, 3}
		o := w.open(far.Ask{Said: offsets.RunsState{TopicID: w.topic(), Low: 1}})
		if o.Window.Low() != 2 || !o.Window.Finished(3) || o.Window.Finished(4) || o.Facts == nil || w.notes.asked != 1 {
			w.Errorf("low %d, 3 is finished %v; the journal was asked %d times", o.Window.Low(), o.Window.Finished(3), w.notes.asked)
		}
		if o.TopicID != w.topic() || o.Log != (offsets.Bounds{End: 6}) {
			w.Errorf("topic %v, log %+v", o.TopicID, o.Log)
		}
	})
}

// TestALeaderEpochThatNoBrokerKnowsIsNoCut: what a commit says of it counts for nothing, and the log has all.
func TestALeaderEpochThatNoBrokerKnowsIsNoCut(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.fill(6)
		for _, epoch := range []int32{w.Broker.PartitionInfo(topic, 0).Epoch, 99} {
			o := w.open(far.Ask{Said: offsets.RunsState{TopicID: w.topic(), Low: 1, Known: 6, Sure: 6, LeaderEpoch: epoch}})
			if _, lost := far.Open(o); lost != 0 {
				w.Errorf("leader epoch %d: %d are lost; its log ends at %d", epoch, lost, o.SaidEnd)
			}
		}
	})
}

// TestNothingBeginsWithALeaderOfFormerTimes: its log ends below the known end, and no later leader epoch has cut it.
func TestNothingBeginsWithALeaderOfFormerTimes(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.fill(6)
		ask := far.Ask{Assignment: offsets.Assignment{TopicPartition: part(), Epoch: 1}, Said: offsets.RunsState{TopicID: w.topic(), Low: 1, Known: 9, LeaderEpoch: w.Broker.PartitionInfo(topic, 0).Epoch}}
		if got := w.copies.Look(w.Context(), []far.Ask{ask})[0]; got.Opening != nil || !errors.Is(got.Err, errStale) {
			w.Errorf("in the same leader epoch: %+v, %v", got.Opening, got.Err)
		}
		if err := w.Broker.MoveTopicPartition(topic, 0, 0); err != nil { // an election
			w.Fatal(err)
		}
		got := w.copies.Look(w.Context(), []far.Ask{ask})[0]
		if got.Err != nil {
			w.Fatal(got.Err)
		}
		if _, lost := far.Open(got.Opening); lost != 3 {
			w.Errorf("in a later one %d are lost, want 3", lost)
		}
	})
}

// TestAnOpeningBeginsAnewWhenTheLeaderChangesMeanwhile: else what is known is of another log.
func TestAnOpeningBeginsAnewWhenTheLeaderChangesMeanwhile(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.fill(3)
		changes := 2
		w.notes.asking = func() {
			if changes--; changes < 0 {
				return
			}
			if err := w.Broker.MoveTopicPartition(topic, 0, 0); err != nil { // an election
				w.Error(err)
			}
		}
		o := w.open(far.Ask{})
		synctest.Wait()
		if is := w.Broker.PartitionInfo(topic, 0).Epoch; o.LeaderEpoch != is || w.notes.asked != 3 {
			w.Errorf("begins with leader epoch %d, which is %d; the journal was asked %d times", o.LeaderEpoch, is, w.notes.asked)
		}
	})
}

// TestAnElectionWithoutARecordCutsNothing: a broker that knows the epochs of records alone knows none that is
// later, nor where the one before ends.
func TestAnElectionWithoutARecordCutsNothing(t *testing.T) {
	inBubble(t, func(w *stack) {
		w.fill(6)
		before := w.Broker.PartitionInfo(topic, 0).Epoch
		if err := w.Broker.MoveTopicPartition(topic, 0, 0); err != nil {
			t.Fatal(err)
		}
		for _, written := range []int{0, 3} {
			w.fill(written)
			a, _ := w.visitOf(w.topic(), purgatory.Visit{From: 6 + int64(written), To: 6 + int64(written), LeaderEpoch: before})
			if !a.Ended || a.Highest <= before || a.End != 6 {
				t.Errorf("%d records are written after it: leader epoch %d after %d, whose log ends at %d, want at 6", written, a.Highest, before, a.End)
			}
		}
	})
}
