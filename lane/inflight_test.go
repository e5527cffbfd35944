package lane

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"

	"github.com/twmb/franz-go/pkg/kgo"
)

// slowRuns is a runs topic that nothing is in, and whose copies are answered when the test says so.
type slowRuns struct {
	flying, most atomic.Int64
	end          atomic.Int64
	answers      chan func()
}

func (s *slowRuns) Open(_ context.Context, _ far.Ask, done func(*far.Opening)) {
	done(&far.Opening{Writer: 1, TopicID: offsets.TopicID{1}, Window: offsets.NewWindow(0)})
}

func (s *slowRuns) Copy(_ offsets.TopicPartition, _ *kgo.Record, done func(int64, error)) {
	s.most.Store(max(s.most.Load(), s.flying.Add(1)))
	s.answers <- func() {
		s.flying.Add(-1)
		done(s.end.Add(1)-1, nil)
	}
}

func (s *slowRuns) Visit(v purgatory.Visit, _ offsets.TopicID, done func(purgatory.Visited, []*kgo.Record)) {
	done(purgatory.Visited{Visit: v, Until: v.From, Highest: -1}, nil)
}

func (s *slowRuns) Delete(_ offsets.TopicPartition, _ offsets.TopicID, _ int32, _ int64, done func(error)) {
	done(nil)
}

func TestNoMoreCopiesAreInFlightThanTheClientHasRoomFor(t *testing.T) {
	const records, room = 3000, 100
	s := &slowRuns{answers: make(chan func(), 2*records)}
	inBubble(t, func(c *Config) {
		c.Runs = RunsConfig{Runs: s, Beside: 1, InFlight: 2 * room, Share: func() int64 { return 10_000 }, Left: func() int64 { return -1 << 40 },
			Retention: func(string) time.Duration { return 0 }, Partitions: func() int { return 1 }, Uniform: func() bool { return true }}
	}, func(r *rig) {
		r.RunsChanged("delayed", RunsTopic{TopicID: offsets.TopicID{1}, Usable: true})
		r.assign(0, 1)
		synctest.Wait()
		var all []*kgo.Record
		for i := range int64(records) {
			all = append(all, r.record(i, 10*time.Hour))
		}
		r.fetched(assignment(0, 1), all...)
		time.Sleep(5 * time.Second)
		if n := s.flying.Load(); n != room {
			t.Errorf("%d copies are in flight, want %d", n, room)
		}
		for s.end.Load() < records/2 {
			(<-s.answers)()
		}
		if n := s.most.Load(); n > room+1 { // a directory
			t.Errorf("%d copies were in flight at a time, want %d", n, room)
		}
		for range 20 { // the rest, so that nothing is owed in the end
			time.Sleep(time.Second)
			for len(s.answers) > 0 {
				(<-s.answers)()
			}
		}
	})
}

func TestMemoryOfCopiesInFlightIsGivenBack(t *testing.T) {
	const records = 3000
	s := &slowRuns{answers: make(chan func(), 2*records)}
	inBubble(t, func(c *Config) {
		c.Runs = RunsConfig{Runs: s, Beside: 1, InFlight: 2 * records, Share: func() int64 { return 10_000 }, Left: func() int64 { return -1 << 40 },
			Retention: func(string) time.Duration { return 0 }, Partitions: func() int { return 1 }, Uniform: func() bool { return true }}
	}, func(r *rig) {
		r.RunsChanged("delayed", RunsTopic{TopicID: offsets.TopicID{1}, Usable: true})
		r.assign(0, 1)
		synctest.Wait()
		before := r.Bytes()
		var all []*kgo.Record
		for i := range int64(records) {
			all = append(all, r.record(i, 10*time.Hour))
		}
		r.fetched(assignment(0, 1), all...)
		time.Sleep(5 * time.Second)
		if in := s.flying.Load(); in != records {
			t.Fatalf("%d copies are in flight, want %d", in, records)
		}
		for range 20 {
			for len(s.answers) > 0 {
				(<-s.answers)()
			}
			time.Sleep(time.Second)
		}
		if now := r.Bytes(); now > before+records*slotSize/4 {
			t.Errorf("%d bytes are in use when all was moved, and %d were before", now, before)
		}
	})
}
