package lane

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/delay"
	"layover/journal/runs"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// putBoth puts copies of 10 kB for two targets. Those for absent are due one by one, from a minute on. Those for ready
// come behind them, in a run of that number, and are due together.
func (s *shelf) putBoth(absent, ready int, every, together time.Duration, run uint64) {
	for i := range absent + ready {
		target, wait, in := "absent", time.Minute+time.Duration(i)*every, uint64(1)
		if i >= absent {
			target, wait, in = "ready", together, run
		}
		value := fmt.Appendf(nil, "%d%s", i, strings.Repeat(".", 10_000))
		c := runs.Copy{Origin: runs.Origin{Offset: int64(1000 + i), TimestampMs: time.Now().UnixMilli()}, DeadlineMs: time.Now().Add(wait).UnixMilli(), Writer: 77, Run: in}
		headers, _ := runs.AppendCopy([]kgo.RecordHeader{{Key: "x-deliver-to", Value: []byte(target)}}, nil, s.id(), &c, nil, value)
		s.put(&kgo.Record{Value: value, Headers: headers, Timestamp: time.Now()})
	}
	s.copied = nil
}

// toBoth lets records choose absent, whose share of memory is given.
func toBoth(t *testing.T, share int64) func(*Config) {
	targets, err := delay.NewTargets("ready", []string{"absent"}, []string{"delayed"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) {
		c.Core.HeldShare, c.Core.Patience = share, 12*time.Hour
		c.Rules = always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets})
	}
}

// handed returns how many records a target was given.
func (r *rig) handed(target string) (n int) {
	r.kafka.set(func(k *kafka) {
		for _, d := range k.deliveries {
			if d.target == target {
				n++
			}
		}
	})
	return n
}

// TestCopiesThatAreHeldLeaveOthersTheMemoryOfOtherLanes: those for a missing target take more than the
// lane's share, and the rest of the process has some left.
func TestCopiesThatAreHeldLeaveOthersTheMemoryOfOtherLanes(t *testing.T) {
	const held, others, process = 330, 5, 6 << 20
	plant := func(s *shelf) {
		s.share, s.process = 3<<20, process
		s.putBoth(held, others, time.Second, 20*time.Minute, 1)
	}
	shelved(t, toBoth(t, 1<<30), plant, func(r *rig, s *shelf) {
		r.kafka.set(func(k *kafka) { k.class, k.fails = purgatory.Unavailable, "absent" })
		time.Sleep(25 * time.Minute)
		if got := r.handed("ready"); got != others || r.Bytes() > process+s.share/8 {
			r.Errorf("%d of the %d others are delivered, with %d bytes used", got, others, r.Bytes())
		}
	})
}

// TestCopiesForATargetThatRefusesAllLeaveOthersTheMemory as those for one that is forbidden do.
func TestCopiesForATargetThatRefusesAllLeaveOthersTheMemory(t *testing.T) {
	for _, class := range []purgatory.Class{purgatory.Unavailable, purgatory.Rejected} {
		const refused, others, process = 6000, 5, 12 << 20
		plant := func(s *shelf) {
			s.share, s.process = 3<<20, process // of four lanes
			s.putBoth(refused, others, time.Millisecond, 5*time.Minute, 2)
		}
		shelved(t, toBoth(t, process/4), plant, func(r *rig, _ *shelf) {
			r.kafka.set(func(k *kafka) { k.class, k.fails, k.slow = class, "absent", 50*time.Millisecond })
			time.Sleep(5*time.Minute + 30*time.Second)
			if got := r.handed("ready"); got != others {
				r.Errorf("class %d: %d of the %d others are delivered half a minute after they are due, with %d bytes used", class, got, others, r.Bytes())
			}
		})
	}
}
