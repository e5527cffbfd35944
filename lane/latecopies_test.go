package lane

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLateCopiesThatWaitForTurnsLeaveOthersTheMemory: with a rate, late copies wait for their turns for hours. What
// is due now goes past them: memory is free.
func TestLateCopiesThatWaitForTurnsLeaveOthersTheMemory(t *testing.T) {
	const late, others, process = 2000, 5, 64 << 20
	plant := func(s *shelf) {
		s.share, s.process = 3<<20, process
		s.putBoth(late, others, 10*time.Millisecond, 20*time.Minute, 2)
	}
	edit := func(c *Config) {
		toBoth(t, process/4)(c)
		c.CatchUp = NewCatchUp(1)
	}
	shelved(t, edit, plant, func(r *rig, s *shelf) {
		r.kafka.set(func(k *kafka) { k.noLease = true }) // nothing is delivered for a while
		time.Sleep(2 * time.Minute)
		r.kafka.set(func(k *kafka) { k.noLease = false })
		time.Sleep(19 * time.Minute)
		if got := r.handed("ready"); got != others {
			r.Errorf("%d of the %d others are delivered a minute after they are due, with %d bytes of %d used; %d late ones were delivered", got, others, r.Bytes(), process, r.handed("absent"))
		}
	})
}

// TestLateCopiesThatWaitForTurnsLeaveAQuarterFree, so reading the ingress topic does not pause for them.
func TestLateCopiesThatWaitForTurnsLeaveAQuarterFree(t *testing.T) {
	const late, share = 1000, 4 << 20
	plant := func(s *shelf) {
		s.share = share
		s.putBoth(late, 0, 10*time.Millisecond, 0, 2)
	}
	edit := func(c *Config) {
		toBoth(t, share/4)(c)
		c.CatchUp = NewCatchUp(1)
	}
	shelved(t, edit, plant, func(r *rig, s *shelf) {
		r.kafka.set(func(k *kafka) { k.noLease = true })
		time.Sleep(2 * time.Minute)
		r.kafka.set(func(k *kafka) { k.noLease = false })
		time.Sleep(time.Minute)
		synctest.Wait()
		if used := r.Bytes(); used < share*5/8 || used > share*13/16 {
			r.Errorf("%d bytes are used of %d", used, share)
		}
		time.Sleep(30 * time.Minute)
		if got := r.handed("absent"); got != late {
			r.Errorf("%d are delivered, want %d", got, late)
		}
	})
}
