package lane

import (
	"testing"
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
