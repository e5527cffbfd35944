package lane

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
)

// late is how late a lane may look at a revoke that waits, and at the coordinator's answers.
const late = 50 * time.Millisecond

// revoke ends an assignment of partition 0, and returns how long that took.
func (r *rig) revoke(epoch uint64) time.Duration {
	r.Helper()
	synctest.Wait()
	began, over := time.Now(), make(chan struct{})
	r.Revoke(assignment(0, epoch), func() { close(over) })
	<-over
	return time.Since(began)
}

// commits returns how many commits were sent.
func (r *rig) commits() (n int) {
	synctest.Wait()
	r.kafka.set(func(k *kafka) { n = len(k.commits) })
	return n
}

// TestALastCommitThatIsRefusedIsTriedAgainWithAPause at each revoke, until the time for it is
// over. Only an answer that no try mends ends it at once; that a topic is gone is believed
// when it is said twice.
func TestALastCommitThatIsRefusedIsTriedAgainWithAPause(t *testing.T) {
	for name, test := range map[string]struct {
		answer      offsets.CommitResult
		least, most time.Duration
		commits     [2]int // at least, at most
	}{
		"by an error that passes": {offsets.CommitResult{}, commitTimeout, commitTimeout + soon + late, [2]int{int(commitTimeout / soon / 2), int(commitTimeout/soon) + 1}},
		"as nobody knows it":      {offsets.CommitResult{Gone: true}, soon, soon + late, [2]int{2, 2}},
		"as it is fenced":         {offsets.CommitResult{Fenced: true}, 0, late, [2]int{1, 1}},
		"as it is forbidden":      {offsets.CommitResult{Hopeless: true}, 0, late, [2]int{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *Config) { c.CommitInterval = time.Hour }, func(r *rig) {
				for epoch := uint64(1); epoch <= 3; epoch++ {
					r.assign(0, epoch)
					time.Sleep(time.Second)
					r.fetched(assignment(0, epoch), r.record(0, 0))
					before := r.commits()
					r.kafka.set(func(k *kafka) { k.refuse, k.answer, k.tardy = errors.New("refused"), test.answer, time.Millisecond })
					took := r.revoke(epoch)
					r.kafka.set(func(k *kafka) { k.refuse, k.answer = nil, offsets.CommitResult{} })
					if took < test.least || took > test.most {
						t.Errorf("revoke %d took %v, want %v to %v", epoch, took, test.least, test.most)
					}
					if n := r.commits() - before; n < test.commits[0] || n > test.commits[1] {
						t.Errorf("revoke %d: %d commits, want %d to %d", epoch, n, test.commits[0], test.commits[1])
					}
					time.Sleep(time.Minute)
				}
			})
		})
	}
}

// TestALastCommitThatIsTakenAtTheSecondTryIsTheLast at each revoke: the coordinator that has
// just started knows no topic.
func TestALastCommitThatIsTakenAtTheSecondTryIsTheLast(t *testing.T) {
	for name, answer := range map[string]offsets.CommitResult{"an error that passes": {}, "a topic that is not known yet": {Gone: true}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *Config) { c.CommitInterval = time.Hour }, func(r *rig) {
				for epoch := uint64(1); epoch <= 3; epoch++ {
					r.assign(0, epoch)
					time.Sleep(time.Second)
					r.fetched(assignment(0, epoch), r.record(0, 0))
					before := r.commits()
					r.kafka.set(func(k *kafka) {
						k.refuse, k.answer, k.refusals, k.tardy = errors.New("refused"), answer, 1, time.Millisecond
					})
					if took := r.revoke(epoch); took < soon || took > soon+late {
						t.Errorf("revoke %d took %v, want %v", epoch, took, soon)
					}
					if low, _ := r.lastCommit(); low != 1 || r.commits()-before != 2 {
						t.Errorf("revoke %d: %d commits, the last at %d; want 2, at 1", epoch, r.commits()-before, low)
					}
					time.Sleep(time.Minute)
				}
			})
		})
	}
}

// TestTheLastCommitDoesNotWaitForTheOneBeforeIt at any revoke, and says what finished since.
func TestTheLastCommitDoesNotWaitForTheOneBeforeIt(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		for epoch := uint64(1); epoch <= 3; epoch++ {
			r.assign(0, epoch)
			time.Sleep(5 * time.Second)
			r.kafka.set(func(k *kafka) { k.tardy = 500 * time.Millisecond })
			r.fetched(assignment(0, epoch), r.record(0, 0))
			time.Sleep(300 * time.Millisecond)
			if low, at := r.lastCommit(); low != 1 || time.Since(at) >= 500*time.Millisecond {
				t.Fatalf("assignment %d: the commit underway is at %d, of %v ago", epoch, low, time.Since(at))
			}
			r.fetched(assignment(0, epoch), r.record(1, 0))
			if took := r.revoke(epoch); took > 500*time.Millisecond {
				t.Errorf("revoke %d took %v", epoch, took)
			}
			if low, _ := r.lastCommit(); low != 2 {
				t.Errorf("revoke %d: the last commit is at %d, want 2", epoch, low)
			}
			r.kafka.set(func(k *kafka) { k.tardy = 0 })
			time.Sleep(time.Minute)
		}
	})
}
