package endtoend

import (
	"os"
	"testing"

	"layover/bench/process"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if process.IsChild() {
		os.Exit(process.RunChild(Children()))
	}
	goleak.VerifyTestMain(m)
}
