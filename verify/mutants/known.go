package main

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"strings"
	"time"
)

// known is a test that is known to notice a mutant; the zero value is none, until it is found. It only saves
// time: with -first it is tried before any layer, and where it notices nothing the layers are.
type known struct {
	dir  string // of its package, from the module's root, with slashes
	test string // its name
}

// knownBegins is what its line in the file of a mutant begins with.
const knownBegins = "known: "

// read takes that line.
func (k *known) read(line string) error {
	if *k != (known{}) {
		return errors.New("want one known test")
	}
	var ok bool
	k.dir, k.test, ok = strings.Cut(strings.TrimPrefix(line, knownBegins), " ")
	if !ok || !fs.ValidPath(k.dir) || !strings.HasPrefix(k.test, "Test") || !token.IsIdentifier(k.test) {
		return errors.New("want the directory of a package, from the module's root, and the name of a test")
	}
	return nil
}

// layer is the one test as a layer, which has no test where the test has another name by now.
func (k *known) layer() layer {
	return layer{
		name: k.test, dir: "./" + k.dir, tests: k.test + `\(`,
		args:    []string{"-short", "-run", "^" + k.test + "$"},
		timeout: time.Minute,
	}
}

// exists returns an error where none is known, or the test is not there: layers take minutes,
// and the first of them needs all tests of its packages to pass.
func (k *known) exists(root string) error {
	if *k == (known{}) {
		return fmt.Errorf("want a line %q with the directory of a package and the name of a test that notices it", knownBegins)
	}
	if l := k.layer(); !l.hasTests(root) {
		return fmt.Errorf("the known test %s is not in %s", k.test, k.dir)
	}
	return nil
}

// tried tries the known test of a mutant. As in a layer it has to pass on the source as it is.
func (t *trial) tried(ctx context.Context, k known, overlay string) (*catch, error) {
	l := k.layer()
	limit, err := t.baseline(ctx, l, []string{l.dir})
	if err != nil {
		return nil, err
	}
	_, c, err := t.test(ctx, l, overlay, []string{l.dir}, limit)
	return c, err
}
