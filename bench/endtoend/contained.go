package endtoend

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"layover/bench/broker"
	"layover/bench/process"
)

// startContained starts this binary in a container of its own that may take so many bytes and two
// cores. Kafka's image is there already, so it is the root of it.
func startContained(ctx context.Context, name string, bytes int64, log io.Writer, settings []string) (*process.Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own binary: %w", err)
	}
	args := []string{"run", "-i", "--rm", "--name", name, "--network", "host", "--cpus", "2",
		"--memory", fmt.Sprint(bytes), "--memory-swap", fmt.Sprint(bytes), "-v", self + ":/bench:ro", "--entrypoint", "/bench"}
	for _, s := range append(settings, process.As(process.Daemon)) {
		args = append(args, "-e", s)
	}
	cmd := exec.CommandContext(ctx, broker.EngineClient(), append(args, broker.Image())...)
	return process.Launch(cmd, process.Daemon, log, func() {
		broker.Engine(context.Background(), broker.EngineWithin, "kill", name) // else it has ended
	})
}
