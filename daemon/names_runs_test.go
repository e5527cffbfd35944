package daemon

import (
	"strings"
	"testing"
)

// TestNamesAreFilledInOnce: each copy that is moved asks for one.
func TestNamesAreFilledInOnce(t *testing.T) {
	name := namesOf([]string{"delayed"}, func(ingress string) string { return strings.ToUpper(ingress) })
	if n := testing.AllocsPerRun(100, func() { name("delayed") }); n > 0 || name("delayed") != "DELAYED" || name("other") != "OTHER" {
		t.Errorf("%v allocations, and the names %s and %s", n, name("delayed"), name("other"))
	}
}
