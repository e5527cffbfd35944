package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestANewPartitionIsNewWhicheverNewOneBeginsFirst: two partitions were added while nothing ran, and retention has
// passed the begin of both. The first of them cannot be asked about for a while. With two members it may be another's.
func TestANewPartitionIsNewWhicheverNewOneBeginsFirst(t *testing.T) {
	for name, test := range map[string]struct {
		sick    []int32 // new partitions that have no leader for 8 s
		members int
	}{
		"both at once":                        {nil, 1},
		"the first later":                     {[]int32{1}, 1},
		"the last later":                      {[]int32{2}, 1},
		"both later":                          {[]int32{1, 2}, 1},
		"both at once, of two members":        {nil, 2},
		"the first later, of two members":     {[]int32{1}, 2},
		"the last later, of two members":      {[]int32{2}, 2},
		"both later, and of three members":    {[]int32{1, 2}, 3},
		"the first later, of three members":   {[]int32{1}, 3},
		"both at once, one of three members'": {nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				for p := range int32(3) {
					g.produce(p, 10)
				}
				g.DeleteRecords("t", 1, 4)
				g.DeleteRecords("t", 2, 5)
				g.Commit("g", kadm.Offset{Topic: "t", Partition: 0, At: 10, LeaderEpoch: -1})
				for _, p := range test.sick {
					away := g.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: "t", Partitions: []int32{p}, Err: kerr.LeaderNotAvailable})
					time.AfterFunc(8*time.Second, func() { away.Remove() })
				}
				var members []*one
				for range test.members {
					members = append(members, g.join(nil))
				}
				time.Sleep(time.Minute)
				owners := 0
				for _, m := range members {
					for p, from := range map[int32]int{1: 4, 2: 5} {
						if v := m.view(p); v.Loaded && fmt.Sprint(m.offsetsOf(p)) == fmt.Sprint([]int64{4, 5, 6, 7, 8, 9}[from-4:]) {
							owners++
						}
					}
				}
				if owners != 2 {
					t.Errorf("%d of the new partitions are read from their start", owners)
				}
			})
		})
	}
}

// TestNewPartitionsStartInOneCommitOfTheFirstOnesOwner, by the identity with which the group's offsets were asked for.
func TestNewPartitionsStartInOneCommitOfTheFirstOnesOwner(t *testing.T) {
	type missing = map[offsets.TopicPartition]cluster.Bounds
	away := errors.New("the journal is away")
	for name, test := range map[string]struct {
		committed int32 // partitions with an offset
		owned     []int32
		missing   missing
		shelf     *shelf
		refuse    int32           // a partition whose start is refused, 0: none
		sent      map[int32]int64 // offsets, -1 for one that is not started
		err       map[int32]error
	}{
		"both are its own":           {1, []int32{1, 2}, missing{partitionOf(1): {Start: 4}, partitionOf(2): {Start: 5}}, nil, 0, map[int32]int64{1: 4, 2: 5}, nil},
		"the first is":               {1, []int32{1}, missing{partitionOf(1): {Start: 4}}, nil, 0, map[int32]int64{1: 4, 2: -1}, nil},
		"the last is":                {1, []int32{2}, missing{partitionOf(2): {Start: 5}}, nil, 0, nil, map[int32]error{2: errOtherAdded}},
		"nothing is known of either": {1, []int32{1, 2}, nil, nil, 0, map[int32]int64{1: -1, 2: -1}, nil},
		"the first is not known":     {1, []int32{1, 2}, missing{partitionOf(2): {Start: 5}}, nil, 0, map[int32]int64{1: -1, 2: 5}, nil},
		"there is one alone":         {2, []int32{2}, missing{partitionOf(2): {Start: 5}}, nil, 0, nil, nil},
		"a journal is away":          {1, []int32{1, 2}, missing{partitionOf(1): {Start: 4}}, &shelf{err: away}, 0, map[int32]int64{1: -1, 2: -1}, map[int32]error{1: away}},
		"there are journals":         {1, []int32{1, 2}, nil, &shelf{held: true}, 0, nil, nil},
		"one is refused":             {1, []int32{1, 2}, missing{partitionOf(1): {Start: 4}, partitionOf(2): {Start: 5}}, nil, 2, map[int32]int64{1: 4, 2: 5}, map[int32]error{2: kerr.CoordinatorLoadInProgress}},
		"of a topic of before":       {1, []int32{1, 2}, missing{partitionOf(1): {Start: 4, TopicID: offsets.TopicID{9}}, partitionOf(2): {Start: 5}}, nil, 0, map[int32]int64{1: -1, 2: 5}, map[int32]error{1: errAnotherTopic}},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				for p := range test.committed {
					g.Commit("g", kadm.Offset{Topic: "t", Partition: p, At: 7, LeaderEpoch: -1})
				}
				s, _ := g.start("latest", map[string][]int32{"t": test.owned})
				if test.shelf != nil {
					s.journal = test.shelf
				}
				g.Answer(kmsg.OffsetFetch, func(kmsg.Request) kmsg.Response {
					s.table.identify("m", 8) // a rebalance that ends meanwhile
					return nil
				})
				sent := make(map[int32]int64)
				s.commit = func(_ context.Context, commits []offsets.Commit) (out []offsets.CommitResult) {
					for _, m := range commits {
						r := offsets.CommitResult{Commit: m}
						if sent[m.Partition] = m.Low; m.Metadata == offsets.Unstarted {
							sent[m.Partition] = -1
						}
						if m.Generation != 7 || m.MemberID != "m" || m.TopicID != g.Broker.TopicInfo("t").TopicID || m.LeaderEpoch != -1 {
							t.Errorf("committed is %+v", m)
						}
						if m.Partition == test.refuse && test.refuse > 0 {
							r.Err = kerr.CoordinatorLoadInProgress
						}
						out = append(out, r)
					}
					return out
				}
				id := offsets.TopicID(g.Broker.TopicInfo("t").TopicID)
				for tp, b := range test.missing {
					if b.TopicID == (offsets.TopicID{}) {
						b.TopicID = id
						test.missing[tp] = b
					}
				}
				began := time.Now()
				starts := s.of(context.Background(), test.missing)
				if fmt.Sprint(sent) != fmt.Sprint(test.sent) || test.refuse == 0 && time.Since(began) > loadRetry {
					t.Errorf("committed are %v after %v, want %v at once", sent, time.Since(began), test.sent)
				}
				for tp, b := range test.missing {
					got, err := starts[tp], test.err[tp.Partition]
					if !errors.Is(got.err, err) || (got.err == nil) != (err == nil) || err == nil && got.offset != b.Start || got.reason != "" {
						t.Errorf("partition %d starts at %+v, want %d, %v", tp.Partition, got, b.Start, err)
					}
				}
			})
		})
	}
}

