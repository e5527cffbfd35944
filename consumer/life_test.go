package consumer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// upTo returns the offsets from from to to, not included.
func upTo(from, to int64) (out []int64) {
	for o := from; o < to; o++ {
		out = append(out, o)
	}
	return out
}

// TestAGroupGoesThroughMembersAndEachGoesOnWhereItsCommitStands, three times.
func TestAGroupGoesThroughMembersAndEachGoesOnWhereItsCommitStands(t *testing.T) {
	inGroup(t, func(g *group) {
		end := make([]int64, 3)
		for p := range int32(3) {
			end[p] = g.produce(p, 20)
		}
		var low int64
		for round := range int64(3) {
			m1 := g.join(nil)
			g.owns(m1, 3)
			time.Sleep(2 * time.Second)
			if n := len(g.logs.Lines("level=INFO", "group joined", "group=g", "added=3", "assigned=3")); n != int(round)+1 {
				t.Errorf("round %d: the join is said %d times", round, n)
			}
			for p := range int32(3) {
				want := upTo(low, end[p])
				if got := m1.offsetsOf(p); !slices.Equal(got, want) {
					t.Errorf("round %d: of partition %d %v were read, want %v", round, p, got, want)
				}
				v := m1.view(p)
				if !v.Loaded || v.Stopped != "" || v.Next != end[p] || v.End != end[p] || v.Epoch != m1.assignment(p).Epoch || v.Epoch == 0 {
					t.Errorf("round %d: partition %d is seen as %+v, want next and end %d", round, p, v, end[p])
				}
			}
			s := m1.Status()
			if !s.Joined || s.MemberID == "" || s.Generation <= 0 || s.Rebalances < 1 || s.LastError != "" || len(s.Partitions) != 3 {
				t.Errorf("round %d: status %+v", round, s)
			}
			if !slices.IsSortedFunc(s.Partitions, func(a, b View) int { return int(a.Partition - b.Partition) }) {
				t.Errorf("round %d: partitions are not in order: %+v", round, s.Partitions)
			}
			low += 3
			for p := range int32(3) {
				if r := m1.finish(p, low); r.Err != nil {
					t.Errorf("round %d: commit of partition %d: %v", round, p, r.Err)
				}
				if at, ok := g.Committed("g", "t", p); !ok || at.At != low {
					t.Errorf("round %d: partition %d is committed at %+v, want %d", round, p, at, low)
				}
			}
			two := g.join(nil)
			g.Until(time.Minute, "both have some", func() bool {
				m1.notes.mu.Lock()
				defer m1.notes.mu.Unlock()
				two.notes.mu.Lock()
				defer two.notes.mu.Unlock()
				return len(two.has) > 0 && len(m1.has)+len(two.has) == 3
			})
			if now := m1.Status(); now.Rebalances <= s.Rebalances || now.Generation <= s.Generation || now.MemberID != s.MemberID {
				t.Errorf("round %d: status %+v, before %+v", round, now, s)
			}
			two.notes.mu.Lock()
			for p, a := range two.has {
				if w := a.Window; w.Low() != low || !w.Finished(low+2) || w.Finished(low+1) || a.Next != low {
					t.Errorf("round %d: partition %d begins at %d with low %d", round, p, a.Next, w.Low())
				}
			}
			lostTo := len(two.has)
			two.notes.mu.Unlock()
			m1.notes.mu.Lock()
			if m1.revoked != lostTo || m1.lost != 0 {
				t.Errorf("round %d: %d revoked, %d lost, and the other has %d", round, m1.revoked, m1.lost, lostTo)
			}
			m1.notes.mu.Unlock()
			leaving := time.Now()
			m1.leave()
			two.leave()
			if took := time.Since(leaving); took > 8*time.Second {
				t.Errorf("round %d: they left in %v", round, took)
			}
			if n := len(g.logs.Lines("left without the group's answer")); n > 0 {
				t.Errorf("round %d: %d members left without an answer", round, n)
			}
			for _, m := range []*one{m1, two} {
				m.notes.mu.Lock()
				if len(m.has) != 0 || m.revoked != m.assigned {
					t.Errorf("round %d: %d assignments are left of %d, %d were revoked", round, len(m.has), m.assigned, m.revoked)
				}
				m.notes.mu.Unlock()
				if s := m.Status(); len(s.Partitions) != 0 {
					t.Errorf("round %d: status has %+v behind the end", round, s.Partitions)
				}
			}
		}
	})
}

