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

// TestCopiesThatAreHeldLeaveOthersTheMemoryOfOtherLanes: those for a missing target take more than the
// lane's share, and the rest of the process has some left.
func TestCopiesThatAreHeldLeaveOthersTheMemoryOfOtherLanes(t *testing.T) {
	const held, others, process = 330, 5, 6 << 20
	plant := func(s *shelf) {
		s.share, s.process = 3<<20, process
		for i := range held + others {
			value, target, wait := fmt.Appendf(nil, "%d%s", i, strings.Repeat(".", 10_000)), "absent", time.Minute+time.Duration(i)*time.Second
			if i >= held {
				target, wait = "ready", 20*time.Minute
			}
			c := runs.Copy{Origin: runs.Origin{Offset: int64(1000 + i), TimestampMs: time.Now().UnixMilli()}, DeadlineMs: time.Now().Add(wait).UnixMilli(), Writer: 77, Run: 1}
			headers, _ := runs.AppendCopy([]kgo.RecordHeader{{Key: "x-deliver-to", Value: []byte(target)}}, nil, s.id(), &c, nil, value)
			s.put(&kgo.Record{Value: value, Headers: headers, Timestamp: time.Now()})
		}
		s.copied = nil
	}
	targets, err := delay.NewTargets("ready", []string{"absent"}, []string{"delayed"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	config := func(c *Config) {
		c.Core.HeldShare, c.Core.Patience = 1<<30, 12*time.Hour
		c.Rules = always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets})
	}
	shelved(t, config, plant, func(r *rig, s *shelf) {
		r.kafka.set(func(k *kafka) { k.class, k.fails = purgatory.Unavailable, "absent" })
		time.Sleep(25 * time.Minute)
		got := 0
		r.kafka.set(func(k *kafka) {
			for _, d := range k.deliveries {
				if d.target == "ready" {
					got++
				}
			}
		})
		if got != others || r.Bytes() > process+s.share/8 {
			r.Errorf("%d of the %d others are delivered, with %d bytes used", got, others, r.Bytes())
		}
	})
}
