// Package long says how much of the tests that take long is played. Plain go test ./... plays each kind of test with few
// of its cases, and leaves out what takes more than half a second. The checks of a change set LAYOVER_TEST_LONG to a part
// such as 2/4. Then all cases are played, but only that part of the tests that take more than half a second, and not the
// longest. With 1 nothing is left out.
package long

import (
	"os"
	"strings"
	"testing"
)

const variable = "LAYOVER_TEST_LONG"

// Asked reports whether any part is asked for.
func Asked() bool { return os.Getenv(variable) != "" }

// Whole reports whether all is asked for, and -short is not given.
func Whole() bool { return os.Getenv(variable) == "1" && !testing.Short() }

// Of returns a number of a test, of its cases or of the steps between two of them. It returns checks where a part is
// asked for, and plain where none is.
func Of(checks, plain int) int {
	if Asked() {
		return checks
	}
	return plain
}

// Only skips a test that takes more than half a second where it is not of the part that is asked for. What is within a
// test is of that test's part.
func Only(t testing.TB) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	if played, err := Played(test); err != nil {
		t.Fatal(err)
	} else if !played {
		t.Skipf("skipped: it takes more than half a second, and %s=%s does not ask for it", variable, os.Getenv(variable))
	}
}

// InChecks skips a test that the checks of every change play, where no part is asked for.
func InChecks(t testing.TB) {
	t.Helper()
	if !Asked() {
		t.Skipf("skipped: every change plays it, and %s is not set", variable)
	}
}

// Kafka is Only for a test that takes some seconds against a real Kafka, and skips it with -short as well.
func Kafka(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: it takes long, and -short is given")
	}
	Only(t)
}

// WholeOnly skips a test that is among the longest, where not all are asked for.
func WholeOnly(t testing.TB) {
	t.Helper()
	if !Whole() {
		t.Skipf("skipped: it takes long, and %s is not 1", variable)
	}
}
