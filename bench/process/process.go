package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// endWithin is how long a child may take to end before it is killed: longer
// than the daemon's own LAYOVER_SHUTDOWN_TIMEOUT.
const endWithin = 15 * time.Second

// Child is a process of this binary. One goroutine uses it.
type Child struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers *json.Decoder
	// beforeKill ends what the process alone does not end, or is nil.
	beforeKill func()
}

// Start starts this binary again. The end of ctx kills it. Of the
// environment it has all but our own settings and what drop names.
func Start(ctx context.Context, kind string, log io.Writer, settings []string, drop ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own binary: %w", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(environ(drop), append(settings, As(kind))...)
	return Launch(cmd, kind, log, nil)
}

// Launch starts a command that is a child of a kind. beforeKill ends what killing the command alone would
// leave, and may be nil.
func Launch(cmd *exec.Cmd, kind string, log io.Writer, beforeKill func()) (*Child, error) {
	cmd.Stderr = log
	cmd.WaitDelay = time.Second
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("%s process: %w", kind, err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%s process: %w", kind, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s process: %w", kind, err)
	}
	return &Child{cmd: cmd, orders: orders, answers: json.NewDecoder(answers), beforeKill: beforeKill}, nil
}

// environ is the environment without the settings of a Layover and without drop.
func environ(drop []string) []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "LAYOVER_") || strings.HasPrefix(name, "KAFKA_") || slices.Contains(drop, name)
	})
}

// Hear decodes the child's next line.
func (c *Child) Hear(into any) error {
	if err := c.answers.Decode(into); err != nil {
		return fmt.Errorf("process %d ended before it answered: %w", c.cmd.Process.Pid, err)
	}
	return nil
}

// Tell gives an order that is answered with something else than a reading.
func (c *Child) Tell(order any) error {
	if err := json.NewEncoder(c.orders).Encode(order); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	return nil
}

// Ask gives an order and returns the reading behind it.
func (c *Child) Ask(order string) (Reading, error) {
	if _, err := fmt.Fprintln(c.orders, order); err != nil {
		return Reading{}, fmt.Errorf("order %q: %w", order, err)
	}
	var a answer
	if err := c.Hear(&a); err != nil {
		return Reading{}, fmt.Errorf("order %q: %w", order, err)
	}
	if a.Err != "" {
		return Reading{}, fmt.Errorf("order %q: %s", order, a.Err)
	}
	return a.Reading, nil
}

// End lets the child end by itself, and kills it if that takes too long.
func (c *Child) End() error {
	c.orders.Close()
	timer := time.AfterFunc(endWithin, func() { c.cmd.Process.Kill() })
	defer timer.Stop()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("process %d: %w", c.cmd.Process.Pid, err)
	}
	return nil
}

// Kill is kill -9, and returns when the child is gone.
func (c *Child) Kill() {
	if c.beforeKill != nil {
		c.beforeKill()
	}
	c.cmd.Process.Kill()
	c.cmd.Wait() // says that it was killed
	c.orders.Close()
}
