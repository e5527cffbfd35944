package consumer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// start is a group's start by a member that owns partition 0, and the commits that it sends.
func (g *group) start(offset string, owned map[string][]int32) (s *groupStart, sent *[]offsets.Commit) {
	client := g.NewClient()
	s = &groupStart{client: client, table: newOwnership(), group: groupOffsets{client, "g"}, topics: []string{"t"}, offset: offset, log: slog.New(slog.NewTextHandler(&g.logs, nil))}
	s.table.identify("m", 7)
	s.table.add(owned)
	sent = new([]offsets.Commit)
	s.commit = func(_ context.Context, commits []offsets.Commit) (out []offsets.CommitResult) {
		*sent = append(*sent, commits...)
		for _, m := range commits {
			out = append(out, offsets.CommitResult{Commit: m})
		}
		return out
	}
	return s, sent
}

// TestAGroupOfWhichAnyOffsetIsKnownIsNotStartedAnew: one is known, or is not told for the
// moment. Nobody but the owner of the first partition starts one, and one at a time.
func TestAGroupOfWhichAnyOffsetIsKnownIsNotStartedAnew(t *testing.T) {
	for name, test := range map[string]struct {
		answer   *kmsg.OffsetFetchResponse // nil: that nothing is known
		offset   string
		owned    map[string][]int32
		underway bool
		err      error
		started  int // partitions that get a start
	}{
		"nothing is known":           {nil, "earliest", map[string][]int32{"t": {0}}, false, nil, 3},
		"by none of its own":         {nil, "none", map[string][]int32{"t": {0}}, false, nil, 0},
		"by another member":          {nil, "earliest", map[string][]int32{"t": {1, 2}}, false, errOtherStarts, 0},
		"while another one is begun": {nil, "earliest", map[string][]int32{"t": {0}}, true, errStarting, 0},
		"one is known":               {told("t", 4), "earliest", map[string][]int32{"t": {0}}, false, errOtherAdded, 0},
		"one is not told":            {told("t", kerr.UnstableOffsetCommit), "earliest", map[string][]int32{"t": {0}}, false, errOtherAdded, 0},
		"one is known, one is not":   {told("t", 4, kerr.UnstableOffsetCommit), "earliest", map[string][]int32{"t": {0}}, false, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				m := g.join(func(c *Config) { c.StartOffset = "none" }) // so that there is a group
				g.Until(10*time.Second, "it has joined", func() bool { return m.Status().Joined })
				m.leave()
				if test.answer != nil {
					g.Answer(kmsg.OffsetFetch, func(r kmsg.Request) kmsg.Response {
						resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
						resp.Groups = test.answer.Groups
						resp.Groups[0].Group = "g"
						resp.Groups[0].Topics[0].TopicID = g.Broker.TopicInfo("t").TopicID
						return resp
					})
				}
				s, sent := g.start(test.offset, test.owned)
				if test.underway {
					s.starting.Lock()
				}
				got := s.of(context.Background(), map[offsets.TopicPartition]cluster.Bounds{partitionOf(2): {Start: 5, End: 9}})
				if at := got[partitionOf(2)]; len(got) != 1 || !errors.Is(at.err, test.err) || len(*sent) != test.started {
					t.Errorf("starts %+v, %d committed, want %v and %d", got, len(*sent), test.err, test.started)
				}
			})
		})
	}
}

// TestTheFirstPartitionOfAllIsThatOfTheFirstTopicThatExists.
func TestTheFirstPartitionOfAllIsThatOfTheFirstTopicThatExists(t *testing.T) {
	inGroup(t, func(g *group) {
		g.CreateTopic("z", 2, nil)
		for name, test := range map[string]struct {
			topics []string
			owned  map[string][]int32
			want   bool
		}{
			"the first of the first":  {[]string{"z", "t"}, map[string][]int32{"t": {0}}, true},
			"another one of it":       {[]string{"z", "t"}, map[string][]int32{"t": {1}, "z": {0}}, false},
			"the first of the second": {[]string{"t", "z"}, map[string][]int32{"z": {0, 1}}, false},
			"one that does not exist": {[]string{"z", "t", "absent"}, map[string][]int32{"t": {0}}, true},
			"none exists":             {[]string{"absent"}, map[string][]int32{"absent": {0}}, false},
		} {
			s, _ := g.start("earliest", test.owned)
			s.topics = test.topics
			before := slices.Clone(test.topics)
			if got := s.first(context.Background()); got != test.want || !slices.Equal(before, s.topics) {
				t.Errorf("%s: %v, want %v", name, got, test.want)
			}
		}
		s, _ := g.start("earliest", map[string][]int32{"t": {0}})
		s.client.Close()
		if s.first(context.Background()) {
			t.Error("without an answer it is the first")
		}
	})
}

