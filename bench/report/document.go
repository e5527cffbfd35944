package report

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Region is a place in a document between two marks, for figures that are measured
// together.
type Region string

const (
	Wheel   Region = "figures" // the wheel and the daemon
	Journal Region = "journal"
)

// Begin and End are its marks.
func (r Region) Begin() string { return "<!-- " + string(r) + ": begin -->" }
func (r Region) End() string   { return "<!-- " + string(r) + ": end -->" }

// Check says whether Write will find what it needs. Empty names are nothing to
// be written.
func Check(doc string, region Region, out string) error {
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return fmt.Errorf("directory for plots: %w", err)
		}
	}
	if doc == "" {
		return nil
	}
	_, err := replaced(doc, region, "")
	return err
}

// Write writes the plots to out and the text into a region of doc, with links to the
// plots at its end.
func Write(doc string, region Region, out, text string, f Figures) error {
	var drawn []string
	if out != "" {
		for _, p := range f.plots() {
			path := filepath.Join(out, p.name+".svg")
			if err := os.WriteFile(path, []byte(p.svg()), 0o644); err != nil {
				return fmt.Errorf("plot: %w", err)
			}
			drawn = append(drawn, fmt.Sprintf("![%s](%s)\n", p.title, link(doc, path)))
		}
	}
	if doc == "" {
		return nil
	}
	if len(drawn) > 0 {
		text += "\n### Cost against size\n\n" + strings.Join(drawn, "\n")
	}
	content, err := replaced(doc, region, text)
	if err != nil {
		return err
	}
	return os.WriteFile(doc, []byte(content), 0o644)
}

// link is path as seen from the document.
func link(doc, path string) string {
	if relative, err := filepath.Rel(filepath.Dir(doc), path); err == nil {
		path = relative
	}
	return filepath.ToSlash(path)
}

// replaced is the document with text between a region's marks.
func replaced(doc string, region Region, text string) (string, error) {
	content, err := os.ReadFile(doc)
	if err != nil {
		return "", fmt.Errorf("document: %w", err)
	}
	before, rest, ok := strings.Cut(string(content), region.Begin())
	_, after, closed := strings.Cut(rest, region.End())
	if !ok || !closed {
		return "", fmt.Errorf("document %s: want the lines %s and %s", doc, region.Begin(), region.End())
	}
	return before + region.Begin() + "\n\n" + strings.Trim(text, "\n") + "\n\n" + region.End() + after, nil
}
