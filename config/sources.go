package config

import (
	"cmp"
	"slices"
)

// sources is how each setting was given. Reading fills it, and the rules between settings
// ask it.
type sources struct {
	env      map[string]string // the variables
	settings []setting
	text     map[string]string // the content of a variable or its file, trimmed
	given    map[string]bool   // set to something that is not empty, valid or not
	// bad: given and not decoded. The field is zero, or a list of the entries that
	// were understood.
	bad         map[string]bool
	files       map[string]string // the files that were read, by the variable
	bindingDir  string            // of the service binding of type kafka; "" without one
	fromBinding map[string]bool   // the settings that it filled
}

func newSources(env map[string]string, settings []setting) *sources {
	return &sources{
		env:         env,
		settings:    settings,
		text:        make(map[string]string),
		given:       make(map[string]bool),
		bad:         make(map[string]bool),
		files:       make(map[string]string),
		fromBinding: make(map[string]bool),
	}
}

// shown is the value of a variable as the user wrote it, or its default.
func (o *sources) shown(variable string) string {
	for _, s := range o.settings {
		if s.Variable == variable && !o.given[variable] {
			return cmp.Or(s.literal, s.format()) + " by default" // as a rule derived it
		}
	}
	return quote(o.text[variable])
}

// asSet returns the name that a setting is set by: its own, that of its twin, or that of
// the binding.
func (o *sources) asSet(variable string) string {
	switch {
	case o.fromBinding[variable]:
		return variable + " (of " + bindingRoot + ")"
	case o.env[variable+fileSuffix] != "":
		return variable + fileSuffix
	default:
		return variable
	}
}

// givenOf returns the settings in the order of the table that are set and wanted, by the
// names that they are set by.
func (o *sources) givenOf(wanted func(variable string) bool) []string {
	var names []string
	for _, s := range o.settings {
		if o.given[s.Variable] && wanted(s.Variable) {
			names = append(names, o.asSet(s.Variable))
		}
	}
	return names
}

// fileSource is the variable that led to the file of a setting.
func (o *sources) fileSource(variable string) string {
	if o.fromBinding[variable] {
		return bindingRoot
	}
	return variable + fileSuffix
}

// from says which file a value is from; empty if from none.
func (o *sources) from(variable string) string {
	path, ok := o.files[variable]
	if !ok {
		return ""
	}
	return "; it is from the file " + quote(path) + " of " + o.fileSource(variable)
}

// ingressCount is how many ingress topics are meant, also where one of them is
// not understood.
func (o *sources) ingressCount() int {
	entries := new(listError).entriesOf(o.text[ingressTopics])
	slices.Sort(entries)
	return len(slices.Compact(entries))
}

// isKnown reports whether a name is that of a setting, or of its twin.
func (o *sources) isKnown(name string) bool {
	return slices.ContainsFunc(o.settings, func(s setting) bool { return name == s.Variable || name == s.File() })
}
