package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestANewGroupStartsWhereItsSettingSays and has an offset for each partition then.
func TestANewGroupStartsWhereItsSettingSays(t *testing.T) {
	for name, test := range map[string]struct {
		offset string
		from   int64 // of partition 0, whose log goes from 3 to 10; -1: it is not read
	}{"earliest": {"earliest", 3}, "latest": {"latest", 10}, "none": {"none", -1}} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				g.produce(0, 10)
				g.DeleteRecords("t", 0, 3)
				for round := range 2 { // a group that is deleted is new again
					m := g.join(func(c *Config) { c.StartOffset = test.offset })
					time.Sleep(10 * time.Second)
					v := m.view(0)
					if test.from < 0 {
						if v.Loaded || v.Reason != NoOffset || v.Trying || !strings.Contains(v.Stopped, "LAYOVER_START_OFFSET is none") {
							t.Errorf("round %d: %+v", round, v)
						}
					} else {
						at, ok := g.Committed("g", "t", 0)
						if !v.Loaded || v.Next != 10 || int64(len(m.offsetsOf(0))) != 10-test.from || !ok || at.At != test.from {
							t.Errorf("round %d: %+v, read %v, committed %+v", round, v, m.offsetsOf(0), at)
						}
						for p := range int32(3) {
							if _, ok := g.Committed("g", "t", p); !ok {
								t.Errorf("round %d: partition %d has no offset", round, p)
							}
						}
						if n := len(g.logs.Lines("group starts", "offset="+test.offset)); n != round+1 {
							t.Errorf("round %d: the start is said %d times", round, n)
						}
					}
					m.leave()
					if _, err := g.Admin().DeleteGroups(context.Background(), "g"); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// TestInAKnownGroupAPartitionWithoutAnOffsetIsReadWhereItsLogIsWhole, and else an operator
// has to say.
func TestInAKnownGroupAPartitionWithoutAnOffsetIsReadWhereItsLogIsWhole(t *testing.T) {
	inGroup(t, func(g *group) {
		for p := range int32(3) {
			g.produce(p, 10)
		}
		g.DeleteRecords("t", 0, 4)
		g.DeleteRecords("t", 2, 5)
		g.Commit("g", kadm.Offset{Topic: "t", Partition: 1, At: 6, LeaderEpoch: -1})
		m := g.join(nil)
		g.owns(m, 2)
		time.Sleep(3 * time.Second)
		if v := m.view(0); v.Reason != NoOffset || v.Loaded || !strings.Contains(v.Stopped, "log starts at 4") {
			t.Errorf("one that has lost its offset: %+v", v)
		}
		if n := len(m.offsetsOf(1)); n != 4 {
			t.Errorf("%d read of the one with an offset, want 4", n)
		}
		if n := len(m.offsetsOf(2)); n != 5 { // above all that have an offset: it is new
			t.Errorf("%d read of a new one, want 5", n)
		}
		if n := len(g.logs.Lines("level=ERROR", "partition is not read", "partition=0")); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
}

// TestWhereALogIsAnotherOneItsPartitionSaysSo at the start: ended below the offset, or written
// by a newer version, or begun above the offset.
func TestWhereALogIsAnotherOneItsPartitionSaysSo(t *testing.T) {
	inGroup(t, func(g *group) {
		for p := range int32(3) {
			g.produce(p, 10)
		}
		g.DeleteRecords("t", 2, 8)
		for p, at := range []int64{50, 4, 3} {
			g.Commit("g", kadm.Offset{Topic: "t", Partition: int32(p), At: at, LeaderEpoch: -1, Metadata: "someone else's"})
		}
		m := g.join(nil)
		g.owns(m, 2)
		time.Sleep(3 * time.Second)
		if v := m.view(0); v.Reason != Truncated || v.Loaded || v.Stopped == "" || v.Trying {
			t.Errorf("an offset beyond the end: %+v", v)
		}
		if n := len(m.offsetsOf(1)); n != 6 {
			t.Errorf("%d read, want 6", n)
		}
		if n := len(m.offsetsOf(2)); n != 2 {
			t.Errorf("%d read of a log that begins at 8, want 2", n)
		}
		if n := len(g.logs.Lines("level=WARN", "not written by layover")); n != 2 {
			t.Errorf("foreign metadata is said %d times, want 2:", n)
		}
		if n := len(g.logs.Lines("level=ERROR", "the log starts above the committed offset", "start=8", "partition=2")); n != 1 {
			t.Errorf("lost records are said %d times, want 1", n)
		}
	})
}

// TestAPartitionThatCannotBeBegunSaysWhyAndBeginsAfterAll, each time, whichever question has
// no answer. The others are read meanwhile.
func TestAPartitionThatCannotBeBegunSaysWhyAndBeginsAfterAll(t *testing.T) {
	for name, key := range map[string]kmsg.Key{"bounds": kmsg.ListOffsets, "offset": kmsg.OffsetFetch} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				end := g.produce(0, 10)
				for p := range int32(3) {
					g.Commit("g", kadm.Offset{Topic: "t", Partition: p, At: 0, LeaderEpoch: -1})
				}
				for round := range 2 {
					fault := kfake.Fault{Topic: "t", Partitions: []int32{0}, Err: kerr.LeaderNotAvailable}
					if key == kmsg.OffsetFetch {
						fault.Err = kerr.UnstableOffsetCommit
					}
					sick := g.Refuse(key, fault)
					asked := g.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Count: -1, Observe: true})
					m := g.join(nil)
					time.Sleep(20 * time.Second)
					if key == kmsg.ListOffsets {
						if v := m.view(0); v.Loaded || v.Reason != NotBegun || !v.Trying || v.Since.IsZero() || !strings.Contains(v.Stopped, "trying again") {
							t.Errorf("round %d: %+v", round, v)
						}
						if v := m.view(1); !v.Loaded || v.Stopped != "" {
							t.Errorf("round %d: the other is %+v", round, v)
						}
					}
					if n := asked.Hits(); n > 120 {
						t.Errorf("round %d: %d questions in 20 s", round, n)
					}
					sick.Remove()
					asked.Remove()
					time.Sleep(10 * time.Second)
					if v := m.view(0); !v.Loaded || v.Stopped != "" || v.Next != end || int64(len(m.offsetsOf(0))) != end || !v.Since.IsZero() {
						t.Errorf("round %d, healthy again: %+v, read %v", round, v, m.offsetsOf(0))
					}
					m.leave()
				}
			})
		})
	}
}

