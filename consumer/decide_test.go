package consumer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// partitionOf names a partition of the topic t.
func partitionOf(p int32) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: "t", Partition: p}
}

// TestAPartitionOfAKnownGroupStartsByWhatIsKnownOfItsTopic: partition 3 has no offset of its
// own, unless a group's start has committed one meanwhile.
func TestAPartitionOfAKnownGroupStartsByWhatIsKnownOfItsTopic(t *testing.T) {
	open := errors.New("a transaction is open")
	elsewhere := offsets.TopicPartition{Topic: "other", Partition: 9}
	at := func(o int64) offsets.Committed { return offsets.Committed{Offset: o} }
	type known = map[offsets.TopicPartition]offsets.Committed
	type unstable = map[offsets.TopicPartition]error
	for name, test := range map[string]struct {
		start    int64
		known    known
		unstable unstable
		offset   int64
		err      error
		reason   string
	}{
		"committed meanwhile":                  {start: 40, known: known{partitionOf(3): at(60)}, offset: 60},
		"committed meanwhile, below the log":   {start: 40, known: known{partitionOf(3): at(7)}, offset: 40},
		"committed, and not stable":            {start: 40, known: known{partitionOf(5): at(7)}, unstable: unstable{partitionOf(3): open}, err: open},
		"a log that is whole":                  {start: 0, known: known{partitionOf(5): at(7)}, offset: 0},
		"above all that have an offset":        {start: 40, known: known{partitionOf(0): at(7), partitionOf(2): at(7)}, offset: 40},
		"below some that have an offset":       {start: 40, known: known{partitionOf(0): at(7), partitionOf(5): at(7), partitionOf(1): at(7)}, reason: "none for this partition, whose log starts at 40"},
		"the first of its topic":               {start: 40, known: known{elsewhere: at(7)}, offset: 40},
		"the first, and another is not stable": {start: 40, unstable: unstable{partitionOf(5): open}, offset: 40},
		"one is known and one is not stable":   {start: 40, known: known{elsewhere: at(7)}, unstable: unstable{partitionOf(5): open}, offset: 40},
		"nothing is committed":                 {start: 40, reason: "LAYOVER_START_OFFSET is none"},
	} {
		g := groupStart{group: groupOffsets{name: "g"}}
		missing := map[offsets.TopicPartition]cluster.Bounds{partitionOf(3): {Start: test.start, End: 90}}
		for range 20 { // in any order of what is known
			got := g.known(context.Background(), missing, test.known, test.unstable)[partitionOf(3)]
			if got.offset != test.offset || got.err != test.err || (got.reason != "") != (test.reason != "") || !strings.Contains(got.reason, test.reason) {
				t.Errorf("%s: %+v, want %d, %v, %q", name, got, test.offset, test.err, test.reason)
				break
			}
		}
	}
}

