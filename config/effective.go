package config

import (
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"layover/delay"
)

// Value is one setting as it is in force, all of it text.
type Value struct {
	Variable string
	// Text is the value as a variable would have it, or empty where nothing is
	// set and there is no default. A secret's text is only its length, and of a URL the
	// query is left out.
	Text string
	// Effective is the value in force: a size in bytes, a setting of the Go runtime
	// on this machine, where "none" is no limit. For other settings it is empty.
	Effective string
	Secret    bool
	Origin    Origin
}

// Origin is where a value comes from.
type Origin struct {
	Kind OriginKind
	Path string // of FromFile, FromBinding and FromEnvFile
}

// OriginKind is the kind of an origin.
type OriginKind string

// The kinds of origins.
const (
	FromEnvironment OriginKind = "environment"
	FromFile        OriginKind = "file"     // that a _FILE variable names
	FromBinding     OriginKind = "binding"  // an entry of SERVICE_BINDING_ROOT
	FromEnvFile     OriginKind = "env file" // of NAME=value lines
	FromDefault     OriginKind = "default"  // derived ones included
)

// String returns the kind, and the path where there is one.
func (o Origin) String() string {
	if o.Path == "" {
		return string(o.Kind)
	}
	return string(o.Kind) + " " + o.Path
}

// Effective returns all settings as [Load] would, in the order of [Table]. envFiles
// has the file's path, by name, for the entries of environ that come from a file of
// NAME=value lines. The warnings and the error are those of Load.
func Effective(environ []string, envFiles map[string]string) ([]Value, []string, error) {
	r := newReader(environ, thisMachine())
	warnings, err := r.readAll()
	if err != nil {
		return nil, warnings, err
	}
	// The Go runtime never sees variables of a file of NAME=value lines.
	ours := func(name string) bool { return r.env[name] != "" && envFiles[name] == "" }
	return r.values(envFiles, goRuntime{
		cores: r.host.cores, limit: debug.SetMemoryLimit(-1),
		hasCores: ours("GOMAXPROCS"), hasLimit: ours("GOMEMLIMIT"),
	}), warnings, nil
}

// values returns the settings that were read, with their sources.
func (r *reader) values(envFiles map[string]string, gr goRuntime) []Value {
	var all []Value
	for _, s := range r.settings {
		v := Value{Variable: s.Variable, Text: s.format(), Secret: s.Secret, Origin: Origin{Kind: FromDefault}}
		if path, ok := r.files[s.Variable]; ok && r.given[s.Variable] {
			v.Origin = Origin{FromFile, path}
			if r.fromBinding[s.Variable] {
				v.Origin.Kind = FromBinding
			}
		} else if path, ok := envFiles[s.Variable]; ok && r.given[s.Variable] {
			v.Origin = Origin{FromEnvFile, path}
		} else if r.given[s.Variable] {
			v.Origin.Kind = FromEnvironment
		}
		switch field := s.field.Addr().Interface().(type) {
		case *Secret:
			if s.kind == "certificates" {
				v.Text = masked(v.Text) // no secret, and many lines
			}
		case *int64:
			v.Effective = strconv.FormatInt(*field, 10)
		case *Auto:
			v.Effective = gr.inForce(*field, s.kind == "number", r.host)
		}
		if s.isURL() {
			v.Text = withoutQuery(v.Text)
		}
		if s.Secret {
			v.Text, v.Effective = masked(v.Text), ""
		}
		all = append(all, v)
	}
	return all
}

// withoutQuery is a URL as it may be printed. Behind its path a secret may be, such as the
// key of a function that answers there.
func withoutQuery(url string) string {
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		return url[:i] + "?..."
	}
	return url
}

// masked is the text that stands for a secret.
func masked(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("set, %d bytes", len(text))
}

// goRuntime is the Go runtime's own choices in this process.
type goRuntime struct {
	cores              int   // its GOMAXPROCS
	limit              int64 // its GOMEMLIMIT in bytes, math.MaxInt64 if it has none
	hasCores, hasLimit bool  // chosen by its own variables, which Layover leaves alone
}

// inForce returns the value of a setting of the Go runtime when Layover runs here.
// The daemon makes the same choice when it starts.
func (g goRuntime) inForce(a Auto, isCores bool, host machine) string {
	n, chosen := g.limit, g.hasLimit
	if isCores {
		n, chosen = int64(g.cores), g.hasCores
	}
	switch {
	case a.Mode == AutoValue:
		n = a.Value
	case a.Mode == AutoOff || chosen:
	case isCores:
		n++
	case host.memoryLimit > 0:
		n = RuntimeMemory(host.memoryLimit)
	}
	if n == math.MaxInt64 {
		return "none"
	}
	return strconv.FormatInt(n, 10)
}

// format returns the value of s in a form that decode reads as the same, empty
// where there is none.
func (s *setting) format() string {
	switch field := s.field.Addr().Interface().(type) {
	case *time.Duration:
		return FormatDuration(*field)
	case *int64:
		return formatSize(*field)
	case *Auto:
		if field.Mode == AutoValue && s.kind == "size" {
			return formatSize(field.Value)
		}
		return field.String()
	case *Secret:
		return field.text()
	case *slog.Level:
		return strings.ToLower(field.String())
	case *[]string:
		return strings.Join(*field, ",")
	case *[]TopicTarget:
		return joined(*field)
	case *[]TopicDelay:
		return joined(*field)
	case *[]delay.Mapping:
		return joined(*field)
	default:
		return fmt.Sprint(s.field.Interface())
	}
}

func joined[T fmt.Stringer](all []T) string {
	var parts []string
	for _, one := range all {
		parts = append(parts, one.String())
	}
	return strings.Join(parts, ",")
}

// FormatDuration returns d, which is not negative, as a setting is written: 6d, 1h30m.
func FormatDuration(d time.Duration) string { return delay.FormatDuration(d) }

// formatSize returns n, which is above 0, in the largest unit that it is a
// multiple of.
func formatSize(n int64) string {
	for i, unit := range []string{"Ti", "Gi", "Mi", "Ki"} {
		if size := int64(1) << (40 - 10*i); n%size == 0 {
			return strconv.FormatInt(n/size, 10) + unit
		}
	}
	return strconv.FormatInt(n, 10)
}
