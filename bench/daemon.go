package main

import (
	"context"
	"fmt"
	"io"

	"layover/bench/endtoend"
	"layover/bench/report"
)

// daemonTables measures the daemon and its loop. What fails is named in failed.
func daemonTables(ctx context.Context, o endtoend.Options, progress io.Writer) (text string, failed []string) {
	for _, m := range []struct {
		title   string
		measure func(context.Context, endtoend.Options) ([]endtoend.Row, error)
	}{
		{fmt.Sprintf("The daemon on an embedded broker, %d records parked", o.Records), endtoend.EndToEnd},
		{"The lane's loop alone", endtoend.Loop},
	} {
		fmt.Fprintln(progress, m.title)
		rows, err := m.measure(ctx, o)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", m.title, err))
			continue
		}
		lines := make([]report.Line, len(rows))
		for i, r := range rows {
			lines[i] = report.Line{What: r.Name, Measured: r.Value, Wanted: r.Goal, Met: r.Met}
		}
		text += report.Lines(m.title, lines)
	}
	return text, failed
}
