package main

import (
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"strings"
)

// mutant is one change of the source. All are compiled in, and a variable of the
// environment switches one on: what takes the time of such tools is compiling.
type mutant struct {
	id   int // counts over all packages, from 1
	key  key
	file string
	line int
}

// key names a mutant by what it changes, so that the list of those that change
// nothing outlives an edit of the lines around them.
type key struct {
	dir      string // of the package, from the module's root
	function string // "Name", "Type.Name", or the first name of a declaration
	kind     string
	text     string // what is changed, on one line, and what it becomes if the kind does not say
	nth      int    // from 1, among those of one function that are the same otherwise
}

// String is the form that the list of equivalent mutants has.
func (k key) String() string {
	s := fmt.Sprintf("%s %s %s: %s", k.dir, k.function, k.kind, k.text)
	if k.nth > 1 {
		s += fmt.Sprintf(" (%d)", k.nth)
	}
	return s
}

// kinds is what can be done to source, and how a reader is told. The first six are
// the forgotten resets, answers and reactions that tests seldom ask for.
var kinds = map[string]string{
	"dropped":   "a statement is left out: an assignment, a call, a delete, a defer",
	"log":       "a log line is left out",
	"field":     "a field of a literal keeps its zero value",
	"return":    "a return is left out, and what follows is done",
	"swallowed": "an error is returned as nil",
	"zero":      "the zero value is returned",
	"never":     "a condition is never true",
	"always":    "a condition is always true",
	"operand":   "one side of && or || is left out",
	"negated":   "a truth value is its opposite",
	"boundary":  "< is <=, > is >=, and back",
	"operator":  "+ is -, * is /, & is |, and back",
	"constant":  "0 is 1, and 1 is 0",
	"minmax":    "min is max, and back",
	"swapped":   "two arguments of one type change places",
	"case":      "a case does nothing",
	"loop":      "break is continue, and back, or neither",
}

// textOf returns source as one line of at most 100 characters.
func textOf(set *token.FileSet, n ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, set, n); err != nil {
		return fmt.Sprintf("%T", n)
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	if r := []rune(text); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return text
}
