package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestAGracefulRestartWith10000ParkedLosesNothingAndRepeatsNothing(t *testing.T) {
	long(t)
	const parked, before = 10_000, 2_000
	f := onSharedBroker(t, 4)
	p := f.layover()
	out := f.collect(f.egress)
	l := f.newLedger()

	base := time.Now().Truncate(time.Millisecond).Add(20 * time.Second)
	var records []*kgo.Record
	for i := range parked {
		// Some are due while nobody runs, most afterwards.
		records = append(records, l.at(fmt.Sprintf("parked-%d", i), base.Add(time.Duration(i%5000)*time.Millisecond)))
		if i%(parked/before) == 0 { // delivered in between, so that the finished set has holes
			records = append(records, l.delayed(fmt.Sprintf("before-%d", i), 500*time.Millisecond))
		}
	}
	f.produce(records...)
	out.await(before, 15*time.Second)
	p.parks(parked, 5*time.Second)
	p.terminate()

	eventually(t, 30*time.Second, "the first parked ones are due", func() bool { return time.Now().After(base) })
	p = f.layover()
	s := p.status()
	t.Logf("after the restart: %d read, %d of them finished before, %d jumped over", s.Counters.Consumed, s.Counters.Skipped, s.Counters.Jumped)
	out.await(parked+before, 30*time.Second)
	f.reachesEnd(10 * time.Second)
	p.terminate()
	out.settle()
	l.judge(out.all(), 0)
}

func TestAKillInTheMiddleOfABurstLosesNothing(t *testing.T) {
	long(t)
	const (
		records    = 30_000
		perSecond  = 5_000
		partitions = 2
		commit     = 250 * time.Millisecond
		// What finished since the last commit, which is at most one interval and the
		// time a commit takes ago, and what was in flight. The records of a partition
		// finish about in the order of their offsets, so all that is finished fits into
		// the metadata.
		bound = 2*perSecond*int(commit/time.Millisecond)/1000 + 1000*partitions
	)
	f := onSharedBroker(t, partitions)
	p := f.layover("LAYOVER_COMMIT_INTERVAL=" + commit.String())
	out := f.collect(f.egress)
	l := f.newLedger()
	f.produce(l.steady("burst", records, perSecond, 4*time.Second)...)
	out.await(records/3, 30*time.Second)
	said := p.status().Duplicates.Total
	p.kill()
	all, _ := out.count()
	t.Logf("killed with about %d delivered; /status had just said that a kill may repeat %d", all, said)

	p = f.layover("LAYOVER_COMMIT_INTERVAL=" + commit.String())
	out.await(records, 60*time.Second)
	f.reachesEnd(10 * time.Second)
	if n := p.status().Counters.Unaccounted; n != 0 {
		t.Errorf("%d records unaccounted for", n)
	}
	p.terminate()
	out.settle()
	l.judge(out.all(), bound)
}

func TestARecordParkedForAnHourPinsNothingOfThe50000BehindIt(t *testing.T) {
	long(t)
	const (
		records   = 50_000
		perSecond = 10_000
		// As in the test above, with the default interval of a second.
		bound = 2*perSecond + 1000
	)
	f := onSharedBroker(t, 1)
	// A static member takes its place again at once. So the time to be ready is
	// Layover's and not that of the session that has to end first.
	settings := "LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0"
	p := f.layover(settings)
	out := f.collect(f.egress)
	l := f.newLedger()
	f.produce(l.delayed("hour", time.Hour))
	f.produce(l.steady("behind", records, perSecond, 5*time.Second)...)

	out.await(records*4/5, 60*time.Second)
	p.kill()
	began := time.Now()
	p = f.layover(settings)
	t.Logf("killed while delivering: ready after %v, %d read again, %d jumped over",
		time.Since(began).Round(time.Millisecond), p.status().Counters.Consumed, p.status().Counters.Jumped)
	out.await(records, 60*time.Second)
	out.settle()
	_, firstAgain := out.count()

	// Once what was delivered is committed, a kill repeats nothing.
	eventually(t, 10*time.Second, "all that is finished is committed", func() bool {
		s := p.status()
		return s.Parked.Records == 1 && s.InFlight == 0 && s.Duplicates.Total == 0
	})
	p.kill()
	began = time.Now()
	p = f.layover(settings)
	ready := time.Since(began)
	s := p.status()
	t.Logf("killed afterwards: ready after %v, %d read again, %d jumped over", ready.Round(time.Millisecond), s.Counters.Consumed, s.Counters.Jumped)
	if ready > 10*time.Second {
		t.Errorf("ready after %v: the record that waits keeps the others from being passed", ready)
	}
	if s.Parked.Records != 1 || s.Counters.Consumed-s.Counters.Skipped != 1 {
		t.Errorf("%d parked, %d read again and not finished; want only the one that waits", s.Parked.Records, s.Counters.Consumed-s.Counters.Skipped)
	}
	p.terminate()
	out.settle()
	if _, again := out.count(); again != firstAgain {
		t.Errorf("%d came again after all was committed", again-firstAgain)
	}
	l.judge(out.all(), bound, "hour")
	if at, err := f.committed(); err != nil || at[0] != 0 {
		t.Errorf("the group's offsets are %v (%v), beyond the record that waits at 0", at, err)
	}
}
