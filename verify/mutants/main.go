// Command mutants verifies the tests: it plants known bugs in Layover, one at a
// time, and looks which layer of tests notices.
//
//	go run ./verify/mutants                      all bugs, all layers
//	go run ./verify/mutants -first               each bug until its known test or a layer notices it
//	go run ./verify/mutants -run '^low' -v       some, with the test that noticed
//	go run ./verify/mutants -part 2/3            the second third of them
//	go run ./verify/mutants -write               the table in verify/MUTANTS.md anew
//	go run ./verify/mutants -check               whether the source still has the lines that each changes, and the tests known to notice
//
// A bug is a file in edits; see mutant. It is planted by go test -overlay, so that
// the source stays as it is. One that no layer catches is a finding about the
// tests, and the program fails.
//
// It imports nothing of Layover, and does not look for bugs by itself: which
// mistakes are worth planting is what people know.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

// options are the flags.
type options struct {
	only     *regexp.Regexp // of mutants' names
	layers   []layer
	part     part
	parallel int
	first    bool
	write    bool
	verbose  bool
	check    bool
}

func flags(args []string, stderr io.Writer) (options, error) {
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	f.SetOutput(stderr)
	var o options
	only := f.String("run", "", "try only mutants whose name matches this `regexp`")
	f.Var(&o.part, "part", "try one `part` of all, such as 2/3: the second third")
	names := f.String("layer", "", "try only these layers, a `list` with commas of "+strings.Join(layerNames(layers()), ", "))
	f.IntVar(&o.parallel, "j", max(1, runtime.NumCPU()/2), "how many `mutants` to try at a time")
	f.BoolVar(&o.first, "first", false, "try the known test of a mutant before any layer, and nothing more once it is caught")
	f.BoolVar(&o.write, "write", false, "write the table to "+document)
	f.BoolVar(&o.check, "check", false, "only say, in a second, which mutants do not apply to the source or know a test that is not there, and which apply to renamed lines")
	f.BoolVar(&o.verbose, "v", false, "name the test that caught a mutant")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("no argument is expected, but there is %q", f.Arg(0))
	}
	if o.parallel < 1 {
		return o, fmt.Errorf("-j %d: want at least 1", o.parallel)
	}
	if o.write && (o.first || *only != "" || *names != "" || o.part.of > 1) {
		return o, errors.New("-write: the table is of all mutants and all layers, want no -first, -run, -part or -layer")
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-run: %w", err)
	}
	o.layers, err = choose(layers(), *names)
	return o, err
}

// document is the table.
const document = "verify/MUTANTS.md"

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := flags(args, stderr)
	if err != nil {
		return err
	}
	ms, err := mutants()
	if err != nil {
		return err
	}
	ms = o.part.take(slices.DeleteFunc(ms, func(m mutant) bool { return !o.only.MatchString(m.name) }))
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	if o.check {
		return check(root, ms, stdout)
	}
	doc := filepath.Join(root, filepath.FromSlash(document))
	cells, err := listed(doc) // before minutes are spent
	if err != nil {
		return err
	}
	there, missing := present(root, o.layers)
	if missing != nil {
		fmt.Fprintln(stderr, missing)
	}
	began := time.Now()
	t := trial{root: root, layers: there, first: o.first, parallel: o.parallel, stderr: stderr}
	t.baselines(ctx, ms)
	results := collect(ctx, &t, ms, o.verbose, stderr)
	fmt.Fprintf(stderr, "%-32s %4.0f s\n", "total", time.Since(began).Seconds())
	text := table(there, results)
	if o.write {
		err = write(doc, text)
	} else {
		fmt.Fprint(stdout, text)
		err = compare(cells, results)
	}
	return errors.Join(missing, err, verdict(results))
}

// check says which mutants do not apply or know a test that is not there, and which apply only
// under other names.
func check(root string, ms []mutant, stdout io.Writer) (err error) {
	for _, m := range ms {
		c, failed := m.apply(func(dir string) (sources, error) { return readPackage(root, dir) })
		err = errors.Join(err, failed)
		if gone := m.known.exists(root); gone != nil {
			err = errors.Join(err, fmt.Errorf("mutant %s: %w", m.name, gone))
		}
		if len(c.renamed) > 0 {
			fmt.Fprintf(stdout, "%-32s applies to renamed lines: %s\n", m.name, strings.Join(c.renamed, ", "))
		}
	}
	return err
}

// collect tries the mutants, says how each fared, and returns the results by name.
func collect(ctx context.Context, t *trial, ms []mutant, verbose bool, stderr io.Writer) (results []result) {
	t.all(ctx, ms, func(r result) {
		results = append(results, r)
		how := r.caughtBy()
		if r.err != nil {
			how = "cannot be tried"
		}
		fmt.Fprintf(stderr, "%-32s %4.0f s  %s\n", r.mutant.name, r.took.Seconds(), how)
		for _, c := range r.caught {
			if verbose {
				fmt.Fprintf(stderr, "    %s: %s\n", c.layer, c.sign)
			}
		}
	})
	slices.SortFunc(results, func(a, b result) int { return strings.Compare(a.mutant.name, b.mutant.name) })
	return results
}

// verdict is an error for each mutant that was not caught, or could not be tried.
func verdict(results []result) (err error) {
	for _, r := range results {
		switch {
		case r.err != nil:
			err = errors.Join(err, fmt.Errorf("mutant %s: %w", r.mutant.name, r.err))
		case len(r.caught) == 0:
			err = errors.Join(err, fmt.Errorf("mutant %s is caught by nothing: a test is missing", r.mutant.name))
		}
	}
	return err
}
