// Fuzz runs every fuzz target of the module it is started in, one after the
// other, and divides a total time among them:
//
//	go run ./verify/fuzz -for 1h               all of them
//	go run ./verify/fuzz -for 5m -run offsets  those whose package/name matches
//	go run ./verify/fuzz -list                 only their names
//
// go test -fuzz takes one target of one package and ends at its first failure.
// This goes on after one, so that a night finds all there is to find. At the end
// it names what failed and the file in which go left the input. That file is a
// seed from then on, which every go test runs, so it belongs into the commit that
// mends the fault. The exit code is 0 if nothing was found, and 2 if the command
// line is wrong. It is 1 if something was found, or if a target could not be
// built.
//
// What it is not: a fuzzer. It knows of the targets only what go prints, and
// imports nothing of the module.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"time"
)

const (
	// leastTime is what each target gets at least: starting the workers and running
	// the seeds takes a second or two of it.
	leastTime = 5 * time.Second
	// minimizeTime is what go may spend on making one input shorter. With its default
	// of a minute it does little else where a run takes milliseconds. In 20 s it tried
	// 255 inputs of purgatory's target, and with this 9,246.
	minimizeTime = time.Second
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("fuzz", flag.ContinueOnError)
	flags.SetOutput(stderr)
	total := flags.Duration("for", 10*time.Minute, "total `time`, divided among the targets")
	only := flags.String("run", "", "only targets whose package/name matches this `regexp`")
	list := flags.Bool("list", false, "print the targets and end")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	chosen, err := regexp.Compile(*only)
	if err != nil || flags.NArg() > 0 {
		fmt.Fprintf(stderr, "fuzz: unexpected arguments %q or a bad -run: %v\n", flags.Args(), err)
		return 2
	}
	targets, err := find(chosen)
	if err != nil {
		fmt.Fprintln(stderr, "fuzz:", err)
		return 1
	}
	if *list {
		for _, t := range targets {
			fmt.Fprintln(stdout, t)
		}
		return 0
	}
	return fuzz(targets, *total, stdout)
}

// find returns the targets of all packages below the working directory.
func find(chosen *regexp.Regexp) ([]target, error) {
	module, err := output("go", "list", "-m")
	if err != nil {
		return nil, err
	}
	listed, err := output("go", "test", "-list", "^Fuzz", "./...")
	if err != nil {
		return nil, err
	}
	var targets []target
	for _, t := range parseList(listed, strings.TrimSpace(module)) {
		if chosen.MatchString(t.String()) {
			targets = append(targets, t)
		}
	}
	if len(targets) == 0 {
		return nil, errors.New("no target found")
	}
	return targets, nil
}

// output returns what a command prints, and an error with what it complains of.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out, complaint.String())
	}
	return string(out), nil
}

// fuzz runs the targets and prints a line for each, then the sums, then all that
// go said about each failure.
func fuzz(targets []target, total time.Duration, stdout io.Writer) int {
	each := max(total/time.Duration(len(targets)), leastTime).Round(time.Second)
	fmt.Fprintf(stdout, "%d targets, %v each\n", len(targets), each)
	began := time.Now()
	var sum result
	var failed []result
	for _, t := range targets {
		r := fuzzOne(t, each)
		fmt.Fprintln(stdout, r)
		sum.execs += r.execs
		sum.found += r.found
		if r.failed {
			failed = append(failed, r)
		}
	}
	fmt.Fprintf(stdout, "total: %d targets in %v, %d executions, %d new interesting inputs, %d failed\n",
		len(targets), time.Since(began).Round(time.Second), sum.execs, sum.found, len(failed))
	for _, r := range failed {
		fmt.Fprintf(stdout, "\nFAILED %s: %s\n%s", r.target, r.whereInput(), r.report)
	}
	if len(failed) > 0 {
		return 1
	}
	return 0
}

// fuzzOne runs one target. The time is go's to keep: building comes on top.
func fuzzOne(t target, d time.Duration) result {
	cmd := exec.Command("go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", d.String(),
		"-fuzzminimizetime", minimizeTime.String(), "./"+t.folder)
	out, err := cmd.CombinedOutput()
	r := parseRun(string(out))
	r.target, r.failed = t, err != nil && !r.late
	if r.input != "" {
		r.input = path.Join(t.folder, r.input)
	}
	return r
}
