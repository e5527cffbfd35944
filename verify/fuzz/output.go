package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// target is one fuzz target.
type target struct {
	folder string // of its package, relative to the module, with slashes
	name   string
}

func (t target) String() string { return t.folder + "/" + t.name }

// parseList reads what go test -list prints: the names of a package's targets,
// and behind them the line that says the package is ok.
func parseList(listed, module string) []target {
	var targets []target
	var names []string
	for line := range strings.Lines(listed) {
		words := strings.Fields(line)
		switch {
		case len(words) == 1 && strings.HasPrefix(words[0], "Fuzz"):
			names = append(names, words[0])
		case len(words) > 1 && words[0] == "ok":
			folder := strings.TrimPrefix(strings.TrimPrefix(words[1], module), "/")
			if folder == "" {
				folder = "."
			}
			for _, name := range names {
				targets = append(targets, target{folder, name})
			}
			names = nil
		}
	}
	return targets
}

// result is what one run of a target came to.
type result struct {
	target
	failed bool
	execs  int64
	found  int    // inputs that reached something new in this run
	corpus int    // inputs that go keeps for the target, the seeds included
	late   bool   // go ended the run a moment after its time, and says no more than that
	input  string // the file with the failing input; empty where a seed fails or nothing was built
	report string // what go said besides its progress
}

var (
	progress = regexp.MustCompile(`^fuzz: elapsed: .*, execs: (\d+) \(.*\), new interesting: (\d+) \(total: (\d+)\)`)
	// overtime is all that go says where a worker is busy when its time ends. It is no
	// finding: what hangs or fails leaves an input or a message of its own.
	overtime = regexp.MustCompile(`^--- FAIL: \S+ \(.*\)\n    context deadline exceeded\nFAIL\n`)
	written  = regexp.MustCompile(`^\s*Failing input written to (\S+)`)
)

// parseRun reads what go test -fuzz prints. Its counters are sums since the
// start, so the last ones hold.
func parseRun(out string) result {
	var r result
	var report strings.Builder
	for line := range strings.Lines(out) {
		if m := progress.FindStringSubmatch(line); m != nil {
			r.execs, _ = strconv.ParseInt(m[1], 10, 64) // digits by the expression
			r.found, _ = strconv.Atoi(m[2])
			r.corpus, _ = strconv.Atoi(m[3])
			continue
		}
		if m := written.FindStringSubmatch(line); m != nil {
			r.input = m[1]
		}
		if !strings.HasPrefix(line, "fuzz: ") {
			report.WriteString(line)
		}
	}
	r.report = report.String()
	r.late = overtime.MatchString(r.report)
	return r
}

func (r result) String() string {
	verdict := "ok"
	if r.failed {
		verdict = "FAILED"
	}
	return fmt.Sprintf("%-6s  %-60s  %10d executions  %4d new of %4d interesting", verdict, r.target, r.execs, r.found, r.corpus)
}

// whereInput says where the input of a failure is.
func (r result) whereInput() string {
	if r.input == "" {
		return "go wrote no input: a seed fails, or it did not build"
	}
	return "the input is in " + r.input
}
