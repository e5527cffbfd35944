package container

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const (
	// engineTimeout bounds how long a machine without an engine costs.
	engineTimeout = 5 * time.Second
	// pullTimeout is for an image of some 400 MB over an ordinary line.
	pullTimeout  = 5 * time.Minute
	buildTimeout = 5 * time.Minute
	askTimeout   = 20 * time.Second // an engine under load takes its time
)

// engineCLI is the command line client of a container engine. The tests do what
// its users do, with the commands that users have.
type engineCLI string

// run runs the client and returns its output.
func (c engineCLI) run(within time.Duration, args ...string) (string, error) {
	return c.feed(within, "", args...)
}

// feed is run with something on the standard input.
func (c engineCLI) feed(within time.Duration, input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, string(c), args...)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=1")
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("%s %s: %w: %s", c, args[0], err, text)
	}
	return text, nil
}

// findEngine returns a client whose engine answers.
func findEngine() (engineCLI, error) {
	c := engineCLI(cmp.Or(os.Getenv("LAYOVER_TEST_DOCKER"), "docker"))
	if out, err := c.run(engineTimeout, "version", "--format", "{{.Server.Version}}"); err != nil {
		return "", unavailable{fmt.Sprintf("no container engine answers %s: %s", c, cmp.Or(out, err.Error()))}
	}
	return c, nil
}

// have pulls an image that is not on this machine. The error is an unavailable.
func (c engineCLI) have(image string) error {
	if _, err := c.run(askTimeout, "image", "inspect", image); err == nil {
		return nil
	}
	if _, err := c.run(pullTimeout, "pull", "--quiet", image); err != nil {
		return unavailable{fmt.Sprintf("the image %s is not here and cannot be pulled: %s", image, firstLine(err))}
	}
	return nil
}

// build builds an image under a name of its own, which the suite removes, and
// returns the name.
func (c engineCLI) build(dockerfile string, args ...string) (string, error) {
	name := "layover-test:" + random()
	args = append([]string{"build", "--quiet", "--tag", name}, args...)
	_, err := c.feed(buildTimeout, dockerfile, args...)
	if err != nil && (strings.Contains(err.Error(), "buildx component is missing") || strings.Contains(err.Error(), "does not support BuildKit")) {
		return "", unavailable{fmt.Sprintf("%s has no BuildKit: %s", c, firstLine(err))}
	}
	if err != nil {
		return "", err
	}
	shared.later(c.removal("image", "rm", "--force", name))
	return name, nil
}

// buildLayover builds the project's Dockerfile.
func buildLayover() (string, error) {
	c, err := shared.engine()
	if err != nil {
		return "", err
	}
	return c.buildProject("--build-arg", "VERSION="+testVersion, "--build-arg", "REVISION="+testRevision)
}

func (c engineCLI) buildProject(args ...string) (string, error) {
	for _, base := range []string{"golang:1.26", "gcr.io/distroless/static-debian12:nonroot"} {
		if err := c.have(base); err != nil {
			return "", err
		}
	}
	for name, value := range moduleSettings() {
		args = append(args, "--build-arg", name+"="+value)
	}
	return c.build("", append(args, project)...)
}

// project is the folder with the Dockerfile.
const project = "../.."

// moduleSettings is how this machine fetches modules; a build has no way to know.
func moduleSettings() map[string]string {
	out := make(map[string]string)
	for _, name := range []string{"GOPROXY", "GOSUMDB"} {
		if value, err := exec.Command("go", "env", name).Output(); err == nil {
			out[name] = strings.TrimSpace(string(value))
		}
	}
	return out
}

// start starts a container, which ends with the test, and returns its id.
func (c engineCLI) start(t *testing.T, args ...string) string {
	t.Helper()
	id := c.created(t, append([]string{"run", "--detach"}, args...)...)
	remove := c.removal("rm", "--force", "--volumes", id)
	shared.later(remove)
	t.Cleanup(func() {
		if t.Failed() {
			log, err := c.run(askTimeout, "logs", "--tail", "40", id)
			t.Logf("log of %s (%v):\n%s", args[len(args)-1], err, log)
		}
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	return id
}

// created runs a command that prints a container's id, which it returns.
func (c engineCLI) created(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.run(time.Minute, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out[strings.LastIndex(out, "\n")+1:] // warnings stand before it
}

// removal is a command that removes something, unless it is gone.
func (c engineCLI) removal(args ...string) func() error {
	return func() error {
		_, err := c.run(time.Minute, args...)
		if err != nil && (strings.Contains(err.Error(), "No such") || strings.Contains(err.Error(), "not found")) {
			return nil
		}
		return err
	}
}

// published returns the address at which a container's port is reached.
func (c engineCLI) published(t *testing.T, id, port string) string {
	t.Helper()
	out, err := c.run(askTimeout, "port", id, port)
	if err != nil {
		t.Fatal(err)
	}
	addr, _, _ := strings.Cut(out, "\n")
	return addr
}

// inspect decodes what the engine says about an image or a container.
func (c engineCLI) inspect(t *testing.T, kind, name string, v any) {
	t.Helper()
	out, err := c.run(askTimeout, kind, "inspect", "--format", "{{json .}}", name)
	if err == nil {
		err = json.Unmarshal([]byte(out), v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// state is what the engine says about a container's process.
type state struct {
	RestartCount int
	State        struct {
		Status    string
		OOMKilled bool
		Pid       int
		ExitCode  int
		StartedAt string
		Health    struct{ Status string }
	}
}

func (c engineCLI) state(t *testing.T, id string) (s state) {
	t.Helper()
	c.inspect(t, "container", id, &s)
	return s
}

func random() string { return fmt.Sprintf("%08x", rand.Uint32()) }
