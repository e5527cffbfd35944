package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// mutant is one planted bug. Its file in edits says in a sentence what the bug is
// and what it would do to a user, and below that what it changes, as a diff
// without line numbers:
//
//	The commit names the offset after the low one: each restart loses a record.
//
//	@@ purgatory/commit.go
//	-		Low: p.Window.Low(),
//	+		Low: p.Window.Low() + 1,
//
// Lines that begin with a space or a minus have to be in the file one after the
// other, in exactly one place; those with a space or a plus take their place. A
// blank line ends an edit.
type mutant struct {
	name  string // of its file, without .txt
	about string
	edits []edit
}

// edit replaces whole lines of one file of shipped source.
type edit struct {
	file     string // from the module's root, with slashes
	old, new string // each line with its line feed
}

//go:embed edits
var files embed.FS

// mutants returns all there are, by name.
func mutants() ([]mutant, error) {
	names, err := fs.Glob(files, "edits/*.txt")
	if err != nil {
		return nil, err
	}
	all := make([]mutant, 0, len(names))
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m, err := parse(path.Base(name), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// parse reads the file of a mutant.
func parse(file, text string) (mutant, error) {
	m := mutant{name: strings.TrimSuffix(file, ".txt")}
	var about []string
	var open *edit // nil: before the first edit, or behind the blank line that ends one
	no := 0
	for line := range strings.Lines(text) {
		no++
		line = strings.TrimSuffix(line, "\n")
		var err error
		switch name, begins := strings.CutPrefix(line, "@@ "); {
		case begins:
			m.edits = append(m.edits, edit{file: name})
			open = &m.edits[len(m.edits)-1]
			err = shipped(name)
		case line == "":
			open = nil
		case open != nil:
			err = open.add(line)
		case len(m.edits) == 0:
			about = append(about, line)
		default:
			err = errors.New("want @@ and a file behind the blank line that ends an edit")
		}
		if err != nil {
			return mutant{}, fmt.Errorf("%s:%d: %q: %w", file, no, line, err)
		}
	}
	m.about = strings.Join(about, " ")
	return m, m.check(file)
}

// shipped refuses what is not a file of the program: a bug in a test, or in what
// looks for it, proves nothing.
func shipped(name string) error {
	if !fs.ValidPath(name) || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
		return errors.New("want the path of a Go file that is no test, from the module's root")
	}
	return nil
}

// add takes one line of an edit.
func (e *edit) add(line string) error {
	rest := line[1:] + "\n"
	switch line[0] {
	case ' ':
		e.old += rest
		e.new += rest
	case '-':
		e.old += rest
	case '+':
		e.new += rest
	default:
		return errors.New("want a line that begins with a space, - or +")
	}
	return nil
}

// check finds what no single line shows.
func (m *mutant) check(file string) error {
	if m.about == "" || len(m.edits) == 0 {
		return fmt.Errorf("%s: want a sentence that says what the bug is, and at least one edit", file)
	}
	for _, e := range m.edits {
		if e.old == "" || e.old == e.new {
			return fmt.Errorf("%s: the edit of %s: want lines to look for, and a change of them", file, e.file)
		}
	}
	return nil
}

// apply returns the text of each file that the mutant changes. read gives that of
// one as it is.
func (m *mutant) apply(read func(file string) (string, error)) (map[string]string, error) {
	edited := make(map[string]string)
	for _, e := range m.edits {
		text, ok := edited[e.file]
		if !ok {
			var err error
			if text, err = read(e.file); err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.name, err)
			}
		}
		at := places(text, e.old)
		if len(at) != 1 {
			return nil, fmt.Errorf("mutant %s: %s has the lines to change %d times, want once:\n%s", m.name, e.file, len(at), e.old)
		}
		edited[e.file] = text[:at[0]] + e.new + text[at[0]+len(e.old):]
	}
	return edited, nil
}

// places returns where in text whole lines are found.
func places(text, lines string) (at []int) {
	for from := 0; ; {
		i := strings.Index(text[from:], lines)
		if i < 0 {
			return at
		}
		if from += i; from == 0 || text[from-1] == '\n' {
			at = append(at, from)
		}
		from++
	}
}

// packages returns the directories of what the mutants edit, as go test takes them.
func packages(of ...mutant) []string {
	var dirs []string
	for _, m := range of {
		for _, e := range m.edits {
			dirs = append(dirs, "./"+path.Dir(e.file))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
