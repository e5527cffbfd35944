package main

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"layover/verify/long"
)

// module writes a module, and returns its root. The package half of the module
// has a test that notices when halving goes wrong, unless it goes wrong for
// ever.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module tiny\n\ngo 1.26\n",
		"half/half.go":      "package half\n\nfunc Of(n int) int {\n\treturn n / 2\n}\n\nfunc Double(n int) int {\n\treturn n * 2\n}\n",
		"half/half_test.go": "package half\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif Of(8) != 4 {\n\t\tt.Error(Of(8))\n\t}\n}\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// halving is a mutant that replaces one line of the package half.
func halving(t *testing.T, old, new string) mutant {
	t.Helper()
	m, err := parse("m.txt", "A bug.\n\n@@ half\n-"+old+"\n+"+new+"\n")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestATrialTellsWhatTheTestsNotice(t *testing.T) {
	long.WholeOnly(t)
	own := layer{name: "package", timeout: 2 * time.Second}
	tr := trial{root: module(t), layers: []layer{own, {name: "again", dir: "./half", timeout: time.Minute}}, parallel: 1, stderr: io.Discard}
	half := []mutant{halving(t, "\treturn n / 2", "\treturn n")}
	tr.baselines(t.Context(), half)
	if _, c, err := tr.test(t.Context(), own, "", []string{"./none"}, time.Minute); c != nil || err == nil {
		t.Errorf("a package that there is not: caught %v, error %v", c, err)
	}
	for name, c := range map[string]struct {
		old, new string
		want     string
		fails    bool
	}{
		"caught":           {"\treturn n / 2", "\treturn n / 3", "package, again", false},
		"not caught":       {"\treturn n * 2", "\treturn n * 3", nothing, false},
		"does not compile": {"\treturn n / 2", "\treturn half", nothing, true},
		"matches nothing":  {"\treturn n / 4", "\treturn n", nothing, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := tr.one(t.Context(), halving(t, c.old, c.new))
			if r.caughtBy() != c.want || (r.err != nil) != c.fails {
				t.Errorf("caught by %s, want %s; error %v", r.caughtBy(), c.want, r.err)
			}
		})
	}
	tr.layers = []layer{own}
	tr.baselines(t.Context(), half)
	if r := tr.one(t.Context(), halving(t, "\treturn n / 2", "\tselect {}")); r.caughtBy() != "package (timed out)" {
		t.Errorf("without an end: caught by %s, error %v", r.caughtBy(), r.err)
	}
}

func TestALayerThatFailsWithoutAMutantCatchesNone(t *testing.T) {
	long.WholeOnly(t)
	root := module(t)
	broken := strings.NewReplacer("!= 4", "!= 5")
	name := filepath.Join(root, "half", "half_test.go")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(broken.Replace(string(text))), 0o644); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	tr := trial{root: root, layers: []layer{{name: "package"}}, parallel: 1, stderr: &said}
	m := halving(t, "\treturn n / 2", "\treturn n")
	tr.baselines(t.Context(), []mutant{m})
	r := tr.one(t.Context(), m)
	if want := "layer package fails on the source as it is: TestHalf"; r.err == nil || !strings.HasPrefix(r.err.Error(), want) {
		t.Errorf("the error is %v, want %s", r.err, want)
	}
	if !strings.Contains(said.String(), "--- FAIL: TestHalf") {
		t.Errorf("said: %s", said.String())
	}
}

func TestAMutantHasAsMuchTimeAsItsBaselineAsksFor(t *testing.T) {
	out := []byte("ok  \tlayover/wheel\t2.500s\nok  \tlayover/lane\t80.250s\n?   \tlayover/x\t[no test files]\n")
	if d := slowest(out); d != 80250*time.Millisecond {
		t.Errorf("the slowest took %v", d)
	}
}

func TestALayerWithoutTestsIsLeftOutWithAnError(t *testing.T) {
	there, err := present(module(t), []layer{
		{name: "package"},
		{name: "half", dir: "./half", tests: "TestHalf"},
		{name: "whole", dir: "./half", tests: "TestWhole"},
		{name: "none", dir: "./none", tests: "Test"},
	})
	if names := strings.Join(layerNames(there), " "); names != "package half" {
		t.Errorf("present are %s", names)
	}
	if want := "layer whole is left out: there is no TestWhole… in ./half\nlayer none is left out: there is no Test… in ./none"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestAMutantThatNothingCatchesIsAnError(t *testing.T) {
	results := []result{
		{mutant: mutant{name: "a"}, caught: []catch{{layer: "package"}}},
		{mutant: mutant{name: "b"}},
		{mutant: mutant{name: "c"}, err: errors.New("build")},
	}
	want := "mutant b is caught by nothing: a test is missing\nmutant c: build"
	if err := verdict(results); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestTheTableIsReadBackAsItWasWritten(t *testing.T) {
	results := []result{
		{mutant: mutant{name: "a", about: "One | other."}, caught: []catch{{layer: "package"}, {layer: "rig", timedOut: true}}},
		{mutant: mutant{name: "b", about: "Another."}},
	}
	name := filepath.Join(t.TempDir(), "MUTANTS.md")
	for range 2 { // the second time over what the first has written
		if err := write(name, table(layers(), results)); err != nil {
			t.Fatal(err)
		}
	}
	cells, err := listed(name)
	if want := map[string]string{"a": "package, rig (timed out)", "b": nothing}; err != nil || !maps.Equal(cells, want) {
		t.Errorf("read %v, error %v, want %v", cells, err, want)
	}
	if err := compare(cells, results); err != nil {
		t.Error(err)
	}
	results[0].caught, results[1].mutant.name = nil, "new"
	want := "mutant a is caught by package, rig (timed out), says the table; now by **nothing**\nmutant new is not in the table"
	if err := compare(cells, results); err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestADocumentThatIsNoTableIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(name, []byte("# Heading\n\n| `a` | An example. | package |\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := listed(name); err == nil {
		t.Error("a document of another kind was taken for the table")
	}
}
