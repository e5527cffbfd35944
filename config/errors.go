package config

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuoted is how many bytes of a value a message repeats. They are enough to
// recognise it, and a whole file pasted by mistake does not fill the log.
const maxQuoted = 100

// Problem is one reason why a configuration was refused.
type Problem struct {
	Variable string
	Reason   string // never holds a value that may be a secret
	Example  string // an assignment that would do, NAME=value; empty where there is none
}

// Errors are all problems of one configuration, at least one.
type Errors struct {
	Problems []Problem
}

// Error returns one line per problem, the last without an end, and no example where
// there is none:
//
//	VARIABLE: reason; example: VARIABLE=value
func (e *Errors) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = printable(p.Variable) + ": " + p.Reason
		if p.Example != "" {
			lines[i] += "; example: " + p.Example
		}
	}
	return strings.Join(lines, "\n")
}

// quote returns value in quotes, on one line, cut to maxQuoted bytes.
func quote(value string) string {
	if len(value) <= maxQuoted {
		return strconv.Quote(value)
	}
	end := maxQuoted
	for end > maxQuoted-utf8.UTFMax && !utf8.RuneStart(value[end]) {
		end--
	}
	return strconv.Quote(value[:end]) + "..."
}

// quoted returns the values in quotes, with commas between them.
func quoted(values []string) string {
	var all []string
	for _, value := range values {
		all = append(all, quote(value))
	}
	return strings.Join(all, ", ")
}

// printable returns a variable's name as it is, or quoted where it would break
// the line: the environment may hold any name.
func printable(name string) string {
	quoted := quote(name)
	if quoted == `"`+name+`"` {
		return name
	}
	return quoted
}
