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
	took cost
}

// cost is the time of a run.
type cost struct{ wall, cpu time.Duration }

// bound is the most that tests may take with a mutant on. What runs in circles is
// known by the processor's time, and so on a busy machine too; what waits for ever, by
// the clock.
func (c cost) bound() cost {
	return cost{wall: 30*time.Second + 10*c.wall, cpu: 3*time.Second + 5*c.cpu}
}

// suites returns what is tried of the mutants of packages, cheap ones first. A
// package that is no subject has its own tests. With own no package has any other.
func suites(dirs []string, own bool) (all []*suite) {
	short := []string{"-test.short"}
	layers := make(map[string]bool)
	for _, dir := range dirs {
		all = append(all, &suite{layer: "package", dir: dir, args: short})
		if s := subjectOf(dir); s != nil && !own {
			layers[s.layer] = true
		}
	}
	if layers["simulation"] {
		all = append(all, &suite{layer: "simulation", dir: "verify/sim", only: regexp.MustCompile("^TestSimulation"), args: []string{"-seeds", "100"}})
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

// ran is what came of running tests.
type ran struct {
	said   []byte
	passed bool
	hung   bool // they took more than they may, and were ended
	took   cost
}

// run runs tests of one suite, which may take no more than most.
func (s *suite) run(ctx context.Context, root string, most cost, env string, names ...string) (r ran) {
	for i, name := range names {
		names[i] = regexp.QuoteMeta(name)
	}
	limited, cancel := context.WithTimeout(ctx, most.wall)
	defer cancel()
	args := append([]string{"-test.failfast", "-test.run", "^(" + strings.Join(names, "|") + ")$"}, s.args...)
	name := s.binary
	// What a mutant takes without end, of memory or time, is not the machine's.
	if shell, err := exec.LookPath("sh"); err == nil {
		limits := fmt.Sprintf(`ulimit -v 8000000; ulimit -t %d; exec "$0" "$@"`, 1+int(most.cpu.Seconds()))
		args = append([]string{"-c", limits, name}, args...)
		name = shell
	}
	cmd := exec.CommandContext(limited, name, args...)
	cmd.Dir = filepath.Join(root, filepath.FromSlash(s.dir))
	cmd.Env = append(os.Environ(), env, "LAYOVER_TEST_LONG=1/1") // as in the checks of a change: none is left out
	cmd.WaitDelay = time.Second
	began := time.Now()
	said, err := cmd.CombinedOutput()
	r = ran{said: said, passed: err == nil, took: cost{wall: time.Since(began)}}
	if cmd.ProcessState != nil {
		r.took.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	r.hung = !r.passed && (limited.Err() != nil || r.took.cpu >= most.cpu)
	return r
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
		r := t.run(ctx, root, cost{10 * time.Minute, 10 * time.Minute}, reachVariable+"="+file, t.name)
		t.took = r.took
		lock.Lock()
		defer lock.Unlock()
		if !r.passed {
			err = errors.Join(err, fmt.Errorf("%s of %s fails with no mutant on, and is left out:\n%s", t.name, t.dir, firstLines(r.said)))
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
