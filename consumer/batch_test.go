package consumer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// bomb produces one batch of n records that takes 2 MiB decompressed to partition 0, and
// returns its first offset.
func (g *group) bomb(n int) int64 {
	g.Helper()
	cl := g.NewClient(kgo.ProducerBatchMaxBytes(10<<20), kgo.BrokerMaxWriteBytes(11<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()), kgo.ProducerLinger(time.Second))
	defer cl.Close()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: "t", Value: make([]byte, 2<<20/n)}
	}
	if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		g.Fatal(err)
	}
	if last := records[n-1].Offset; last-records[0].Offset != int64(n)-1 {
		g.Fatalf("%d records are at %d to %d", n, records[0].Offset, last)
	}
	return records[0].Offset
}

// lastUnread waits for so many batches that are not read, and returns the last.
func (m *one) lastUnread(g *group, n int) offsets.UnreadBatch {
	g.Helper()
	g.Until(20*time.Second, fmt.Sprintf("%d batches are not read", n), func() bool {
		m.notes.mu.Lock()
		defer m.notes.mu.Unlock()
		return len(m.unread) >= n
	})
	time.Sleep(10 * time.Second)
	m.notes.mu.Lock()
	defer m.notes.mu.Unlock()
	if len(m.unread) != n {
		g.Errorf("%d batches are not read, want %d", len(m.unread), n)
	}
	return m.unread[n-1]
}

// TestABatchThatIsTooLargeIsHandedOverByItsBounds, each time, and reading goes on behind it
// when it is told to, and not before. The others are read meanwhile.
func TestABatchThatIsTooLargeIsHandedOverByItsBounds(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		for round := range 3 {
			begin := g.produce(0, 3)
			first := g.bomb(5)
			end := g.produce(0, 3)
			other := g.produce(1, 3)
			b := m.lastUnread(g, round+1)
			if b.First != first || b.Last != first+4 || b.Records != 5 || b.Broken || b.Aborted || b.LeaderEpoch < 0 {
				t.Errorf("round %d: %+v, want %d to %d", round, b, first, first+4)
			}
			for _, part := range []string{fmt.Sprintf("t/0@%d", first), fmt.Sprintf("%d to %d", first, first+4), "gzip", "1048576", "LAYOVER_MAX_PARKED_BYTES"} {
				if !strings.Contains(b.Message, part) {
					t.Errorf("round %d: %s, want %q in it", round, b.Message, part)
				}
			}
			if v := m.view(0); v.Next != begin || v.Stopped != "" || m.view(1).Next != other {
				t.Errorf("round %d: at %+v, the other at %d", round, v, m.view(1).Next)
			}
			m.JumpBeyond(m.assignment(0), b.Last+1, b.LeaderEpoch)
			time.Sleep(5 * time.Second)
			got := m.offsetsOf(0)
			if v := m.view(0); v.Next != end || !slices.Equal(got[len(got)-3:], upTo(end-3, end)) || got[len(got)-4] != begin-1 {
				t.Errorf("round %d, behind it: at %+v, read %v", round, v, got)
			}
		}
	})
}

// TestABatchThatNobodyCanReadIsHandedOverByItsBounds, each time, and nothing stands for it.
func TestABatchThatNobodyCanReadIsHandedOverByItsBounds(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		for round := range 3 {
			first := g.produce(0, 3)
			g.ProduceBatch("t", kafkatest.Batch(func(*kmsg.RecordBatch) {}))
			end := g.produce(0, 3)
			other := g.produce(1, 3)
			b := m.lastUnread(g, round+1)
			if !b.Broken || b.First != first || b.Last != first+2 || b.LeaderEpoch != -1 || b.Records != 0 || !strings.Contains(b.Message, fmt.Sprintf("offset %d cannot be read", first)) {
				t.Errorf("round %d: %+v, want %d", round, b, first)
			}
			if v := m.view(0); v.Next != first || m.view(1).Next != other {
				t.Errorf("round %d: at %+v, the other at %d", round, v, m.view(1).Next)
			}
			m.JumpBeyond(m.assignment(0), first+3, -1) // an operator has left it out
			time.Sleep(5 * time.Second)
			if v := m.view(0); v.Next != end || len(m.offsetsOf(0)) != 6*(round+1) {
				t.Errorf("round %d, behind it: at %+v, read %v", round, v, m.offsetsOf(0))
			}
		}
	})
}

// TestAJumpAsksWhetherTheLogReachesThere, and stops the partition where it does not.
func TestAJumpAsksWhetherTheLogReachesThere(t *testing.T) {
	inGroup(t, func(g *group) {
		m := g.join(nil)
		g.owns(m, 3)
		end := g.produce(0, 3)
		time.Sleep(3 * time.Second)
		epoch := g.Broker.PartitionInfo("t", 0).Epoch
		for round := range 2 {
			m.SetPaused(true)
			time.Sleep(3 * time.Second)
			from := end
			end = g.produce(0, 20)
			asked := g.counts(kmsg.OffsetForLeaderEpoch, func() {
				m.Jump(m.assignment(0), from+10, epoch)
				time.Sleep(3 * time.Second)
			})
			m.SetPaused(false)
			time.Sleep(5 * time.Second)
			if got := m.offsetsOf(0); asked != 1 || m.view(0).Next != end || slices.Contains(got, from+9) || !slices.Contains(got, from+10) {
				t.Errorf("round %d: %d questions, read %v", round, asked, got)
			}
		}
		m.Jump(m.assignment(0), end+50, epoch)
		time.Sleep(3 * time.Second)
		if v := m.view(0); v.Reason != Truncated || v.Next != end || !strings.Contains(v.Stopped, fmt.Sprintf("truncated at %d, and all up to %d", end, end+50)) {
			t.Errorf("beyond the end: %+v", v)
		}
		if n := len(g.logs.Lines("level=ERROR", "partition stops reading", "truncated")); n != 1 {
			t.Errorf("said %d times, want 1", n)
		}
	})
}
