package model

import (
	"context"
	"fmt"
	"io"

	"layover/bench/endtoend"
	"layover/bench/row"
)

// laneShare is the memory at which a lane counts as full. Of a bound of 256 MiB reading pauses at
// 188.5 MB, as /status says, and two lanes share that.
const (
	laneShare = 188_500_000 / 2
	lanes     = 2
)

// steadyCase is a kind of delays with so many waiting in a share of memory.
type steadyCase struct {
	delay          int // of Delays
	waiting, share int64
}

func steadyCases() []steadyCase {
	return []steadyCase{{0, 300_000, 8 << 20}, {0, 1_500_000, 8 << 20}, {1, 300_000, 8 << 20}, {2, 300_000, 8 << 20}, {3, 60_000, 2 << 20}}
}

// steadyDays are counted of each.
const steadyDays = 5

// Waiting says what kinds of delays cost, as modelled. It takes a minute or two.
func Waiting(ctx context.Context, o endtoend.Options) ([]row.Row, error) {
	var rows []row.Row
	for _, s := range steadyCases() {
		d := Delays()[s.delay]
		c, err := Steady(d, s.waiting, s.share, steadyDays)
		if err != nil || ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %v", d.Name, err)
		}
		note(o.Log, "%s: %+v\n", d.Name, c)
		rows = append(rows, c.rows(d, s)...)
	}
	return rows, nil
}

func note(w io.Writer, format string, args ...any) {
	if w != nil {
		fmt.Fprintf(w, format, args...)
	}
}

// Copies returns how often a record was written that was moved at all.
func (c *Count) Copies() float64 { return float64(c.Moved) / float64(max(c.Moved-c.Again, 1)) }

func (c *Count) rows(d Delay, s steadyCase) []row.Row {
	name := fmt.Sprintf("%s; %d waiting, %d MiB: ", d.Name, s.waiting, s.share>>20)
	return []row.Row{
		row.Plain(name+"copies written", "%.2f a moved record, %.0f %% of all were moved", c.Copies(), 100*float64(c.Moved-c.Again)/float64(max(c.Read, 1))).
			Aim(c.Copies() <= 2, "at most 2"),
		row.Plain(name+"log", "%.0f MB at the worst, with %.0f MB live", float64(c.MostLog)/1e6, float64(c.ItsLive)/1e6).
			Aim(c.Segments <= 3, "thrice what is live, two segments and the open one"),
		row.Plain(name+"read", "%.2f visits a second, %.1f copies each; %d runs", float64(c.Visits)/c.Seconds, float64(c.Loaded)/float64(max(c.Visits, 1)), c.Runs),
	}
}

// fillCase is so many records on partitions, in a memory that is a multiple of 512 MiB.
type fillCase struct {
	records    int64
	partitions int64
	times      int64
}

func fillCases(far int64) []fillCase {
	return []fillCase{{1_000_000, 8, 1}, {10_000_000, 8, 1}, {far, 8, 1}, {100_000_000, 8, 1}, {1_000_000_000, 64, 1}, {1_000_000_000, 64, 8}}
}

// fillRate is how many records are moved a second in all, about as the daemon does.
const fillRate = 60_000

// Parked says what is to be expected of many that are parked: to be compared with what was measured.
func Parked(ctx context.Context, o endtoend.Options) ([]row.Row, error) {
	var rows []row.Row
	seen := make(map[fillCase]bool)
	for _, c := range fillCases(int64(o.Far)) {
		if seen[c] {
			continue
		}
		seen[c] = true
		each := c.partitions / lanes
		f, err := Fill(c.records/c.partitions, laneShare*c.times/each, each-1, 2*60*second, month, float64(fillRate/c.partitions))
		if err != nil || ctx.Err() != nil {
			return nil, fmt.Errorf("%d records: %v", c.records, err)
		}
		note(o.Log, "%+v: %+v\n", c, f)
		rows = append(rows, f.rows(c)...)
	}
	return rows, nil
}

func (f *Full) rows(c fillCase) []row.Row {
	name := fmt.Sprintf("%d parked on %d partitions, %d MiB: ", c.records, c.partitions, 512*c.times)
	stopped := ""
	if f.Stopped {
		stopped = "; moving stopped at 4,096 runs a partition"
	}
	p := float64(c.partitions)
	return []row.Row{
		row.Plain(name+"runs", "%.0f, %.0f copies each, %.2f copies a moved record%s", p*float64(f.Runs), float64(f.Waiting)/float64(max(f.Runs, 1)), f.Copies(), stopped).
			Aim(f.Copies() <= 2 && !f.Stopped, "at most 2 copies"),
		row.Plain(name+"copies that wait", "%.1f million, log %.1f GB; a directory of %.1f KB a partition", p*float64(f.Waiting)/1e6, p*float64(f.LogBytes)/1e9, float64(f.Directory)/1e3),
		row.Plain(name+"memory", "%.0f MB as the lanes account for it", p*float64(f.Memory)/1e6),
		row.Plain(name+"a restart at once", "%.0f visits, %.0f answers of 1 MiB at most", p*float64(f.Restart.Visits), p*float64(f.Restart.Fetches)),
		row.Plain(name+"a restart two hours later", "%.0f visits, %.0f answers, %.2f million copies loaded", p*float64(f.Later.Visits), p*float64(f.Later.Fetches), p*float64(f.Later.Loaded)/1e6),
	}
}
