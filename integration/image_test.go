package integration

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

// maxImageBytes bounds the image that the Dockerfile makes.
const maxImageBytes = 25_000_000

// engineCLI is the command line client of a container engine, which builds the
// Dockerfile as its users do, with BuildKit.
type engineCLI string

// run runs the client and returns its output.
func (c engineCLI) run(within time.Duration, args ...string) (string, error) {
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

// findEngine returns a client whose engine answers and has the base images.
func findEngine() (engineCLI, error) {
	c := engineCLI(os.Getenv("LAYOVER_TEST_DOCKER"))
	if c == "" {
		c = "docker"
	}
	if out, err := c.run(engineTimeout, "version", "--format", "{{.Server.Version}}"); err != nil {
		return "", unavailable{fmt.Sprintf("no container engine answers %s: %s", c, cmp.Or(out, err.Error()))}
	}
	for _, base := range []string{"golang:1.26", "gcr.io/distroless/static-debian12:nonroot"} {
		if _, err := c.run(engineTimeout, "image", "inspect", base); err == nil {
			continue
		}
		if _, err := c.run(pullTimeout/2, "pull", "--quiet", base); err != nil {
			return "", unavailable{fmt.Sprintf("the base image %s is not here and cannot be pulled: %s", base, firstLine(err))}
		}
	}
	return c, nil
}

// build builds the Dockerfile of the parent folder and returns the image's name.
func (c engineCLI) build(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("layover-integration:%08x", rand.Uint32())
	args := []string{"build", "--quiet", "--tag", name}
	if proxy, err := exec.Command("go", "env", "GOPROXY").Output(); err == nil {
		args = append(args, "--build-arg", "GOPROXY="+strings.TrimSpace(string(proxy)))
	}
	_, err := c.run(5*time.Minute, append(args, "..")...)
	if err != nil && (strings.Contains(err.Error(), "buildx component is missing") || strings.Contains(err.Error(), "does not support BuildKit")) {
		t.Skipf("skipped: %s has no BuildKit: %s", c, firstLine(err))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.run(time.Minute, "image", "rm", "--force", name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// inspect decodes what the engine says about an image or a container.
func (c engineCLI) inspect(t *testing.T, kind, name string, v any) {
	t.Helper()
	out, err := c.run(10*time.Second, kind, "inspect", "--format", "{{json .}}", name)
	if err == nil {
		err = json.Unmarshal([]byte(out), v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheDockerfileMakesASmallImageThatIsHealthyAndNotRoot(t *testing.T) {
	long(t)
	t.Parallel()
	c := need(t, findEngine)
	image := c.build(t)
	var built struct {
		Size   int64
		Config struct {
			User         string
			Entrypoint   []string
			ExposedPorts map[string]any
		}
	}
	c.inspect(t, "image", image, &built)
	t.Logf("%.1f MB", float64(built.Size)/1e6)
	if built.Size > maxImageBytes {
		t.Errorf("the image has %d bytes, want %d at most", built.Size, maxImageBytes)
	}
	if user := built.Config.User; user != "65532:65532" {
		t.Errorf("the user is %q, want a number, so that Kubernetes can see that it is not root", user)
	}
	if _, is := built.Config.ExposedPorts["9846/tcp"]; !is {
		t.Errorf("exposed ports %v, want 9846/tcp", built.Config.ExposedPorts)
	}
	c.runs(t, image)
}

// runs starts the image where no Kafka answers: that is not an error, so it has
// to be alive, and to stop with 0.
func (c engineCLI) runs(t *testing.T, image string) {
	t.Helper()
	args := []string{"run", "--detach", "--read-only", "--cap-drop", "ALL", "--health-interval", "1s"}
	for _, setting := range minimal("LAYOVER_HTTP_ADDR=") { // empty is unset: the default port
		args = append(args, "--env", setting)
	}
	id, err := c.run(time.Minute, append(args, image)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := c.run(10*time.Second, "logs", id)
			t.Logf("log of the container:\n%s", log)
		}
		if _, err := c.run(time.Minute, "rm", "--force", id); err != nil {
			t.Error(err)
		}
	})
	var state struct {
		State struct {
			Status   string
			ExitCode int
			Health   struct{ Status string }
		}
	}
	eventually(t, 30*time.Second, "healthy", func() bool {
		c.inspect(t, "container", id, &state)
		return state.State.Health.Status == "healthy"
	})
	if out, err := c.run(10*time.Second, "exec", id, "/layover", "health"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := c.run(10*time.Second, "exec", id, "/layover", "version"); err != nil || !strings.Contains(out, "linux/") {
		t.Errorf("version: %v: %s", err, out)
	}
	if _, err := c.run(time.Minute, "stop", id); err != nil {
		t.Fatal(err)
	}
	c.inspect(t, "container", id, &state)
	if s := state.State; s.ExitCode != 0 || s.Status != "exited" {
		t.Errorf("%s with exit code %d after it was stopped, want 0", s.Status, s.ExitCode)
	}
}
