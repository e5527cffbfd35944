package config

import (
	"cmp"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/kelseyhightower/envconfig"

	"layover/delay"
)

// Row is one setting as a user sees it, all of it text.
type Row struct {
	Variable    string // KAFKA_BROKERS
	Default     string // a value, or in words the source of it, or "required"
	Values      string // the range, the choices or the syntax
	Description string // one sentence without its end
	Example     string // a valid value
	Secret      bool   // the value is never printed, only whether there is one
}

// File returns the name of the variable that names a file with the value.
func (r Row) File() string { return r.Variable + fileSuffix }

// Table returns all settings in the order of [Config]. The slice is the
// caller's.
func Table() []Row {
	var rows []Row
	for _, s := range settingsOf(new(Config)) {
		rows = append(rows, s.Row)
	}
	return rows
}

// Known returns the names of all variables, in the order of [Table]. The slice is the
// caller's.
func Known() []string { return slices.Clone(known()) }

// known walks the specification once: a look at every variable needs the names.
var known = sync.OnceValue(func() []string {
	var names []string
	for _, row := range Table() {
		names = append(names, row.Variable)
	}
	return names
})

// setting is one field of the specification with the tags that say how to
// read it.
type setting struct {
	Row
	field    reflect.Value // settable, in the Config that settingsOf was given
	required bool
	literal  string   // default to decode, empty if there is none or it is derived
	kind     string   // syntax of a string or of a list's entries
	choices  []string // all values of a choice
	min, max string   // inclusive, in the syntax of the value
}

// specification gives the fields their prefixes: envconfig makes the name of a
// variable from the names of the structs around the field.
type specification struct {
	Kafka   *Kafka
	AWS     *AWS
	Layover *Config
}

// settingsOf returns the settings whose fields lie in cfg.
func settingsOf(cfg *Config) []setting {
	return walk(&specification{Kafka: &cfg.Kafka, AWS: &cfg.Kafka.AWS, Layover: cfg})
}

// walk returns the settings of a specification, a pointer to a struct.
//
// envconfig shows a specification without the process's environment in one
// exported way alone. That way is the template of its usage text, which gets
// every field with its final name. The template here writes nothing and hands
// each field over. Usaget fails only for a value that is no pointer to a struct.
func walk(spec any) []setting {
	var all []setting
	add := func(name string, field reflect.Value, tags reflect.StructTag) string {
		all = append(all, newSetting(name, field, tags))
		return ""
	}
	each := template.Must(template.New("walk").
		Funcs(template.FuncMap{"add": add}).
		Parse(`{{range .}}{{add .Key .Field .Tags}}{{end}}`))
	if err := envconfig.Usaget("", spec, io.Discard, each); err != nil {
		panic("config: the specification cannot be walked: " + err.Error())
	}
	return all
}

func newSetting(name string, field reflect.Value, tags reflect.StructTag) setting {
	s := setting{
		Row: Row{
			Variable:    name,
			Default:     tags.Get("default"),
			Description: tags.Get("desc"),
			Example:     tags.Get("example"),
			Secret:      tags.Get("secret") == "true",
		},
		field:    field,
		required: tags.Get("required") == "true",
		literal:  tags.Get("default"),
		kind:     tags.Get("kind"),
		min:      tags.Get("min"),
		max:      tags.Get("max"),
	}
	if choices := tags.Get("choices"); choices != "" {
		s.choices = strings.Split(choices, ",")
	}
	switch {
	case s.required:
		s.Default = "required"
	case s.literal == "":
		s.Default = tags.Get("derived")
	}
	s.Values = s.values()
	return s
}

// kindForms are the values of settings whose kind says what they accept, in the words of a
// table. All others are addresses to listen on.
var kindForms = map[string]string{
	"brokers":      "a list of host:port, the port " + brokerPorts,
	"topics":       "a list of topic names",
	"targets":      "a list of topic names and globs (* ? [a-z])",
	"presets":      "a list of " + strings.Join(delay.Presets(), " "),
	"added":        addedForm,
	"topic":        "a topic name",
	"instance":     "1 to 249 of " + nameAlphabet,
	"client":       "1 to 249 of " + nameAlphabet,
	"group":        "1 to 1024 bytes of printable text",
	"text":         "printable text",
	"password":     "one line of text",
	"token":        "one line of text",
	"certificates": "PEM, or base64 of PEM",
	"key":          "PEM, or base64 of PEM, without a passphrase",
	"host":         "a host name or an IP address",
	"region":       "a region's name",
	"url":          "an https URL, or http on this host",
	"container":    "an https URL, or http on this host or to AWS's addresses for containers",
	"link":         "a URL",
	"words":        "a list of words",
	"extensions":   "a list of name=value, names of letters",
	"journal":      "a topic name, with " + placeholders + " in it or not",
	"runs":         "a topic name, with " + placeholders + " in it",
}

// values describes the values that s accepts.
func (s setting) values() string {
	if len(s.choices) > 0 {
		last := len(s.choices) - 1
		return strings.Join(s.choices[:last], ", ") + " or " + s.choices[last]
	}
	if s.min != "" {
		span := s.min + " to " + s.max
		if _, ok := s.field.Addr().Interface().(*Auto); ok {
			return "auto, off or " + span
		}
		return span
	}
	switch s.field.Addr().Interface().(type) {
	case *[]TopicTarget:
		return "a list of ingress=target"
	case *[]TopicDelay:
		return "a list of ingress=delay, each 0s to " + maxDelay + ", a back-off, or auto, which is " + backoff
	case *delay.Backoff:
		return backoffForm
	case *[]delay.Mapping:
		return "a list of header=format, formats " + strings.Join(delay.Formats(), " ")
	}
	return cmp.Or(kindForms[s.kind], "host:port, the port "+listenPorts)
}
