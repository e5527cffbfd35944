package container

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"layover/integration/engine"
)

// document holds the commands that the tests run as they stand.
const document = project + "/docs/container.md"

// blocks returns the shell blocks of a section of the document.
func blocks(t *testing.T, section string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, text2, found := strings.Cut(string(text), "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %q", document, section)
	}
	body, _, _ := strings.Cut(text2, "\n## ")
	for _, m := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(body, -1) {
		out = append(out, m[1])
	}
	return out
}

// shell is a user who types what the document says in the project's folder.
type shell struct {
	env     []string
	replace *strings.Replacer // what would meet other users of this machine, such as names and ports
}

// newShell makes a shell whose docker is the engine's client, and whose docker
// compose is the compose that is given, if any.
func newShell(t *testing.T, compose []string, replace ...string) *shell {
	t.Helper()
	client, err := exec.LookPath(string(need(t, shared.engine).CLI))
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = compose ]; then shift; exec %s \"$@\"; fi\nexec %s \"$@\"\n",
		cmp.Or(strings.Join(compose, " "), client+" compose"), client)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s := &shell{replace: strings.NewReplacer(replace...)}
	s.env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "DOCKER_BUILDKIT=1")
	for name, value := range engine.ModuleSettings() {
		s.env = append(s.env, name+"="+value)
	}
	return s
}

// run runs a script and returns what it wrote to the standard output. Where it
// fails, the error has that and what it wrote to the standard error.
func (s *shell) run(within time.Duration, script string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", s.replace.Replace(script))
	cmd.Dir, cmd.Env, cmd.WaitDelay = project, s.env, time.Second
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s: %w\n%s%s", s.replace.Replace(script), err, out, &errs)
	}
	return string(out), nil
}

// must is run for what has to end well.
func (s *shell) must(t *testing.T, within time.Duration, script string) string {
	t.Helper()
	out, err := s.run(within, script)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryCommandOfTheDocumentIsInASectionThatIsRun(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	for _, section := range []string{"Build", "Other platforms", "What is in it", "Run", "Compose"} {
		n := len(blocks(t, section))
		if n == 0 {
			t.Errorf("the section %q has no commands", section)
		}
		run += n
	}
	if all := strings.Count(string(text), "\n```") / 2; all != run {
		t.Errorf("the document has %d blocks, and %d are in sections that are run", all, run)
	}
}
