package consumer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestALateBeginAsksWhereTheLeaderEpochEnds: a log that ends below the position is another one.
func TestALateBeginAsksWhereTheLeaderEpochEnds(t *testing.T) {
	away := errors.New("not the leader")
	for name, test := range map[string]struct {
		end     cluster.EpochEnd
		err     error
		stage   stage
		checked bool
		code    Reason
	}{
		"above the position":   {cluster.EpochEnd{Offset: 11}, nil, ready, true, ""},
		"at the position":      {cluster.EpochEnd{Offset: 10}, nil, ready, true, ""},
		"below the position":   {cluster.EpochEnd{Offset: 9}, nil, ready, false, Truncated},
		"at 0":                 {cluster.EpochEnd{Offset: 0}, nil, ready, false, Truncated},
		"an epoch not known":   {cluster.EpochEnd{Offset: -1}, nil, ready, true, ""},
		"a broker that is old": {cluster.EpochEnd{TooOld: true, Err: away}, nil, ready, true, ""},
		"another leader":       {cluster.EpochEnd{Err: away}, away, needsBounds, false, ""},
	} {
		p := &partition{stage: needsEpoch}
		p.Next = 10
		if err := p.ended(test.end); err != test.err || p.stage != test.stage || p.checked != test.checked || p.code != test.code || (p.reason != "") != (test.code != "") {
			t.Errorf("%s: %v, stage %d, checked %v, %q %q", name, err, p.stage, p.checked, p.code, p.reason)
		}
	}
}

// TestOffsetsAreAskedForByPartition: one that has none, one that fails and one that the answer
// leaves out are told apart.
func TestOffsetsAreAskedForByPartition(t *testing.T) {
	inGroup(t, func(g *group) {
		for p := range int32(2) {
			g.Commit("g", kadm.Offset{Topic: "t", Partition: p, At: 5 * int64(p), LeaderEpoch: p, Metadata: "said"})
		}
		sick := g.Refuse(kmsg.OffsetFetch, kfake.Fault{Topic: "t", Partitions: []int32{1}, Err: kerr.UnstableOffsetCommit})
		of := func(p int32) offsets.TopicPartition { return offsets.TopicPartition{Topic: "t", Partition: p} }
		ids := make(map[offsets.TopicPartition]offsets.TopicID)
		for p := range int32(3) {
			ids[of(p)] = g.Broker.TopicInfo("t").TopicID
		}
		asked := groupOffsets{g.NewClient(), "g"}
		known, failed, err := asked.committed(context.Background(), ids)
		if err != nil || len(known) != 1 || known[of(0)] != (offsets.Committed{Offset: 0, LeaderEpoch: 0, Metadata: "said"}) || len(failed) != 1 || !errors.Is(failed[of(1)], kerr.UnstableOffsetCommit) {
			t.Errorf("known %v, failed %v, %v", known, failed, err)
		}
		sick.Remove()
		if known, failed, err = asked.committed(context.Background(), nil); err != nil || len(known) != 2 || known[of(1)] != (offsets.Committed{Offset: 5, LeaderEpoch: 1, Metadata: "said"}) || len(failed) != 0 {
			t.Errorf("all: known %v, failed %v, %v", known, failed, err)
		}
		answer := func(groups ...kmsg.OffsetFetchResponseGroup) {
			g.Broker.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
				resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
				resp.Groups = groups
				return resp, nil, true
			})
		}
		empty, refused := kmsg.NewOffsetFetchResponseGroup(), kmsg.NewOffsetFetchResponseGroup()
		empty.Group, refused.Group, refused.ErrorCode = "g", "g", kerr.GroupAuthorizationFailed.Code
		answer(empty)
		if known, failed, err = asked.committed(context.Background(), ids); err != nil || len(known) != 0 || len(failed) != 3 || !errors.Is(failed[of(2)], cluster.ErrNoAnswer) {
			t.Errorf("left out: known %v, failed %v, %v", known, failed, err)
		}
		answer(refused)
		if _, _, err = asked.committed(context.Background(), ids); !errors.Is(err, kerr.GroupAuthorizationFailed) || !strings.Contains(err.Error(), "group g") {
			t.Errorf("a group that is refused: %v", err)
		}
	})
}

