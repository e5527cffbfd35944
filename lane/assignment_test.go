package lane

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
)

// windowFinished is a window at low in which from to to is finished.
func windowFinished(low, from, to int64) *offsets.Window {
	w := offsets.NewWindow(low)
	w.FinishRange(from, to)
	return w
}

func TestARevokeEndsAfterDrainAndCommitAtMost(t *testing.T) {
	for name, test := range map[string]struct {
		fault       func(*kafka)
		least, most time.Duration
		low         int64 // of the final commit
	}{
		"everything answers":      {func(*kafka) {}, 0, 0, 2},
		"deliveries take a while": {func(k *kafka) { k.slow = 2 * time.Second }, 2 * time.Second, 2 * time.Second, 2},
		"deliveries never answer": {func(k *kafka) { k.silent = true }, drainTimeout, drainTimeout + soon, 0},
		"commits never answer":    {func(k *kafka) { k.mute = true }, commitTimeout, commitTimeout + soon, 2},
		"neither of them does":    {func(k *kafka) { k.silent, k.mute = true, true }, drainTimeout, drainTimeout + commitTimeout + 2*soon, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(c *Config) { c.CommitInterval = time.Hour }, func(r *rig) {
				r.assign(0, 1)
				time.Sleep(time.Second)
				r.kafka.set(test.fault)
				r.fetched(assignment(0, 1), r.record(0, 0), r.record(1, 0), r.record(2, time.Hour))
				synctest.Wait()
				began, over := time.Now(), make(chan struct{})
				r.Revoke(assignment(0, 1), func() { close(over) })
				<-over
				if took := time.Since(began); took < test.least || took > test.most {
					t.Errorf("took %v, want %v to %v", took, test.least, test.most)
				}
				if low, _ := r.lastCommit(); low != test.low {
					t.Errorf("low offset %d committed last, want %d", low, test.low)
				}
				time.Sleep(time.Second)
				if s := r.Snapshot(); len(s.Partitions) != 0 || s.Parked != 0 {
					t.Errorf("%d partitions, %d parked after the sweep", len(s.Partitions), s.Parked)
				}
				r.kafka.set(func(k *kafka) { k.mute = false })
			})
		})
	}
}

func TestALostPartitionIsForgottenWithoutACommit(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(time.Second)
		r.kafka.set(func(k *kafka) { k.silent = true })
		r.fetched(assignment(0, 1), r.record(0, 0), r.record(1, time.Hour))
		synctest.Wait()
		_, before := r.lastCommit()
		over := make(chan struct{})
		r.Lost(assignment(0, 1), func() { close(over) })
		<-over
		time.Sleep(5 * time.Second)
		if _, at := r.lastCommit(); !at.Equal(before) {
			t.Error("something was committed for a membership that is gone")
		}
	})
}

func TestARevokedPartitionComesBackWithoutItsFormerDeliveries(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(time.Second)
		r.kafka.set(func(k *kafka) { k.silent = true })
		r.fetched(assignment(0, 1), r.record(0, 0))
		synctest.Wait()
		over := make(chan struct{})
		r.Revoke(assignment(0, 1), func() { close(over) })
		<-over
		r.kafka.set(func(k *kafka) { k.mute = true })
		r.assign(0, 2)
		r.fetched(assignment(0, 2), r.record(0, 0), r.record(1, time.Hour))
		synctest.Wait()
		r.seen().deliveries[0].done(nil) // of the former assignment, after all
		r.kafka.set(func(k *kafka) { k.silent = false; k.deliveries = nil })
		time.Sleep(time.Second)
		if s := r.Snapshot(); s.Partitions[0].Low != 0 || s.Partitions[0].Epoch != 2 {
			t.Errorf("view %+v: the new assignment delivered nothing", s.Partitions[0])
		}
		r.want()
	})
}

func TestWhatComesInOneTurnIsTakenInItsOrder(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		// The loop cannot turn in between: all of it is one mail, or in order anyway.
		r.assign(0, 1)
		r.fetched(assignment(0, 1), r.record(0, 0), r.record(1, 0))
		r.fetched(assignment(0, 1), r.record(2, 0))
		r.LogStart(assignment(0, 1), 10) // behind what is here already
		r.fetched(assignment(0, 1), r.record(10, 0))
		time.Sleep(time.Second)
		r.want("0", "1", "2", "10")
		if lost := r.Snapshot().LostToRetention; lost != 7 {
			t.Errorf("%d lost to retention, want 7", lost)
		}
		over := make(chan struct{})
		r.Lost(assignment(0, 1), func() { close(over) })
		r.fetched(assignment(0, 1), r.record(11, 0))
		r.assign(0, 2)
		r.fetched(assignment(0, 2), r.record(0, time.Second))
		<-over
		time.Sleep(2 * time.Second)
		r.want("0", "1", "2", "10", "0")
	})
}

func TestCommitsComeOnceAnIntervalAndOnlyWithNews(t *testing.T) {
	inBubble(t, nil, func(r *rig) {
		r.assign(0, 1)
		time.Sleep(10 * time.Second)
		if n := len(r.seen().committed); n != 1 {
			t.Errorf("%d commits without news, want that of the start position", n)
		}
		for o := range int64(100) {
			r.fetched(assignment(0, 1), r.record(o, 0))
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(r.seen().committed); n < 10 || n > 13 {
			t.Errorf("%d commits in 10 s of an interval of 1 s", n)
		}
	})
}
