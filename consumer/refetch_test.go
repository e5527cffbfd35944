package consumer

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestABatchThatIsDamagedOnItsWayHidesNoTruncation: the log is truncated below the read position and written anew, after
// an unclean election, while a batch is fetched again that came damaged.
func TestABatchThatIsDamagedOnItsWayHidesNoTruncation(t *testing.T) {
	for _, damage := range []bool{false, true} {
		t.Run(fmt.Sprint(damage), func(t *testing.T) {
			inGroup(t, func(g *group) {
				var damages atomic.Bool
				m := g.joinDamaged(&damages)
				g.owns(m, 3)
				end := g.produce(0, 5)
				g.Until(10*time.Second, "it is read", func() bool { return m.reads(0, end) })
				if damage {
					damages.Store(true)
					g.Produce(&kgo.Record{Topic: "t", Value: []byte("a fragile value")})
					g.Until(10*time.Second, "it is fetched again", func() bool { return len(g.logs.Lines("at a batch that its broker has whole")) > 1 })
				}
				g.Answer(kmsg.OffsetForLeaderEpoch, func(r kmsg.Request) kmsg.Response {
					req := r.(*kmsg.OffsetForLeaderEpochRequest)
					resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
					for _, t := range req.Topics {
						rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
						rt.Topic = t.Topic
						for _, p := range t.Partitions {
							rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
							rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, p.LeaderEpoch, end-2
							rt.Partitions = append(rt.Partitions, rp)
						}
						resp.Topics = append(resp.Topics, rt)
					}
					return resp
				})
				if err := g.Broker.MoveTopicPartition("t", 0, 0); err != nil {
					t.Fatal(err)
				}
				damages.Store(false)
				g.produce(0, 3)
				time.Sleep(2 * time.Minute)
				if v := m.view(0); v.Reason != Truncated || !strings.Contains(v.Stopped, "truncated") || int64(len(m.offsetsOf(0))) != end {
					t.Errorf("%+v, read %v: the log of the former epoch ends at %d, and what was written anew from there on was never read", v, m.offsetsOf(0), end-2)
				}
			})
		})
	}
}

// TestABatchNobodyIsToReadThatIsDamagedOnItsWayIsFetchedMoreAndMoreRarely, as any other is: an aborted one at the end of
// the log. Nothing waits behind it, so the partition is well, and what comes is read.
func TestABatchNobodyIsToReadThatIsDamagedOnItsWayIsFetchedMoreAndMoreRarely(t *testing.T) {
	inGroup(t, func(g *group) {
		var damages atomic.Bool
		var looks atomic.Int64
		m := g.joinDamaged(&damages)
		g.owns(m, 3)
		end := g.produce(0, 3)
		g.Until(10*time.Second, "it is read", func() bool { return m.reads(0, end) })
		damages.Store(true)
		cl := g.NewClient(kgo.TransactionalID("x"), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
		defer cl.Close()
		g.Answer(kmsg.Fetch, func(r kmsg.Request) kmsg.Response {
			for _, t := range r.(*kmsg.FetchRequest).Topics {
				for _, p := range t.Partitions {
					if p.PartitionMaxBytes == 1 {
						looks.Add(1)
					}
				}
			}
			return nil
		})
		for looks.Load() == 0 { // until one is damaged before the client knows that it is an aborted one
			abort(t, cl, &kgo.Record{Topic: "t", Value: []byte("a fragile value")})
			time.Sleep(time.Minute)
		}
		looks.Store(0)
		time.Sleep(10 * mostRefetch)
		if n := looks.Load(); n == 0 || n > 40 || m.view(0).Stopped != "" {
			t.Errorf("its batches were asked for %d times in five minutes, want 3 each 30 s; %+v", n, m.view(0))
		}
		damages.Store(false)
		end = g.produce(0, 1)
		g.Until(mostRefetch+10*time.Second, "what comes is read", func() bool { return m.reads(0, end) })
	})
}

// abort produces a record in a transaction that is aborted.
func abort(t *testing.T, cl *kgo.Client, r *kgo.Record) {
	t.Helper()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := cl.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}