// TestAPartitionGoesOnByItsCommittedOffset and the bounds of its log.
func TestAPartitionGoesOnByItsCommittedOffset(t *testing.T) {
	bounds := cluster.Bounds{ClusterID: "c", TopicID: offsets.TopicID{1}, LeaderEpoch: 4, Start: 5, End: 20, Stable: 18}
	id := offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{1}, Partition: 2}
	w := offsets.NewWindow(10)
	w.FinishRange(12, 15)
	of := func(low int64, metadata string) *offsets.Committed {
		return &offsets.Committed{Offset: low, LeaderEpoch: 4, Metadata: metadata}
	}
	for name, test := range map[string]struct {
		was   *offsets.Committed
		stage stage
		code  Reason
		next  int64
		epoch int32
	}{
		"none":                    {nil, needsStart, "", 0, 0},
		"one that has no start":   {of(0, offsets.Unstarted), needsStart, "", 0, 0},
		"within the log":          {of(10, w.Encode(id, offsets.MaxMetadata).Metadata), needsJournal, "", 10, 4},
		"below the log":           {of(3, ""), needsJournal, "", 5, 4},
		"at the end of the log":   {of(20, ""), needsJournal, "", 20, 4},
		"beyond the end":          {of(21, ""), ready, Truncated, 0, 0},
		"by a newer version":      {of(10, "layover.9.9.AAAA"), ready, NewerVersion, 0, 0},
		"of another topic's life": {of(10, w.Encode(offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{9}, Partition: 2}, offsets.MaxMetadata).Metadata), needsJournal, "", 5, -1},
	} {
		p := &partition{outdated: true}
		p.Assignment = offsets.Assignment{TopicPartition: partitionOf(2), Epoch: 1}
		p.bounded(bounds, "g")
		if p.stage != needsOffset || p.StableEnd != 18 || p.TopicID != bounds.TopicID || p.ClusterID != "c" || p.id.Group != "g" || p.id.Identity != id {
			t.Errorf("%s: with its bounds %+v", name, p)
		}
		p.committed(test.was)
		if p.stage != test.stage || p.code != test.code || (p.reason != "") != (test.code != "") || p.Next != test.next || p.LeaderEpoch != test.epoch || !p.fetched || p.outdated {
			t.Errorf("%s: stage %d, %q %q, next %d in epoch %d", name, p.stage, p.code, p.reason, p.Next, p.LeaderEpoch)
		}
	}
}

// TestAPartitionWithoutAJournalGetsAnIncarnationOnce, and forgets what unread records say. The commit of a new offset may
// arrive once more.
func TestAPartitionWithoutAJournalGetsAnIncarnationOnce(t *testing.T) {
	for name, test := range map[string]struct {
		incarnation uint64
		named       offsets.JournalRange
		again       int64
	}{
		"a new offset":             {0, offsets.JournalRange{}, 7},
		"one that has one":         {3, offsets.JournalRange{}, 7},
		"one that names a journal": {3, offsets.JournalRange{TopicID: offsets.TopicID{1}, From: 1, To: 2}, 0},
	} {
		p := &partition{stage: needsJournal, named: test.named}
		p.Window, p.Again, p.id.Incarnation = offsets.NewWindow(5), 7, test.incarnation
		p.unjournalled()
		if p.stage != needsEpoch || p.Facts == nil || p.id.Incarnation == 0 || test.incarnation != 0 && p.id.Incarnation != test.incarnation || p.Again != test.again || p.Overtaken != (test.incarnation == 0) {
			t.Errorf("%s: stage %d, incarnation %d, commands count again from %d, overtaken: %v", name, p.stage, p.id.Incarnation, p.Again, p.Overtaken)
		}
	}
	p := &partition{stage: needsStart, asked: true, err: io.EOF, due: time.Now()}
	p.Again, p.LeaderEpoch = 9, 4
	p.started(33)
	if p.stage != needsJournal || p.asked || p.err != nil || !p.due.IsZero() || p.Next != 33 || p.Window.Low() != 33 || p.LeaderEpoch != -1 || p.Again != 0 {
		t.Errorf("started: %+v", p)
	}
	for epoch, checked := range map[int32]bool{-1: true, 0: false, 3: false} {
		p := &partition{stage: needsEpoch}
		p.LeaderEpoch = epoch
		if p.unchecked(); p.stage != ready || p.checked != checked {
			t.Errorf("of epoch %d: stage %d, checked %v", epoch, p.stage, p.checked)
		}
	}
}

// TestAPartitionBeginsAboveWhatItsJournalHasFinished, and says no less than its log allows.
func TestAPartitionBeginsAboveWhatItsJournalHasFinished(t *testing.T) {
	for low, want := range map[int64]int64{3: 8, 8: 8, 12: 12} {
		p := &partition{stage: needsJournal, at: cluster.Bounds{LeaderEpoch: 6}}
		p.Window, p.Next = offsets.NewWindow(0), 8
		p.Window.FinishRange(0, low)
		p.restored(facts.Answer{LeaderEpoch: 6})
		if p.stage != needsEpoch || p.Next != want || p.LeaderEpoch != 6 || p.Facts == nil {
			t.Errorf("finished up to %d: stage %d, next %d, want %d", low, p.stage, p.Next, want)
		}
	}
	p := &partition{stage: needsEpoch}
	p.Next = 10
	p.ended(cluster.EpochEnd{Offset: 4})
	if want := truncatedBelow(4, 10); p.reason != want || !strings.Contains(want, "truncated at 4, and all up to 10") {
		t.Errorf("%q, want %q", p.reason, want)
	}
}

