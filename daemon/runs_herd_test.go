package daemon

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestAHerdOutOfManyRunsComesWhenItIsDue: records are written over hours, a run of each partition every few
// minutes, and all are due within one second. One with a delay of a minute is due beside them.
func TestAHerdOutOfManyRunsComesWhenItIsDue(t *testing.T) {
	const every = 5 * time.Minute // a flush for age: ingress keeps four times as long
	partitions, waves, each := int32(2), 20, 100
	if long() {
		partitions, waves, each = 10, 50, 20 // with 64 small runs of a partition they would become one
	}
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, 1, kfake.SeedTopics(partitions, ingress), kfake.SeedTopics(2, egress), kfake.SeedTopics(1, dlq))
		w.alter(ingress, "retention.ms", strconv.FormatInt((4*every).Milliseconds(), 10))
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		herd := time.Now().Truncate(time.Second).Add(time.Duration(waves)*every + 2*time.Hour)
		due := make(map[string]time.Time)
		send := func(n int, at func(i int) time.Time) {
			for i := range n {
				key := strconv.Itoa(len(due))
				due[key] = at(i)
				w.Client.Produce(w.Context(), &kgo.Record{Topic: ingress, Partition: int32(i) % partitions, Key: []byte(key), Value: make([]byte, 200),
					Timestamp: time.Now(), Headers: []kgo.RecordHeader{header("x-deliver-at", fmt.Sprint(due[key].UnixMilli()))}}, nil)
			}
			if err := w.Client.Flush(w.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range waves {
			send(each*int(partitions), func(i int) time.Time { return herd.Add(time.Duration(i*7%1000) * time.Millisecond) })
			time.Sleep(every)
		}
		time.Sleep(every)
		runs, all := 0, len(due)
		for _, l := range in.daemon.Sample().Lanes {
			for _, p := range l.Outlook.Runs.Partitions {
				runs += p.Runs
			}
		}
		if moved, _, _, waiting := in.runsCount(); runs < waves*int(partitions)*9/10 || waiting != int64(all) {
			t.Errorf("%d runs hold %d of %d records, %d were moved; want %d runs", runs, waiting, all, moved, waves*int(partitions))
		}
		time.Sleep(time.Until(herd.Add(-time.Minute)))
		near := strconv.Itoa(len(due))
		send(1, func(int) time.Time { return herd })
		time.Sleep(time.Minute + 10*time.Second)
		late := w.arrived(due, 0)
		for _, r := range w.Records(egress) {
			if d := r.Timestamp.Sub(due[near]); string(r.Key) == near && d > 100*time.Millisecond {
				t.Errorf("the near one came %v late", d)
			}
		}
		_, loaded, lost, waiting := in.runsCount()
		t.Logf("%d records out of %d runs, %d loaded, the latest %v late", all, runs, loaded, late)
		if late > 3*time.Second || lost > 0 || waiting > 0 {
			t.Errorf("the latest is %v late, %d lost, %d waiting", late, lost, waiting)
		}
		in.stop()
	})
}
