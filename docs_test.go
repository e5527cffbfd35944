package main

import (
	"os"
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
	doc := read(t, "docs/headers.md")
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
	doc := read(t, "docs/configuration.md")
	want := settingsTable()
	if !strings.Contains(doc, want) {
		t.Errorf("docs/configuration.md does not hold the table of settings as it is:\n%s", want)
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
