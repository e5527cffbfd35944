package endtoend

import (
	"encoding/json"
	"fmt"
	"os"
)

// childVariable tells a process that it is a child, and of which kind. Its name
// has none of the prefixes that the settings are looked for under.
const childVariable = "ENDTOEND_CHILD"

const (
	daemonChild = "daemon"
	loopChild   = "loop"
)

// IsChild says whether this process is one that this package started, and is
// to do nothing but [RunChild].
func IsChild() bool { return os.Getenv(childVariable) != "" }

// RunChild does what the child is for and returns the exit code. It ends when
// its standard input does, so no child outlives who started it.
func RunChild() int {
	var err error
	switch kind := os.Getenv(childVariable); kind {
	case daemonChild:
		err = serveDaemon(os.Stdin, os.Stdout)
	case loopChild:
		err = serveLoop(os.Stdin, os.Stdout)
	default:
		err = fmt.Errorf("%s %q: want %s or %s", childVariable, kind, daemonChild, loopChild)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serveLoop answers one order with what the loop did.
func serveLoop(in *os.File, out *os.File) error {
	var order loopOrder
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	found, err := order.carryOut()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(found)
}
