package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// hop is a function as the glossary names it: file:function.
var hop = regexp.MustCompile("`([a-z/]+\\.go):([A-Za-z]+)`")

func TestEveryFunctionOnAWayExists(t *testing.T) {
	_, ways, ok := strings.Cut(read(t, "glossary.md"), "\n## The way of a record\n")
	rows := strings.Count(ways, "\n| ")
	hops := hop.FindAllStringSubmatch(ways, -1)
	if !ok || len(hops) < rows/2 || len(hops) < 40 {
		t.Fatalf("%d functions in %d rows", len(hops), rows)
	}
	for _, m := range hops {
		if file, function := m[1], m[2]; !declares(t, "../"+file, function) {
			t.Errorf("docs/glossary.md names %s:%s, which is no function", file, function)
		}
	}
}

// declares says whether a file has a function or method of this name.
func declares(t *testing.T, file, function string) bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return false
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name == function {
			return true
		}
	}
	return false
}

func TestTheGlossaryHasEachWordOnce(t *testing.T) {
	words, _, _ := strings.Cut(read(t, "glossary.md"), "\n## The way of a record\n")
	_, words, _ = strings.Cut(words, "\n|---|---|---|\n")
	seen := make(map[string]bool)
	for line := range strings.Lines(words) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for word := range strings.SplitSeq(strings.TrimSpace(cell), ", ") {
			if word != "" && seen[word] {
				t.Errorf("%q is there twice", word)
			}
			seen[word] = true
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d words", len(seen))
	}
}