// TestTheGroupsErrorIsToldUntilTheNextJoin, each time. Its partitions come back.
func TestTheGroupsErrorIsToldUntilTheNextJoin(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		for round := range 3 {
			time.Sleep(30 * time.Second)
			if !m.LeaseValid() || m.Status().LastError != "" {
				t.Errorf("round %d: lease %v, error %q while all is well", round, m.LeaseValid(), m.Status().LastError)
			}
			refused := g.Refuse(kmsg.Heartbeat, kfake.Fault{Err: kerr.GroupAuthorizationFailed})
			rejoins := g.Refuse(kmsg.JoinGroup, kfake.Fault{Err: kerr.GroupAuthorizationFailed})
			time.Sleep(15 * time.Second)
			if e := m.Status().LastError; !strings.Contains(e, "Read on group g") {
				t.Errorf("round %d: the group's error is %q", round, e)
			}
			if m.LeaseValid() || m.Status().Joined {
				t.Errorf("round %d: without a group the lease is %v, joined %v", round, m.LeaseValid(), m.Status().Joined)
			}
			m.notes.mu.Lock()
			if m.lost != 3*(round+1) || m.revoked != 0 || len(m.has) != 0 {
				t.Errorf("round %d: %d lost, %d revoked, %d left", round, m.lost, m.revoked, len(m.has))
			}
			m.notes.mu.Unlock()
			refused.Remove()
			rejoins.Remove()
			g.owns(m, 3)
			if !m.Status().Joined {
				t.Errorf("round %d: it has its partitions, and is not joined", round)
			}
			if n := len(g.logs.Lines("level=WARN", "does not take this member")); n != round+1 {
				t.Errorf("round %d: said %d times", round, n)
			}
		}
	})
}

// TestAMemberWhoseInstanceIDIsTakenEnds with an error that says so.
func TestAMemberWhoseInstanceIDIsTakenEnds(t *testing.T) {
	inGroup(t, func(g *group) {
		static := func(c *Config) { c.InstanceID = "only" }
		one := g.join(static)
		g.owns(one, 3)
		two := g.join(static)
		g.owns(two, 3)
		time.Sleep(10 * time.Second)
		one.finish(0, 0)
		g.Until(30*time.Second, "the first one has ended", func() bool { return one.over() })
		if err := one.err; !errors.Is(err, ErrFenced) {
			t.Errorf("it ended with %v", err)
		}
	})
}

// TestStartsThatAreRefusedAreCommittedAgainForAWhile: one that stays refused delays itself.
func TestStartsThatAreRefusedAreCommittedAgainForAWhile(t *testing.T) {
	for name, test := range map[string]struct {
		refuse func(partition int32, call int) bool
		took   time.Duration // at least
		fails  bool
		sick   []int32
	}{
		"none":                    {func(int32, int) bool { return false }, 0, false, nil},
		"one, at first":           {func(p int32, call int) bool { return p == 1 && call < 3 }, 2 * loadRetry, false, nil},
		"one, without end":        {func(p int32, _ int) bool { return p == 1 }, loadGrace, false, []int32{1}},
		"all":                     {func(int32, int) bool { return true }, 0, true, []int32{0, 1, 2}},
		"all at first, then none": {func(_ int32, call int) bool { return call == 0 }, 0, true, []int32{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				calls := 0
				s := &groupStart{group: groupOffsets{name: "g"}, offset: "earliest", log: slog.New(slog.NewTextHandler(&g.logs, nil)), commit: func(_ context.Context, commits []offsets.Commit) (out []offsets.CommitResult) {
					for _, m := range commits {
						r := offsets.CommitResult{Commit: m}
						if test.refuse(m.Partition, calls) {
							r.Err = kerr.CoordinatorLoadInProgress
						}
						out = append(out, r)
					}
					calls++
					return out
				}}
				var commits []offsets.Commit
				starts := make(map[offsets.TopicPartition]startAt)
				for p := range int32(3) {
					tp := offsets.TopicPartition{Topic: "t", Partition: p}
					commits, starts[tp] = append(commits, offsets.Commit{TopicPartition: tp}), startAt{offset: 7}
				}
				began := time.Now()
				err := s.sendStarts(context.Background(), commits, starts)
				took := time.Since(began)
				if (err != nil) != test.fails || took < test.took || took > test.took+loadRetry {
					t.Errorf("%v after %v, want an error %v after %v", err, took, test.fails, test.took)
				}
				var sick []int32
				for p := range int32(3) {
					switch at := starts[offsets.TopicPartition{Topic: "t", Partition: p}]; {
					case at.err != nil:
						sick = append(sick, p)
					case at.offset != 7:
						t.Errorf("partition %d starts at %d", p, at.offset)
					}
				}
				if fmt.Sprint(sick) != fmt.Sprint(test.sick) {
					t.Errorf("without a start are %v, want %v", sick, test.sick)
				}
			})
		})
	}
}
