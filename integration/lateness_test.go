package integration

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// It is not parallel, so that it runs while no other test does.
func TestLatenessOf100000RecordsWithDelaysSpreadOver20Seconds(t *testing.T) {
	long(t)
	const (
		records = 100_000
		warmUp  = 4_000
		spread  = 20 * time.Second
		// ahead is from the first record written to the first measured record due:
		// enough for all to be written and parked before.
		ahead = 8 * time.Second
	)
	f := onSharedBroker(t, 4)
	p := f.layover()
	out := f.collect(f.egress)
	l := f.newLedger()

	// The first deliveries of a process are slower than all that follow, because
	// connections are opened and code runs for the first time. They are part of the
	// ledger, not of the figures.
	base := time.Now().Truncate(time.Millisecond).Add(ahead)
	random := rand.New(rand.NewPCG(1, 2))
	batch := make([]*kgo.Record, 0, records+warmUp)
	for i := range warmUp {
		back := time.Duration(random.Int64N(2000)) * time.Millisecond
		batch = append(batch, l.at(fmt.Sprintf("warm-%d", i), base.Add(-back-time.Millisecond)))
	}
	for i := range records {
		in := time.Duration(random.Int64N(spread.Milliseconds())) * time.Millisecond
		batch = append(batch, l.at(fmt.Sprintf("main-%d", i), base.Add(in)))
	}
	f.produce(batch...)
	p.parks(records, time.Until(base))
	t.Logf("all parked %v before the first measured one is due", time.Until(base).Round(time.Millisecond))

	out.await(records+warmUp, time.Until(base)+spread+30*time.Second)
	bare := f.bareProduce(records/int(spread/time.Second), 5*time.Second)
	stamped, received := l.lateness(out.all(), "main-")
	t.Logf("lateness by the delivery's timestamp: %v", stamped)
	t.Logf("lateness by the receiver's clock:     %v", received)
	t.Logf("for comparison, a bare producer at that rate waits for its answers: %v", bare)
	p.terminate()
	out.settle()
	l.judge(out.all(), 0)
	f.reachesEnd(5 * time.Second)
}

// bareProduce writes records at a steady rate to a topic of its own and returns
// how long each took to be acknowledged. That is what this broker and this
// machine cost without Layover. The first second is left out.
func (f *fixture) bareProduce(perSecond int, during time.Duration) latenesses {
	f.Helper()
	topic := f.egress + ".bare"
	f.createTopic(topic, 4, nil)
	c := f.kafka(kgo.ProducerLinger(0))
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	took := make(chan time.Duration, perSecond*int(during/time.Second+1))
	began, sent := time.Now(), 0
	for now := range tick.C {
		elapsed := now.Sub(began)
		if elapsed > during {
			break
		}
		for ; sent < int(elapsed.Seconds()*float64(perSecond)); sent++ {
			at := time.Now()
			c.Produce(f.Context(), &kgo.Record{Topic: topic, Value: valueOf("bare")}, func(_ *kgo.Record, err error) {
				if err == nil && at.Sub(began) > time.Second {
					took <- time.Since(at)
				}
			})
		}
	}
	if err := c.Flush(f.Context()); err != nil {
		f.Fatal(err)
	}
	close(took)
	var l latenesses
	for d := range took {
		l = append(l, d)
	}
	return l
}
