package consumer

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAPartitionThatWaitsForItsTurnDoesNotStandStill: a broker with much to read takes 1.5 s for each answer, which has
// records of one of its 30 partitions. Another broker has a few records a second.
func TestAPartitionThatWaitsForItsTurnDoesNotStandStill(t *testing.T) {
	for name, trickle := range map[string]bool{"it is alone": false, "beside another broker": true} {
		t.Run(name, func(t *testing.T) {
			const many = 30
			inGroup(t, func(g *group) {
				if _, _, err := g.Broker.AddNode(1, 9093); err != nil {
					t.Fatal(err)
				}
				var commits []kadm.Offset
				for p := range int32(3) {
					if err := g.Broker.MoveTopicPartition("t", p, 1); err != nil {
						t.Fatal(err)
					}
					commits = append(commits, kadm.Offset{Topic: "t", Partition: p, LeaderEpoch: -1})
				}
				cl := g.NewClient(kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
				defer cl.Close()
				for p := range int32(many) {
					if err := g.Broker.MoveTopicPartition("many", p, 0); err != nil {
						t.Fatal(err)
					}
					commits = append(commits, kadm.Offset{Topic: "many", Partition: p, LeaderEpoch: -1})
					for range 10 {
						if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: "many", Partition: p, Value: make([]byte, 60_000)}).FirstErr(); err != nil {
							t.Fatal(err)
						}
					}
				}
				g.Commit("g", commits...)
				var takes atomic.Int64
				takes.Store(int64(1500 * time.Millisecond))
				var mu sync.Mutex
				var conns []net.Conn
				g.Cleanup(func() {
					defer time.Sleep(10 * time.Second) // what is on its way
					mu.Lock()
					defer mu.Unlock()
					for _, c := range conns {
						c.Close()
					}
				})
				m := g.join(func(c *Config) {
					c.Topics, c.FetchMaxBytes = []string{"many", "t"}, 64<<10
					was := c.Options
					c.Options = func() []kgo.Opt {
						return append(was(), kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
							c, err := g.Net.DialContext(ctx, network, addr)
							if err != nil || !strings.HasSuffix(addr, ":9092") {
								return c, err
							}
							mu.Lock()
							defer mu.Unlock()
							conns = append(conns, newFar(c, &takes))
							return conns[len(conns)-1], nil
						}))
					}
				})
				for i := range 1500 {
					time.Sleep(200 * time.Millisecond)
					if trickle {
						g.produce(0, 1)
					}
					if i%25 == 0 {
						for _, v := range m.Status().Partitions {
							if v.Stopped != "" && v.Loaded {
								g.Fatalf("after %d s: %s/%d at %d: %s", i/5, v.Topic, v.Partition, v.Next, v.Stopped)
							}
						}
					}
				}
				read := int64(0)
				for _, v := range m.Status().Partitions {
					if v.Topic == "many" {
						read += v.Next
					}
				}
				g.Logf("%d of %d read", read, 10*many)
				takes.Store(0)
			}, kfake.SeedTopics(many, "many"))
		})
	}
}

// TestAPartitionThatStandsStillBesideShortPausesIsSaid: memory is at its bound, so that reading pauses for a moment now
// and then. In between the other partitions are read.
func TestAPartitionThatStandsStillBesideShortPausesIsSaid(t *testing.T) {
	for name, pauses := range map[string]bool{"without pauses": false, "a second's pause each quarter of a minute": true} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				m := g.join(func(c *Config) {
					was := c.Options
					c.Options = func() []kgo.Opt { return append(was(), kgo.Dialer(lagged(g.Cluster, 20*time.Millisecond))) }
				})
				g.owns(m, 3)
				time.Sleep(5 * time.Second)
				g.Refuse(kmsg.Fetch, kfake.Fault{Topic: "t", Partitions: []int32{0}, Err: kerr.KafkaStorageError})
				time.Sleep(2 * time.Second)
				g.produce(0, 10)
				said := false
				for i := range 600 {
					if pauses && i%15 == 0 {
						m.SetPaused(true)
					}
					time.Sleep(time.Second)
					m.SetPaused(false)
					if i%5 == 0 {
						g.produce(1, 1)
					}
					said = said || m.view(0).Stopped != ""
				}
				if n := len(m.offsetsOf(0)); n > 0 || len(m.offsetsOf(1)) != 120 || !said {
					g.Errorf("%d and %d read, and it is said in ten minutes: %v", n, len(m.offsetsOf(1)), said)
				}
			})
		})
	}
}
