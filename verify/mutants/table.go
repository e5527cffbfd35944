package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// heading is the first line of the document, which is the table and nothing else.
const heading = "# Planted bugs\n"

// nothing is in the table where no layer caught a mutant.
const nothing = "**nothing**"

// table is the results in Markdown.
func table(layers []layer, results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d mutants, tried on the layers %s.\n\n", len(results), strings.Join(layerNames(layers), ", "))
	b.WriteString("| Mutant | What it is | Caught by |\n|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.mutant.name, strings.ReplaceAll(r.mutant.about, "|", `\|`), r.caughtBy())
	}
	return b.String()
}

// caughtBy is the table's last cell.
func (r *result) caughtBy() string {
	if len(r.caught) == 0 {
		return nothing
	}
	names := make([]string, len(r.caught))
	for i, c := range r.caught {
		names[i] = c.String()
	}
	return strings.Join(names, ", ")
}

// write makes a document of a table.
func write(name, table string) error {
	return os.WriteFile(name, []byte(heading+"\n"+table), 0o644)
}

// listed returns the last cell of each mutant in a document's table.
func listed(name string) (map[string]string, error) {
	doc, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(string(doc), heading) {
		return nil, fmt.Errorf("%s: want %q as its first line", name, strings.TrimSpace(heading))
	}
	cells := make(map[string]string)
	for line := range strings.Lines(string(doc)) {
		if row, ok := strings.CutPrefix(line, "| `"); ok {
			mutant, row, _ := strings.Cut(row, "` | ")
			row = strings.TrimSuffix(row, " |\n")
			cells[mutant] = row[strings.LastIndex(row, " | ")+len(" | "):]
		}
	}
	return cells, nil
}

// compare says where a document's table and the results disagree about whether a
// mutant is caught at all. By which layers may differ from run to run.
func compare(cells map[string]string, results []result) (err error) {
	for _, r := range results {
		name := r.mutant.name
		switch cell, ok := cells[name]; {
		case !ok:
			err = errors.Join(err, fmt.Errorf("mutant %s is not in the table", name))
		case (cell == nothing) != (len(r.caught) == 0):
			err = errors.Join(err, fmt.Errorf("mutant %s is caught by %s, says the table; now by %s", name, cell, r.caughtBy()))
		}
	}
	return err
}
