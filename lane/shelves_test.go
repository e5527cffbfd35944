package lane

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/copies/turns"
	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// shelves is the runs topic of "delayed" with many partitions. Visits wait for turns as those of a process do.
type shelves struct {
	list  []*shelf
	turns *turns.Turns
	alone atomic.Pointer[rig] // the process has no lane but this; nil: others leave enough
	older atomic.Bool         // a member of an older release is in the group: nothing is moved
}

// left returns what the process has left of a lane's share.
func (m *shelves) left(share int64) int64 {
	if r := m.alone.Load(); r != nil {
		return share - r.Bytes()
	}
	return share
}

func (m *shelves) Open(ctx context.Context, ask far.Ask, done func(*far.Opening)) {
	m.list[ask.Partition].Open(ctx, ask, done)
}

func (m *shelves) Copy(at offsets.TopicPartition, r *kgo.Record, done func(int64, error)) {
	m.list[at.Partition].Copy(at, r, done)
}

func (m *shelves) Delete(at offsets.TopicPartition, topic offsets.TopicID, epoch int32, below int64, done func(error)) {
	m.list[at.Partition].Delete(at, topic, epoch, below, done)
}

func (m *shelves) Visit(v purgatory.Visit, topic offsets.TopicID, done func(purgatory.Visited, []*kgo.Record)) {
	s := m.list[v.Partition]
	s.answers.Go(func() {
		asked := time.Now()
		turn, err := m.turns.Await(context.Background(), s.broker)
		if err != nil {
			done(purgatory.Visited{Visit: v, Until: v.From, Highest: -1, Err: err}, nil)
			return
		}
		waited := time.Since(asked)
		s.Visit(v, topic, func(a purgatory.Visited, records []*kgo.Record) {
			turn.End(s.broker, a.Took, a.Err)
			a.Waited = waited
			done(a, records)
		})
	})
}

// manyShelves runs f with a lane of so many partitions, of whose visits so many read at a time.
func manyShelves(t *testing.T, parts, visits int, share int64, plant func(partition int, s *shelf), f func(r *rig, m *shelves)) {
	t.Helper()
	m := &shelves{}
	config := func(c *Config) {
		c.Runs = RunsConfig{
			Runs: m, Beside: 1, InFlight: 1 << 16,
			Share: func() int64 { return share }, Left: func() int64 { return m.left(share) }, Full: func() bool { return m.left(share) < share/8 },
			Retention: func(string) time.Duration { return 0 }, Partitions: func() int { return parts }, Uniform: func() bool { return !m.older.Load() },
		}
	}
	inBubble(t, config, func(r *rig) {
		m.turns = turns.New(visits)
		over := make(chan struct{})
		for p := range parts {
			s := &shelf{topic: offsets.TopicID{9}, partition: int32(p), over: over}
			m.list = append(m.list, s)
			plant(p, s)
		}
		r.RunsChanged("delayed", RunsTopic{TopicID: offsets.TopicID{9}, Usable: true})
		for p := range parts {
			r.assign(int32(p), 1)
		}
		time.Sleep(2 * time.Second)
		f(r, m)
		for p := range parts {
			lost := make(chan struct{})
			r.Lost(assignment(int32(p), 1), func() { close(lost) })
			<-lost
		}
		time.Sleep(time.Minute)
		close(over)
		for _, s := range m.list {
			s.answers.Wait()
		}
	})
}

// TestManyPartitionsThatWaitForTurnsAreOnTime: what is due in each four seconds takes a quarter of the share. A round
// of visits takes one to 1.3 s. The least read-ahead of 441f8b0 goes by the time of visits alone. With it the three
// cases are 0 s, 0.3 s and 0 s late. With one that holds four waits for turns, they are up to 4 s, 12.8 s and 1 s late.
func TestManyPartitionsThatWaitForTurnsAreOnTime(t *testing.T) {
	long.Only(t)
	cases := []struct {
		parts, turns int
		slow         time.Duration
	}{{64, 4, 60 * time.Millisecond}, {100, 4, 50 * time.Millisecond}, {200, 4, 20 * time.Millisecond}}
	for _, c := range cases[:long.Of(len(cases), 1)] {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			const seconds, from, perSecond = 40, 40 * time.Second, 300
			each := seconds * perSecond / c.parts
			plant := func(p int, s *shelf) {
				s.slow = c.slow
				s.plant(each, 1000, func(int) uint64 { return 1 }, func(i int) time.Duration {
					return from + (time.Duration(i)*seconds*time.Second+time.Duration(p)*seconds*time.Second/time.Duration(c.parts))/time.Duration(each)
				})
			}
			manyShelves(t, c.parts, c.turns, 4*4*perSecond*1050, plant, func(r *rig, m *shelves) {
				time.Sleep(3 * time.Minute)
				n, late := r.latest()
				synctest.Wait()
				visits := 0
				for _, s := range m.list {
					visits += len(s.visits)
				}
				t.Log(c, n, late, visits, r.late(10*time.Millisecond))
				if n != c.parts*each || late > 10*time.Millisecond {
					r.Errorf("%d are delivered, the latest %v late, want %d", n, late, c.parts*each)
				}
			})
		})
	}
}

// TestAPartitionThatIsTakenOverIsOnTimeBesideAHerd: what is due in two minutes, and fits a quarter of the share, is in
// memory. Then another partition is taken over, as in a rolling restart, whose copies are due before that.
func TestAPartitionThatIsTakenOverIsOnTimeBesideAHerd(t *testing.T) {
	for _, beside := range []bool{false, true} {
		t.Run(fmt.Sprint(beside), func(t *testing.T) {
			const share, size, others = 8 << 20, 10_000, 1000
			herd := 1
			if beside {
				herd = share / 4 / (size + 150)
			}
			plant := func(p int, s *shelf) {
				if p == 0 {
					s.plant(herd, size, func(int) uint64 { return 1 }, func(int) time.Duration { return 20 * time.Minute })
					return
				}
				s.plant(others, size, func(int) uint64 { return 1 }, func(i int) time.Duration {
					return 18*time.Minute + 10*time.Second + time.Duration(i)*20*time.Millisecond
				})
			}
			manyShelves(t, 2, 4, share, plant, func(r *rig, m *shelves) {
				lost := make(chan struct{})
				r.Lost(assignment(1, 1), func() { close(lost) })
				<-lost
				time.Sleep(18*time.Minute - 5*time.Second)
				synctest.Wait()
				if beside && r.Loaded() < share/8 {
					r.Errorf("%d bytes are read ahead of a share of %d", r.Loaded(), share)
				}
				r.assign(1, 2)
				time.Sleep(5 * time.Minute)
				if n, late := r.latest(); n != herd+others || late > time.Second {
					r.Errorf("%d of %d are delivered, the latest %v late", n, herd+others, late)
				}
				r.Lost(assignment(1, 2), func() {})
				time.Sleep(time.Second)
			})
		})
	}
}
