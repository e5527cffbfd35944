package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// layer is one set of tests that may catch a mutant: a run of go test.
type layer struct {
	name string
	// dir is the package whose tests these are; "" for each mutant's own, those
	// that it edits.
	dir string
	// tests is what their names begin with.
	tests string
	args  []string // of go test
	flags []string // of the tests themselves
	// timeout is the least time limit of a package's tests: a test that waits for what the
	// mutant has stopped from happening ends there.
	timeout time.Duration
}

// layers returns all there are, the cheap ones first: with -first the others are
// only tried where these find nothing.
func layers() []layer {
	return []layer{
		{name: "package", args: []string{"-short"}, timeout: time.Minute},
		{name: "simulation", dir: "./verify/sim", tests: "TestSimulation", args: []string{"-run", "^TestSimulation"}, flags: []string{"-seeds", "1000"}, timeout: 2 * time.Minute},
		{name: "explorer", dir: "./verify/sim", tests: "TestExplorer", args: []string{"-run", "^TestExplorer"}, flags: []string{"-explore", "4s"}, timeout: 2 * time.Minute},
		{name: "daemon", dir: "./daemon", tests: "Test", args: []string{"-short", "-skip", "^TestRig"}, timeout: 4 * time.Minute},
		{name: "rig", dir: "./daemon", tests: "TestRig", args: []string{"-run", "^TestRig"}, timeout: 4 * time.Minute},
	}
}

// choose returns the layers of a comma-separated list of names; "" is all.
func choose(all []layer, names string) ([]layer, error) {
	if names == "" {
		return all, nil
	}
	var chosen []layer
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(l layer) bool { return l.name == name })
		if i < 0 {
			return nil, fmt.Errorf("layer %q: want some of %s", name, strings.Join(layerNames(all), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func layerNames(ls []layer) (names []string) {
	for _, l := range ls {
		names = append(names, l.name)
	}
	return names
}

// present returns the layers that have tests, and an error that names the others.
// To go test, a package without a test that matches is a success.
func present(root string, ls []layer) (there []layer, err error) {
	for _, l := range ls {
		if l.dir == "" || l.hasTests(root) {
			there = append(there, l)
		} else {
			err = errors.Join(err, fmt.Errorf("layer %s is left out: there is no %s… in %s", l.name, l.tests, l.dir))
		}
	}
	return there, err
}

func (l *layer) hasTests(root string) bool {
	sources, _ := filepath.Glob(filepath.Join(root, l.dir, "*_test.go")) // no error: the pattern is good
	begins := regexp.MustCompile(`(?m)^func ` + l.tests)
	return slices.ContainsFunc(sources, func(name string) bool {
		text, err := os.ReadFile(name)
		return err == nil && begins.Match(text)
	})
}

// packages returns what the layer tests of some mutants. The daemon's own tests
// are a layer, so they are not in the layer of the packages as well.
func (l *layer) packages(of ...mutant) []string {
	if l.dir != "" {
		return []string{l.dir}
	}
	return slices.DeleteFunc(packages(of...), func(dir string) bool { return dir == "./daemon" })
}
