package container

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"layover/integration/engine"
)

// engineCLI is the client of the engine with what the tests do with containers.
type engineCLI struct{ engine.CLI }

func findEngine() (engineCLI, error) {
	c, err := engine.Find()
	return engineCLI{c}, err
}

// built has an image removed when the tests end.
func built(c engine.CLI, image string, err error) (string, error) {
	if err == nil {
		shared.later(c.Removal("image", "rm", "--force", image))
	}
	return image, err
}

// buildProject builds the project's Dockerfile.
func (c engineCLI) buildProject(args ...string) (string, error) {
	image, err := c.BuildProject(project, args...)
	return built(c.CLI, image, err)
}

// buildLayover builds the image that the tests share.
func buildLayover() (string, error) {
	c, err := shared.engine()
	if err != nil {
		return "", err
	}
	return c.buildProject("--build-arg", "VERSION="+testVersion, "--build-arg", "REVISION="+testRevision)
}

// project is the folder with the Dockerfile.
const project = "../.."

// start starts a container, which ends with the test, and returns its id.
func (c engineCLI) start(t *testing.T, args ...string) string {
	t.Helper()
	id := c.created(t, append([]string{"run", "--detach"}, args...)...)
	remove := c.Removal("rm", "--force", "--volumes", id)
	shared.later(remove)
	t.Cleanup(func() {
		if t.Failed() {
			log, err := c.Run(engine.AskTimeout, "logs", "--tail", "40", id)
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
	out, err := c.Run(time.Minute, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out[strings.LastIndex(out, "\n")+1:] // warnings stand before it
}

// published returns the address at which a container's port is reached.
func (c engineCLI) published(t *testing.T, id, port string) string {
	t.Helper()
	out, err := c.Run(engine.AskTimeout, "port", id, port)
	if err != nil {
		t.Fatal(err)
	}
	addr, _, _ := strings.Cut(out, "\n")
	return addr
}

// inspect decodes what the engine says about an image or a container.
func (c engineCLI) inspect(t *testing.T, kind, name string, v any) {
	t.Helper()
	out, err := c.Run(engine.AskTimeout, kind, "inspect", "--format", "{{json .}}", name)
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