// TestAnErrorIsKnownHoweverItIsWrapped.
func TestAnErrorIsKnownHoweverItIsWrapped(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("while asking: %w", err) }
	for err, want := range map[error]fetchMeaning{
		kerr.OffsetOutOfRange: outsideLog, context.Canceled: fetchEnds, kgo.ErrClientClosed: fetchEnds, io.EOF: fetchAgain, kerr.NotLeaderForPartition: fetchAgain,
	} {
		if got := meaningOf(wrap(err)); got != want {
			t.Errorf("a fetch's %v means %d, want %d", err, got, want)
		}
	}
	if r := resultOf(offsets.Commit{}, wrap(errNotOwned)); !r.Unsent || !r.Fenced {
		t.Errorf("not owned: %+v", r)
	}
	if r := resultOf(offsets.Commit{}, wrap(kerr.OffsetMetadataTooLarge)); !r.MetadataTooLarge || r.Unsent || r.Fenced || r.Gone || r.Hopeless {
		t.Errorf("too large: %+v", r)
	}
	refused := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, refused, context.DeadlineExceeded} {
		if !unreachable(wrap(err)) {
			t.Errorf("%v is an answer", err)
		}
	}
	if unreachable(errors.New("a certificate")) {
		t.Error("whatever comes counts as silence")
	}
	if err := allow(wrap(kerr.GroupAuthorizationFailed), "g", "t"); !strings.Contains(err.Error(), "Read on group g") {
		t.Errorf("%v", err)
	}
	if err := allow(wrap(kerr.TopicAuthorizationFailed), "g", "t"); !strings.Contains(err.Error(), "Read on topic t") {
		t.Errorf("%v", err)
	}
}

// TestAStartSaysHowItDiffersFromTheCommittedOffset, each difference in a line of its own.
func TestAStartSaysHowItDiffersFromTheCommittedOffset(t *testing.T) {
	for name, test := range map[string]struct {
		change func(s *offsets.Start)
		want   []string
	}{
		"not at all":        {func(*offsets.Start) {}, nil},
		"another topic":     {func(s *offsets.Start) { s.Foreign = fmt.Errorf("x: %w", offsets.ErrOtherTopic) }, []string{"level=ERROR", "deleted and created again"}},
		"foreign metadata":  {func(s *offsets.Start) { s.Foreign = fmt.Errorf("x: %w", offsets.ErrForeign) }, []string{"level=WARN", "not written by layover"}},
		"damaged metadata":  {func(s *offsets.Start) { s.Foreign = offsets.ErrDamaged }, []string{"level=ERROR", "metadata is damaged"}},
		"a truncated log":   {func(s *offsets.Start) { s.Clipped = 1 }, []string{"level=ERROR", "finished=1", "the log was truncated"}},
		"a log that begins": {func(s *offsets.Start) { s.Next = 11 }, []string{"level=ERROR", "start=11", "deleted before they were delivered"}},
	} {
		var log kafkatest.Log
		from := offsets.Start{Window: offsets.NewWindow(10), Next: 10}
		test.change(&from)
		d := &loader{log: slog.New(slog.NewTextHandler(&log, nil))}
		d.sayStart(partitionOf(3), 9, from)
		want := append([]string{"topic=t", "partition=3", "offset=9"}, test.want...)
		if n := len(log.Lines()); test.want == nil && n != 0 || test.want != nil && (n != 1 || len(log.Lines(want...)) != 1) {
			t.Errorf("%s: said %q, want %q", name, log.String(), test.want)
		}
	}
}
