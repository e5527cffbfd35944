package consumer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"
)

// library is a journal that answers as a test tells it to, by partition.
type library struct {
	mu      sync.Mutex
	answers map[int32]func(*facts.Ask) facts.Answer // nil: an empty journal
	silent  map[int32]bool                          // not answered
	asked   map[int32]facts.Ask                     // last
	held    map[int32]bool                          // has records
}

func newLibrary() *library {
	return &library{answers: make(map[int32]func(*facts.Ask) facts.Answer), silent: make(map[int32]bool), asked: make(map[int32]facts.Ask)}
}

func (l *library) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// Restore answers each ask once its partition is not silent.
func (l *library) Restore(ctx context.Context, asks []facts.Ask, done func(int, facts.Answer)) {
	var answering sync.WaitGroup
	for i := range asks {
		answering.Go(func() {
			p := asks[i].Partition
			for {
				l.mu.Lock()
				l.asked[p] = asks[i]
				silent, answer := l.silent[p], l.answers[p]
				l.mu.Unlock()
				switch {
				case ctx.Err() != nil:
					done(i, facts.Answer{Complaint: ctx.Err()})
					return
				case silent:
					cluster.Pause(ctx, 100*time.Millisecond)
					continue
				case answer != nil:
					done(i, answer(&asks[i]))
				default:
					done(i, facts.Answer{LeaderEpoch: asks[i].LeaderEpoch, Restored: facts.Restored{Whole: true}})
				}
				return
			}
		})
	}
	answering.Wait()
}

func (l *library) Holds(_ context.Context, ids map[offsets.TopicPartition]offsets.Identity) (map[offsets.TopicPartition]bool, map[offsets.TopicPartition]error) {
	held := make(map[offsets.TopicPartition]bool)
	for tp := range ids {
		held[tp] = l.held[tp.Partition]
	}
	return held, nil
}

// commitFacts finishes offset 1 of a partition, and commits as a lane would.
func (m *one) commitFacts(g *group, partition int32) {
	g.Helper()
	m.notes.mu.Lock()
	a := m.has[partition]
	m.notes.mu.Unlock()
	if a.Window.Finish(1) {
		a.Facts.Note(1, 2)
	}
	enc, journal := a.Facts.Encode(offsets.MaxMetadata, offsets.MaxMetadata, 0, offsets.RunsState{})
	answer := make(chan []offsets.CommitResult, 1)
	m.Commit([]offsets.Commit{{TopicPartition: a.TopicPartition, Epoch: a.Epoch, Low: a.Window.Low(), LeaderEpoch: 0, Metadata: enc.Metadata, Journal: journal}},
		func(r []offsets.CommitResult) { answer <- r })
	if r := (<-answer)[0]; r.Err != nil {
		g.Fatal(r.Err)
	}
}

