package consumer

import (
	"errors"
	"testing"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
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

// TestAPartitionWhoseOffsetIsNotToldHasNotBegun, from the grace of a loading on, until a loading has it.
func TestAPartitionWhoseOffsetIsNotToldHasNotBegun(t *testing.T) {
	inGroup(t, func(g *group) {
		g.produce(0, 3)
		g.Commit("g", kadm.Offset{Topic: "t", Partition: 0, At: 1, LeaderEpoch: -1})
		held := g.Refuse(kmsg.OffsetFetch, kfake.Fault{Topic: "t", Err: kerr.UnstableOffsetCommit})
		m := g.join(nil)
		g.Until(10*time.Second, "it is assigned", func() bool { return len(m.Status().Partitions) == 3 })
		assigned := time.Now()
		time.Sleep(loadGrace - time.Second)
		if v := m.view(0); v.Stopped != "" {
			t.Errorf("within the grace: %+v", v)
		}
		time.Sleep(2 * time.Second)
		if v := m.view(0); v.Reason != NotBegun || !v.Trying || assigned.Sub(v.Since) > time.Second || v.Loaded {
			t.Errorf("after the grace: %+v, assigned at %v", v, assigned)
		}
		held.Remove()
		g.owns(m, 3)
		time.Sleep(time.Second)
		if v := m.view(0); v.Stopped != "" || v.Next != 3 {
			t.Errorf("after all: %+v", v)
		}
	})
}
