package endtoend

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

// child is a process of this binary. One goroutine uses it.
type child struct {
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers *json.Decoder
	// container is the name of the container that it runs in, "" where it is a process.
	container string
}

// startChild starts this binary again. The end of ctx kills it. Of the
// environment it has all but our own settings and what drop names.
func startChild(ctx context.Context, kind string, log io.Writer, settings []string, drop ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own binary: %w", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(environ(drop), append(settings, childVariable+"="+kind)...)
	return start(cmd, kind, log)
}

// startContained starts this binary in a container of its own that may take so many bytes and two
// cores. Kafka's image is there already, so it is the root of it.
func startContained(ctx context.Context, name string, bytes int64, log io.Writer, settings []string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own binary: %w", err)
	}
	args := []string{"run", "-i", "--rm", "--name", name, "--network", "host", "--cpus", "2",
		"--memory", fmt.Sprint(bytes), "--memory-swap", fmt.Sprint(bytes), "-v", self + ":/bench:ro", "--entrypoint", "/bench"}
	for _, s := range append(settings, childVariable+"="+daemonChild) {
		args = append(args, "-e", s)
	}
	c, err := start(exec.CommandContext(ctx, engineClient(), append(args, kafkaImage())...), daemonChild, log)
	if err == nil {
		c.container = name
	}
	return c, err
}

// start starts a command that is a child.
func start(cmd *exec.Cmd, kind string, log io.Writer) (*child, error) {
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
	return &child{cmd: cmd, orders: orders, answers: json.NewDecoder(answers)}, nil
}

// environ is the environment without the settings of a Layover and without drop.
func environ(drop []string) []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "LAYOVER_") || strings.HasPrefix(name, "KAFKA_") || slices.Contains(drop, name)
	})
}

// hear decodes the child's next line.
func (c *child) hear(into any) error {
	if err := c.answers.Decode(into); err != nil {
		return fmt.Errorf("process %d ended before it answered: %w", c.cmd.Process.Pid, err)
	}
	return nil
}

// ask gives an order and returns the reading behind it.
func (c *child) ask(order string) (reading, error) {
	if _, err := fmt.Fprintln(c.orders, order); err != nil {
		return reading{}, fmt.Errorf("order %q: %w", order, err)
	}
	var a answer
	if err := c.hear(&a); err != nil {
		return reading{}, fmt.Errorf("order %q: %w", order, err)
	}
	if a.Err != "" {
		return reading{}, fmt.Errorf("order %q: %s", order, a.Err)
	}
	return a.reading, nil
}

// end lets the child end by itself, and kills it if that takes too long.
func (c *child) end() error {
	c.orders.Close()
	timer := time.AfterFunc(endWithin, func() { c.cmd.Process.Kill() })
	defer timer.Stop()
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("process %d: %w", c.cmd.Process.Pid, err)
	}
	return nil
}

// kill is kill -9, and returns when the child is gone.
func (c *child) kill() {
	if c.container != "" {
		engine(context.Background(), engineWithin, "kill", c.container) // else it has ended
	}
	c.cmd.Process.Kill()
	c.cmd.Wait() // says that it was killed
	c.orders.Close()
}
