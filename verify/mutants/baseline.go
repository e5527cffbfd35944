package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"
)

const (
	// unhurried is the time limit of a layer's tests on the source as it is.
	unhurried = 20 * time.Minute
	// slower is how many times as long as those the tests of a mutant may take.
	slower = 3
)

// baseline tells how long a layer's tests of a mutant may take, by how long they take on the
// source as it is. There they have to pass: a test that fails anyway would seem to catch all.
type baseline func() (limit time.Duration, err error)

// baselines sets those of all layers. Each is found out when it is wanted first: with -first
// few mutants get to the last layers.
func (t *trial) baselines(ctx context.Context, ms []mutant) {
	t.limits = make([]baseline, len(t.layers))
	for i, l := range t.layers {
		t.limits[i] = sync.OnceValues(func() (time.Duration, error) {
			began := time.Now()
			limit, err := t.baseline(ctx, l, l.packages(ms...))
			fmt.Fprintf(t.stderr, "%-32s %4.0f s  layer %s\n", "the source as it is", time.Since(began).Seconds(), l.name)
			return limit, err
		})
	}
}

func (t *trial) baseline(ctx context.Context, l layer, packages []string) (time.Duration, error) {
	out, c, err := t.test(ctx, l, "", packages, unhurried)
	if err != nil {
		return 0, err
	}
	if c != nil {
		said, _, _ := bytes.Cut(out, []byte("\ngoroutine ")) // thousands of lines begin there
		fmt.Fprintf(t.stderr, "%s\n", said)
		return 0, fmt.Errorf("layer %s fails on the source as it is: %s", c, c.sign)
	}
	return max(l.timeout, slower*slowest(out)), nil
}

var passed = regexp.MustCompile(`(?m)^ok\s+\S+\s+([0-9.]+)s`)

// slowest returns the longest time that go test says of a package.
func slowest(out []byte) (d time.Duration) {
	for _, m := range passed.FindAllSubmatch(out, -1) {
		s, _ := strconv.ParseFloat(string(m[1]), 64) // 0 where it is no number
		d = max(d, time.Duration(s*float64(time.Second)))
	}
	return d
}
