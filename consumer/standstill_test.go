package consumer

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"layover/cluster"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAPartitionStandsStillWhileNothingElseExplainsIt, and what is known of it holds for one read position.
func TestAPartitionStandsStillWhileNothingElseExplainsIt(t *testing.T) {
	const most = int(standsFor / endsEvery) // looks after the first that are too early
	unread := map[offsets.TopicPartition]int64{{Topic: "delayed"}: 105}
	for name, test := range map[string]struct {
		ends, stable map[offsets.TopicPartition]int64
		change       func(o *owned, look int)
		silent       bool
		behind       bool
	}{
		"records are unread":               {ends: unread, stable: unread, behind: true},
		"the end is not told":              {silent: true},
		"whether they are committed":       {ends: unread},
		"a transaction is open":            {ends: unread, stable: map[offsets.TopicPartition]int64{{Topic: "delayed"}: 100}},
		"it has not begun":                 {ends: unread, stable: unread, change: func(o *owned, _ int) { o.loaded = false }},
		"it is stopped":                    {ends: unread, stable: unread, change: func(o *owned, _ int) { o.stop(Unreadable, "x", 100, time.Now()) }},
		"it was read on":                   {ends: unread, stable: unread, change: func(o *owned, look int) { o.next = 100 + int64(look/most) }},
		"batches without a record":         {ends: unread, stable: unread, change: func(o *owned, look int) { o.stands.from = 105 }},
		"nothing is unread":                {ends: map[offsets.TopicPartition]int64{{Topic: "delayed"}: 100}, change: func(o *owned, _ int) { o.end = 100 }},
		"nothing is unread, then not told": {change: func(o *owned, look int) { o.end = 100 }, silent: true},
	} {
		rows, now := unreadRows(5), time.Now()
		for look := range most + 1 {
			if test.change != nil {
				test.change(rows.of(0), look)
			}
			got := rows.standing(test.ends, test.stable, time.Time{}, true, now)
			if last := look == most; (len(got.silent) > 0) != (last && test.silent) || (len(got.behind) > 0) != (last && test.behind) {
				t.Errorf("%s, look %d: %+v", name, look, got)
			}
			now = now.Add(endsEvery)
		}
	}
}

// TestAPauseIsNoStandstill: only the time counts in which reading goes on.
func TestAPauseIsNoStandstill(t *testing.T) {
	rows, now := unreadRows(5), time.Now()
	ends := map[offsets.TopicPartition]int64{{Topic: "delayed"}: 105}
	resumed := time.Time{}
	look := func(after time.Duration, reading bool) int {
		now = now.Add(after)
		return len(rows.standing(ends, ends, resumed, reading, now).behind)
	}
	look(0, true)
	if look(standsFor/2, true)+look(standsFor, false)+look(standsFor, false) != 0 {
		t.Error("while reading is paused")
	}
	if resumed = now; look(standsFor/4, true) != 0 {
		t.Error("half of standsFor, and a quarter after the pause")
	}
	if resumed = now.Add(standsFor / 4); look(standsFor/2-1, true) != 0 { // and a pause between two looks
		t.Error("just before standsFor")
	}
	if look(1, true) != 1 {
		t.Error("standsFor without the pauses")
	}
}

// TestWhileThePollLoopIsBusyNothingStandsStill: nobody takes what the client has fetched, and nothing was paused.
func TestWhileThePollLoopIsBusyNothingStandsStill(t *testing.T) {
	rows, now := unreadRows(5), time.Now()
	ends := map[offsets.TopicPartition]int64{{Topic: "delayed"}: 105}
	look := func(after time.Duration, reading bool) int {
		now = now.Add(after)
		return len(rows.standing(ends, ends, time.Time{}, reading, now).behind)
	}
	for _, step := range []struct {
		after   time.Duration
		reading bool
		behind  int
	}{
		{0, true, 0}, {standsFor / 2, true, 0}, {standsFor, false, 0}, {standsFor / 4, true, 0}, {standsFor, false, 0}, {standsFor/4 - 1, true, 0}, {1, true, 1},
	} {
		if got := look(step.after, step.reading); got != step.behind {
			t.Errorf("%v later, reading goes on: %v: %d stand still, want %d", step.after, step.reading, got, step.behind)
		}
	}
}

