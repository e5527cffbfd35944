// Package process is the processes of a benchmark: this binary, started again for one thing, so
// that its memory and its CPU are nobody else's.
//
//	benchmark's process                  a process of its own
//
//	orders ──────── its stdin ─────────► read, collect, profile
//	readings ◄───── its stdout ───────── memory, CPU, collections
//
// Main has to let that happen before anything else:
//
//	if process.IsChild() {
//		os.Exit(process.RunChild(kinds))
//	}
package process

import (
	"fmt"
	"maps"
	"os"
	"slices"
)

// childVariable tells a process that it is a child, and of which kind. Its name
// has none of the prefixes that the settings are looked for under.
const childVariable = "BENCH_CHILD"

// Serve is what a child is for. It returns when in ends.
type Serve func(in, out *os.File) error

// Daemon is the kind of child that is a Layover. All programs have it.
const Daemon = "daemon"

// As is the variable of the environment that makes this binary a child of a kind.
func As(kind string) string { return childVariable + "=" + kind }

// IsChild says whether this process is one that this package started, and is
// to do nothing but [RunChild].
func IsChild() bool { return os.Getenv(childVariable) != "" }

// RunChild does what the child is for, which is one of kinds or [Daemon], and returns
// the exit code. It ends when its standard input does, so no child outlives who
// started it.
func RunChild(kinds map[string]Serve) int {
	serve, kind := serveDaemon, os.Getenv(childVariable)
	if kind != Daemon {
		serve = kinds[kind]
	}
	err := fmt.Errorf("%s %q: want %s, or one of %q", childVariable, kind, Daemon, slices.Sorted(maps.Keys(kinds)))
	if serve != nil {
		err = serve(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
