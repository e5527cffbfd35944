package main

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// outcome is how a mutant fared.
type outcome int

const (
	survived outcome = iota // tests came by and passed
	idle                    // no test came by where it would make a difference
	caught
	hung // the tests found no end: caught, too
)

// result is the outcome of one mutant.
type result struct {
	mutant
	outcome
	by string // the layer and the first test that failed
}

// trial is how mutants are tried.
type trial struct {
	root  string
	most  time.Duration  // the processor's time of a test that is run; 0: any
	order map[*suite]int // suites, as they are tried
	reach reach
}

// one tries one mutant on the tests that come by it: quick ones first, because most
// mutants are noticed by several.
func (t *trial) one(ctx context.Context, m mutant) result {
	r := result{mutant: m}
	var tests []*test
	for _, test := range t.reach[m.id] {
		if test.tries(m.key.dir) && (t.most == 0 || test.took.cpu <= t.most) {
			tests = append(tests, test)
		}
	}
	if len(tests) == 0 {
		r.outcome = idle
		return r
	}
	for _, batch := range t.batches(tests) {
		var names []string
		var took cost
		for _, test := range batch {
			names = append(names, test.name)
			took.wall += test.took.wall
			took.cpu += test.took.cpu
		}
		ran := batch[0].run(ctx, t.root, took.bound(), onVariable+"="+strconv.Itoa(m.id), names...)
		if ran.passed {
			continue
		}
		r.outcome, r.by = caught, batch[0].layer+" "+sign(ran.said)
		if ran.hung {
			r.outcome = hung
		}
		return r
	}
	return r
}

// batches puts tests of one suite together: those that take no time, those that
// take some, and all others.
func (t *trial) batches(tests []*test) (all [][]*test) {
	slices.SortFunc(tests, func(a, b *test) int {
		return cmp.Or(cmp.Compare(t.order[a.suite], t.order[b.suite]), cmp.Compare(a.took.wall, b.took.wall))
	})
	limits := []time.Duration{500 * time.Millisecond, 4 * time.Second, 20 * time.Second, time.Hour}
	var of *suite
	var total time.Duration
	level := 0
	for _, test := range tests {
		if test.suite != of {
			of, total, level = test.suite, 0, 0
			all = append(all, nil)
		}
		total += test.took.wall
		if n := len(all) - 1; total > limits[level] && len(all[n]) > 0 {
			for total > limits[level] {
				level++
			}
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], test)
	}
	return all
}

var failing = regexp.MustCompile(`(?m)^\s*--- FAIL: \S+|^panic: .*|^fatal error: .*`)

func sign(said []byte) string {
	return strings.TrimPrefix(strings.TrimSpace(string(failing.Find(said))), "--- FAIL: ")
}
