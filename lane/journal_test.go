package lane

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
)

// paper is a journal that answers as a test tells it to.
type paper struct {
	mu        sync.Mutex
	slow      time.Duration // until a write is answered
	silent    bool          // no write is answered
	refuse    error
	at        []time.Time // of writes
	next      int64
	deleted   []int64
	undeleted error // of deletions
	answers   sync.WaitGroup
}

func (p *paper) Write(_ offsets.TopicPartition, w facts.Write, done func(facts.Result)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = append(p.at, time.Now())
	if p.silent {
		return
	}
	r := facts.Result{Seq: w.Seq, Offset: p.next, Err: p.refuse}
	p.next++
	slow := p.slow
	p.answers.Go(func() {
		time.Sleep(slow) // in a bubble
		done(r)
	})
}

func (p *paper) Delete(_ offsets.TopicPartition, below int64, done func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleted = append(p.deleted, below)
	err := p.undeleted
	p.answers.Go(func() { done(err) })
}

func (p *paper) set(f func(*paper)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

// journalled runs f with a lane whose partition 0 keeps in the journal all offsets
// that finish above its low offset. One record waits at the low offset for hours.
func journalled(t *testing.T, f func(r *rig, p *paper)) {
	t.Helper()
	p := &paper{}
	inBubble(t, func(c *Config) { c.Journal, c.Core.JournalAbove = p, 68 }, func(r *rig) {
		r.Journalled("delayed", purgatory.JournalState{Usable: true, TopicID: offsets.TopicID{1}, MaxBytes: 1 << 20})
		w := offsets.NewWindow(0)
		id := facts.Identity{Group: "g", Incarnation: 7}
		r.Assign(facts.Assigned{Assignment: assignment(0, 1), Window: w, Facts: facts.NewWriter(id, 1, facts.Restored{}, w)})
		time.Sleep(time.Second)
		r.fetched(assignment(0, 1), r.record(0, 5*time.Hour), r.record(1, 0))
		time.Sleep(5 * time.Second)
		if s := r.facts(); s.Mode != facts.InJournal || s.Unwritten != 0 {
			t.Fatalf("not in the journal: %+v", s)
		}
		f(r, p)
		p.set(func(p *paper) { p.slow, p.silent, p.refuse = 0, true, nil }) // nothing is answered after the end
		time.Sleep(2 * time.Minute)
		p.answers.Wait()
	})
}

func (r *rig) facts() facts.Status { return r.Snapshot().Partitions[0].Facts }

// named returns what the last commit names, and when it was sent.
func (r *rig) named() (j offsets.JournalRange, at time.Time) {
	synctest.Wait()
	r.kafka.set(func(k *kafka) {
		n := len(k.commits) - 1
		j, at = k.commits[n].Journal, k.committed[n]
	})
	return j, at
}

// TestACommitNamesWhatFinishedBeforeIt waits for it, and not long.
func TestACommitNamesWhatFinishedBeforeIt(t *testing.T) {
	for name, test := range map[string]struct {
		fault func(*paper)
		waits time.Duration
		new   bool // the commit names the record that was written for it
	}{
		"the journal answers":           {func(*paper) {}, 0, true},
		"the journal takes a while":     {func(p *paper) { p.slow = 100 * time.Millisecond }, 100 * time.Millisecond, true},
		"the journal takes too long":    {func(p *paper) { p.slow = time.Minute }, journalWait, false},
		"the journal refuses":           {func(p *paper) { p.refuse = errors.New("no") }, 0, false},
		"the journal does not answer":   {func(p *paper) { p.silent = true }, journalWait, false},
		"the journal is slow and sober": {func(p *paper) { p.slow = journalWait - time.Millisecond }, journalWait - time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			journalled(t, func(r *rig, p *paper) {
				before, _ := r.named()
				var commits, writes int
				r.kafka.set(func(k *kafka) { commits = len(k.commits) })
				p.set(func(p *paper) { test.fault(p); writes = len(p.at) })
				r.fetched(assignment(0, 1), r.record(2, 0), r.record(3, 2*time.Hour), r.record(4, 0))
				time.Sleep(1500 * time.Millisecond)
				after, at := before, time.Time{}
				r.kafka.set(func(k *kafka) { after, at = k.commits[commits].Journal, k.committed[commits] })
				var wrote time.Time // a write that was refused is followed by another
				p.set(func(p *paper) { wrote = p.at[writes] })
				if waited := at.Sub(wrote); waited != test.waits {
					t.Errorf("the commit came %v after the write, want %v", waited, test.waits)
				}
				if is := after.To > before.To; is != test.new {
					t.Errorf("the commit names %d, the one before %d", after.To, before.To)
				}
			})
		})
	}
}

// TestACommitDoesNotWaitForAJournalThatHasNotAnsweredBefore: a minute without it costs a
// quarter of a second once, and no delivery.
func TestACommitDoesNotWaitForAJournalThatHasNotAnsweredBefore(t *testing.T) {
	journalled(t, func(r *rig, p *paper) {
		p.set(func(p *paper) { p.silent = true })
		for o := int64(2); o < 62; o++ {
			r.fetched(assignment(0, 1), r.record(o, time.Duration(o%2)*3*time.Hour))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		var commits []time.Time
		r.kafka.set(func(k *kafka) { commits = k.committed })
		for i := len(commits) - 10; i < len(commits); i++ {
			if gap := commits[i].Sub(commits[i-1]); gap < time.Second || gap > 2*time.Second {
				t.Errorf("%v between two commits", gap)
			}
		}
		if n := len(r.values()); n != 31 {
			t.Errorf("%d delivered, want 31", n)
		}
		if v := r.Snapshot().Partitions[0]; v.Uncommitted+v.BeyondPrefix-v.Journalled > 1 {
			t.Errorf("%d finished since the last commit, %d beyond it, %d of them in the journal", v.Uncommitted, v.BeyondPrefix, v.Journalled)
		}
	})
}

// TestARevokeWaitsForTheJournalBeforeItsCommit, a second at most.
func TestARevokeWaitsForTheJournalBeforeItsCommit(t *testing.T) {
	for name, test := range map[string]struct {
		fault func(*paper)
		took  time.Duration
		new   bool
	}{
		"it takes a while":           {func(p *paper) { p.slow = journalWait / 2 }, journalWait / 2, true},
		"it takes longer than usual": {func(p *paper) { p.slow = 700 * time.Millisecond }, 700 * time.Millisecond, true},
		"it is silent":               {func(p *paper) { p.silent = true }, settleTimeout, false},
	} {
		t.Run(name, func(t *testing.T) {
			journalled(t, func(r *rig, p *paper) {
				before, _ := r.named()
				p.set(test.fault)
				r.fetched(assignment(0, 1), r.record(2, 0))
				synctest.Wait()
				began, over := time.Now(), make(chan struct{})
				r.Revoke(assignment(0, 1), func() { close(over) })
				<-over
				if took := time.Since(began); took < test.took || took > test.took+soon {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if after, _ := r.named(); (after.To > before.To) != test.new {
					t.Errorf("the last commit names %d, the one before %d", after.To, before.To)
				}
			})
		})
	}
}
