// Command mutate verifies the tests. It makes small changes in Layover by rule, all
// that a list of kinds allows, and looks which of them no test notices.
//
//	go run ./verify/mutate                              everything, for hours
//	go run ./verify/mutate -sample 200 -seed 7          some, the same for the same seed
//	go run ./verify/mutate wheel offsets                some packages
//	go run ./verify/mutate -run 'Window.* dropped'      some mutants by their keys
//
// All mutants of all packages are compiled in at once, each behind a switch that a
// variable of the environment turns on. So one mutant takes a run of the tests that
// come by it, and no compiler. The source stays as it is: go test -overlay puts the
// changed files in its place.
//
// A mutant that no test notices is either a gap in the tests, or changes nothing that
// anybody could notice. In the second case it is listed in equivalent.txt, with the
// reason, and is not tried any more. The program fails where the share of mutants
// that are noticed is below what is wanted. See ../mutants for bugs that people
// thought of.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := dispatch(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the flags and arguments.
type options struct {
	dirs     []string
	only     *regexp.Regexp
	sample   int
	seed     uint64
	limit    time.Duration
	parallel int
	own      bool
	most     time.Duration
	list     bool
	verbose  bool
}

func flags(args []string, stderr io.Writer) (options, error) {
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.SetOutput(stderr)
	var o options
	only := f.String("run", "", "try only mutants whose key matches this `regexp`, those listed as equivalent too")
	f.IntVar(&o.sample, "sample", 0, "try this many `mutants`, drawn by the seed; 0 is all")
	f.Uint64Var(&o.seed, "seed", 0, "the `seed` of the sample; 0 draws one")
	f.DurationVar(&o.limit, "for", 0, "end this `time` after the first trial began, and leave out what is not through; 0 is no limit")
	f.IntVar(&o.parallel, "j", max(1, runtime.NumCPU()/2), "how many `tests` to run at a time")
	f.BoolVar(&o.own, "own", false, "try the mutants on the tests of their own package alone: in minutes, and with more survivors")
	f.DurationVar(&o.most, "most", 0, "leave out tests that by themselves take more than this `time` of the processor; 0 leaves out none")
	f.BoolVar(&o.list, "list", false, "only list the mutants")
	f.BoolVar(&o.verbose, "v", false, "say of each mutant what noticed it")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.parallel < 1 || o.sample < 0 {
		return o, errors.New("-j: want at least 1; -sample: want at least 0")
	}
	o.dirs = f.Args()
	if len(o.dirs) == 0 {
		for _, s := range subjects {
			o.dirs = append(o.dirs, s.dir)
		}
	}
	if o.seed == 0 {
		o.seed = rand.Uint64()%1_000_000 + 1
	}
	var err error
	if *only != "" {
		o.only, err = regexp.Compile(*only)
	}
	return o, err
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := flags(args, stderr)
	if err != nil {
		return err
	}
	began := time.Now()
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	loaded, err := load(root, o.dirs)
	if err != nil {
		return err
	}
	all := rewriteAll(loaded)
	reasons, err := equivalent(all)
	if err != nil {
		return err
	}
	chosen := choose(o, all, reasons)
	if o.list {
		for _, m := range chosen {
			fmt.Fprintln(stdout, m.key)
		}
		return nil
	}
	if o.sample > 0 {
		fmt.Fprintf(stdout, "a sample of %d, again with -sample %d -seed %d\n", len(chosen), o.sample, o.seed)
	}
	s := setup{root: root, parallel: o.parallel, own: o.own, most: o.most, stderr: stderr}
	if err := s.prepare(ctx, all, chosen); err != nil {
		return err
	}
	defer s.close()
	fmt.Fprintf(stderr, "prepared in %.0f s\n", time.Since(began).Seconds())
	trying, cancel := ctx, context.CancelFunc(func() {})
	if o.limit > 0 {
		trying, cancel = context.WithTimeout(ctx, o.limit)
	}
	defer cancel()
	results := s.collect(trying, chosen, func(r result) { report(stdout, root, r, o.verbose) })
	fmt.Fprint(stdout, table(o.dirs, results, all, reasons))
	fmt.Fprintf(stderr, "%d of %d tried in %.0f s\n", len(results), len(chosen), time.Since(began).Seconds())
	return errors.Join(ctx.Err(), verdict(o.dirs, results, o.sample > 0))
}

// choose returns the mutants to try. A sample is drawn from all, so that the same
// seed draws the same of the same source.
func choose(o options, all []rewritten, reasons map[key]string) (chosen []mutant) {
	for _, r := range all {
		for _, m := range r.mutants {
			if o.only != nil && !o.only.MatchString(m.key.String()) || o.only == nil && reasons[m.key] != "" {
				continue
			}
			chosen = append(chosen, m)
		}
	}
	if o.sample > 0 || o.limit > 0 {
		random := rand.New(rand.NewPCG(o.seed, 0))
		random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	}
	if o.sample > 0 {
		chosen = chosen[:min(o.sample, len(chosen))]
	}
	return chosen
}

// setup is what is needed before the first mutant can be tried: the binaries, and
// what their tests come by.
type setup struct {
	root     string
	parallel int
	own      bool          // packages' own tests alone
	most     time.Duration // the processor's time of a test; 0: any
	stderr   io.Writer
	dir      string
	trial    trial
}

func (s *setup) prepare(ctx context.Context, all []rewritten, chosen []mutant) (err error) {
	if s.dir, err = os.MkdirTemp("", "mutate-"); err != nil {
		return err
	}
	list, err := overlay(s.root, s.dir, all)
	if err != nil {
		return err
	}
	var dirs []string
	for _, m := range chosen {
		dirs = append(dirs, m.key.dir)
	}
	slices.Sort(dirs)
	of := suites(slices.Compact(dirs), s.own)
	if len(of) == 0 {
		return errors.New("no mutant is left to try")
	}
	if err := compile(ctx, s.root, s.dir, list, of); err != nil {
		return err
	}
	s.trial = trial{root: s.root, most: s.most, order: make(map[*suite]int)}
	var tests []*test
	for i, suite := range of {
		s.trial.order[suite] = i
		more, err := suite.tests(ctx, s.root)
		if err != nil {
			return err
		}
		tests = append(tests, more...)
	}
	if s.trial.reach, err = look(ctx, s.root, tests, s.parallel); err != nil {
		fmt.Fprintln(s.stderr, err)
	}
	return ctx.Err()
}

func (s *setup) close() { os.RemoveAll(s.dir) }

// collect tries mutants until the context ends, and gives each result to done as it
// is there. What was not through by then is left out.
func (s *setup) collect(ctx context.Context, of []mutant, done func(result)) (results []result) {
	var lock sync.Mutex
	each(of, s.parallel, func(_ int, m mutant) {
		if ctx.Err() != nil {
			return
		}
		r := s.trial.one(ctx, m)
		if ctx.Err() != nil {
			return // its tests were ended before their time
		}
		lock.Lock()
		defer lock.Unlock()
		results = append(results, r)
		done(r)
	})
	return results
}