// TestAStartIsCommittedForEachPartitionByWhatIsKnownOfIt: the owner's bounds are taken as they
// are, while they are of this topic. Each commit says who sends it, and of which log.
func TestAStartIsCommittedForEachPartitionByWhatIsKnownOfIt(t *testing.T) {
	for _, offset := range []string{"earliest", "latest"} {
		inGroup(t, func(g *group) {
			for p := range int32(3) {
				g.produce(p, 10)
			}
			g.DeleteRecords("t", 1, 4)
			id := offsets.TopicID(g.Broker.TopicInfo("t").TopicID)
			s, sent := g.start(offset, map[string][]int32{"t": {0}})
			clusterID, _, err := cluster.Describe(context.Background(), s.client, s.topics)
			if err != nil {
				t.Fatal(err)
			}
			known := map[offsets.TopicPartition]cluster.Bounds{
				partitionOf(0): {TopicID: id, ClusterID: clusterID, Start: 2, End: 6}, partitionOf(2): {TopicID: offsets.TopicID{9}, Start: 3, End: 5},
			}
			starts, err := s.commitStarts(context.Background(), known)
			if err != nil || len(starts) != 3 || len(*sent) != 3 || time.Since(g.began) > time.Second {
				t.Fatalf("%s: starts %+v, %v", offset, starts, err)
			}
			want := map[string][]int64{"earliest": {2, 4, 0}, "latest": {6, 10, 10}}[offset]
			for _, m := range *sent {
				if m.Low != want[m.Partition] || m.TopicID != id || m.LeaderEpoch != -1 || m.MemberID != "m" || m.Generation != 7 || starts[m.TopicPartition] != (startAt{offset: m.Low}) {
					t.Errorf("%s: %+v, start %+v, want %d", offset, m, starts[m.TopicPartition], want[m.Partition])
				}
				if m.Metadata == "" {
					t.Errorf("%s: partition %d has no metadata", offset, m.Partition)
				}
				if _, _, err := offsets.DecodeAll(m.Metadata, offsets.Identity{ClusterID: clusterID, TopicID: id, Partition: m.Partition}, m.Low); err != nil {
					t.Errorf("%s: the metadata of partition %d: %v", offset, m.Partition, err)
				}
			}
		})
	}
}

// TestAPartitionThatTellsNothingIsCommittedAsNotStarted, and one with a journal is left out.
func TestAPartitionThatTellsNothingIsCommittedAsNotStarted(t *testing.T) {
	away := errors.New("the journal is away")
	for name, test := range map[string]struct {
		shelf    *shelf
		silent   time.Duration // of its bounds
		metadata bool          // of a start
		err      error
		sent     int
		took     time.Duration
	}{
		"all is known":                  {&shelf{}, 0, true, nil, 3, 0},
		"its bounds are told late":      {&shelf{}, time.Second, true, nil, 3, time.Second},
		"its bounds are not told":       {&shelf{}, time.Hour, false, nil, 3, loadGrace},
		"its journal tells nothing":     {&shelf{err: away}, 0, false, away, 3, 0},
		"its journal has finished ones": {&shelf{held: true}, 0, false, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				g.produce(1, 10)
				g.DeleteRecords("t", 1, 4)
				s, sent := g.start("earliest", map[string][]int32{"t": {0}})
				s.journal = test.shelf
				g.Answer(kmsg.ListOffsets, func(r kmsg.Request) kmsg.Response {
					if time.Since(g.began) >= test.silent {
						return nil
					}
					resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
					for _, of := range r.(*kmsg.ListOffsetsRequest).Topics {
						rt := kmsg.NewListOffsetsResponseTopic()
						rt.Topic = of.Topic
						for _, p := range of.Partitions {
							rp := kmsg.NewListOffsetsResponseTopicPartition()
							rp.Partition, rp.ErrorCode = p.Partition, kerr.LeaderNotAvailable.Code
							rt.Partitions = append(rt.Partitions, rp)
						}
						resp.Topics = append(resp.Topics, rt)
					}
					return resp
				})
				starts, err := s.commitStarts(context.Background(), nil)
				if took := time.Since(g.began); err != nil || len(starts) != 3 || len(*sent) != test.sent || took < test.took || took >= test.took+loadRetry {
					t.Errorf("starts %+v, %v, %d committed after %v", starts, err, len(*sent), took)
				}
				for _, m := range *sent {
					if (m.Metadata != offsets.Unstarted) != test.metadata || starts[m.TopicPartition].err != test.err || m.Partition == 1 && (m.Low == 4) == (test.silent > time.Minute) {
						t.Errorf("%+v, start %+v", m, starts[m.TopicPartition])
					}
				}
				if at := starts[partitionOf(1)]; (at.reason != "") != test.shelf.held {
					t.Errorf("start %+v", at)
				}
			})
		})
	}
}

// TestAStartThatIsCutShortIsNone: its context ends, or nobody tells of its topics.
func TestAStartThatIsCutShortIsNone(t *testing.T) {
	inGroup(t, func(g *group) {
		ended, cancel := context.WithCancel(context.Background())
		s, sent := g.start("earliest", nil)
		s.journal = ending{cancel: cancel}
		if starts, err := s.commitStarts(ended, nil); err == nil || starts != nil || len(*sent) != 0 {
			t.Errorf("starts %+v, %v, %d committed", starts, err, len(*sent))
		}
		s.client.Close()
		if starts, err := s.commitStarts(context.Background(), nil); err == nil || starts != nil || len(*sent) != 0 {
			t.Errorf("without topics: %+v, %v, %d committed", starts, err, len(*sent))
		}
	})
}

// ending is a journal at whose question the assignment ends.
type ending struct {
	Journal
	cancel func()
}

func (e ending) Holds(context.Context, map[offsets.TopicPartition]offsets.Identity) (held map[offsets.TopicPartition]bool, unknown map[offsets.TopicPartition]error) {
	e.cancel()
	return nil, nil
}
