package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// widest is how many characters a line of prose may have.
const widest = 120

// byCommands are the documents that commands write whole; their notes are the
// commands' own.
var byCommands = []string{"docs/benchmarks/wheel.md", "docs/benchmarks/journal.md", "docs/benchmarks/speed.md", "verify/MUTANTS.md"}

func TestProseIsAtMost120CharactersALine(t *testing.T) {
	found := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		if err != nil || filepath.Ext(path) != ".md" || entry.IsDir() || slices.Contains(byCommands, name) {
			return err
		}
		found++
		for _, n := range tooWide(read(t, path)) {
			t.Errorf("%s:%d: more than %d characters", name, n, widest)
		}
		return nil
	})
	if err != nil || found < 15 {
		t.Errorf("%d documents, %v", found, err)
	}
}

func TestALineOfProseIsMeasuredWithoutTablesCodeAndURLs(t *testing.T) {
	long := strings.Repeat("é", widest)
	url := "https://example.com/" + strings.Repeat("a", widest)
	for name, test := range map[string]struct {
		text string
		want []int
	}{
		"as wide as allowed":            {long + "\n", nil},
		"one more":                      {"short\n" + long + "x\n", []int{2}},
		"a heading":                     {"# " + long, []int{1}},
		"an item":                       {"- " + long, []int{1}},
		"the second line of an item":    {"1. item\n    " + long, []int{2}},
		"a table":                       {"| " + long + " |\n", nil},
		"a fenced block":                {"```sh\n" + long + "x\n```\nshort\n", nil},
		"prose behind a fenced block":   {"```sh\nls\n```\n" + long + "x\n", []int{4}},
		"an indented block":             {"text\n\n    " + long + "\n    " + long + "\n", nil},
		"prose behind an indented one":  {"    ls\n" + long + "x\n", []int{2}},
		"a URL":                         {"see " + url + " for more", nil},
		"a link":                        {"see [this](" + url + ") for more", nil},
		"a URL beside too wide a prose": {long + " " + url, []int{1}},
	} {
		if got := tooWide(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%s: lines %v, want %v", name, got, test.want)
		}
	}
}

var address = regexp.MustCompile(`https?://[^\s)]+`)

// tooWide returns the numbers of the lines of prose that are too wide.
func tooWide(text string) (numbers []int) {
	fenced, code := false, true
	for n, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		fenced = fenced != fence
		// Indented lines are code behind an empty line, or behind other code.
		blank := strings.TrimSpace(line) == ""
		code = blank || code && strings.HasPrefix(line, "    ")
		if fence || fenced || code || strings.HasPrefix(line, "|") {
			continue
		}
		if utf8.RuneCountInString(address.ReplaceAllString(line, "")) > widest {
			numbers = append(numbers, n+1)
		}
	}
	return numbers
}

func TestTheDesignIsShort(t *testing.T) {
	if n := strings.Count(read(t, "../DESIGN.md"), "\n"); n > 250 {
		t.Errorf("DESIGN.md has %d lines, want at most 250: tighten, or move a part to docs", n)
	}
}
