package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// suite is a layer of tests in one package: what may notice a mutant.
type suite struct {
	layer  string
	dir    string         // of the package, from the module's root
	only   *regexp.Regexp // of its tests; nil is all
	args   []string       // of the test binary
	binary string
}

// test is one of a suite, as it runs without a mutant.
type test struct {
	*suite
	name string
	took time.Duration
}

// suites returns what is tried of the mutants of packages, cheap ones first. A
// package that is no subject has its own tests.
func suites(dirs []string) (all []*suite) {
	short := []string{"-test.short"}
	layers := make(map[string]bool)
	for _, dir := range dirs {
		all = append(all, &suite{layer: "package", dir: dir, args: short})
		if s := subjectOf(dir); s != nil {
			layers[s.layer] = true
		}
	}
	if layers["simulation"] {
		all = append(all, &suite{layer: "simulation", dir: "verify/sim", only: regexp.MustCompile("^TestSimulation"), args: []string{"-seeds", "200"}})
	}
	if layers["daemon"] {
		all = append(all, &suite{layer: "daemon", dir: "daemon", only: regexp.MustCompile("^Test([^R]|R[^i]|Ri[^g])"), args: short})
	}
	return all
}

// tries says whether a suite is for the mutants of a package.
func (s *suite) tries(dir string) bool {
	of := subjectOf(dir)
	return s.dir == dir || of != nil && s.layer == of.layer
}

// compile makes the test binaries, with all mutants in them, in dir.
func compile(ctx context.Context, root, dir, overlay string, all []*suite) error {
	args := []string{"test", "-c", "-vet=off", "-overlay=" + overlay, "-o", dir + string(filepath.Separator)}
	seen := make(map[string]bool)
	for _, s := range all {
		s.binary = filepath.Join(dir, path.Base(s.dir)+".test")
		if !seen[s.dir] {
			args = append(args, "./"+s.dir)
			seen[s.dir] = true
		}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the tests with all mutants: %w\n%s", err, out)
	}
	return nil
}

// tests lists those of a suite.
func (s *suite) tests(ctx context.Context, root string) (all []*test, err error) {
	if _, err := os.Stat(s.binary); errors.Is(err, os.ErrNotExist) {
		return nil, nil // a package without tests of its own
	}
	cmd := exec.CommandContext(ctx, s.binary, "-test.list", ".")
	cmd.Dir = filepath.Join(root, filepath.FromSlash(s.dir))
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("tests of %s: %w", s.dir, err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if !strings.HasPrefix(name, "Benchmark") && (s.only == nil || s.only.MatchString(name)) {
			all = append(all, &test{suite: s, name: name})
		}
	}
	return all, nil
}

// run runs tests of one suite and returns what they said and whether they passed.
// One that is not through in time is ended, and has not passed.
func (s *suite) run(ctx context.Context, root string, limit time.Duration, env string, names ...string) (said []byte, passed bool) {
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := append([]string{"-test.failfast", "-test.run", "^(" + strings.Join(names, "|") + ")$"}, s.args...)
	name := s.binary
	// What a mutant takes of memory without end is not the machine's.
	if shell, err := exec.LookPath("sh"); err == nil {
		args = append([]string{"-c", `ulimit -v 8000000 2>/dev/null; exec "$0" "$@"`, name}, args...)
		name = shell
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(s.dir))
	cmd.Env = append(os.Environ(), env)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return out, err == nil
}

// reach is which tests come by which mutants, by the mutants' ids.
type reach map[int][]*test

// look runs each test by itself without a mutant. One that fails then would notice
// everything: it is left out, with an error that says so.
func look(ctx context.Context, root string, all []*test, parallel int) (reach, error) {
	dir, err := os.MkdirTemp("", "reach-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	by := make(reach)
	var lock sync.Mutex
	each(all, parallel, func(i int, t *test) {
		file := filepath.Join(dir, strconv.Itoa(i))
		began := time.Now()
		said, passed := t.run(ctx, root, 5*time.Minute, reachVariable+"="+file, t.name)
		t.took = time.Since(began)
		lock.Lock()
		defer lock.Unlock()
		if !passed {
			err = errors.Join(err, fmt.Errorf("%s of %s fails with no mutant on, and is left out:\n%s", t.name, t.dir, firstLines(said)))
			return
		}
		text, _ := os.ReadFile(file) // none: the test comes by nothing
		for id := range bytes.FieldsSeq(text) {
			n, _ := strconv.Atoi(string(id)) // written by mutant_note
			by[n] = append(by[n], t)
		}
	})
	return by, errors.Join(err, ctx.Err())
}

// each calls do for all, some at a time, and returns when all are done.
func each[T any](all []T, parallel int, do func(int, T)) {
	var working sync.WaitGroup
	room := make(chan struct{}, parallel)
	for i, t := range all {
		room <- struct{}{}
		working.Go(func() {
			defer func() { <-room }()
			do(i, t)
		})
	}
	working.Wait()
}

func firstLines(said []byte) string {
	lines := slices.Collect(strings.Lines(string(said)))
	return strings.Join(lines[:min(len(lines), 10)], "")
}
