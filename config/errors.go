package config

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuoted is how many bytes of a value a message repeats: enough to
// recognise it, and a whole file pasted by mistake does not fill the log.
const maxQuoted = 100

// Problem is one reason why a configuration was refused.
type Problem struct {
	Variable string
	Reason   string // never holds a value that may be a secret
	Example  string // a value that would do; empty where the variable must be unset
}

// Errors are all problems of one configuration, at least one.
type Errors struct {
	Problems []Problem
}

// Error returns one line per problem, the last without an end:
//
//	VARIABLE: reason; example: VARIABLE=value
func (e *Errors) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		name := printable(p.Variable)
		lines[i] = name + ": " + p.Reason + "; example: " + name + "=" + p.Example
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

// printable returns a variable's name as it is, or quoted where it would break
// the line: the environment may hold any name.
func printable(name string) string {
	quoted := quote(name)
	if quoted == `"`+name+`"` {
		return name
	}
	return quoted
}
