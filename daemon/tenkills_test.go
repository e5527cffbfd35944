package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestRandomDelaysOverTenMinutesRepeatNoMoreThanTheirBound: half a million records in
// four partitions, all equally likely to be due at any moment, and ten kills.
func TestRandomDelaysOverTenMinutesRepeatNoMoreThanTheirBound(t *testing.T) {
	records := 500_000
	if testing.Short() {
		records = 60_000
	}
	const (
		over  = 10 * time.Minute
		kills = 10
	)
	inBubble(t, func(w *world) {
		if _, err := kadm.NewClient(w.client).UpdatePartitions(context.Background(), 4, ingress); err != nil {
			t.Fatal(err)
		}
		dice := rand.New(rand.NewPCG(6, 6))
		due := w.spread(dice, records, time.Now().Add(20*time.Second), over)
		start := func() *instance {
			in := w.start("LAYOVER_GROUP_INSTANCE_ID=one")
			in.ready()
			return in
		}
		// What finishes while /status is as it was published, 20 ms at most, and is asked for.
		slack := records * 50 / int(over.Milliseconds())
		in, bound := start(), 0
		for kill := range kills {
			time.Sleep(over/(kills+1) - time.Duration(dice.Int64N(int64(10*time.Second))))
			s := in.status()
			_, body := in.get("/status")
			if n := strings.Count(body, `"finished_set_in": "journal"`); n != 4 {
				t.Errorf("kill %d: the sets of %d partitions are in the journal", kill, n)
			}
			in.kill()
			bound += int(s["duplicates_after_a_kill"].(map[string]any)["total"].(float64)) + slack
			in = start()
		}
		w.until(over, "all are delivered", func() bool { return int(in.status()["parked"].(map[string]any)["records"].(float64)) == 0 })
		time.Sleep(5 * time.Second)
		in.stop()
		seen := make(map[string]int)
		for _, r := range w.all(egress) {
			id := string(r.Value)
			if seen[id]++; r.Timestamp.Before(due[id]) {
				t.Fatalf("%s was delivered %v early", id, due[id].Sub(r.Timestamp))
			}
		}
		again := -records
		for _, n := range seen {
			again += n
		}
		if len(seen) != records || again > bound {
			t.Errorf("%d of %d came, %d came again, and at most %d may", len(seen), records, again, bound)
		}
		t.Logf("%d records, %d kills: %d came again, %d may by /status", records, kills, again, bound)
	})
}

// spread sends records that are due at random within a time, and returns when by value.
func (w *world) spread(dice *rand.Rand, n int, from time.Time, over time.Duration) map[string]time.Time {
	w.Helper()
	due := make(map[string]time.Time, n)
	for len(due) < n {
		batch := make([]*kgo.Record, min(n-len(due), 10_000))
		for i := range batch {
			id := fmt.Sprint(len(due))
			due[id] = from.Add(time.Duration(dice.Int64N(int64(over)))).Truncate(time.Millisecond)
			batch[i] = &kgo.Record{Topic: ingress, Partition: int32(dice.IntN(4)), Value: []byte(id), Timestamp: time.Now(),
				Headers: []kgo.RecordHeader{header("x-deliver-at", strconv.FormatInt(due[id].UnixMilli(), 10))}}
		}
		if err := w.client.ProduceSync(context.Background(), batch...).FirstErr(); err != nil {
			w.Fatal(err)
		}
	}
	return due
}
