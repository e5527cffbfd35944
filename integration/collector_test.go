package integration

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// arrival is one record as it came out.
type arrival struct {
	*kgo.Record
	received time.Time // by the clock of this process
}

// collector reads topics from their start for as long as the test lasts, and
// keeps all that comes.
type collector struct {
	f      *fixture
	topics []string

	mu       sync.Mutex
	arrivals []arrival
	distinct map[string]int // arrivals by key
	read     map[string]map[int32]int64
}

// collect starts a collector.
func (f *fixture) collect(topics ...string) *collector {
	f.Helper()
	c := &collector{f: f, topics: topics, distinct: make(map[string]int), read: make(map[string]map[int32]int64)}
	for _, topic := range topics {
		c.read[topic] = make(map[int32]int64)
	}
	client := f.kafka(
		kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(500*time.Millisecond), kgo.BrokerMaxReadBytes(256<<20),
	)
	go c.run(client) // ends when the fixture closes the client
	return c
}

func (c *collector) run(client *kgo.Client) {
	for {
		fetches := client.PollFetches(c.f.Context())
		if fetches.IsClientClosed() || c.f.Context().Err() != nil {
			return
		}
		now := time.Now()
		c.mu.Lock()
		fetches.EachRecord(func(r *kgo.Record) {
			c.arrivals = append(c.arrivals, arrival{r, now})
			c.distinct[string(r.Key)]++
			c.read[r.Topic][r.Partition] = r.Offset + 1
		})
		c.mu.Unlock()
	}
}

// count returns how many records came, and how many of them with a key that came
// before.
func (c *collector) count() (all, again int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.arrivals), len(c.arrivals) - len(c.distinct)
}

// await waits until n different records came.
func (c *collector) await(n int, within time.Duration) {
	c.f.Helper()
	got := 0
	defer func() {
		if got < n {
			c.f.Logf("%d of %d different records came", got, n)
		}
	}()
	eventually(c.f.T, within, fmt.Sprintf("%d different records", n), func() bool {
		all, again := c.count()
		got = all - again
		return got >= n
	})
}

// settle waits until everything is read that the topics hold now, so that a
// record that was delivered twice is seen twice.
func (c *collector) settle() {
	c.f.Helper()
	for _, topic := range c.topics {
		var ends map[int32]int64
		eventually(c.f.T, 30*time.Second, "the ends of "+topic+" are known", func() (known bool) {
			var err error
			ends, err = c.f.ends(topic)
			return err == nil
		})
		maps.DeleteFunc(ends, func(_ int32, end int64) bool { return end == 0 })
		eventually(c.f.T, 30*time.Second, "all of "+topic+" is read", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			for partition, end := range ends {
				if c.read[topic][partition] < end {
					return false
				}
			}
			return true
		})
	}
}

// all returns what came so far.
func (c *collector) all() []arrival {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.arrivals[:len(c.arrivals):len(c.arrivals)]
}
