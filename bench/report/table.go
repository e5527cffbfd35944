package report

import (
	"strings"
	"unicode/utf8"
)

// table is rows of cells, the first row its head.
type table [][]string

// markdown aligns the columns, so that the table reads well as plain text:
// figures to the right, words to the left.
func (t table) markdown() string {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var b strings.Builder
	for i, row := range t {
		t.line(&b, row, widths)
		if i == 0 {
			t.rule(&b, widths)
		}
	}
	return b.String()
}

func (t table) line(b *strings.Builder, row []string, widths []int) {
	for i, width := range widths {
		padding := strings.Repeat(" ", width-utf8.RuneCountInString(row[i]))
		if t.figures(i) {
			b.WriteString("| " + padding + row[i] + " ")
		} else {
			b.WriteString("| " + row[i] + padding + " ")
		}
	}
	b.WriteString("|\n")
}

func (t table) rule(b *strings.Builder, widths []int) {
	for i, width := range widths {
		if t.figures(i) {
			b.WriteString("|" + strings.Repeat("-", width+1) + ":")
		} else {
			b.WriteString("|" + strings.Repeat("-", width+2))
		}
	}
	b.WriteString("|\n")
}

// figures is whether a column has nothing but figures and blanks.
func (t table) figures(column int) bool {
	for _, row := range t[1:] {
		if cell := row[column]; cell != "" && strings.Trim(cell, "0123456789., %x") != "" {
			return false
		}
	}
	return true
}
