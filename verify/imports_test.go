package verify

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyTheStandardLibraryIsImported(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			if first, _, _ := strings.Cut(path, "/"); first == "layover" || strings.Contains(first, ".") {
				t.Errorf("%s imports %s: the checker would share what it is to judge", name, path)
			}
		}
	}
}
