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

// mutant is one planted bug. Its file in edits says in a sentence what the bug is and
// what it would do to a user. Below that is what it changes, as a diff without line
// numbers:
//
//	The commit names the offset after the low one: each restart loses a record.
//
//	@@ purgatory
//	-		Low: p.Window.Low(),
//	+		Low: p.Window.Low() + 1,
//
// Lines that begin with a space or a minus are looked for in all files of the package, as
// tokens. Space and comments do not count. The lines have to be there in exactly one place;
// those with a space or a plus take their place. A blank line ends an edit. Where a package
// has the lines more than once, the function behind its name says which are meant:
//
//	@@ purgatory Core.Committed
//
// Lines that are nowhere may have been renamed. Then the only place counts that has the
// same tokens but for some of the names, and what is planted takes its names.
//
// Below the sentence stands a test that is known to notice the bug, and its package:
//
//	known: daemon TestAKillLosesNothing
type mutant struct {
	name  string // of its file, without .txt
	about string
	known known
	edits []edit
}

// edit replaces tokens of the shipped source of one package.
type edit struct {
	dir      string // of the package, from the module's root, with slashes
	function string // "": anywhere
	old, new string // lines, each with its line feed
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
			dir, function, _ := strings.Cut(name, " ")
			m.edits = append(m.edits, edit{dir: dir, function: function})
			open = &m.edits[len(m.edits)-1]
			if !fs.ValidPath(dir) || strings.HasSuffix(dir, ".go") {
				err = errors.New("want the directory of a package, from the module's root, and maybe a function")
			}
		case line == "":
			open = nil
		case open != nil:
			err = open.add(line)
		case len(m.edits) == 0 && strings.HasPrefix(line, knownBegins):
			err = m.known.read(line)
		case len(m.edits) == 0:
			about = append(about, line)
		default:
			err = errors.New("want @@ and a package behind the blank line that ends an edit")
		}
		if err != nil {
			return mutant{}, fmt.Errorf("%s:%d: %q: %w", file, no, line, err)
		}
	}
	m.about = strings.Join(about, " ")
	return m, m.check(file)
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
		if len(pieces(e.old)) == 0 || e.old == e.new {
			return fmt.Errorf("%s: the edit of %s: want lines to look for, and a change of them", file, e.dir)
		}
	}
	return nil
}

// sources is the text of the Go files of one package that are no tests, by name: a bug in
// a test proves nothing.
type sources map[string]string

// change is what a mutant does to the source.
type change struct {
	files   map[string]string // the new text of each file, by its path from the module's root
	renamed []string          // what was only found under other names
}

// apply plants the mutant. read gives the source of a package as it is.
func (m *mutant) apply(read func(dir string) (sources, error)) (c change, err error) {
	packages := make(map[string]sources)
	c.files = make(map[string]string)
	for _, e := range m.edits {
		if packages[e.dir] == nil {
			if packages[e.dir], err = read(e.dir); err != nil {
				return c, fmt.Errorf("mutant %s: %w", m.name, err)
			}
		}
		file, names, err := e.plant(packages[e.dir])
		if err != nil {
			return c, fmt.Errorf("mutant %s: %w", m.name, err)
		}
		c.files[path.Join(e.dir, file)] = packages[e.dir][file]
		for from, to := range names {
			c.renamed = append(c.renamed, fmt.Sprintf("%s is %s", from, to))
		}
	}
	slices.Sort(c.renamed)
	return c, nil
}

// plant changes the one file of a package that has what the edit looks for.
func (e *edit) plant(of sources) (file string, names map[string]string, err error) {
	wanted := trimmed(pieces(e.old))
	for _, renamed := range []bool{false, true} {
		found := 0
		var at match
		for name, text := range of {
			for _, m := range e.places(text, wanted, renamed) {
				found++
				file, at = name, m
			}
		}
		if found > 1 {
			return "", nil, fmt.Errorf("%s has the lines to change %d times, want once:\n%s", e.where(), found, e.old)
		}
		if found == 1 {
			text := of[file]
			of[file] = text[:at.from] + spelled(strings.TrimSpace(e.new), at.names) + text[at.to:]
			return file, at.names, nil
		}
	}
	return "", nil, fmt.Errorf("%s has the lines to change nowhere, want them once:\n%s", e.where(), e.old)
}

// places returns where a file has what the edit looks for.
func (e *edit) places(text string, wanted []piece, renamed bool) []match {
	all := matches(pieces(text), wanted, renamed)
	if e.function == "" {
		return all
	}
	from, to, ok := within(text, e.function)
	return slices.DeleteFunc(all, func(m match) bool { return !ok || m.from < from || m.to > to })
}

func (e *edit) where() string { return strings.TrimSpace(e.dir + " " + e.function) }

// packages returns the directories of what the mutants edit, as go test takes them.
func packages(of ...mutant) []string {
	var dirs []string
	for _, m := range of {
		for _, e := range m.edits {
			dirs = append(dirs, "./"+e.dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
