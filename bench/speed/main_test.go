package speed

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"layover/bench/process"
)

func TestMain(m *testing.M) {
	if process.IsChild() {
		os.Exit(process.RunChild(Children()))
	}
	goleak.VerifyTestMain(m)
}