// TestAPositionBeyondTheLogStopsItsPartition, and one within it that a broker denies for a
// moment costs no record, each time.
func TestAPositionBeyondTheLogStopsItsPartition(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		end := g.produce(0, 5)
		for round := range 3 {
			time.Sleep(5 * time.Second)
			denied := g.Refuse(kmsg.Fetch, kfake.Fault{Topic: "t", Partitions: []int32{0}, Err: kerr.OffsetOutOfRange})
			time.Sleep(5 * time.Second)
			if n := denied.Hits(); n > 15 {
				t.Errorf("round %d: %d fetches in 5 s", round, n)
			}
			denied.Remove()
			end = g.produce(0, 5)
			time.Sleep(5 * time.Second)
			if got, v := m.offsetsOf(0), m.view(0); !slices.Equal(got, upTo(0, end)) || v.Stopped != "" || v.Next != end {
				t.Errorf("round %d: read %v, at %+v", round, got, v)
			}
		}
		m.Jump(m.assignment(0), end+50, -1) // whose epoch is not known
		time.Sleep(10 * time.Second)
		if v := m.view(0); v.Reason != Truncated || v.Trying || !strings.Contains(v.Stopped, "lies above the end of the log") {
			t.Errorf("beyond the end: %+v", v)
		}
		if n := len(g.logs.Lines("level=ERROR", "partition stops reading")); n != 1 {
			t.Errorf("said %d times, want 1", n)
		}
		m.notes.mu.Lock()
		if len(m.starts) != 0 {
			t.Errorf("the log is said to begin at %v", m.starts)
		}
		m.notes.mu.Unlock()
	})
}

// TestAConsumerThatHasNotStartedAnswersWhoLooksAndStops: its client is yet to be made.
func TestAConsumerThatHasNotStartedAnswersWhoLooksAndStops(t *testing.T) {
	c, err := New(Config{Topics: []string{"t"}, Group: "g", SessionTimeout: 10 * time.Second, FetchMaxBytes: 1 << 20, MaxDecompress: 1 << 20, Log: slog.New(slog.DiscardHandler)}, &notes{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.WatchEnds(ctx)
	}()
	c.SetPaused(true)
	c.Rejoin("t")
	c.Leave(ctx)
	if s := c.Status(); s.Joined || len(s.Partitions) != 0 || s.LastError != "" || c.Buffered() != 0 || c.LeaseValid() || c.Unread() != 0 {
		t.Errorf("%+v, %d bytes, lease %v", s, c.Buffered(), c.LeaseValid())
	}
	if behind := time.Since(c.Beat()); behind < 0 || behind > time.Minute {
		t.Errorf("its beat is %v old", behind)
	}
	cancel()
	<-watched
}

// TestOnlyACommitThatIsTakenRenewsTheLease, and one that is fenced ends the member, each time.
func TestOnlyACommitThatIsTakenRenewsTheLease(t *testing.T) {
	inGroup(t, func(g *group) {
		table, fenced := newOwnership(), 0
		table.lease.length = 8 * time.Second
		k := &committer{client: g.NewClient(), group: "g", accepted: table.lease.renew, fenced: func() { fenced++ }, broken: new(brokenCommits)}
		commit := low(0, 1, 10)
		commit.Generation, commit.TopicID = -1, g.Broker.TopicInfo("t").TopicID
		for round := range 2 {
			for _, err := range []*kerr.Error{kerr.UnknownServerError, kerr.IllegalGeneration, kerr.TopicAuthorizationFailed, kerr.FencedInstanceID} {
				sick := g.Refuse(kmsg.OffsetCommit, kfake.Fault{Topic: "t", Err: err})
				out := k.sendOne(context.Background(), []offsets.Commit{commit})
				sick.Remove()
				if len(out) != 1 || !errors.Is(out[0].Err, err) || table.lease.valid(time.Now()) {
					t.Errorf("round %d, %v: %+v, lease %v", round, err, out, table.lease.valid(time.Now()))
				}
			}
			if fenced != round+1 {
				t.Errorf("round %d: fenced %d times", round, fenced)
			}
			if out := k.sendOne(context.Background(), []offsets.Commit{commit}); len(out) != 1 || out[0].Err != nil || !table.lease.valid(time.Now()) {
				t.Errorf("round %d, taken: %+v, lease %v", round, out, table.lease.valid(time.Now()))
			}
			time.Sleep(8 * time.Second)
		}
	})
}