// TestACauseCountsWhenItIsFoundTwice, and where the client may be about to read a partition only if it passes over it.
func TestACauseCountsWhenItIsFoundTwice(t *testing.T) {
	for name, test := range map[string]struct {
		change     func(rows *ownership, since time.Time)
		leaderless bool
		certain    bool
		said       bool
	}{
		"the broker refuses": {certain: true, said: true},
		"nothing is read":    {said: true},
		"another is read":    {change: func(rows *ownership, since time.Time) { rows.of(1).lastRead = since.Add(15 * time.Second) }},
		"another was read":   {said: true, change: func(rows *ownership, since time.Time) { rows.of(1).lastRead = since.Add(standsFor - 2*endsEvery) }},
		"another is read to its end": {change: func(rows *ownership, since time.Time) {
			rows.of(1).lastRead, rows.of(1).next = since.Add(15*time.Second), 105
		}},
		"nothing else is behind": {said: true, change: func(rows *ownership, since time.Time) {
			rows.of(1).lastRead, rows.of(1).next, rows.of(2).next = since.Add(15*time.Second), 105, 105
		}},
		"one of another leader": {said: true, change: func(rows *ownership, since time.Time) { rows.of(3).lastRead = since.Add(15 * time.Second) }},
		"another is read for long": {said: true, change: func(rows *ownership, since time.Time) {
			rows.of(1).lastRead, rows.of(0).stands.since = since.Add(15*time.Second), since.Add(standsFor-standsTurn)
		}},
		"there is no leader": {certain: true, leaderless: true},
		"it was read on":     {certain: true, change: func(rows *ownership, _ time.Time) { rows.of(0).next++ }},
	} {
		rows, since := unreadRows(5, 5, 5, 5), time.Now()
		led := cluster.Located{}
		for tp := range rows.rows {
			led[tp] = cluster.Bounds{Leader: tp.Partition / 3}
		}
		o := rows.of(0)
		o.stands = standstill{next: 100, from: 100, since: since}
		if test.leaderless {
			led[o.TopicPartition] = cluster.Bounds{Err: errors.New("none")}
		}
		if test.change != nil {
			test.change(rows, since)
		}
		for look := 1; look <= 3; look++ {
			rows.found(o.Assignment, led, "why", test.certain, since.Add(standsFor))
			v := rows.status(since).Partitions[0]
			if said := look >= standsLooks && test.said; (v.Reason == Failing) != said || said && (!v.Since.Equal(o.stands.since) || !v.Trying || v.Stopped != "nothing is read, trying again: why") {
				t.Errorf("%s, look %d: %+v", name, look, v)
			}
		}
	}
}

// TestAFetchThatIsRefusedWithoutAWordIsSaid, each time, and ends by itself. Its neighbours are well.
func TestAFetchThatIsRefusedWithoutAWordIsSaid(t *testing.T) {
	inGroup(t, func(g *group) {
		slowly := func(c *Config) {
			c.Options = func() []kgo.Opt { return append(g.Options(), kgo.Dialer(lagged(g.Cluster, 10*time.Millisecond))) }
		}
		m := g.join(slowly)
		g.owns(m, 3)
		for round := range 2 {
			refused := g.Refuse(kmsg.Fetch, kfake.Fault{Topic: "t", Partitions: []int32{0}, Err: kerr.KafkaStorageError})
			time.Sleep(2 * time.Second)
			g.produce(0, 3)
			end := g.produce(1, 3)
			time.Sleep(standsFor)
			if v := m.view(0); v.Stopped != "" {
				t.Errorf("round %d, early: %+v", round, v)
			}
			time.Sleep(3 * endsEvery)
			if v := m.view(0); v.Reason != Failing || !v.Trying || m.view(1).Reason != "" || m.view(1).Next != end || m.view(2).Reason != "" {
				t.Errorf("round %d: %+v, and its neighbours %+v, %+v", round, v, m.view(1), m.view(2))
			}
			refused.Remove()
			time.Sleep(10 * time.Second)
			if v := m.view(0); v.Reason != "" || v.Next != end {
				t.Errorf("round %d, over: %+v", round, v)
			}
		}
	})
}

// lagged is the way to a cluster with a pause before each write.
func lagged(c *kafkatest.Cluster, pause time.Duration) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := c.Net.DialContext(ctx, network, addr)
		return lag{conn, pause}, err
	}
}

type lag struct {
	net.Conn
	pause time.Duration
}

func (l lag) Write(b []byte) (int, error) {
	time.Sleep(l.pause)
	return l.Conn.Write(b)
}

// TestManyPartitionsWithMuchToReadAreNoStandstill: each has its turn, which comes after longer than standsFor.
func TestManyPartitionsWithMuchToReadAreNoStandstill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const partitions, each = 240, 2
		g := &group{Cluster: kafkatest.StartVirtual(t, 1, kfake.SeedTopics(partitions, "t")), owners: owners{has: make(map[int32]int)}}
		for p := range int32(partitions) {
			for range each {
				g.Produce(&kgo.Record{Topic: "t", Partition: p, Value: make([]byte, 60<<10)})
			}
		}
		m := g.join(func(c *Config) {
			c.FetchMaxBytes = 1 << 16
			c.Options = func() []kgo.Opt { return append(g.Options(), kgo.Dialer(lagged(g.Cluster, 700*time.Millisecond))) }
			c.Log = slog.New(slog.DiscardHandler)
		})
		g.owns(m, partitions)
		var longest time.Duration
		stood := make(map[int32]time.Time)
		at := make(map[int32]int64)
		for began := time.Now(); ; time.Sleep(time.Second) {
			left := 0
			for _, v := range m.Status().Partitions {
				if v.Stopped != "" {
					t.Fatalf("after %v: %+v", time.Since(began), v)
				}
				if v.Next < each {
					left++
				}
				if at[v.Partition] != v.Next || stood[v.Partition].IsZero() {
					at[v.Partition], stood[v.Partition] = v.Next, time.Now()
				}
				longest = max(longest, time.Since(stood[v.Partition]))
			}
			if left == 0 {
				break
			}
		}
		if longest < standsFor+3*endsEvery {
			t.Errorf("no partition stood still for longer than %v", longest)
		}
	})
}
