package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/verify/long"
)

// TestABrokerThatIsBackWithinTheSessionTimeoutCostsNoPartition: its host refuses connections, as where a broker
// restarts. What is in flight stays there, and nothing comes twice. After a longer time the group may have given the
// partitions to others, and all is read again. The client tries for half a minute at most.
func TestABrokerThatIsBackWithinTheSessionTimeoutCostsNoPartition(t *testing.T) {
	cases := []struct {
		session, away time.Duration
		keeps         bool
	}{
		{10 * time.Second, 7 * time.Second, true},
		{10 * time.Second, 30 * time.Second, false},
		{2 * time.Minute, 25 * time.Second, true},
		{2 * time.Minute, time.Minute, false},
	}
	for _, c := range cases[:long.Of(len(cases), 2)] {
		t.Run(fmt.Sprint(c.away, c.session), func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_SESSION_TIMEOUT=" + c.session.String())
				in.ready()
				w.sendMany(0, 0, 600, delays(2*time.Minute, 600))
				time.Sleep(30 * time.Second)
				in.wire.refuse()
				time.Sleep(c.away)
				in.wire.mend()
				w.Until(3*time.Minute, "all are delivered", func() bool { return len(w.values(egress)) >= 600 })
				time.Sleep(10 * time.Second)
				w.notEarly(w.Records(egress))
				if c.keeps {
					w.exactly(egress, 0, 600, 0)
				}
				if lost := strings.Contains(in.logs.String(), "partitions lost"); lost == c.keeps {
					t.Errorf("partitions are lost: %v", lost)
				}
				in.stop()
				w.committed(0, 600)
			})
		})
	}
}

// TestStoppingWhileABrokerIsDownTakesNoLonger: the group cannot be told.
func TestStoppingWhileABrokerIsDownTakesNoLonger(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_SESSION_TIMEOUT=1m")
		in.ready()
		w.sendMany(0, 0, 10, delays(time.Minute, 10))
		time.Sleep(30 * time.Second)
		in.wire.refuse()
		time.Sleep(3 * time.Second)
		before := time.Now()
		in.stop()
		if took := time.Since(before); took > 8*time.Second {
			t.Errorf("stopping without a broker took %v", took)
		}
	})
}
