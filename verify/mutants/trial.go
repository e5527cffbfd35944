package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// trial is how mutants are tried.
type trial struct {
	root     string
	layers   []layer
	first    bool       // stop at the first layer that catches a mutant
	parallel int        // mutants tried at a time
	limits   []baseline // by layer
	stderr   io.Writer  // what the baselines say
}

// result is how one mutant fared.
type result struct {
	mutant mutant
	caught []catch
	took   time.Duration
	err    error // it could not be tried
}

// catch is a layer that noticed a mutant.
type catch struct {
	layer    string
	sign     string // the first test that failed, or the panic that no test is named for
	timedOut bool
}

func (c catch) String() string {
	if c.timedOut {
		return c.layer + " (timed out)"
	}
	return c.layer
}

// all tries mutants and gives each result to done as it is there, in any order.
func (t *trial) all(ctx context.Context, ms []mutant, done func(result)) {
	next, results := make(chan mutant), make(chan result)
	var working sync.WaitGroup
	for range t.parallel {
		working.Go(func() { // ended by the close of next
			for m := range next {
				results <- t.one(ctx, m)
			}
		})
	}
	go func() { // ends when the last mutant is taken and tried
		for _, m := range ms {
			next <- m
		}
		close(next)
		working.Wait()
		close(results)
	}()
	for r := range results {
		done(r)
	}
}

// one tries one mutant.
func (t *trial) one(ctx context.Context, m mutant) (r result) {
	began := time.Now()
	r.mutant = m
	defer func() { r.took = time.Since(began) }()
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		r.err = err
		return r
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(t.root, dir)
	if err != nil {
		r.err = err
		return r
	}
	if r.err = build(ctx, t.root, overlay, packages(m)); r.err != nil {
		return r
	}
	if t.first && m.known != (known{}) {
		c, err := t.tried(ctx, m.known, overlay)
		if c != nil {
			r.caught = append(r.caught, *c)
		}
		if r.err = err; c != nil || err != nil {
			return r
		}
	}
	for i, l := range t.layers {
		c, err := t.layer(ctx, i, overlay, l.packages(m))
		if err != nil {
			r.err = err
			return r
		}
		if c != nil {
			r.caught = append(r.caught, *c)
			if t.first {
				break
			}
		}
	}
	return r
}

// layer runs the tests of a layer on a mutant, within the limit of the layer's baseline.
func (t *trial) layer(ctx context.Context, i int, overlay string, packages []string) (*catch, error) {
	if len(packages) == 0 {
		return nil, nil
	}
	limit, err := t.limits[i]()
	if err != nil {
		return nil, err
	}
	_, c, err := t.test(ctx, t.layers[i], overlay, packages, limit)
	return c, err
}

// build compiles what a mutant edits: one that does not compile is caught by the
// compiler, which proves nothing about the tests.
func build(ctx context.Context, root, overlay string, packages []string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-overlay=" + overlay}, packages...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

var (
	notBuilt = regexp.MustCompile(`(?m)^FAIL\t.*\[(build|setup) failed\]$`)
	timedOut = regexp.MustCompile(`(?m)^panic: test timed out after`)
	failed   = regexp.MustCompile(`(?m)^\s*--- FAIL: .*|^panic: .*`)
)

// test runs a layer's tests of packages, each for limit at most, and returns what they print.
// The catch is nil where they pass. Without an overlay the source is as it is.
func (t *trial) test(ctx context.Context, l layer, overlay string, packages []string, limit time.Duration) ([]byte, *catch, error) {
	// Vet has nothing to say here, and results of earlier runs are not asked for:
	// tests with seeds of their own choose others every time.
	args := []string{"test", "-overlay=" + overlay, "-failfast", "-count=1", "-vet=off", "-timeout=" + limit.String()}
	cmd := exec.CommandContext(ctx, "go", slices.Concat(args, l.args, packages, l.flags)...)
	cmd.Dir = t.root
	cmd.Env = append(os.Environ(), "LAYOVER_TEST_LONG=1/1") // as in the checks of a change: none is left out
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out, nil, nil
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case !errors.As(err, &exit) || notBuilt.Match(out) || !strings.Contains(string(out), "FAIL"):
		return nil, nil, fmt.Errorf("layer %s: %w\n%s", l.name, err, out)
	}
	sign := strings.TrimSpace(string(failed.Find(out)))
	return out, &catch{layer: l.name, sign: strings.TrimPrefix(sign, "--- FAIL: "), timedOut: timedOut.Match(out)}, nil
}
