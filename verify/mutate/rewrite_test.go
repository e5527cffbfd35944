package main

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// everyKind has what each kind of mutant needs; result prints what it came to.
const everyKind = `package half

import (
	"errors"
	"log/slog"
)

type pair struct{ a, b int }

func (p *pair) reset() { p.a = 0 }

func order(a, b int) int { return a*10 + b }

func All(n int, logger *slog.Logger) (pair, error) {
	p := pair{a: n}
	defer p.reset()
	for i := range n {
		if i == 3 {
			break
		}
		if i > 1 && n < 9 || i == 7 {
			p.b += order(i, n)
			continue
		}
		p.a = min(p.a, i-1)
	}
	switch {
	case n == 5:
		logger.Info("five")
		p.b++
	}
	if n < 0 {
		p.b = 1
		return p, errors.New("negative")
	}
	return p, check(p)
}

func check(p pair) error {
	err := errors.New("even")
	if odd := p.a%2 != 0; odd {
		return nil
	}
	return err
}
`

// module writes a module with one package and its tests, and returns its root.
func module(t *testing.T, source, tests string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module tiny\n\ngo 1.26\n", "half/half.go": source, "half/half_test.go": tests,
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	return root
}

func made(t *testing.T, root string) []rewritten {
	t.Helper()
	packages, err := load(root, []string{"half"})
	if err != nil {
		t.Fatal(err)
	}
	return rewriteAll(packages)
}

func TestEveryKindOfMutantIsMadeAndCompiles(t *testing.T) {
	root := module(t, everyKind, "package half\n")
	all := made(t, root)
	counts := make(map[string]int)
	seen := make(map[string]bool)
	for i, m := range all[0].mutants {
		counts[m.key.kind]++
		if kinds[m.key.kind] == "" {
			t.Errorf("kind %q is not explained", m.key.kind)
		}
		if m.id != i+1 || seen[m.key.String()] || m.line < 1 {
			t.Errorf("mutant %d is %+v, or its key is there twice", i, m)
		}
		seen[m.key.String()] = true
	}
	for kind := range kinds {
		if counts[kind] == 0 {
			t.Errorf("there is no %s in %v", kind, slices.Sorted(maps.Keys(seen)))
		}
	}
	list, err := overlay(root, t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", "-printf=false", "-unreachable=false", "-overlay="+list, "./half")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(filepath.Join(root, "half", "half.go")); err != nil || string(text) != everyKind {
		t.Errorf("the source was changed: %v", err)
	}
}

// TestAKeyOutlivesTheLinesAroundIt: a list of keys is only good if it does.
func TestAKeyOutlivesTheLinesAroundIt(t *testing.T) {
	keys := func(source string) (all []string) {
		for _, m := range made(t, module(t, source, "package half\n"))[0].mutants {
			all = append(all, m.key.String())
		}
		slices.Sort(all)
		return all
	}
	moved := strings.Replace(everyKind, "func order", "// A comment.\n\nvar other = 7\n\nfunc order", 1)
	if a, b := keys(everyKind), keys(moved); !slices.Equal(a, b) {
		t.Errorf("%v\nis not\n%v", a, b)
	}
}

func TestWhatChangesNothingByItselfIsNotMade(t *testing.T) {
	source := "package half\n\nimport \"errors\"\n\ntype T struct{ n int }\n\nfunc f(n int) (T, int, error) {\n" +
		"\tout := make([]int, 0, n+1)\n\tseen := make(map[int]int, n+1)\n\tif len(out)+len(seen) > 2 {\n\t\treturn T{}, n + 1, errors.New(\"x\")\n\t}\n\treturn T{n: n}, 1, nil\n}\n"
	root := module(t, source, "package half\n")
	for _, m := range made(t, root)[0].mutants {
		if m.key.text == "n + 1" && m.key.kind == "zero" || m.key.text == "T{}" || m.line == 8 && m.key.kind == "operator" || m.line == 9 {
			t.Errorf("%s changes nothing that anybody looks at", m.key)
		}
	}
}

// TestAMutantIsOnAloneAndOnlyWhenAsked runs a program with each mutant in turn.
func TestAMutantIsOnAloneAndOnlyWhenAsked(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	const source = "package half\n\nfunc Of(n, m int) int {\n\tif n < m {\n\t\tn = m - n\n\t}\n\treturn n\n}\n"
	const tests = "package half\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) { println(Of(1, 4), Of(4, 1), Of(2, 2)) }\n"
	root := module(t, source, tests)
	all := made(t, root)
	dir := t.TempDir()
	list, err := overlay(root, dir, all)
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{layer: "package", dir: "half"}
	if err := compile(context.Background(), root, dir, list, []*suite{s}); err != nil {
		t.Fatal(err)
	}
	results := make(map[string]string)
	for id := range len(all[0].mutants) + 1 {
		name := "none"
		if id > 0 {
			name = all[0].mutants[id-1].key.String()
		}
		r := s.run(t.Context(), root, cost{}.bound(), onVariable+"="+strconv.Itoa(id), "TestOf")
		if !r.passed {
			t.Fatalf("%s: %s", name, r.said)
		}
		line, _, _ := strings.Cut(string(r.said), "\n")
		results[name] = line
	}
	want := map[string]string{
		"none":                    "3 4 2",
		"half Of never: n < m":    "1 4 2",
		"half Of always: n < m":   "3 -3 0",
		"half Of boundary: n < m": "3 4 0",
		"half Of operator: m - n": "5 4 2",
		"half Of zero: n":         "0 0 0",
	}
	if !maps.Equal(results, want) {
		t.Errorf("got %v, want %v", results, want)
	}
}