// TestANewPartitionStartsBesideASickOneOfAnotherMember: a transaction holds the offset of a partition whose owner has
// the first new one, too.
func TestANewPartitionStartsBesideASickOneOfAnotherMember(t *testing.T) {
	inGroup(t, func(g *group) {
		for p := range int32(3) {
			g.produce(p, 10)
		}
		g.Commit("g", kadm.Offset{Topic: "t", Partition: 0, At: 10, LeaderEpoch: -1})
		g.Refuse(kmsg.OffsetFetch, kfake.Fault{Topic: "t", Partitions: []int32{0}, Err: kerr.UnstableOffsetCommit, When: func(r kmsg.Request) bool {
			for _, of := range r.(*kmsg.OffsetFetchRequest).Groups {
				for _, t := range of.Topics {
					if len(t.Partitions) > 0 {
						return true
					}
				}
			}
			return len(r.(*kmsg.OffsetFetchRequest).Topics) > 0
		}})
		var members []*one
		for range 2 {
			members = append(members, g.join(nil))
		}
		time.Sleep(5 * time.Minute)
		for p := range int32(3) {
			for i, m := range members {
				if v := m.view(p); v.Topic != "" {
					t.Logf("member %d, partition %d: read %d, %+v", i, p, len(m.offsetsOf(p)), v)
				}
			}
		}
		read := 0
		for _, m := range members {
			read += len(m.offsetsOf(2))
		}
		if read != 10 {
			t.Errorf("%d of 10 read of a new partition that is well, in five minutes", read)
		}
	})
}

// TestPartitionsThatAreAddedTwiceWithinAMinuteStartTogether: retention has passed the begin of the second ones. The first
// of them cannot be asked about for some seconds.
func TestPartitionsThatAreAddedTwiceWithinAMinuteStartTogether(t *testing.T) {
	inGroup(t, func(g *group) {
		for p := range int32(3) {
			g.produce(p, 10)
			g.Commit("g", kadm.Offset{Topic: "t", Partition: p, At: 10, LeaderEpoch: -1})
		}
		add := func(first int32) {
			away := g.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: "t", Partitions: []int32{first}, Err: kerr.LeaderNotAvailable})
			time.AfterFunc(12*time.Second, func() { away.Remove() })
			if _, err := g.Admin().CreatePartitions(context.Background(), 3, "t"); err != nil {
				t.Fatal(err)
			}
			g.Client.ForceMetadataRefresh()
			time.Sleep(200 * time.Millisecond)
			for p := first; p < first+3; p++ {
				g.produce(p, 10)
				g.DeleteRecords("t", p, 4)
			}
		}
		edit := func(c *Config) {
			c.Options = func() []kgo.Opt { return append(g.Options(), kgo.MetadataMaxAge(2*time.Second)) }
		}
		members := []*one{g.join(edit), g.join(edit), g.join(edit)}
		time.Sleep(20 * time.Second)
		add(3)
		time.Sleep(40 * time.Second)
		add(6)
		done := make(map[int32]bool)
		for range 600 { // each assignment begins with a commit
			time.Sleep(100 * time.Millisecond)
			for _, m := range members {
				for _, a := range held(m) {
					if a.Partition >= 6 && !done[a.Partition] {
						done[a.Partition] = m.finish(a.Partition, 4).Err == nil
					}
				}
			}
		}
		for p := range int32(9) {
			read := slices.ContainsFunc(members, func(m *one) bool { return m.view(p).Loaded && m.view(p).Stopped == "" })
			if !read {
				t.Errorf("partition %d is not read: %+v, %+v, %+v", p, members[0].view(p), members[1].view(p), members[2].view(p))
			}
		}
	})
}