// TestAPauseStopsReadingAndTellsHowOldWhatIsUnreadIs until it ends, each time.
func TestAPauseStopsReadingAndTellsHowOldWhatIsUnreadIs(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		var end int64
		for round := range 3 {
			time.Sleep(5 * time.Second)
			m.SetPaused(true)
			m.SetPaused(true) // says nothing new
			time.Sleep(3 * time.Second)
			before, written := end, time.Now().Truncate(time.Millisecond)
			end = g.produce(1, 5)
			time.Sleep(2*endsEvery + time.Second)
			if got := len(m.offsetsOf(1)); got != int(before) {
				t.Errorf("round %d: %d records were read of %d before the pause", round, got, before)
			}
			if !m.Paused() {
				t.Errorf("round %d: it is not said to pause", round)
			}
			if v := m.view(1); v.Next != before || v.End != end || !v.OldestUnread.Equal(written) || v.Stopped != "" {
				t.Errorf("round %d: %+v, want next %d, end %d, oldest of %v", round, v, before, end, written)
			}
			if v := m.view(0); !v.OldestUnread.IsZero() {
				t.Errorf("round %d: nothing is unread of the other: %+v", round, v)
			}
			m.SetPaused(false)
			time.Sleep(2 * time.Second)
			if m.Paused() {
				t.Errorf("round %d: it is said to pause", round)
			}
			if v := m.view(1); v.Next != end || !v.OldestUnread.IsZero() || len(m.offsetsOf(1)) != int(end) {
				t.Errorf("round %d, reading again: %+v, %d read", round, v, len(m.offsetsOf(1)))
			}
		}
	})
}

// TestWhatIsNotConsumedHoldsReadingAtTheBudget, and no further once it is given back.
func TestWhatIsNotConsumedHoldsReadingAtTheBudget(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(func(c *Config) { c.ReadingBudget = 5000 })
		g.owns(m, 3)
		var end int64
		for round := range 3 {
			m.notes.mu.Lock()
			m.keep = true
			m.notes.mu.Unlock()
			end = g.produce(0, 30) // 260 bytes each: over the budget
			time.Sleep(3 * time.Second)
			beforeHeld := m.Consumer.Unread()
			g.produce(2, 10)
			time.Sleep(3 * time.Second)
			m.notes.mu.Lock()
			kept := m.kept
			m.notes.mu.Unlock()
			if n := m.Buffered(); n == 0 {
				t.Errorf("round %d: the client holds nothing ready", round)
			}
			if beforeHeld <= 5000 || m.Consumer.Unread() != beforeHeld || kept != beforeHeld {
				t.Errorf("round %d: %d bytes are out, %d before more came, %d were handed over", round, m.Consumer.Unread(), beforeHeld, kept)
			}
			m.notes.mu.Lock()
			m.keep, m.kept = false, 0
			m.notes.mu.Unlock()
			m.Consumed(kept)
			time.Sleep(3 * time.Second)
			if n := m.Buffered(); n != 0 {
				t.Errorf("round %d: the client holds %d bytes ready while all are read", round, n)
			}
			if n, other := len(m.offsetsOf(0)), len(m.offsetsOf(2)); n != int(end) || other != 10*(round+1) || m.Consumer.Unread() != 0 {
				t.Errorf("round %d: %d and %d read, want %d and %d; %d bytes out", round, n, other, end, 10*(round+1), m.Consumer.Unread())
			}
		}
	})
}

// TestAStoppedPartitionIsReadAgainInTheNextAssignmentAlone.
func TestAStoppedPartitionIsReadAgainInTheNextAssignmentAlone(t *testing.T) {
	inGroup(t, func(g *group) {
		for round := range 2 {
			m := g.join(nil)
			g.owns(m, 3)
			time.Sleep(time.Second)
			began := time.Now()
			m.Stop(m.assignment(1), 7, Halted, "as a test wants")
			m.Stop(m.assignment(1), 8, Unreadable, "a second reason")
			stale := m.assignment(2)
			stale.Epoch += 100
			m.Stop(stale, 3, Halted, "of another assignment")
			g.produce(1, 5)
			g.produce(2, 5)
			time.Sleep(10 * time.Second)
			if n := len(m.offsetsOf(1)); n != 5*round || !slices.Equal(m.pausedParts(), []int32{1}) {
				t.Errorf("round %d: %d records were read of a partition that is stopped, not fetched are %v", round, n, m.pausedParts())
			}
			if v := m.view(1); v.Stopped != "as a test wants" || v.Reason != Halted || v.Next != 7 || v.Trying || !v.Since.Equal(began) {
				t.Errorf("round %d: %+v", round, v)
			}
			if !m.Stopped(m.assignment(1)) || m.Stopped(m.assignment(2)) || m.Stopped(stale) {
				t.Errorf("round %d: another one than 1 is said to have stopped", round)
			}
			if n, v := len(m.offsetsOf(2)), m.view(2); n != 5*(round+1) || v.Stopped != "" || !v.Since.IsZero() {
				t.Errorf("round %d: %d read of the other, %+v", round, n, v)
			}
			m.leave()
		}
	})
}

