package consumer

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is a consumer that never joins its group: who it is and what it owns are
// what a test says. Its broker sleeps over every commit that it gets.
type member struct {
	*testing.T
	*Consumer
	topic offsets.TopicID
	look  sync.Mutex
	sent  []string // "member/generation partition@offset", as they came to the broker
}

func inBubble(t *testing.T, slow time.Duration, f func(m *member)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(slow) // the broker's sleep outlasts a test that failed
		k := kafkatest.StartVirtual(t, 1, kfake.SeedTopics(3, "t"))
		m := &member{T: t, topic: k.Broker.TopicInfo("t").TopicID}
		k.Answer(kmsg.OffsetCommit, func(r kmsg.Request) kmsg.Response {
			m.saw(r.(*kmsg.OffsetCommitRequest))
			k.Broker.SleepControl(func() { time.Sleep(slow) })
			return nil // the broker answers as it would have
		})
		m.Consumer = &Consumer{table: newOwnership(), committer: &committer{client: k.Client, group: "g", turns: new(atomic.Int64), broken: new(brokenCommits)}}
		m.committer.accepted = m.table.lease.renew
		m.committer.start()
		defer func() {
			m.committer.close()
			<-m.committer.done
		}()
		f(m)
	})
}

func (m *member) saw(req *kmsg.OffsetCommitRequest) {
	m.look.Lock()
	defer m.look.Unlock()
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			m.sent = append(m.sent, fmt.Sprintf("%s/%d %d@%d", req.MemberID, req.Generation, p.Partition, p.Offset))
		}
	}
}

// wantSent checks what has come to the broker so far.
func (m *member) wantSent(want ...string) {
	m.Helper()
	synctest.Wait()
	m.look.Lock()
	defer m.look.Unlock()
	if !slices.Equal(m.sent, want) {
		m.Fatalf("the broker was sent %q, want %q", m.sent, want)
	}
}

func (m *member) joined(id string, generation int32) { m.table.identify(id, generation) }

func (m *member) own(partition int32, epoch uint64) {
	m.table.mu.Lock()
	defer m.table.mu.Unlock()
	tp := offsets.TopicPartition{Topic: "t", Partition: partition}
	m.table.rows[tp] = &owned{member: m.table.memberID, Assignment: offsets.Assignment{TopicPartition: tp, Epoch: epoch}, topicID: m.topic}
}

// low makes a commit of a partition.
func low(partition int32, epoch uint64, offset int64) offsets.Commit {
	return offsets.Commit{TopicPartition: offsets.TopicPartition{Topic: "t", Partition: partition}, Epoch: epoch, Low: offset, LeaderEpoch: -1}
}

// commit returns where the answers will come.
func (m *member) commit(commits ...offsets.Commit) <-chan []offsets.CommitResult {
	answers := make(chan []offsets.CommitResult, 1)
	m.Commit(commits, func(r []offsets.CommitResult) { answers <- r })
	return answers
}

func TestACommitThatWaitedThroughARebalanceCarriesTheIdentityItWasBuiltWith(t *testing.T) {
	inBubble(t, time.Second, func(m *member) {
		m.joined("before", 4)
		m.own(0, 1)
		m.commit(low(0, 1, 10))
		waits := m.commit(low(0, 1, 20))
		m.wantSent("before/4 0@10")
		m.joined("after", 5)
		<-waits
		m.wantSent("before/4 0@10", "before/4 0@20")
		m.own(0, 2) // a new id is a new assignment
		<-m.commit(low(0, 2, 30))
		m.wantSent("before/4 0@10", "before/4 0@20", "after/5 0@30")
	})
}

func TestACommitOfAnAssignmentThatIsOverIsNotSent(t *testing.T) {
	inBubble(t, 0, func(m *member) {
		m.joined("dropped", 4)
		m.own(3, 7)
		m.joined("", -1) // whose commits the broker takes
		m.own(0, 7)
		m.own(1, 7)
		got := make(map[int32]error)
		for _, r := range <-m.commit(low(0, 7, 10), low(1, 6, 20), low(2, 7, 30), low(3, 7, 40)) {
			got[r.Partition] = r.Err
		}
		if len(got) != 4 || got[0] != nil || !errors.Is(got[1], errNotOwned) || !errors.Is(got[2], errNotOwned) || !errors.Is(got[3], errNotOwned) {
			t.Errorf("answers by partition: %v; want none for 0, which is owned, and %v for the others", got, errNotOwned)
		}
		m.wantSent("/-1 0@10")
	})
}

// Nine seconds are more than a revoke or a stop waits for its last commit.
func TestACommitThatIsAnsweredLateIsWaitedForBeforeTheNextIsSent(t *testing.T) {
	inBubble(t, 9*time.Second, func(m *member) {
		m.joined("", -1)
		m.own(0, 1)
		began := time.Now()
		first, second := m.commit(low(0, 1, 10)), m.commit(low(0, 1, 20))
		time.Sleep(9*time.Second - time.Millisecond)
		m.wantSent("/-1 0@10")
		for _, r := range append(<-first, <-second...) {
			if r.Err != nil {
				t.Errorf("commit of %d: %v", r.Low, r.Err)
			}
		}
		m.wantSent("/-1 0@10", "/-1 0@20")
		if took := time.Since(began); took != 18*time.Second {
			t.Errorf("answered after %v, want 18 s", took)
		}
	})
}

// TestACommitMayArriveAgainWhereItsConnectionBreaks: the client sends it again and says nothing.
func TestACommitMayArriveAgainWhereItsConnectionBreaks(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		time.Sleep(5 * time.Second)
		for round := range int64(3) {
			g.Broker.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
				return nil, errors.New("the connection breaks"), true // once
			})
			if r := m.finish(0, 2*round); r.Err != nil || !r.MayArrive {
				t.Errorf("round %d: %v, may arrive: %v", round, r.Err, r.MayArrive)
			}
			if r := m.finish(0, 2*round+1); r.Err != nil || r.MayArrive {
				t.Errorf("round %d, the next one: %v, may arrive: %v", round, r.Err, r.MayArrive)
			}
		}
	})
}

// TestACommitIsBrokenWhereItWasWrittenAndNotAnswered.
func TestACommitIsBrokenWhereItWasWrittenAndNotAnswered(t *testing.T) {
	const commit, heartbeat = int16(kmsg.OffsetCommit), int16(kmsg.Heartbeat)
	fault := errors.New("the connection breaks")
	for name, test := range map[string]struct {
		key    int16
		e      kgo.BrokerE2E
		broken int64
	}{
		"answered":                    {commit, kgo.BrokerE2E{BytesWritten: 9, BytesRead: 9}, 0},
		"not answered":                {commit, kgo.BrokerE2E{BytesWritten: 9, ReadErr: fault}, 1},
		"behind one that had no time": {commit, kgo.BrokerE2E{BytesWritten: 9, WriteErr: fault}, 1},
		"not written":                 {commit, kgo.BrokerE2E{WriteErr: fault}, 0},
		"another request":             {heartbeat, kgo.BrokerE2E{BytesWritten: 9, ReadErr: fault}, 0},
	} {
		var b brokenCommits
		if b.OnBrokerE2E(kgo.BrokerMetadata{}, test.key, test.e); b.Load() != test.broken {
			t.Errorf("%s: %d, want %d", name, b.Load(), test.broken)
		}
	}
}
