package integration

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestNothingIsMovedBesideAnOlderRelease: a member that lists cooperative-sticky alone may become the
// owner of what was moved, and knows of none of it. Records are moved when it has left.
func TestNothingIsMovedBesideAnOlderRelease(t *testing.T) {
	long(t)
	t.Parallel()
	const far, near = 12_000, 200
	f := onSharedBroker(t, 2)
	start := make(kadm.Offsets) // an older release has committed it, whoever has the first partition
	start.AddOffset(f.ingress, 0, 0, -1)
	start.AddOffset(f.ingress, 1, 0, -1)
	if err := f.admin.CommitAllOffsets(t.Context(), f.group, start); err != nil {
		t.Fatal(err)
	}
	older := f.kafka(kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.ConsumerGroup(f.group), kgo.ConsumeTopics(f.ingress),
		kgo.DisableAutoCommit(), kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(time.Second))
	p := f.layover("LAYOVER_MAX_PARKED_BYTES=2Mi")
	f.speaks("cooperative-sticky", 2, 2)
	out, l := f.collect(f.egress), f.newLedger()
	began := time.Now()
	f.produce(l.within("far", far, 100*time.Second, 110*time.Second)...)
	f.produce(l.within("near", near, time.Second, 5*time.Second)...)
	p.says(30*time.Second, "sick", "older_member", "Upgrade every member")
	eventually(t, time.Minute, "30 s are over", func() bool { return time.Since(began) > 30*time.Second })
	s := p.status()
	if s.Runs.Moved+s.Runs.Moving > 0 || s.Runs.Topics[0].Reason != "older_member" || s.Parked.Records < 2000 {
		t.Errorf("%d moved, %d parked, the reason is %q", s.Runs.Moved, s.Parked.Records, s.Runs.Topics[0].Reason)
	}
	older.Close()
	f.speaks("layover-2", 1, 2)
	eventually(t, 20*time.Second, "records are moved", func() bool { return p.status().Runs.Moved > 1000 })
	out.await(far+near, 3*time.Minute)
	f.reachesEnd(20 * time.Second)
	p.terminate()
	out.settle()
	l.judge(out.all(), 0)
}
