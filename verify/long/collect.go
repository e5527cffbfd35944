package long

import (
	"os"
	"runtime/debug"
)

// Tests allocate much and keep little. Where GOGC does not say how often they collect garbage, they do it a fourth as
// often as a process does. That saves a fifth of their processor time.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
