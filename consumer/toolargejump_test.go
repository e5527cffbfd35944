package consumer

import (
	"context"
	"slices"
	"testing"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestABatchTooLargeBehindAJumpPassesNoRecordOver: a poll has the error of a batch too large. Before the poll is handed
// over, a jump beyond that batch is carried out, as all up to there is finished. The jump goes into the middle of a
// batch that can be read. Another batch too large, of the same size, stands behind it.
func TestABatchTooLargeBehindAJumpPassesNoRecordOver(t *testing.T) {
	inGroup(t, func(g *group) {
		cl := g.NewClient(kgo.ProducerBatchMaxBytes(10<<20), kgo.BrokerMaxWriteBytes(11<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(time.Second))
		defer cl.Close()
		if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: "t", Value: make([]byte, 1<<20-1000)}).FirstErr(); err != nil { // 0
			t.Fatal(err)
		}
		g.bomb(5) // 1 to 5
		var ten []*kgo.Record
		for range 10 { // 6 to 15
			ten = append(ten, &kgo.Record{Topic: "t", Value: []byte("x")})
		}
		if err := cl.ProduceSync(context.Background(), ten...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		second := g.bomb(5) // 16 to 20
		end := g.produce(0, 3)
		g.Commit("g", kadm.Offset{Topic: "t", Partition: 0, At: 0, LeaderEpoch: -1}, kadm.Offset{Topic: "t", Partition: 1, At: 0, LeaderEpoch: -1}, kadm.Offset{Topic: "t", Partition: 2, At: 0, LeaderEpoch: -1})

		m := g.join(func(c *Config) { c.ReadingBudget = 1000 })
		m.notes.mu.Lock()
		m.keep = true // as while a lane is busy
		m.notes.mu.Unlock()
		time.Sleep(20 * time.Second)
		t.Logf("read %v, second bomb at %d, end %d", m.offsetsOf(0), second, end)
		m.Jump(m.assignment(0), 10, -1) // record 0 is parked, and all of 1 to 9 is finished
		time.Sleep(time.Second)
		m.notes.mu.Lock()
		m.keep = false
		kept := m.kept
		m.notes.mu.Unlock()
		m.Consumed(kept)
		time.Sleep(20 * time.Second)
		m.notes.mu.Lock()
		unread := append([]offsets.UnreadBatch(nil), m.unread...)
		m.notes.mu.Unlock()
		read := m.offsetsOf(0)
		t.Logf("read %v, unread %+v", read, unread)
		for _, b := range unread {
			if b.First == second && !slices.Contains(read, 10) {
				t.Errorf("the batch at %d is handed over, and 10 to 15 were not: read is %v", b.First, read)
			}
		}
	})
}
