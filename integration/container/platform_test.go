package container

import (
	"archive/tar"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"layover/integration/engine"
)

// machines are the platforms of the image, by Go's name.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// isStatic asserts that a binary is for a machine and needs nothing beside it: no
// loader and no library.
func isStatic(t *testing.T, binary []byte, machine elf.Machine) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Machine != machine || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		t.Errorf("the binary is for %v, %v, %v, want %v, 64 bit, least significant byte first", f.Machine, f.Class, f.Data, machine)
	}
	if f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		t.Errorf("the binary is a %v", f.Type)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has a %v: it needs a loader", p.Type)
		}
	}
	if libraries, err := f.ImportedLibraries(); len(libraries) > 0 {
		t.Errorf("the binary needs %v (%v)", libraries, err)
	}
}

func TestTheBinaryIsStaticOnEveryPlatform(t *testing.T) {
	long(t)
	dockerfile, err := os.ReadFile(project + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	// What the Dockerfile compiles with, but for version and revision.
	flags := regexp.MustCompile(`go build (-trimpath) -ldflags "(.*?) -X main\.version=\$VERSION -X main\.revision=\$REVISION" -o /layover \.`).FindStringSubmatch(string(dockerfile))
	if flags == nil || !strings.Contains(string(dockerfile), "\nENV CGO_ENABLED=0\n") {
		t.Fatal("the Dockerfile builds in another way than this test knows")
	}
	for arch, machine := range machines {
		binary := filepath.Join(t.TempDir(), "layover")
		cmd := exec.Command("go", "build", flags[1], "-ldflags", flags[2], "-o", binary, ".")
		cmd.Dir = project
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", arch, err, out)
		}
		content, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		isStatic(t, content, machine)
	}
}

func TestTheImageHoldsTheBinaryAndItsBillOfMaterials(t *testing.T) {
	long(t)
	c, image := need(t, shared.engine), need(t, shared.image)
	t.Run("as it is", func(t *testing.T) { c.holds(t, image, "") })
	for arch := range machines {
		// The stage that compiles runs on this machine's platform, whatever is asked for.
		t.Run("compiled for "+arch, func(t *testing.T) {
			c.holds(t, need(t, func() (string, error) { return c.buildProject("--platform", "linux/"+arch, "--target", "build") }), arch)
		})
	}
}

// TestTheImageIsMadeForAnotherPlatform runs the command of the document, where the
// base image can be had for that platform.
func TestTheImageIsMadeForAnotherPlatform(t *testing.T) {
	long(t)
	c := need(t, shared.engine)
	need(t, shared.image)
	tag := "layover-test:" + engine.Random()
	remove := c.Removal("image", "rm", "--force", tag)
	shared.later(remove)
	s := newShell(t, nil, "layover:arm64", tag, "docker build ", "docker build --progress plain ")
	_, err := s.run(engine.BuildTimeout, blocks(t, "Other platforms")[0])
	if err != nil {
		if reason := withoutBase(err.Error()); reason != "" {
			t.Skip("skipped: a base image cannot be had for linux/arm64: " + reason)
		}
		t.Fatal(err)
	}
	var built struct{ Architecture string }
	c.inspect(t, "image", tag, &built)
	if built.Architecture != "arm64" {
		t.Errorf("the image is for %s, want arm64", built.Architecture)
	}
	c.holds(t, tag, "arm64")
	if err := remove(); err != nil {
		t.Error(err)
	}
}

// withoutBase returns what a build says of a base image that it could not find for
// the platform, empty where it failed for anything else. A step is named in one
// line and its failure in another one:
//
//	#4 [internal] load metadata for gcr.io/distroless/static-debian12:nonroot
//	#4 ERROR: …
func withoutBase(log string) string {
	loads := make(map[string]bool)
	for line := range strings.Lines(log) {
		step, says, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(says, "[internal] load metadata for ") {
			loads[step] = true
		}
		if reason, failed := strings.CutPrefix(says, "ERROR: "); failed && loads[step] {
			return reason
		}
	}
	return ""
}

// holds asserts that an image holds a static binary, and a bill of materials that is
// of this binary. arch is Go's name of its platform, empty for that of the image.
func (c engineCLI) holds(t *testing.T, image, arch string) {
	t.Helper()
	id := c.created(t, "create", image, "/layover") // the stage that compiles has no command of its own
	defer c.Removal("rm", "--force", id)()
	var of struct{ Architecture string }
	c.inspect(t, "image", image, &of)
	arch = cmp.Or(arch, of.Architecture)
	isStatic(t, c.file(t, id, "/layover"), machines[arch])

	var bill struct {
		Metadata struct {
			Component struct {
				Properties []struct{ Name, Value string }
			}
		}
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(c.file(t, id, "/sbom.cdx.json"), &bill); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(bill.Metadata.Component.Properties, struct{ Name, Value string }{"golang:GOARCH", arch}) {
		t.Errorf("the bill of materials is of %v, want GOARCH %s", bill.Metadata.Component, arch)
	}
	// One that is linked in any case, in the version that go.mod requires.
	const client = "github.com/twmb/franz-go"
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", client).Output()
	if want := strings.TrimSpace(string(version)); err != nil || !slices.Contains(bill.Components, struct{ Name, Version string }{client, want}) {
		t.Errorf("no %s %s (%v) among %v", client, want, err, bill.Components)
	}
}

// file returns a file of a container.
func (c engineCLI) file(t *testing.T, id, path string) []byte {
	t.Helper()
	archive, err := exec.Command(string(c.CLI), "cp", id+":"+path, "-").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%s: %v: %s", path, err, exit.Stderr)
	}
	files := tar.NewReader(bytes.NewReader(archive))
	if _, err := files.Next(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	content, err := io.ReadAll(files)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