// TestFetchesThatFailAreSaidAfterAWhileAndUntilTheyAreAnswered, each time.
func TestFetchesThatFailAreSaidAfterAWhileAndUntilTheyAreAnswered(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		var end int64
		for round := range 3 {
			time.Sleep(5 * time.Second)
			asked := g.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Count: -1, Observe: true})
			sick := g.Refuse(kmsg.Fetch, kfake.Fault{Topic: "t", Partitions: []int32{1}, Err: kerr.TopicAuthorizationFailed})
			began := time.Now()
			time.Sleep(loadGrace - 500*time.Millisecond)
			if v := m.view(1); v.Stopped != "" {
				t.Errorf("round %d: said after a moment: %+v", round, v)
			}
			time.Sleep(10 * time.Second)
			v := m.view(1)
			if !strings.Contains(v.Stopped, "Read on topic t") || v.Reason != Failing || !v.Trying || v.Since.Sub(began) > 2*time.Second || v.Since.Before(began) {
				t.Errorf("round %d: %+v, it began at %v", round, v, began)
			}
			if n := asked.Hits(); n > 100 {
				t.Errorf("round %d: %d fetches in 13 s", round, n)
			}
			if v := m.view(0); v.Stopped != "" {
				t.Errorf("round %d: the other is %+v", round, v)
			}
			sick.Remove()
			asked.Remove()
			end = g.produce(1, 3)
			time.Sleep(3 * time.Second)
			if v := m.view(1); v.Stopped != "" || v.Next != end || !v.Since.IsZero() {
				t.Errorf("round %d, healthy again: %+v", round, v)
			}
		}
	})
}

// TestAJumpLeavesOutWhatItGoesOver, and one that is behind the position does nothing.
func TestAJumpLeavesOutWhatItGoesOver(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		end := g.produce(0, 3)
		time.Sleep(3 * time.Second)
		for round := range 3 {
			m.SetPaused(true)
			time.Sleep(2 * time.Second)
			from := end
			end = g.produce(0, 20)
			for p, to := range []int64{from + 12, 0, 0} { // of the others nothing is to be jumped over
				m.Jump(m.assignment(int32(p)), to, -1)
			}
			m.Jump(m.assignment(0), from+5, -1) // a shorter one
			time.Sleep(time.Second)
			m.SetPaused(false)
			time.Sleep(5 * time.Second)
			got := m.offsetsOf(0)
			if want := upTo(from+12, end); !slices.Equal(got[len(got)-len(want):], want) || got[len(got)-len(want)-1] >= from {
				t.Errorf("round %d: read %v, want none from %d to %d", round, got, from, from+11)
			}
			if v := m.view(0); v.Next != end || v.Stopped != "" {
				t.Errorf("round %d: %+v", round, v)
			}
			m.Jump(m.assignment(0), end-2, -1) // behind the position
			m.Jump(offsets.Assignment{TopicPartition: m.assignment(0).TopicPartition, Epoch: 999}, end+100, -1)
			time.Sleep(5 * time.Second)
			if now := m.offsetsOf(0); len(now) != len(got) {
				t.Errorf("round %d: %v were read twice", round, now[len(got):])
			}
		}
	})
}

// TestALogThatBeginsAboveThePositionIsGoneOver, each time.
func TestALogThatBeginsAboveThePositionIsGoneOver(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		for round := range 3 {
			time.Sleep(5 * time.Second)
			m.SetPaused(true)
			time.Sleep(3 * time.Second)
			end := g.produce(2, 10)
			g.DeleteRecords("t", 2, end-4)
			m.SetPaused(false)
			time.Sleep(10 * time.Second)
			m.notes.mu.Lock()
			if n := len(m.starts); n != round+1 || m.starts[n-1] != end-4 {
				t.Errorf("round %d: told of %v, want %d last", round, m.starts, end-4)
			}
			m.notes.mu.Unlock()
			if got := m.offsetsOf(2); len(got) < 4 || !slices.Equal(got[len(got)-4:], upTo(end-4, end)) || m.view(2).Next != end {
				t.Errorf("round %d: read %v, at %+v", round, got, m.view(2))
			}
		}
		if n := len(g.logs.Lines("level=ERROR", "deleted before they were read")); n != 3 {
			t.Errorf("said %d times, want 3", n)
		}
	})
}
