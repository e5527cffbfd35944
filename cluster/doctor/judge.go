package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"layover/cluster"
)

// check is one question: judge answers it from facts alone.
type check struct {
	id    string
	needs need
	why   string // why it matters, in one sentence
	judge func(f *facts) verdict
}

// need is what has to have worked before a check.
type need uint8

const (
	nothing need = iota
	answer       // brokers said which topics and brokers there are
	contact      // a broker is reached by the name that it advertises
)

// checks are all checks, in the order in which things fail. Their ids are documented.
func checks() []check {
	return slices.Concat(connectionChecks(), topicChecks(), rightChecks(), configChecks(), groupChecks(), hereChecks())
}

// IDs are the ids of all checks, in their order.
func IDs() (ids []string) {
	for _, c := range checks() {
		ids = append(ids, c.id)
	}
	return ids
}

// judge makes a finding of each check.
func judge(f *facts) []Finding {
	var out []Finding
	failed := "" // the check without which the rest cannot be asked
	for _, c := range checks() {
		v := verdict{Status: Skipped}
		switch {
		case c.needs == answer && f.err != nil, c.needs == contact && (f.err != nil || f.reached() < 0):
			v.found = fmt.Sprintf("not asked, as %s failed", cmp.Or(failed, "a check before"))
		default:
			v = c.judge(f)
		}
		if v.Status == Fail && failed == "" {
			failed = c.id
		}
		out = append(out, Finding{ID: c.id, Status: v.Status, Found: cleanLong(v.found), Why: c.why, Fix: cleanLong(v.fix)})
	}
	return out
}

// verdict is the result of a check.
type verdict struct {
	Status
	found, fix string
}

func okay(format string, args ...any) verdict {
	return verdict{Status: OK, found: fmt.Sprintf(format, args...)}
}

func skipped(format string, args ...any) verdict {
	return verdict{Status: Skipped, found: fmt.Sprintf(format, args...)}
}

// verdicts are the parts of a check: the worst decides.
type verdicts []verdict

func (v *verdicts) add(status Status, fix, format string, args ...any) {
	*v = append(*v, verdict{status, fmt.Sprintf(format, args...), fix})
}

// maxParts bounds what one finding tells: headers choose any number of targets.
const maxParts = 50

// severity orders the results, the worst last.
var severity = []Status{Skipped, OK, Unknown, Warn, Fail}

// worst unites the parts: the status is that of the worst, and the others are only told
// where none is bad. Each remedy is there once. Without parts nothing is known.
func (v verdicts) worst() verdict {
	if len(v) == 0 {
		return verdict{Status: Unknown, found: "the answers do not tell"}
	}
	var out verdict
	for _, part := range v {
		if out.Status == "" || slices.Index(severity, part.Status) > slices.Index(severity, out.Status) {
			out.Status = part.Status
		}
	}
	var found, fixes []string
	for _, status := range slices.Backward(severity) {
		for _, part := range v {
			if part.Status != status || status == OK && (out.Status == Fail || out.Status == Warn) || status == Skipped && out.Status != Skipped {
				continue
			}
			found = append(found, part.found)
			if part.fix != "" && !slices.Contains(fixes, part.fix) {
				fixes = append(fixes, part.fix)
			}
		}
	}
	if len(found) > maxParts {
		found = append(found[:maxParts], fmt.Sprintf("and %d more", len(found)-maxParts))
	}
	out.found, out.fix = strings.Join(found, "; "), strings.Join(fixes[:min(len(fixes), maxParts)], "\n")
	return out
}

// unknownBy is the result where a question has no answer: the error, and the right that
// would give one.
func (f *facts) unknownBy(err error, what string) verdict {
	switch _, acl, named := strings.Cut(err.Error(), "; allow "); {
	case errors.Is(err, errNotAsked):
		return verdict{Status: Unknown, found: what + " was not asked in time"}
	case cluster.Denied(err) && named:
		return verdict{Unknown, fmt.Sprintf("%s may not be asked for without %s", what, acl), f.allowACL(acl)}
	}
	return verdict{Status: Unknown, found: fmt.Sprintf("%s: %s", what, clean(err.Error()))}
}

// Bounds of words of others in one line, in bytes.
const (
	maxText = 300
	maxSaid = 4000 // of a running Layover, whose texts end with the remedy
)

// clean returns words of others on one line, without what a terminal acts on.
func clean(text string) string { return oneLine(text, maxText) }

// said is clean for texts of a running Layover.
func said(text string) string { return oneLine(text, maxSaid) }

func oneLine(text string, most int) string {
	text = strings.ToValidUTF8(text, "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strings.Join(strings.Fields(cleanLong(text)), " ")
}

// cleanLong is clean for text with lines, of any length.
func cleanLong(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || unicode.IsPrint(c) {
			return c
		}
		return '?'
	}, text)
}

// list joins names, and cuts the list where it is long.
func list(names []string) string {
	const most = 10
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
