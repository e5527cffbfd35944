package journal

import (
	"testing"

	"layover/cluster/needs"
	"layover/journal/runs"
)

// TestTheLargestDirectoryFitsBesideSmallRecords: it lists as many runs as there may be, of two flushes at a
// time, whose copies take turns in the log.
func TestTheLargestDirectoryFitsBesideSmallRecords(t *testing.T) {
	d := runs.Directory{Writer: 1 << 62, End: 1 << 41}
	for n := range int64(runs.MaxRuns) {
		first := 1<<40 + n/2*100_000 + n%2
		r, err := runs.NewRun(1<<61+uint64(n%2), uint64(n), 40_000, 40<<20, func(i int64) (offset, deadlineMs int64) {
			return first + i*2 + i/2000*17, 1_900_000_000_000 + n%2*2_000_000_000 + i*60_000
		})
		if err != nil {
			t.Fatal(err)
		}
		d.Runs = append(d.Runs, r)
	}
	value, err := runs.AppendDirectory(nil, runs.Identity{}, &d)
	if err != nil {
		t.Fatal(err)
	}
	const batch = 1000 // of a batch around it
	if limit := needs.RunsMaxBytes(1000); len(value)+batch > limit {
		t.Errorf("a directory takes %d bytes, and the topic %d", len(value), limit)
	}
}
