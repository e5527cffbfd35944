package lane

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// endings are the ways in which an assignment of partition 0 ends gracefully.
func endings() map[string]func(r *rig) {
	return map[string]func(r *rig){
		"a stop": func(r *rig) {
			r.Stop(time.Now().Add(20 * time.Second))
			<-r.Done()
		},
		"a revoke": func(r *rig) {
			over := make(chan struct{})
			r.Revoke(assignment(0, 1), func() { close(over) })
			<-over
		},
	}
}

// TestTheLastCommitSaysAllThatFinished, though its set is the first that does not fit.
func TestTheLastCommitSaysAllThatFinished(t *testing.T) {
	for name, end := range endings() {
		t.Run(name, func(t *testing.T) {
			p := &paper{slow: 20 * time.Millisecond}
			inBubble(t, func(c *Config) { c.Journal = p }, func(r *rig) {
				r.Journalled("delayed", purgatory.JournalState{Usable: true, TopicID: offsets.TopicID{1}, MaxBytes: 1 << 20})
				w := offsets.NewWindow(0)
				id := facts.Identity{Group: "g", Incarnation: 7}
				r.Assign(facts.Assigned{Assignment: assignment(0, 1), Window: w, Facts: facts.NewWriter(id, 1, facts.Restored{}, w)})
				time.Sleep(3100 * time.Millisecond)
				var records []*kgo.Record
				for o := range int64(9000) {
					records = append(records, r.record(o, time.Duration((o+1)%2)*5*time.Hour))
				}
				r.fetched(assignment(0, 1), records...)
				time.Sleep(500 * time.Millisecond)
				end(r)
				r.kafka.set(func(k *kafka) {
					if c := k.commits[len(k.commits)-1]; c.Left > 0 || c.Journal.IsZero() {
						t.Errorf("the last commit leaves out %d and names %+v", c.Left, c.Journal)
					}
				})
				p.answers.Wait()
			})
		})
	}
}

// TestACommitThatMayHaveBeenSentTwiceIsSaidAgain every interval, and holds up neither a
// stop nor a revoke.
func TestACommitThatMayHaveBeenSentTwiceIsSaidAgain(t *testing.T) {
	for name, end := range endings() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				r.assign(0, 1)
				time.Sleep(5 * time.Second)
				r.kafka.set(func(k *kafka) { k.tardy = 3 * time.Second })
				r.fetched(assignment(0, 1), r.record(0, 0))
				time.Sleep(5 * time.Second)
				var before, after int
				r.kafka.set(func(k *kafka) { k.tardy, before = 0, len(k.commits) })
				time.Sleep(20 * time.Second)
				r.kafka.set(func(k *kafka) { after = len(k.commits) })
				if n := after - before; n < 15 || n > 21 {
					t.Errorf("%d commits in 20 s without news", n)
				}
				began := time.Now()
				end(r)
				if took := time.Since(began); took > 100*time.Millisecond {
					t.Errorf("the end took %v", took)
				}
			})
		})
	}
}

func TestStopWaitsForWhatIsInFlightAndCommitsIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.kafka.set(func(k *kafka) { k.slow = 800 * time.Millisecond })
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, 0), r.record(1, 0), r.record(2, time.Hour))
		time.Sleep(10 * time.Millisecond)
		r.want("0", "1")
		began := time.Now()
		r.Stop(began.Add(8 * time.Second))
		<-r.Done()
		if took := time.Since(began); took > 900*time.Millisecond {
			t.Errorf("stopping took %v", took)
		}
		if low, _ := r.lastCommit(); low != 2 {
			t.Errorf("low offset %d committed, want 2", low)
		}
	})
}

func TestStopEndsInTimeWhoeverDoesNotAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		fault func(*kafka)
		least time.Duration
		most  time.Duration
	}{
		"deliveries": {func(k *kafka) { k.silent = true }, 4800 * time.Millisecond, 5200 * time.Millisecond},
		"commits":    {func(k *kafka) { k.mute = true }, 8 * time.Second, 8 * time.Second},
		"refusals":   {func(k *kafka) { k.refuse = errors.New("no") }, 8 * time.Second, 8 * time.Second},
		"both":       {func(k *kafka) { k.silent, k.mute = true, true }, 4800 * time.Millisecond, 5200 * time.Millisecond}, // nothing to commit
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(r *rig) {
				r.assign(0, 1)
				time.Sleep(2 * time.Second)
				r.fetched(assignment(0, 1), r.record(0, 0), r.record(1, 0))
				r.kafka.set(test.fault)
				time.Sleep(10 * time.Millisecond)
				var many []*kgo.Record // a full offer, so that a whole batch is in flight
				for o := range int64(offerBudget) {
					many = append(many, r.record(2+o, 0))
				}
				r.fetched(assignment(0, 1), many...)
				synctest.Wait()
				began, turns := time.Now(), len(r.seen().turns)
				r.Stop(began.Add(8 * time.Second))
				r.fetched(assignment(0, 1), r.record(2+offerBudget, 0)) // comes too late, and is not looked at
				<-r.Done()
				if took := time.Since(began); took < test.least || took > test.most {
					t.Errorf("stopping took %v, want %v to %v", took, test.least, test.most)
				}
				if n := len(r.seen().turns) - turns; n > 300 { // a refusal each 100 ms, what is published of it, and five looks ahead a second
					t.Errorf("%d turns while stopping", n)
				}
			})
		})
	}
}

func TestAStopInTheMiddleOfAFullOfferDoesNotSpin(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(time.Second)
		began := time.Now()
		r.kafka.set(func(k *kafka) {
			k.silent = true
			k.delivering = func(n int) {
				if n == offerBudget {
					r.Stop(began.Add(10 * time.Second))
				}
			}
		})
		var many []*kgo.Record
		for o := range int64(4 * offerBudget) { // all due at once, so that one offer is full
			many = append(many, r.record(o, time.Second))
		}
		r.fetched(assignment(0, 1), many...)
		time.Sleep(1100 * time.Millisecond)
		r.fetched(assignment(0, 1), r.record(4*offerBudget, 0))
		time.Sleep(time.Second) // time only goes by in a bubble while its loop sleeps
		if n := len(r.seen().deliveries); n != offerBudget {
			t.Errorf("%d deliveries, want %d: the offer that was underway", n, offerBudget)
		}
		if got := r.seen().consumed; got != r.given.Load() {
			t.Errorf("%d bytes of the reading budget given back, of %d, while the lane drains", got, r.given.Load())
		}
		<-r.Done()
	})
}

func TestALaneThatHasEndedTakesNothingAndLetsNobodyWait(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		r.Stop(time.Now().Add(time.Second))
		<-r.Done()
		if r.fetched(assignment(0, 1), r.record(0, 0)) {
			t.Error("what was fetched is taken by a lane that has ended")
		}
		called := 0
		r.Revoke(assignment(0, 1), func() { called++ })
		r.Lost(assignment(0, 1), func() { called++ })
		r.LogStart(assignment(0, 1), 5)
		r.Poke()
		if called != 2 {
			t.Errorf("%d of 2 were told that it is over", called)
		}
	})
}

func TestWhoeverWaitsWhenTheLoopEndsIsAnswered(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.kafka.set(func(k *kafka) { k.silent = true })
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, 0))
		time.Sleep(time.Second)
		over := make(chan struct{})
		r.Revoke(assignment(0, 1), func() { close(over) })
		r.Stop(time.Now().Add(time.Second))
		<-r.Done()
		<-over
	})
}
