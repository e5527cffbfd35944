package endtoend

import (
	"fmt"
	"time"

	"layover/bench/row"
)

// againGoal is from the assignment of partitions to the first delivery.
const againGoal = 10 * time.Second

// restartRows says both cases in turn.
func restartRows(o Options, broker string, partitions int, journal, alone restarted) []row.Row {
	rows := []row.Row{
		row.Plain("broker", "%s", broker),
		row.Plain("window", "%d offsets, partitions: %d, values of %d B: %d parked an hour or more ahead, %d delivered, %d due within %v of the kill",
			o.Window, partitions, valueSize, journal.load.far, o.Window-journal.load.far-journal.load.around, journal.load.around, o.Around),
	}
	both := func(name string, say func(restarted) row.Row) {
		for _, c := range []struct {
			name  string
			found restarted
		}{{"with the journal", journal}, {"metadata alone", alone}} {
			row := say(c.found)
			row.Name = name + ", " + c.name
			rows = append(rows, row)
		}
	}
	both("delivered again", func(f restarted) row.Row {
		return row.Plain("", "%d records; /status said at most %d, some milliseconds before the kill", f.audit.again, f.before.Duplicates.Total)
	})
	both("process start to assignment", func(f restarted) row.Row { return row.Plain("", "%s", secs(f.assigned)) })
	both("assignment to ready", func(f restarted) row.Row { return row.Plain("", "%s", secs(f.ready-f.assigned)) })
	both("assignment to the first delivery", func(f restarted) row.Row {
		took := f.first - f.assigned
		return row.Plain("", "%s", secs(took)).Aim(took <= againGoal, "%.0f s", againGoal.Seconds())
	})
	both("assignment to the whole window read again", func(f restarted) row.Row { return row.Plain("", "%s", secs(f.reread-f.assigned)) })
	both("assignment to all delivered that is due", func(f restarted) row.Row {
		return row.Plain("", "%s, of which the last is due %s after the start at most", secs(f.through-f.assigned), secs(o.Around))
	})
	rows = append(rows,
		row.Plain("restore of the journal", "%d ms for %d records, journal.last_restore_ms in /status", journal.restored.Journal.LastMs, journal.restored.Journal.Restored),
		row.Plain("journal until the kill", "%.2f B for each of %d delivered records: %d B in %d records, %d snapshots, %d deletions, %d commits; %d B live",
			float64(journal.before.Journal.Bytes)/float64(journal.before.Counters.Delivered), journal.before.Counters.Delivered, journal.before.Journal.Bytes,
			journal.before.Journal.Records, journal.before.Journal.Snapshots, journal.before.Journal.Deletions, journal.before.Counters.Commits, journal.before.Journal.Live))
	both("CPU until the kill", func(f restarted) row.Row {
		spent := f.build.To.CPU - f.build.From.CPU
		return row.Plain("", "%s, %.1f us per delivered record; written within %s", secs(spent),
			float64(spent.Microseconds())/float64(f.before.Counters.Delivered), secs(f.written))
	})
	both("memory", func(f restarted) row.Row {
		return row.Plain("", "resident %s at the kill, %s when all was read again; live heap %s at the end, of which the lanes account for %s",
			row.MiB(float64(f.build.To.Resident)), row.MiB(float64(f.refilled.Resident)), row.MiB(float64(f.collected.Heap)), row.MiB(float64(f.end.Parked.Bytes)))
	})
	return rows
}

func secs(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
