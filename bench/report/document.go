package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Subject is what one run measures: the heading of its file of tables.
type Subject string

const (
	Wheel   Subject = "The wheel and the daemon"
	Journal Subject = "A killed daemon, with the journal and without"
	IDs     Subject = "Records with an id, and their cancels"
	Runs    Subject = "Records that are moved to runs"
	Speed   Subject = "Speed end to end"
)

// heading is the first line of a file of tables.
func (s Subject) heading() string { return "# " + string(s) + "\n" }

// plots is the heading of the plots.
func (s Subject) plots() string {
	if s == Speed {
		return "Throughput and lateness"
	}
	return "Cost against size"
}

// Check says whether Write will be able to write. Empty names are nothing to be
// written. A file that is there is replaced only if it holds tables of this subject.
func Check(doc string, subject Subject, out string) error {
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return fmt.Errorf("directory for plots: %w", err)
		}
	}
	if doc == "" {
		return nil
	}
	content, err := os.ReadFile(doc)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(filepath.Dir(doc))
	} else if err == nil && !strings.HasPrefix(string(content), subject.heading()) {
		err = fmt.Errorf("%s: want a file that begins with %q, or none", doc, subject.heading())
	}
	if err != nil {
		return fmt.Errorf("document: %w", err)
	}
	return nil
}

// Write writes plots to out and the text to doc, with links to the plots at its
// end.
func Write(doc string, subject Subject, out, text string, plots []Plot) error {
	var drawn []string
	if out != "" {
		for _, p := range plots {
			path := filepath.Join(out, p.Name+".svg")
			if err := os.WriteFile(path, []byte(p.SVG()), 0o644); err != nil {
				return fmt.Errorf("plot: %w", err)
			}
			drawn = append(drawn, fmt.Sprintf("![%s](%s)\n", p.Title, link(doc, path)))
		}
	}
	if doc == "" {
		return nil
	}
	if len(drawn) > 0 {
		text += "\n### " + subject.plots() + "\n\n" + strings.Join(drawn, "\n")
	}
	return os.WriteFile(doc, []byte(subject.heading()+"\n"+strings.Trim(text, "\n")+"\n"), 0o644)
}

// link is path as seen from the document.
func link(doc, path string) string {
	if relative, err := filepath.Rel(filepath.Dir(doc), path); err == nil {
		path = relative
	}
	return filepath.ToSlash(path)
}
