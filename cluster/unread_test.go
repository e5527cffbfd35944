package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestARightToDescribeATargetThatIsTakenAwayAgainIsSaidAgain, and once each time.
func TestARightToDescribeATargetThatIsTakenAwayAgainIsSaidAgain(t *testing.T) {
	inBubble(t, func(c *Config) { c.Targets = []string{"ready"} }, func(w *fixture) {
		w.create("ready")
		for round := range 3 {
			refused := w.Refuse(kmsg.DescribeConfigs, kfake.Fault{Resource: "ready", Err: kerr.TopicAuthorizationFailed})
			time.Sleep(5 * time.Minute)
			if n := strings.Count(w.logs.String(), "largest batch of a target is not known"); n != round+1 {
				t.Errorf("round %d: said %d times", round+1, n)
			}
			refused.Remove()
			time.Sleep(5 * time.Minute)
		}
	})
}
