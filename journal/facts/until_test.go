package facts

import (
	"errors"
	"testing"

	"layover/offsets"
)

// TestCommandsCountAgainBelowWhereTheLogWasTruncated: the commit of leader epoch 1 says that
// they do from offset 20 on, and the log of that epoch ends at 12.
func TestCommandsCountAgainBelowWhereTheLogWasTruncated(t *testing.T) {
	ends := map[int32]int64{1: 12, 2: 30}
	for name, c := range map[string]struct {
		committed int32 // leader epochs
		fact      int32
		complaint error
		want      int64
	}{
		"facts of the same epoch":    {1, 1, nil, 20},
		"facts of a later one":       {1, 2, nil, 12},
		"facts of an unknown one":    {1, -1, nil, 0},
		"a commit of an unknown one": {-1, 2, nil, 0},
		"an epoch that nobody knows": {0, 2, nil, 0},
		"records that are missing":   {1, 1, errors.New("gone"), 0},
		"both":                       {1, 2, errors.New("gone"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := offsets.NewWindow(5)
			id := Identity{Identity: offsets.Identity{ClusterID: "c", Partition: 3}, Group: "g", Incarnation: 7}
			u := NewReader(id, w, c.committed, 30, offsets.JournalRange{})
			none := Answer{Until: u.Until(0)}
			if got := none.Again(20); got != 20 {
				t.Errorf("without a fact commands count again from %d, want 20", got)
			}
			value := id.appendHeader(nil, Header{Kind: Fact, Writer: 1, LeaderEpoch: c.fact, Low: 5})
			value, _, _ = offsets.AppendRuns(value, 5, 1000, each([]Run{{From: 11, To: 12}}))
			id.seal(value)
			if err := u.Add(0, value, func(e int32) (int64, error) {
				if end, ok := ends[e]; ok {
					return end, nil
				}
				return -1, nil
			}); err != nil || !w.Finished(11) {
				t.Fatalf("%v, 11 is finished: %v", err, w.Finished(11))
			}
			a := Answer{Complaint: c.complaint, Until: u.Until(0)}
			if got := a.Again(20); got != c.want {
				t.Errorf("commands count again from %d, want %d", got, c.want)
			}
		})
	}
}

// TestCommandsCountAgainBehindAnIncompleteJournal: the log starts behind the snapshot that the commit names. A later
// owner found the journal incomplete, wrote a snapshot of the rest, and ended before its first commit.
func TestCommandsCountAgainBehindAnIncompleteJournal(t *testing.T) {
	for name, c := range map[string]struct{ start, want int64 }{
		"the snapshot is there": {4, 20},
		"it is gone":            {5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := offsets.NewWindow(5)
			id := Identity{Identity: offsets.Identity{ClusterID: "c", Partition: 3}, Group: "g", Incarnation: 7}
			u := NewReader(id, w, 1, 30, offsets.JournalRange{TopicID: testTopic, From: 4, To: 4})
			value := id.appendHeader(nil, Header{Kind: LastPart, Writer: 1, Number: 1, LeaderEpoch: 1, Low: 5, From: 5})
			value, _, _ = offsets.AppendRuns(value, 5, 1000, each([]Run{{From: 11, To: 12}}))
			id.seal(value)
			if err := u.Add(5, value, func(int32) (int64, error) { return 30, nil }); err != nil || !u.Complete() {
				t.Fatalf("%v, a whole snapshot was read: %v", err, u.Complete())
			}
			if c.start > 4 {
				if err := u.Complain(testTopic, c.start, 6); err != nil {
					t.Fatal(err)
				}
			}
			a := Answer{Until: u.Until(c.start)}
			if got := a.Again(20); got != c.want {
				t.Errorf("commands count again from %d, want %d", got, c.want)
			}
		})
	}
}
