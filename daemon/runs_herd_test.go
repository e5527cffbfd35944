package daemon

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// herd is records that are written over hours, a run of each partition every so often, and due within one second.
type herd struct {
	partitions int32
	waves      int
	each, size int           // records of a wave in each partition, and their bytes
	every, far time.Duration // ingress keeps records four times as long as every, so there is a flush for age
	others     int           // records of a wave in each partition that are due a minute behind the herd
	fetch      time.Duration // until a fetch of runs is answered
}

// TestAHerdOutOfManyRunsComesWhenItIsDue, though it takes more than the part of the memory that is for reading
// runs. One with a delay of a minute is due beside it.
func TestAHerdOutOfManyRunsComesWhenItIsDue(t *testing.T) {
	long.Only(t)
	forms := map[string]herd{"of large records": {partitions: 4, waves: 40, each: 20, size: 800, every: 2 * time.Minute, far: 20 * time.Minute}}
	if long.Whole() { // with 64 small runs of a partition they would become one
		many := herd{partitions: 10, waves: 50, each: 20, size: 200, every: 5 * time.Minute, far: 2 * time.Hour}
		forms["of small records"] = many
		many.every, many.far = 2*time.Minute, 20*time.Minute
		many.fetch = 20 * time.Millisecond
		forms["of small records, from slow brokers"] = many
		many.others = 5
		forms["of small records among others, from slow brokers"] = many
	}
	for name, h := range forms {
		t.Run(name, func(t *testing.T) { synctest.Test(t, h.run) })
	}
}

// run writes the herd, waits for it, and judges how late it was.
func (h herd) run(t *testing.T) {
	w := newFixture(t, 1, kfake.SeedTopics(h.partitions, ingress), kfake.SeedTopics(2, egress), kfake.SeedTopics(1, dlq))
	w.alter(ingress, "retention.ms", strconv.FormatInt((4*h.every).Milliseconds(), 10))
	in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
	in.ready()
	due := make(map[string]time.Time)
	send := func(n int, at func(i int) time.Time) {
		for i := range n {
			key := strconv.Itoa(len(due))
			due[key] = at(i)
			w.Client.Produce(w.Context(), &kgo.Record{Topic: ingress, Partition: int32(i) % h.partitions, Key: []byte(key), Value: make([]byte, h.size),
				Timestamp: time.Now(), Headers: []kgo.RecordHeader{header("x-deliver-at", fmt.Sprint(due[key].UnixMilli()))}}, nil)
		}
		if err := w.Client.Flush(w.Context()); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Now().Truncate(time.Second).Add(time.Duration(h.waves)*h.every + h.far)
	for range h.waves {
		send(h.each*int(h.partitions), func(i int) time.Time { return at.Add(time.Duration(i*7%1000) * time.Millisecond) })
		send(h.others*int(h.partitions), func(i int) time.Time { return at.Add(time.Minute + time.Duration(i)*time.Second) })
		time.Sleep(h.every)
	}
	time.Sleep(h.every)
	runs, all := 0, len(due)
	for _, l := range in.daemon.Sample().Lanes {
		for _, p := range l.Outlook.Runs.Partitions {
			runs += p.Runs
		}
	}
	if moved, _, _, waiting := in.runsCount(); runs < h.waves*int(h.partitions)*9/10 || waiting != int64(all) {
		t.Errorf("%d runs hold %d of %d records, %d were moved; want %d runs", runs, waiting, all, moved, h.waves*int(h.partitions))
	}
	w.slowRuns(h.fetch)
	time.Sleep(time.Until(at.Add(-time.Minute)))
	near := strconv.Itoa(len(due))
	send(1, func(int) time.Time { return at })
	time.Sleep(3 * time.Minute)
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
}

// slowRuns has a broker take so long for each fetch of runs.
func (w *fixture) slowRuns(d time.Duration) {
	if d == 0 {
		return
	}
	match := w.ofRuns()
	w.Broker.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.Broker.KeepControl()
		if match(r) {
			w.Broker.SleepControl(func() { time.Sleep(d) })
		}
		return nil, nil, false
	})
}
