package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"layover/bench/endtoend"
	"layover/bench/ids"
	"layover/bench/model"
	"layover/bench/report"
	"layover/bench/row"
)

// table is one that a daemon is measured for.
type table struct {
	title   string
	measure func(context.Context, endtoend.Options) ([]row.Row, error)
}

// windows are the partitions that the window of a daemon that is killed is spread over.
func windows() []int { return []int{1, 4} }

// tables are those of the daemon that are wanted.
func (o options) tables() (tables []table) {
	if o.daemon {
		tables = append(tables,
			table{fmt.Sprintf("The daemon on an embedded broker, %d records parked", o.endToEnd.Records), endtoend.EndToEnd},
			table{"The lane's loop alone", endtoend.Loop})
	}
	if o.journal {
		for _, n := range windows() {
			tables = append(tables, table{
				fmt.Sprintf("A daemon is killed with %d offsets in its window and started again, partitions: %d", o.endToEnd.Window, n),
				func(ctx context.Context, o endtoend.Options) ([]row.Row, error) {
					return endtoend.Restart(ctx, o, n)
				},
			})
		}
	}
	if o.ids {
		for _, percent := range []int{90, 99} {
			tables = append(tables, table{
				fmt.Sprintf("%d records with an id, of which %d %% are cancelled", o.endToEnd.Records, percent),
				func(ctx context.Context, e endtoend.Options) ([]row.Row, error) {
					return ids.Measure(ctx, ids.Options{Records: e.Records, Runs: o.plan.runs, Log: e.Log}, percent)
				},
			})
		}
	}
	if o.runs {
		tables = append(tables, o.runsTables()...)
	}
	if title := o.againTitle(); o.speed != nil && len(o.speed.Brokers) == 0 && strings.HasPrefix(title, o.table) {
		tables = append(tables, table{title, endtoend.Again})
	}
	return tables
}

func (o options) againTitle() string {
	return fmt.Sprintf("Again: %d records parked, and the daemon killed", o.endToEnd.Records)
}

// runsTables are those of records in runs.
func (o options) runsTables() []table {
	all := []table{
		{fmt.Sprintf("Parked in runs, up to %d records", o.endToEnd.Far), endtoend.Far},
		{"While runs are cleaned", endtoend.Cleaning},
		{fmt.Sprintf("What kinds of delays cost: %d records of each", o.endToEnd.Herd), endtoend.Kinds},
		{"Modelled: what kinds of delays cost", model.Waiting},
		{"Modelled: many parked", model.Parked},
		{fmt.Sprintf("A herd: %d records due within one second", o.endToEnd.Herd), endtoend.Herd},
	}
	return slices.DeleteFunc(all, func(t table) bool { return !strings.HasPrefix(t.title, o.table) })
}

// measureTables measures them. What fails is named in failed.
func measureTables(ctx context.Context, tables []table, o endtoend.Options, progress io.Writer) (text string, failed []string) {
	o.Log = progress
	for _, t := range tables {
		fmt.Fprintln(progress, t.title)
		rows, err := t.measure(ctx, o)
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", t.title, err))
			continue
		}
		text += report.Lines(t.title, lines(rows))
	}
	return text, failed
}

// lines are rows as a report has them.
func lines(rows []row.Row) []report.Line {
	lines := make([]report.Line, len(rows))
	for i, r := range rows {
		lines[i] = report.Line{What: r.Name, Measured: r.Value, Wanted: r.Goal, Met: r.Met}
	}
	return lines
}
