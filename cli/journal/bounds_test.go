package journal

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/process"
	"layover/verify/kafkatest"
)

// The questions for the bounds of a log, by their timestamp and isolation level.
const (
	askStart  = iota // of a log
	askStable        // the last stable offset
	askEnd
	askAny
)

// hangUp closes the connection of each request for a bound of a partition: its broker is gone, or goes between two
// questions. Other partitions of the topic have another leader, which answers.
func (w *fixture) hangUp(topic string, partition int32, question int) {
	w.Helper()
	for n := range int32(3) {
		to := int32(1)
		if n == partition {
			to = 0
		}
		if err := w.Broker.MoveTopicPartition(topic, n, to); err != nil {
			w.Fatal(err)
		}
	}
	w.Broker.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.Broker.KeepControl()
		req := r.(*kmsg.ListOffsetsRequest)
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				is := askEnd
				switch {
				case p.Timestamp == -2:
					is = askStart
				case req.IsolationLevel == 1:
					is = askStable
				}
				if t.Topic == topic && p.Partition == partition && (question == askAny || question == is) {
					return nil, io.ErrUnexpectedEOF, true
				}
			}
		}
		return nil, nil, false
	})
}

// TestAJournalOfWhichOneBoundIsNotToldIsNotEmpty: a broker that goes between two questions has told where the journal
// begins and not where it ends.
func TestAJournalOfWhichOneBoundIsNotToldIsNotEmpty(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	w.hangUp(name, 0, askStable)
	got := w.do("recover --partition 0")
	if got.code != process.ExitRuntime || strings.Contains(got.stdout, "nothing to recover") {
		t.Errorf("%+v", got)
	}
}

// TestResetDeletesNothingOfOthersWhereABoundIsNotTold, whose records it has not read.
func TestResetDeletesNothingOfOthersWhereABoundIsNotTold(t *testing.T) {
	w := forResets(t)
	id := w.id(0, 0xd4)
	id.Group = "other"
	w.assignmentOf(id).finish(1, 600)
	w.hangUp(name, 0, askStable)
	got := w.do("reset --execute --partition 0")
	if w.records(0) != 2 {
		t.Errorf("%d records are left in the journal, want 2: %+v", w.records(0), got)
	}
}

// TestResetDeletesNothingThatItHasNotRead: a stranger's transaction is open, and another group's records are behind it.
func TestResetDeletesNothingThatItHasNotRead(t *testing.T) {
	w := forResets(t)
	if err := kafkatest.Transaction(t.Context(), w.NewClient(kgo.TransactionalID("tx")), &kgo.Record{Topic: name, Value: []byte("strange")}); err != nil {
		t.Fatal(err)
	}
	id := w.id(0, 0xd4)
	id.Group = "other"
	w.assignmentOf(id).finish(1, 600)
	got := w.do("reset --execute --partition 0")
	if got.code != process.ExitOK || w.records(0) != 2 || w.committed(0).Offset != 10 {
		t.Errorf("%d records are left in the journal, want 2: %+v", w.records(0), got)
	}
}

// TestResetToTheEndOfALogThatIsNotToldCommitsNothing: the end would be 0, and all of it comes again.
func TestResetToTheEndOfALogThatIsNotToldCommitsNothing(t *testing.T) {
	w := forResets(t)
	w.hangUp(ingress, 0, askEnd)
	got := w.do("reset --execute --partition 0", "LAYOVER_START_OFFSET=latest")
	if was := w.committed(0); was.Offset != 30 || got.code != process.ExitRuntime {
		t.Errorf("committed %d, in place of 30; the log ends at 1000: %+v", was.Offset, got)
	}
}

// TestRecoverOfALogWhoseEndIsNotToldCommitsNothing: it would cut all finished offsets off.
func TestRecoverOfALogWhoseEndIsNotToldCommitsNothing(t *testing.T) {
	w := forResets(t)
	w.hangUp(ingress, 1, askEnd)
	got := w.do("recover --execute --partition 1")
	if was := w.committed(1); was != nil || got.code != process.ExitRuntime {
		t.Errorf("committed %+v: %+v", was, got)
	}
}

// TestARunsPartitionWhoseBrokerIsGoneMayHoldCopies: as where the runs topic is forbidden. The
// facts about finished copies stay, and older releases are held off.
func TestARunsPartitionWhoseBrokerIsGoneMayHoldCopies(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	w.copies(0, 20).finish(2, 5).finish(7, 9)
	w.hangUp(runsName, 0, askAny)
	got := w.do("reset --partition 0 --execute", "LAYOVER_START_OFFSET=latest")
	if !strings.Contains(got.stdout, "runs: what waits in delayed.layover-delayed.runs/0 is not known") {
		t.Errorf("it does not say that copies may wait: %+v", got)
	}
	if w.records(0) != 2 {
		t.Errorf("%d records are left in the journal, want the 2 that say which copies are finished", w.records(0))
	}
	if was := w.committed(0); was == nil || was.Metadata == "" {
		t.Errorf("an older release is not held off: %+v", was)
	}
}

// TestARunsPartitionWithoutLeaderMayHoldCopies: no request fails, as there is nobody to ask.
func TestARunsPartitionWithoutLeaderMayHoldCopies(t *testing.T) {
	w := newFixture(t)
	w.fill(0, 1000)
	w.assignment(0, 0xa1).finish(1, 600)
	w.copies(0, 20).finish(2, 5).finish(7, 9)
	w.Refuse(kmsg.Metadata, kfake.Fault{Topic: runsName, Partitions: []int32{0}, Err: kerr.LeaderNotAvailable})
	got := w.do("reset --partition 0 --execute", "LAYOVER_START_OFFSET=latest")
	if !strings.Contains(got.stdout, "runs: what waits in delayed.layover-delayed.runs/0 is not known") || w.records(0) != 2 || w.committed(0).Metadata == "" {
		t.Errorf("%d records are left in the journal, committed %+v: %+v", w.records(0), w.committed(0), got)
	}
}

// TestASlowBrokerTellsNoWrongEnd: it takes two and a half seconds for each of three questions.
func TestASlowBrokerTellsNoWrongEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seven seconds")
	}
	w := forResets(t)
	for n, to := range []int32{0, 1, 1} {
		if err := w.Broker.MoveTopicPartition(ingress, int32(n), to); err != nil {
			t.Fatal(err)
		}
	}
	w.Broker.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.Broker.KeepControl()
		if t := r.(*kmsg.ListOffsetsRequest).Topics[0]; t.Topic == ingress && t.Partitions[0].Partition == 0 {
			w.Broker.SleepControl(func() { time.Sleep(2500 * time.Millisecond) })
		}
		return nil, nil, false
	})
	got := w.do("reset --execute --partition 0", "LAYOVER_START_OFFSET=latest")
	if was := w.committed(0); was.Offset != 30 && was.Offset != 1000 {
		t.Errorf("committed %d, in place of 30; the log ends at 1000: %+v", was.Offset, got)
	}
}
