// Command bench runs Layover's wheel beside what a Go program would use in its
// place, and the whole daemon with a million records parked. It prints tables:
//
//	go run . -quick          a million pending, a hundred thousand in the daemon
//	go run .                 up to ten million
//	go run . -part daemon    only the daemon and its loop
//	go run . -part journal   only a daemon that is killed with a large window; not in the others
//	go run . -part ids       only the core with a million ids, most of them cancelled; not in the others
//	go run . -part runs      only records that are moved to runs, -far of them; not in the others
//	go run . -part speed     only the speed of the daemon beside loops, on a Kafka, or at -brokers; not in the others
//	go run . -doc ../docs/benchmarks/wheel.md -out ../docs/benchmarks
//	go run . -part journal -doc ../docs/benchmarks/journal.md
//	go run . -part ids -doc ../docs/benchmarks/ids.md
//	go run . -part speed -doc ../docs/benchmarks/speed.md -out ../docs/benchmarks
//
// Each measurement is a process of its own, structures take turns, and what is
// printed is the median of the runs. Tables go to standard output and progress
// to standard error.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"layover/bench/endtoend"
	"layover/bench/process"
	"layover/bench/report"
)

func main() {
	if process.IsChild() {
		os.Exit(process.RunChild(children()))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	plan plan

	// wheel, daemon, journal, ids and runs are what is measured.
	wheel, daemon, journal, ids, runs bool

	// speed is the measurement beside loops, or nil.
	speed *speedOptions

	// table is how the title begins of the only table of runs or of speed that is wanted; "": all are.
	table string

	// endToEnd is how much of the daemon is measured.
	endToEnd endtoend.Options

	// out is the directory for plots, or empty.
	out string

	// doc is the file that the tables are written to, or empty.
	doc string

	// command is how these figures are got again: the flags without out and doc.
	command string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == childFlag {
		return runChild(args[1:], stdout)
	}
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	// What could fail at the end fails before half an hour of measuring.
	if err := report.Check(o.doc, o.subject(), o.out); err != nil {
		return err
	}
	figures, failed := report.Figures{}, []string(nil)
	if o.wheel {
		figures, failed = o.plan.carryOut(ctx, stderr)
	}
	about := report.Collect(o.command)
	text := report.Text(about, figures)
	if !o.wheel && !o.daemon {
		text = about.Line()
	}
	plots := figures.Plots()
	if o.speed != nil {
		more, drawn, missing := o.speed.measure(ctx, about.Line(), o.table, stderr)
		text, plots, failed = text+more, drawn, append(failed, missing...)
	}
	if tables := o.tables(); len(tables) > 0 && ctx.Err() == nil {
		more, missing := measureTables(ctx, tables, o.endToEnd, stderr)
		text, failed = text+more, append(failed, missing...)
	}
	if len(failed) > 0 {
		text += "\nNot measured:\n\n- " + strings.Join(failed, "\n- ") + "\n"
	}
	fmt.Fprint(stdout, text)
	if err := report.Write(o.doc, o.subject(), o.out, text, plots); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d not measured", len(failed))
	}
	return nil
}

func parse(args []string, stderr io.Writer) (options, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o options
	quick := flags.Bool("quick", false, "measure only with a million pending")
	only := flags.String("only", "", "measure only structures whose name matches this `regexp`")
	runs := flags.Int("runs", 3, "how often to measure; figures are medians")
	part := flags.String("part", "all", "measure `all` of wheel and daemon, one of them, or journal, ids, runs or speed")
	far := flags.Int("far", 0, "how many `records` -part runs parks; 0: 20 million, a million with -quick")
	flags.StringVar(&o.table, "table", "", "of -part runs or speed measure only the table whose title begins so")
	sizes := flags.String("sizes", "", "how many are pending, a `list` with commas, instead of -quick or the default")
	flags.StringVar(&o.out, "out", "", "write SVG plots to this `directory`; they need two sizes")
	flags.StringVar(&o.doc, "doc", "", "write the tables to this `file`")
	beside := speedFlags(flags)
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("no argument is expected, but there is %q", flags.Arg(0))
	}
	if *runs < 1 {
		return o, fmt.Errorf("-runs %d: want at least 1", *runs)
	}
	expression, err := regexp.Compile(*only)
	if err != nil {
		return o, fmt.Errorf("-only: %w", err)
	}
	o.wheel, o.daemon, o.journal = *part == "all" || *part == "wheel", *part == "all" || *part == "daemon", *part == "journal"
	o.ids, o.runs = *part == "ids", *part == "runs"
	if *part == "speed" {
		if o.speed, err = beside.filled(*quick, isSet(flags, "runs"), *runs); err != nil {
			return o, err
		}
	}
	if !o.wheel && !o.daemon && !o.journal && !o.ids && !o.runs && o.speed == nil {
		return o, fmt.Errorf("-part %q: want all, wheel, daemon, journal, ids, runs or speed", *part)
	}
	o.plan, o.endToEnd = plan{only: expression, runs: *runs, sizes: fullSizes()}, endtoend.Full()
	if *quick {
		o.plan.sizes, o.endToEnd = quickSizes(), endtoend.Quick()
	}
	if *far < 0 {
		return o, fmt.Errorf("-far %d: want at least 1", *far)
	}
	o.endToEnd.Far = cmp.Or(*far, o.endToEnd.Far)
	if *sizes != "" {
		if o.plan.sizes, err = parseSizes(*sizes); err != nil {
			return o, err
		}
	}
	if len(o.plan.kinds()) == 0 {
		return o, fmt.Errorf("-only %q: no structure has such a name", *only)
	}
	if o.speed != nil && !o.speed.has(o.table) && len(o.tables()) == 0 || o.runs && len(o.runsTables()) == 0 {
		return o, fmt.Errorf("-table %q: no table has such a title", o.table)
	}
	o.command = command(flags)
	return o, nil
}

// subject is what this run measures.
func (o options) subject() report.Subject {
	switch {
	case o.journal:
		return report.Journal
	case o.ids:
		return report.IDs
	case o.runs:
		return report.Runs
	case o.speed != nil:
		return report.Speed
	}
	return report.Wheel
}

func parseSizes(list string) ([]int, error) {
	var sizes []int
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < leastSize {
			return nil, fmt.Errorf("-sizes: %q: want a number of at least %d", field, leastSize)
		}
		sizes = append(sizes, n)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes), nil
}

// leastSize is the least for which quarters and quantiles mean anything.
const leastSize = 100

func command(flags *flag.FlagSet) string {
	parts := []string{"go run ."}
	flags.Visit(func(f *flag.Flag) {
		switch value := f.Value.String(); {
		case f.Name == "out" || f.Name == "doc" || f.Name == "json" || f.Name == "profiles":
		case f.Name == "quick":
			parts = append(parts, "-quick")
		default:
			parts = append(parts, "-"+f.Name, value)
		}
	})
	return strings.Join(parts, " ")
}
