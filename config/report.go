package config

import (
	"fmt"
	"slices"
	"strings"
)

// report is the problems and warnings of one environment. It keeps no value: the reasons
// are text already.
type report struct {
	table    []setting // examples of known variables, and the order of problems
	problems []Problem
	warnings []string
}

// refuse adds a problem of a known variable with the example of its row.
func (r *report) refuse(variable, reason string) {
	r.problems = append(r.problems, Problem{Variable: variable, Reason: reason, Example: r.exampleOf(variable)})
}

// refuseAll adds one problem with all the reasons, if there are any.
func (r *report) refuseAll(variable string, reasons []string) {
	if len(reasons) > 0 {
		r.refuse(variable, strings.Join(reasons, "; "))
	}
}

// refuseUnknown adds a problem of a name that asks for TLS or a login, and is no setting.
func (r *report) refuseUnknown(name, remedy, example string) {
	reason := "is no setting, and to go on without it could be to connect without TLS or without a login: " + remedy
	r.problems = append(r.problems, Problem{Variable: name, Reason: reason, Example: example})
}

// refuseBinding adds a problem of the service binding.
func (r *report) refuseBinding(reason string) {
	r.problems = append(r.problems, Problem{Variable: bindingRoot, Reason: reason, Example: bindingRoot + "=/bindings"})
}

// exampleOf is a valid assignment of a known variable; empty of another. Secrets and
// certificates are better off in files.
func (r *report) exampleOf(variable string) string {
	for _, s := range r.table {
		switch {
		case s.Variable != variable:
		case s.Secret || s.kind == "certificates":
			return variable + fileSuffix + "=" + secretsDir + strings.ToLower(variable)
		default:
			return variable + "=" + s.Example
		}
	}
	return ""
}

// example replaces the example of the problem added last, where the one of the
// row would not solve it.
func (r *report) example(variable, value string) {
	r.problems[len(r.problems)-1].Example = variable + "=" + value
}

// warn adds a line about a setting that is valid.
func (r *report) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// err returns nil or all problems. Those of known variables are first and in
// the order of the table, so that the same mistakes always read the same.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	rank := make(map[string]int, len(r.table))
	for i, s := range r.table {
		below := i - len(r.table) // below 0, the rank of others
		rank[s.Variable], rank[s.Variable+fileSuffix] = below, below
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return rank[a.Variable] - rank[b.Variable]
	})
	return &Errors{Problems: r.problems}
}
