package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

func (s *setting) isList() bool { return s.field.Kind() == reflect.Slice }

// listError is all mistakes in a list. The right entries are kept beside it, so
// that rules between two settings are checked too and all mistakes come at once.
type listError struct {
	reasons []string
	// partial: some entry was not understood. Whether something is missing from
	// the list is not known then.
	partial bool
}

// Error returns the reasons, on one line.
func (e *listError) Error() string { return strings.Join(e.reasons, "; ") }

// orNil returns e if there is a reason.
func (e *listError) orNil() error {
	if len(e.reasons) == 0 {
		return nil
	}
	return e
}

// add adds a reason to refuse an entry.
func (e *listError) add(format string, args ...any) {
	e.reasons = append(e.reasons, fmt.Sprintf(format, args...))
}

// splitList returns the trimmed entries of a comma-separated list that are not
// empty.
func splitList(text string) []string { return splitAt(text, ",") }

func splitAt(text, separator string) []string {
	var entries []string
	for entry := range strings.SplitSeq(text, separator) {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

// entriesOf splits a list. A semicolon, which no entry of any list may have, is a
// mistake that counts as a comma. The entries around it are checked like others.
func (e *listError) entriesOf(text string) []string {
	var entries []string
	for _, entry := range splitList(text) {
		if strings.Contains(entry, ";") {
			e.add("%s has a semicolon, and the entries of a list are separated by commas", quote(entry))
		}
		entries = append(entries, splitAt(entry, ";")...)
	}
	return entries
}

// decodeList checks every entry and reports all wrong ones in one reason.
// A topic that is read twice is a mistake; a broker or a target that is named
// twice means the same as once. The reason repeats no entry of brokers with an @:
// the @ may end a password, which may hold a comma.
func (s *setting) decodeList(text string, out *[]string) error {
	if s.kind == "brokers" && strings.Contains(text, "@") {
		return errors.New("has an @, want host:port alone, without a login")
	}
	var entries []string
	var wrong listError
	for _, entry := range wrong.entriesOf(text) {
		err := s.check(entry)
		switch {
		case err != nil:
			wrong.add("%s %v", quote(entry), err)
			wrong.partial = true
		case !slices.Contains(entries, entry):
			entries = append(entries, entry)
		case s.kind == "topics":
			wrong.add("%s is listed twice", quote(entry))
		}
	}
	*out = entries
	return wrong.orNil()
}

// decodePairs calls take with both halves of each pair in a list, and reports all
// mistakes in one reason. The first equals sign parts the halves, as no topic's name
// has one. A mistake in one half does not hide one in the other.
func decodePairs(text, what string, take func(ingress, value string) error) error {
	var wrong listError
	var seen []string
	for _, entry := range wrong.entriesOf(text) {
		ingress, value, ok := cutPair(entry)
		if !ok {
			wrong.add("%s is not of the form ingress=%s", quote(entry), what)
			wrong.partial = true
			continue
		}
		if err := checkTopic(ingress); err != nil {
			wrong.add("%s has the ingress topic %s, which %v", quote(entry), quote(ingress), err)
			wrong.partial = true
		} else if slices.Contains(seen, ingress) {
			wrong.add("%s has the ingress topic %s a second time", quote(entry), quote(ingress))
		}
		seen = append(seen, ingress)
		if err := take(ingress, value); err != nil {
			wrong.add("%s %v", quote(entry), err)
			wrong.partial = true
		}
	}
	return wrong.orNil()
}

// cutPair returns both halves of a pair, and whether there are both.
func cutPair(entry string) (ingress, value string, ok bool) {
	ingress, value, ok = strings.Cut(entry, "=")
	ingress, value = strings.TrimSpace(ingress), strings.TrimSpace(value)
	return ingress, value, ok && ingress != "" && value != ""
}
