// Package engine is the command line client of a container engine. Its tests do what
// users do, with the commands that users have.
//
// LAYOVER_TEST_DOCKER names the client, default docker.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	// findTimeout bounds how long a machine without an engine costs.
	findTimeout = 5 * time.Second
	// AskTimeout is for what an engine answers by itself; under load it takes its time.
	AskTimeout = 20 * time.Second
	// pullTimeout is for an image of some 400 MB over an ordinary line.
	pullTimeout = 5 * time.Minute
	// BuildTimeout is for an image whose modules have to be fetched first.
	BuildTimeout = 5 * time.Minute
)

// Unavailable is the reason for which a test cannot run on this machine. Any other
// error fails the test.
type Unavailable string

func (u Unavailable) Error() string { return string(u) }

// CLI is the client: the name or the path of a program.
type CLI string

// Client returns the client that the environment names, whether an engine answers it
// or not.
func Client() CLI { return CLI(cmp.Or(os.Getenv("LAYOVER_TEST_DOCKER"), "docker")) }

// Find returns a client whose engine answers, or else an [Unavailable].
func Find() (CLI, error) {
	c := Client()
	if out, err := c.Run(findTimeout, "version", "--format", "{{.Server.Version}}"); err != nil {
		return "", Unavailable(fmt.Sprintf("no container engine answers %s: %s", c, cmp.Or(out, err.Error())))
	}
	return c, nil
}

// Run runs the client and returns what it printed, errors and all.
func (c CLI) Run(within time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, string(c), args...)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=1")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("%s %s: %w: %s", c, args[0], err, text)
	}
	return text, nil
}

// Have pulls an image that is not on this machine. The error is an [Unavailable].
func (c CLI) Have(image string) error {
	if _, err := c.Run(AskTimeout, "image", "inspect", image); err == nil {
		return nil
	}
	if _, err := c.Run(pullTimeout, "pull", "--quiet", image); err != nil {
		return Unavailable(fmt.Sprintf("the image %s is not here and cannot be pulled: %s", image, FirstLine(err)))
	}
	return nil
}

// build builds an image under a new name, which it returns. Without BuildKit the error
// is an [Unavailable].
func (c CLI) build(args ...string) (string, error) {
	name := "layover-test:" + Random()
	_, err := c.Run(BuildTimeout, append([]string{"build", "--quiet", "--tag", name}, args...)...)
	if err != nil && (strings.Contains(err.Error(), "buildx component is missing") || strings.Contains(err.Error(), "does not support BuildKit")) {
		return "", Unavailable(fmt.Sprintf("%s has no BuildKit: %s", c, FirstLine(err)))
	}
	if err != nil {
		return "", err
	}
	return name, nil
}

// BuildProject builds the project's Dockerfile, which is in a folder, with modules from
// where this machine has them from. It returns the new image's name; the caller removes
// it, with [CLI.Removal]. Without BuildKit or the base images the error is an
// [Unavailable].
func (c CLI) BuildProject(folder string, args ...string) (string, error) {
	for _, base := range []string{"golang:1.26", "gcr.io/distroless/static-debian12:nonroot"} {
		if err := c.Have(base); err != nil {
			return "", err
		}
	}
	for name, value := range ModuleSettings() {
		args = append(args, "--build-arg", name+"="+value)
	}
	return c.build(append(args, folder)...)
}

// ModuleSettings is how this machine fetches Go modules; a build has no way to know.
func ModuleSettings() map[string]string {
	out := make(map[string]string)
	for _, name := range []string{"GOPROXY", "GOSUMDB"} {
		if value, err := exec.Command("go", "env", name).Output(); err == nil {
			out[name] = strings.TrimSpace(string(value))
		}
	}
	return out
}

// Removal is a command that removes something, unless it is gone.
func (c CLI) Removal(args ...string) func() error {
	return func() error {
		_, err := c.Run(time.Minute, args...)
		if err != nil && (strings.Contains(err.Error(), "No such") || strings.Contains(err.Error(), "not found")) {
			return nil
		}
		return err
	}
}

// Random is part of a name that no other run has.
func Random() string { return fmt.Sprintf("%08x", rand.Uint32()) }

// FreePort returns a port that nobody listens on. It lies below the range from which
// systems choose the ports of outgoing connections. Otherwise a client that dials a
// stopped broker again and again would once connect to itself, and the broker could
// not come back.
func FreePort() (int, error) {
	const first, count = 15000, 15000
	var last error
	for range 100 {
		port := first + rand.IntN(count)
		l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err != nil {
			last = err
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("no free port: %w", last)
}

// FirstLine is the first line of an error that has many.
func FirstLine(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}
