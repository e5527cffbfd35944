package daemon

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

const runsTopic = ingress + ".layover-" + ingress + ".runs"

// far produces n records of size bytes, each with its number as key, that are due after a delay of its
// own. It returns the instants.
func (w *fixture) far(from, n, size int, delay func(i int) time.Duration) (due map[string]time.Time) {
	w.Helper()
	due = make(map[string]time.Time, n)
	value := make([]byte, size)
	now := time.Now().Truncate(time.Millisecond)
	for i := from; i < from+n; i++ {
		d := delay(i).Truncate(time.Millisecond)
		w.Client.Produce(w.Context(), &kgo.Record{Topic: ingress, Partition: int32(i % 2), Key: strconv.AppendInt(nil, int64(i), 10), Value: value, Timestamp: now,
			Headers: []kgo.RecordHeader{{Key: "x-delay", Value: fmt.Appendf(nil, "%d", d.Milliseconds())}}}, nil)
		due[strconv.Itoa(i)] = now.Add(d)
	}
	if err := w.Client.Flush(w.Context()); err != nil {
		w.Fatal(err)
	}
	return due
}

// arrived holds what is in the egress topic to the instants: all is there, nothing early, and at most
// repeats more than once. It returns how late the latest is.
func (w *fixture) arrived(due map[string]time.Time, repeats int) (latest time.Duration) {
	w.Helper()
	seen := make(map[string]int)
	for _, r := range w.Records(egress) {
		at, ok := due[string(r.Key)]
		if !ok {
			w.Fatalf("nobody has sent %q", r.Key)
		}
		if r.Timestamp.Before(at) {
			w.Errorf("%s, due at %v, was delivered at %v", r.Key, at, r.Timestamp)
		}
		if seen[string(r.Key)]++; seen[string(r.Key)] > 1 {
			repeats--
		}
		latest = max(latest, r.Timestamp.Sub(at))
	}
	if repeats < 0 {
		w.Errorf("%d repeats more than allowed", -repeats)
	}
	for _, key := range slices.Sorted(maps.Keys(due)) {
		if seen[key] == 0 {
			w.Errorf("%s, due at %v, is lost", key, due[key])
		}
	}
	return latest
}

// runsCount sums up what an instance says of runs.
func (in *instance) runsCount() (moved, loaded, lost, waiting int64) {
	for _, l := range in.daemon.Sample().Lanes {
		moved, loaded, lost, waiting = moved+l.Moved, loaded+l.Loaded, lost+l.LostFromRuns, waiting+l.Outlook.Runs.Copies
	}
	return moved, loaded, lost, waiting
}

// TestFarRecordsMakeWayForNearOnes: a flood of records that are due in hours stands in front of one
// that is due in a minute. Memory holds a fraction of the flood.
func TestFarRecordsMakeWayForNearOnes(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=16Mi")
		time.Sleep(5 * time.Second)
		due := w.far(0, 30_000, 1000, func(i int) time.Duration { return 3*time.Hour + time.Duration(i%1800)*time.Second })
		maps.Copy(due, w.far(30_000, 1, 10, func(int) time.Duration { return time.Minute }))
		time.Sleep(time.Minute + 100*time.Millisecond)
		if got := len(w.Records(egress)); got != 1 {
			t.Errorf("%d records are delivered 100 ms after the near one was due, want it", got)
		}
		moved, _, _, waiting := in.runsCount()
		if s := in.daemon.Sample(); s.Memory.Used > s.Memory.PauseAt || moved < 20_000 || waiting < 20_000 {
			t.Errorf("%d moved, %d wait in runs; memory %+v", moved, waiting, s.Memory)
		}
		time.Sleep(3*time.Hour + 31*time.Minute)
		late := w.arrived(due, 0)
		moved, loaded, lost, waiting := in.runsCount()
		t.Logf("moved %d, loaded %d, the latest %v late", moved, loaded, late)
		if late > 50*time.Millisecond || lost > 0 || waiting > 0 || moved != loaded {
			t.Errorf("moved %d, loaded %d, lost %d, waiting %d, the latest %v late", moved, loaded, lost, waiting, late)
		}
		time.Sleep(15 * time.Second)
		for p, b := range w.bounds(runsTopic) {
			if b[0] != b[1] {
				t.Errorf("partition %d of the runs topic still has %d to %d", p, b[0], b[1])
			}
		}
		in.stop()
	})
}

// bounds returns where the logs of a topic begin and end.
func (w *fixture) bounds(topic string) map[int32][2]int64 {
	w.Helper()
	starts, err := w.Admin().ListStartOffsets(w.Context(), topic)
	if err != nil {
		w.Fatal(err)
	}
	ends, err := w.Admin().ListEndOffsets(w.Context(), topic)
	if err != nil {
		w.Fatal(err)
	}
	out := make(map[int32][2]int64)
	for p, s := range starts[topic] {
		out[p] = [2]int64{s.Offset, ends[topic][p].Offset}
	}
	return out
}

// TestKillsLoseNoMovedRecord: an instance dies again and again while it moves records and reads them
// back, and another one goes on.
func TestKillsLoseNoMovedRecord(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		kills, each, spread := 3, 4000, 1800 // spread: seconds
		if long.Whole() {
			kills, each, spread = 10, 2000, 3600
		}
		due, repeats := make(map[string]time.Time), 0
		for i := range kills {
			in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
			in.ready() // one that dies while it joins moves nothing
			maps.Copy(due, w.far(i*each, each, 1000, func(n int) time.Duration {
				return time.Duration(10+n*7%spread) * time.Second * time.Duration(1+n%3)
			}))
			time.Sleep(time.Duration(1000+i*777) * time.Millisecond)
			in.kill()
			// It repeats what was moved and not committed, at most 10,000 a partition, and what was in flight.
			repeats += min((i+1)*each, 2*10_000)
		}
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		time.Sleep(time.Duration(3*spread)*time.Second + 10*time.Minute)
		w.arrived(due, repeats)
		moved, loaded, lost, waiting := in.runsCount()
		t.Logf("moved %d, loaded %d, lost %d, waiting %d", moved, loaded, lost, waiting)
		if lost > 0 || waiting > 0 || loaded == 0 {
			t.Errorf("loaded %d, lost %d, waiting %d", loaded, lost, waiting)
		}
		in.stop()
	})
}
