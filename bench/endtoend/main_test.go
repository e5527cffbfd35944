package endtoend

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if IsChild() {
		os.Exit(RunChild())
	}
	goleak.VerifyTestMain(m)
}