// TestAPartitionBeginsWithWhatItsJournalHas, each time, and is not read where that forbids it.
func TestAPartitionBeginsWithWhatItsJournalHas(t *testing.T) {
	inGroup(t, func(g *group) {
		books := newLibrary()
		with := func(c *Config) { c.Journal = books }
		for p := range int32(3) {
			g.produce(p, 40)
		}
		m := g.join(with)
		g.owns(m, 3)
		incarnations := make(map[uint64]bool)
		for p := range int32(3) {
			m.commitFacts(g, p)
		}
		if len(books.asked) != 0 {
			t.Errorf("the journals of a new group are asked: %v", books.asked)
		}
		m.leave()
		for round := range 2 {
			books.set(func() {
				clear(books.asked)
				books.answers[0] = func(a *facts.Ask) facts.Answer {
					a.Window.FinishRange(0, 10)
					a.Window.FinishRange(20, 30)
					return facts.Answer{LeaderEpoch: a.LeaderEpoch, Restored: facts.Restored{Whole: true}}
				}
				books.answers[1] = func(*facts.Ask) facts.Answer {
					return facts.Answer{Err: fmt.Errorf("below 5: %w", facts.ErrTruncated)}
				}
				books.answers[2] = func(*facts.Ask) facts.Answer { return facts.Answer{Err: facts.ErrNewer} }
			})
			m = g.join(with)
			g.owns(m, 1)
			time.Sleep(10 * time.Second)
			m.notes.mu.Lock()
			if a := m.has[0]; a.Next != 10 || !a.Window.Finished(29) || a.Window.Finished(30) || a.Facts == nil {
				t.Errorf("round %d: begun at %d with low %d", round, a.Next, a.Window.Low())
			}
			m.notes.mu.Unlock()
			if got := m.offsetsOf(0); len(got) != 30 || got[0] != 10 {
				t.Errorf("round %d: read %v", round, got)
			}
			if v := m.view(1); v.Reason != Truncated || v.Loaded || v.Trying || !strings.Contains(v.Stopped, "below 5") {
				t.Errorf("round %d: a journal that tells of a truncation: %+v", round, v)
			}
			if v := m.view(2); v.Reason != NewerVersion || v.Loaded || v.Trying || !strings.Contains(v.Stopped, "cannot be read by this version") {
				t.Errorf("round %d: a newer one's journal: %+v", round, v)
			}
			books.set(func() {
				for p, ask := range books.asked {
					incarnations[ask.ID.Incarnation] = true
					if ask.ID.Incarnation == 0 || ask.ID.Group != "g" || ask.ID.Partition != p || ask.LogEnd != 40 || !ask.Window.Finished(1) || p > 0 && ask.Window.Low() != 0 {
						t.Errorf("round %d: partition %d is asked for by %+v", round, p, ask)
					}
				}
			})
			m.leave()
		}
		m = g.join(nil) // without any journal
		g.owns(m, 3)
		for p := range int32(3) {
			if time.Sleep(time.Second); len(m.offsetsOf(p)) != 40 {
				t.Errorf("without a journal %d are read of partition %d", len(m.offsetsOf(p)), p)
			}
		}
		m.leave()
		if len(incarnations) != 3 {
			t.Errorf("%d incarnations of three partitions", len(incarnations))
		}
	})
}

// TestAJournalThatIsSilentHoldsItsOwnPartitionAlone, which says so and begins after all, each
// time.
func TestAJournalThatIsSilentHoldsItsOwnPartitionAlone(t *testing.T) {
	inGroup(t, func(g *group) {
		books := newLibrary()
		with := func(c *Config) { c.Journal = books }
		for p := range int32(3) {
			g.produce(p, 40)
		}
		m := g.join(with)
		g.owns(m, 3)
		for p := range int32(3) {
			m.commitFacts(g, p)
		}
		m.leave()
		for round := range 2 {
			books.set(func() { books.silent[1] = true })
			m = g.join(with)
			g.owns(m, 2)
			time.Sleep(4 * time.Second)
			if v := m.view(1); v.Stopped != "" || v.Loaded {
				t.Errorf("round %d, a moment later: %+v", round, v)
			}
			time.Sleep(journalGrace)
			if v := m.view(1); v.Reason != NotBegun || !v.Trying || v.Loaded || !strings.Contains(v.Stopped, "its journal is not read yet") {
				t.Errorf("round %d: %+v", round, v)
			}
			if n := len(m.offsetsOf(0)); n != 40 || len(m.offsetsOf(1)) != 0 {
				t.Errorf("round %d: %d read of one that is well, %d of the other", round, n, len(m.offsetsOf(1)))
			}
			books.set(func() { books.silent[1] = false })
			g.owns(m, 3)
			time.Sleep(5 * time.Second)
			if v := m.view(1); v.Stopped != "" || !v.Loaded || v.Next != 40 || len(m.offsetsOf(1)) != 40 {
				t.Errorf("round %d, after all: %+v, %d read", round, v, len(m.offsetsOf(1)))
			}
			if n := len(g.logs.Lines("level=INFO", "partition is begun after all", "partition=1")); n != round+1 {
				t.Errorf("round %d: said %d times", round, n)
			}
			m.leave()
		}
	})
}
