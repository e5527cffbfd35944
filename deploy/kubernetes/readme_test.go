package kubernetes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	readme = "chart/layover/README.md"
	// widestDefault is how long a default in the table may be; longer ones are referred to.
	widestDefault = 50
)

// schema is the part of values.schema.json by which values are found. An object that takes
// no others is a group of values, and anything else is one value.
type schema struct {
	Properties           map[string]schema
	AdditionalProperties any
}

// values calls f for each value, by its path.
func (s schema) values(path []string, f func(path []string)) {
	if s.AdditionalProperties != false || len(s.Properties) == 0 {
		f(path)
		return
	}
	for name, property := range s.Properties {
		property.values(append(path[:len(path):len(path)], name), f)
	}
}

// defaults returns the values of the chart as helm reads them.
func defaults(t *testing.T) map[string]any {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layover")
	for _, name := range []string{"Chart.yaml", "values.yaml"} {
		write(t, place(t, dir, name), read(t, "chart/layover/"+name))
	}
	write(t, place(t, dir, "templates/values.yaml"), "apiVersion: v1\nkind: Values\nmetadata: {name: values}\nvalues: {{ .Values | toJson }}\n")
	return helm(t, dir).of("Values")[0].text["values"].(map[string]any)
}

// place returns the name of a file whose folder exists.
func place(t *testing.T, dir, name string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	return file
}

// cell is how the table shows the default at a path.
func cell(t *testing.T, values map[string]any, path []string) string {
	t.Helper()
	var at any = values
	for _, name := range path {
		group, _ := at.(map[string]any)
		inner, is := group[name]
		if !is {
			return "–"
		}
		at = inner
	}
	if s, is := at.(string); is && s != "" {
		return "`" + s + "`"
	}
	raw, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > widestDefault {
		return "as in `values.yaml`"
	}
	return "`" + string(raw) + "`"
}

// TestTheTableOfTheChartHasEveryValueWithItsDefault compares the README with the schema,
// which refuses unknown values, and with values.yaml.
func TestTheTableOfTheChartHasEveryValueWithItsDefault(t *testing.T) {
	var all schema
	if err := json.Unmarshal([]byte(read(t, "chart/layover/values.schema.json")), &all); err != nil {
		t.Fatal(err)
	}
	rows := make(map[string][]string)
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-zA-Z.]+)` \\| (.+?) \\| (.+) \\|$").FindAllStringSubmatch(read(t, readme), -1) {
		if rows[m[1]] != nil {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = m[2:]
	}
	values := defaults(t)
	all.values(nil, func(path []string) {
		name := strings.Join(path, ".")
		row := rows[name]
		delete(rows, name)
		if row == nil {
			t.Errorf("%s has no row for %s", readme, name)
			return
		}
		if want := cell(t, values, path); row[0] != want {
			t.Errorf("the default of %s is %s in the table, want %s", name, row[0], want)
		}
	})
	for name := range rows {
		t.Errorf("%s has a row for %s, which is no value", readme, name)
	}
	if len(values) < 30 {
		t.Errorf("%d values", len(values))
	}
}

// Each object that the chart makes is in the README's list.
func TestTheReadmeHasEveryKindOfObject(t *testing.T) {
	r := append(helm(t, "chart/layover", everything(t)...), helm(t, "chart/layover", minimal(append(operator, "--set", "serviceMonitor.enabled=true")...)...)...)
	_, list, _ := strings.Cut(read(t, readme), "| Object | When |")
	list, _, _ = strings.Cut(list, "\n\n")
	for kind := range kinds(r) {
		if !strings.Contains(list, kind) {
			t.Errorf("%s has no word of the %s", readme, kind)
		}
	}
}

// helm package takes the README and the files along, and none of the tests' own.
func TestTheChartIsPackagedWhole(t *testing.T) {
	dir := t.TempDir()
	if out, err := command(t, nil, "helm", "package", "chart/layover", "--destination", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	packages, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packages) != 1 {
		t.Fatal(packages, err)
	}
	shown, err := command(t, nil, "helm", "show", "readme", packages[0])
	if err != nil || !strings.Contains(string(shown), "# The chart layover") {
		t.Errorf("helm show readme: %v\n%s", err, shown)
	}
	r := helm(t, packages[0], minimal(append(operator, "--set", "prometheusRule.enabled=true,dashboard.enabled=true")...)...)
	if len(r.rules(t)) == 0 || len(r.of("ConfigMap")) != 2 {
		t.Errorf("the package makes %v", kinds(r))
	}
}
