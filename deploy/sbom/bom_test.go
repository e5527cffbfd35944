package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"layover/verify/long"
)

// built compiles the program as the go command does by itself, which is quick where
// that was done before.
func built(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "layover")
	cmd := exec.Command("go", "build", "-o", binary, ".")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// listed returns path, version and sum of the modules of a binary as the go command
// lists them, and the version of Go.
func listed(t *testing.T, binary string) (modules [][3]string, goVersion string) {
	t.Helper()
	out, err := exec.Command("go", "version", "-m", binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if _, version, first := strings.Cut(line, ": go"); first {
			goVersion = strings.Fields(version)[0]
		}
		if fields := strings.Fields(line); len(fields) == 4 && fields[0] == "dep" {
			modules = append(modules, [3]string(fields[1:]))
		}
	}
	return modules, goVersion
}

// parsed is the document as a reader sees it that knows the specification alone.
type parsed struct {
	BomFormat, SpecVersion string
	Version                int
	Metadata               struct {
		Component map[string]any
	}
	Components   []map[string]any
	Dependencies []struct {
		Ref       string
		DependsOn []string
	}
}

func printed(t *testing.T, args ...string) (document []byte, p parsed) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(args, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	if err := json.Unmarshal(out.Bytes(), &p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), p
}

func TestTheBillHasEveryModuleThatIsLinked(t *testing.T) {
	long.Only(t)
	binary := built(t)
	document, p := printed(t, "-version", "v1.2.3", binary)
	modules, goVersion := listed(t, binary)
	if len(modules) < 5 || goVersion == "" {
		t.Fatalf("go version -m lists %d modules and Go %q", len(modules), goVersion)
	}
	want := append(modules, [3]string{"stdlib", goVersion, ""})
	var got [][3]string
	for _, c := range p.Components {
		got = append(got, [3]string{text(c["name"]), text(c["version"]), propertyOf(c, "golang:sum")})
	}
	byName := func(a, b [3]string) int { return strings.Compare(a[0], b[0]) }
	slices.SortFunc(want, byName)
	slices.SortFunc(got, byName)
	if !slices.Equal(got, want) {
		t.Errorf("the bill has\n%v\nwant, as go version -m lists\n%v", got, want)
	}
	if c := p.Metadata.Component; c["name"] != "layover" || c["version"] != "v1.2.3" || c["type"] != "application" || propertyOf(c, "golang:GOOS") == "" {
		t.Errorf("the program is %v", c)
	}
	if again, _ := printed(t, "-version", "v1.2.3", binary); !bytes.Equal(again, document) {
		t.Error("the same binary gives another bill")
	}
	p.isValid(t)
}

// isValid asserts what the specification requires of every document.
func (p parsed) isValid(t *testing.T) {
	t.Helper()
	if p.BomFormat != "CycloneDX" || p.SpecVersion != "1.5" || p.Version < 1 {
		t.Errorf("%s %s, version %d", p.BomFormat, p.SpecVersion, p.Version)
	}
	refs := make(map[string]bool)
	for _, c := range append(p.Components, p.Metadata.Component) {
		ref := text(c["bom-ref"])
		if ref == "" || refs[ref] {
			t.Errorf("%v: a reference that is empty or not unique", c)
		}
		refs[ref] = true
		if kind := text(c["type"]); kind != "library" && kind != "application" {
			t.Errorf("%v: type %q", c, kind)
		}
		if text(c["name"]) == "" || !strings.HasPrefix(text(c["purl"]), "pkg:golang/") {
			t.Errorf("%v: no name or no package URL", c)
		}
	}
	for _, d := range p.Dependencies {
		for _, ref := range append(d.DependsOn, d.Ref) {
			if !refs[ref] {
				t.Errorf("%s is depended on and is no component", ref)
			}
		}
	}
	if len(p.Dependencies) != len(refs) {
		t.Errorf("%d components and %d entries of dependencies", len(refs), len(p.Dependencies))
	}
}

func text(v any) string { s, _ := v.(string); return s }

// propertyOf returns the value of a component's property, "" where it has none.
func propertyOf(c map[string]any, name string) string {
	all, _ := c["properties"].([]any)
	for _, p := range all {
		if m, _ := p.(map[string]any); m["name"] == name {
			return text(m["value"])
		}
	}
	return ""
}

func TestPackageURLs(t *testing.T) {
	for name, test := range map[string]struct{ path, version, want string }{
		"a module":            {"github.com/twmb/franz-go", "v1.22.2", "pkg:golang/github.com/twmb/franz-go@v1.22.2"},
		"capitals":            {"github.com/RussellLuo/timingwheel", "v0.1.0", "pkg:golang/github.com/russellluo/timingwheel@v0.1.0"},
		"a plus":              {"github.com/docker/cli", "v28.5.1+incompatible", "pkg:golang/github.com/docker/cli@v28.5.1%2Bincompatible"},
		"no version":          {"layover", "", "pkg:golang/layover"},
		"a build in a folder": {"layover", "(devel)", "pkg:golang/layover"},
	} {
		if got := packageURL(test.path, test.version); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestWhatStandsInForAModuleIsListed(t *testing.T) {
	b := describe(&debug.BuildInfo{GoVersion: "go1.26.8 X:nodwarf5", Main: debug.Module{Path: "m"}, Deps: []*debug.Module{
		{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:x", Replace: &debug.Module{Path: "example.org/b", Version: "v2.0.0", Sum: "h1:y"}},
	}}, "")
	var got []string
	for _, c := range b.Components {
		got = append(got, c.Ref)
	}
	want := []string{"pkg:golang/example.org/b@v2.0.0", "pkg:golang/stdlib@1.26.8"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if version := b.Metadata.Component.Version; version != "(devel)" {
		t.Errorf("the program has the version %q, want (devel)", version)
	}
}

func TestWhatIsNoGoBinaryIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a text":       {[]string{"bom.go"}, 1, "bom.go"},
		"nothing":      {nil, 2, "want one: the path of a Go binary"},
		"not there":    {[]string{"missing"}, 1, "missing"},
		"unknown flag": {[]string{"-x", "bom.go"}, 2, "-x"},
	} {
		var out, errs bytes.Buffer
		if code := run(test.args, &out, &errs); code != test.code || !strings.Contains(errs.String(), test.says) || out.Len() > 0 {
			t.Errorf("%s: exit code %d, want %d, and %q with %q in it", name, code, test.code, &errs, test.says)
		}
	}
}
