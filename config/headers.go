package config

import (
	"fmt"
	"slices"
	"strings"

	"layover/delay"
)

// Names returns the headers of other products that count; nil where none do. It fails only for
// settings that Load refuses.
func (c *Config) Names() (*delay.Names, error) { return delay.NewNames(c.HeaderMap, c.Headers) }

// decodePresets reads a list of presets into out, in lower case.
func decodePresets(text string, out *[]string) error {
	var names []string
	var wrong listError
	for _, entry := range wrong.entriesOf(text) {
		name := strings.ToLower(entry)
		switch known := delay.Presets(); {
		case strings.Contains(entry, "="):
			wrong.add("%s is no preset: single headers are %s's to map", quote(entry), headerMap)
		case !slices.Contains(known, name):
			wrong.add("%s is no preset%s, want some of %s", quote(entry), meant(name, known), strings.Join(known, " "))
		case slices.Contains(names, name):
			wrong.add("%s is listed twice", quote(entry))
		default:
			names = append(names, name)
		}
	}
	*out = names
	return wrong.orNil()
}

// decodeHeaderMap reads a list of header=format into out. A mistake in one half does not hide
// one in the other.
func decodeHeaderMap(text string, out *[]delay.Mapping) error {
	var all []delay.Mapping
	var wrong listError
	var seen []string
	for _, entry := range wrong.entriesOf(text) {
		name, word, ok := cutPair(entry)
		if !ok {
			wrong.add("%s is not of the form header=format", quote(entry))
			continue
		}
		good := true
		refuse := func(format string, args ...any) {
			wrong.add("%s "+format, append([]any{quote(entry)}, args...)...)
			good = false
		}
		if err := delay.CheckName(name); err != nil {
			refuse("has the header %s, which %v", quote(name), err)
		} else if slices.ContainsFunc(seen, func(other string) bool { return strings.EqualFold(other, name) }) {
			refuse("has the header %s a second time; upper and lower case are the same", quote(name))
		}
		seen = append(seen, name)
		format, known := delay.FormatOf(word)
		if !known {
			refuse("has the format %s, which is none%s, want one of %s", quote(word), meant(word, delay.Formats()), strings.Join(delay.Formats(), " "))
		}
		if good {
			all = append(all, delay.Mapping{Name: name, Format: format})
		}
	}
	*out = all
	return wrong.orNil()
}

// addedForm is the values of LAYOVER_ADDED_HEADERS.
var addedForm = "a list of " + strings.Join(delay.AddedWords(), " ") + ", or " + delay.AddNone

// alwaysAdded are headers that a list might be thought to have, without what names share.
var alwaysAdded = []string{"hops", "attempt", "delay-attempt"}

// decodeAdded reads a list of added headers, or none, into out. A list of nothing is a mistake:
// it could be meant for none as well as for all.
func decodeAdded(text string, out *delay.Added) error {
	var added delay.Added
	var wrong listError
	entries := wrong.entriesOf(text)
	if len(entries) == 0 {
		wrong.add("%s has no entry, want %s", quote(text), addedForm)
	}
	for _, entry := range entries {
		word := strings.ToLower(entry)
		bare := strings.TrimPrefix(strings.TrimPrefix(word, "layover-"), "x-")
		one, known := delay.AddedOf(word)
		switch {
		case word == delay.AddNone && len(entries) > 1:
			wrong.add("%s stands beside other entries, want it alone, or the others", quote(entry))
		case word == delay.AddNone:
		case !known && slices.Contains(alwaysAdded, bare):
			wrong.add("%s cannot be chosen: what counts attempts and hops is always added, or retries and circles had no end; want %s", quote(entry), addedForm)
		case !known:
			wrong.add("%s is none of these headers%s, want %s", quote(entry), meant(bare, delay.AddedWords()), addedForm)
		case added.Has(one):
			wrong.add("%s is listed twice", quote(entry))
		}
		added |= one
	}
	*out = added
	return wrong.orNil()
}

// meant is a note with the known word that is nearest; empty where none is near.
func meant(word string, known []string) string {
	if len(word) > maxQuoted {
		return ""
	}
	if near := Nearest(strings.ToLower(word), known); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}
