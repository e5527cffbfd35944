// Package long says how much of the tests that take long is played. Plain go test ./... plays each kind of test with few
// of its cases, and leaves out what takes more than a second. The checks of a change set LAYOVER_TEST_LONG to a part such
// as 2/4: then only the longest are left out, and of those against a real Kafka all but that part is, see
// integration/engine. With 1 nothing is left out.
package long

import (
	"os"
	"testing"
)

const variable = "LAYOVER_TEST_LONG"

// Asked reports whether any part is asked for.
func Asked() bool { return os.Getenv(variable) != "" }

// Whole reports whether all is asked for, and -short is not given.
func Whole() bool { return os.Getenv(variable) == "1" && !testing.Short() }

// Of returns a number of a test, of its cases or of the steps between two of them: checks where a part is asked for, and
// plain where none is.
func Of(checks, plain int) int {
	if Asked() {
		return checks
	}
	return plain
}

// Only skips a test that takes more than a second, where no part is asked for.
func Only(t testing.TB) {
	t.Helper()
	if !Asked() {
		t.Skipf("skipped: it takes more than a second, and %s is not set", variable)
	}
}

// WholeOnly skips a test that is among the longest, where not all are asked for.
func WholeOnly(t testing.TB) {
	t.Helper()
	if !Whole() {
		t.Skipf("skipped: it takes long, and %s is not 1", variable)
	}
}
