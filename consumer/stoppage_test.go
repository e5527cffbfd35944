package consumer

import (
	"errors"
	"testing"
	"time"

	"layover/offsets"
)

// TestAFailureCountsUntilFetchesAreAnsweredOrQuiet, each time, and as long as they go on failing.
func TestAFailureCountsUntilFetchesAreAnsweredOrQuiet(t *testing.T) {
	now := time.Unix(1000, 0)
	var s stoppage
	is := func(when string, want Reason) {
		t.Helper()
		if _, code, _, _ := s.said(now); code != want {
			t.Errorf("%s, at %v: %q, want %q", when, now.Unix(), code, want)
		}
	}
	for range 3 {
		began := now
		for now.Sub(began) < time.Minute { // nothing is unread, and each look at the log's end says so
			s.failed(errors.New("refused"), now)
			now = now.Add(time.Second)
			s.quiet(now)
		}
		is("while fetches fail", Failing)
		if _, _, since, _ := s.said(now); !since.Equal(began) {
			t.Errorf("since %v, want %v", since, began)
		}
		now = now.Add(failureLasts - time.Second - time.Millisecond)
		s.quiet(now)
		is("shortly after the last failure", Failing)
		now = now.Add(time.Millisecond)
		s.quiet(now)
		is("when it is long ago", "")
		s.failed(errors.New("refused"), now)
		now = now.Add(loadGrace)
		is("after another one", Failing)
		s.answered()
		is("after an answer", "")
	}
}

// TestAFailureOfAPartitionWithUnreadRecordsStays: nobody has seen that fetches are answered.
func TestAFailureOfAPartitionWithUnreadRecordsStays(t *testing.T) {
	table := newOwnership()
	table.add(map[string][]int32{"t": {0}})
	tp := offsets.TopicPartition{Topic: "t"}
	o := table.rows[tp]
	o.loaded, o.next = true, 5
	o.failed(errors.New("refused"), time.Now().Add(-time.Hour))
	for end, want := range map[int64]bool{9: true, -1: true, 5: false} {
		o.fetchErr = errors.New("refused")
		o.end = endUnknown
		table.noteEnd(o.Assignment, end)
		if (o.fetchErr != nil) != want {
			t.Errorf("with the end %d a failure counts: %v, want %v", end, !want, want)
		}
	}
}

// TestAMembershipThatIsLostIsNotJoined until the next join, each time.
func TestAMembershipThatIsLostIsNotJoined(t *testing.T) {
	table := newOwnership()
	for range 3 {
		table.add(nil)
		if !table.status(time.Now()).Joined {
			t.Error("after a join it is not joined")
		}
		table.leave()
		if table.status(time.Now()).Joined {
			t.Error("after the loss it is joined")
		}
	}
}
