// Package docs holds tests that the documents are true of the program.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"layover/config"
	"layover/delay"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryReasonIsInTheDocumentAndNoOther(t *testing.T) {
	doc := read(t, "headers.md")
	listed := make(map[string]bool)
	_, table, _ := strings.Cut(doc, "| Reason |")
	for line := range strings.Lines(table) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			code, _, _ := strings.Cut(cell, "`")
			listed[code] = true
		}
	}
	for _, r := range delay.Reasons() {
		if !listed[string(r)] {
			t.Errorf("docs/headers.md does not explain %s", r)
		}
		delete(listed, string(r))
	}
	for code := range listed {
		t.Errorf("docs/headers.md explains %s, which is no reason", code)
	}
}

func TestTheDocumentOfSettingsIsTheTableOfSettings(t *testing.T) {
	doc := read(t, "configuration.md")
	want := settingsTable()
	if !strings.Contains(doc, want) {
		t.Errorf("docs/configuration.md does not hold the table of settings as it is:\n%s", want)
	}
}

var named = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`")

func TestEveryTestThatADocumentNamesExists(t *testing.T) {
	there, documents := make(map[string]bool), []string(nil)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		switch {
		case err == nil && strings.HasSuffix(path, "_test.go"):
			for _, m := range declared.FindAllStringSubmatch(read(t, path), -1) {
				there[m[1]] = true
			}
		case err == nil && strings.HasSuffix(path, ".md"):
			documents = append(documents, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	naming := 0
	for _, doc := range documents {
		names := named.FindAllStringSubmatch(read(t, doc), -1)
		if len(names) > 0 {
			naming++
		}
		for _, m := range names {
			if !there[m[1]] {
				t.Errorf("%s names %s, which is no test", doc, m[1])
			}
		}
	}
	if naming < 5 {
		t.Errorf("%d of %d documents name tests", naming, len(documents))
	}
}

// settingsTable is the table of settings in Markdown.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| Variable | Default | Range or choices | Meaning |\n|---|---|---|---|\n")
	for _, r := range config.Table() {
		cells := []string{"`" + r.Variable + "`", r.Default, r.Values, r.Description}
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}
