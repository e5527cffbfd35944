package integration

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// spread enters n records that are due at random within a time, and writes them.
func (f *fixture) spread(l *ledger, n int, from time.Time, over time.Duration) {
	f.Helper()
	rng := rand.New(rand.NewPCG(6, 1))
	for n > 0 {
		batch := make([]*kgo.Record, min(n, 20_000))
		for i := range batch {
			n--
			due := from.Add(time.Duration(rng.Int64N(int64(over)))).Truncate(time.Millisecond)
			batch[i] = l.at(fmt.Sprintf("%d-%d", i, n), due)
		}
		f.produce(batch...)
	}
}

// TestTenKillsAmongRandomDelaysRepeatNoMoreThanTheirBound: sets of delays like these fill
// commit metadata within a second or two.
func TestTenKillsAmongRandomDelaysRepeatNoMoreThanTheirBound(t *testing.T) {
	long(t)
	const (
		records = 500_000
		over    = 2 * time.Minute
		kills   = 10
		// What may finish between the look at /status and the kill.
		slack = records / int(over/time.Second) / 4
	)
	f := onSharedBroker(t, 4)
	// A static member takes its place again at once.
	settings := "LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0"
	p := f.layover(settings)
	out := f.collect(f.egress)
	l := newLedger()
	begin := time.Now().Add(15 * time.Second)
	f.spread(l, records, begin, over)
	bound, again := 0, 0
	for kill := range kills {
		at := begin.Add(over * time.Duration(kill+1) / (kills + 1))
		eventually(t, over, "the next kill", func() bool { return time.Now().After(at) })
		s := p.status()
		p.kill()
		began := time.Now()
		p = f.layover(settings)
		ready := time.Since(began)
		eventually(t, time.Minute, "something is delivered again", func() bool { return p.status().Parked.Records > 0 })
		after := p.status()
		out.settle()
		_, now := out.count()
		t.Logf("kill %d: /status said %d may repeat; ready after %v, of which the journal took %d ms for %d records; so far %d came again",
			kill, s.Duplicates.Total, ready.Round(time.Millisecond), after.Journal.LastMs, after.Journal.Restored, now)
		if kill > 0 && s.Assignments[0].Set != "journal" {
			t.Errorf("kill %d: the finished set is in %q", kill, s.Assignments[0].Set)
		}
		bound += int(s.Duplicates.Total) + slack
	}
	out.await(records, 3*time.Minute)
	f.reachesEnd(20 * time.Second)
	s := p.status()
	t.Logf("journal: %+v", s.Journal)
	if s.Counters.Unaccounted != 0 {
		t.Errorf("%d records unaccounted for", s.Counters.Unaccounted)
	}
	p.terminate()
	out.settle()
	_, again = out.count()
	t.Logf("%d came again after %d kills", again, kills)
	l.verify(t, out.all(), bound)
}
