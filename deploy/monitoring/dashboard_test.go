package monitoring

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dashboard is what the tests look at of Grafana's model.
type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct {
			Name, Type, AllValue string
			Query                any
			IncludeAll           bool
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ Type, UID string }
	GridPos                  struct{ H, W, X, Y int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
}

// query is an expression of the dashboard, and where it stands.
type query struct{ where, expr string }

func loadDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "dashboard.json")), &d); err != nil {
		t.Fatalf("dashboard.json: %v", err)
	}
	return d
}

var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

// queries returns every expression: those of panels, and the selectors of variables.
func (d *dashboard) queries() []query {
	var out []query
	for _, v := range d.Templating.List {
		if q, ok := v.Query.(map[string]any); ok {
			text, _ := q["query"].(string)
			expr := text // an unknown form fails as an expression
			if m := labelValues.FindStringSubmatch(text); m != nil {
				expr = fmt.Sprintf("sum by (%s) (%s)", m[2], m[1])
			}
			out = append(out, query{"variable " + v.Name, expr})
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			out = append(out, query{fmt.Sprintf("panel %q, %s", p.Title, target.RefID), target.Expr})
		}
	}
	return out
}

// TestThePanelsAreWhole is about what Grafana would pass over without a word. Panels
// may overlap, or have no unit, no description, or no data source to choose.
func TestThePanelsAreWhole(t *testing.T) {
	d := loadDashboard(t)
	taken, ids, rows := make(map[[2]int]string), make(map[int]bool), 0
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%q: its id %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, is := taken[[2]int{x, y}]; is || x >= 24 {
					t.Fatalf("%q is over %q, or outside", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows++
			continue
		}
		if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("%q: want a description, a unit, the chosen data source and queries: %+v", p.Title, p)
		}
		for _, target := range p.Targets {
			if !strings.Contains(target.Expr, `namespace=~"$namespace", job=~"$job", instance=~"$instance"`) || target.LegendFormat == "" {
				t.Errorf("%q: a query that the variables do not choose for, or without a legend: %s", p.Title, target.Expr)
			}
		}
	}
	if rows != 6 {
		t.Errorf("%d rows, want 6", rows)
	}
}

// TestAllOfAVariableTakesWhatHasNoSuchLabel: without a namespace only .* matches.
func TestAllOfAVariableTakesWhatHasNoSuchLabel(t *testing.T) {
	found := 0
	for _, v := range loadDashboard(t).Templating.List {
		if v.Type != "query" {
			continue
		}
		found++
		if !v.IncludeAll || v.AllValue != ".*" {
			t.Errorf("variable %s: all is %q, want .*", v.Name, v.AllValue)
		}
	}
	if found != 3 {
		t.Errorf("%d variables with a query, want namespace, job and instance", found)
	}
}

// TestPromtoolTakesTheQueriesOfThePanels writes them as rules, with the variables as
// Grafana would fill them in.
func TestPromtoolTakesTheQueriesOfThePanels(t *testing.T) {
	filled := strings.NewReplacer("$__rate_interval", "1m", "$namespace", ".*", "$job", ".*", "$instance", ".*")
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: panels\n    rules:\n")
	d := loadDashboard(t)
	queries := d.queries()
	for i, q := range queries {
		fmt.Fprintf(&rules, "      - {record: 'panel:%d', expr: '%s'}\n", i, strings.ReplaceAll(filled.Replace(q.expr), "'", "''"))
	}
	file := filepath.Join(t.TempDir(), "panels.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := promtool(t, "check", "rules", file)
	if want := fmt.Sprintf("SUCCESS: %d rules found", len(queries)); err != nil || !strings.Contains(out, want) {
		t.Errorf("want %q, got %v\n%s\n%s", want, err, out, &rules)
	}
}

// TestPromtoolTakesTheExampleOfScraping stands a list of addresses in for Kubernetes,
// which Debian's promtool is built without.
func TestPromtoolTakesTheExampleOfScraping(t *testing.T) {
	const pods = "    kubernetes_sd_configs:\n      - role: pod\n"
	text := read(t, "prometheus.yaml")
	if strings.Count(text, pods) != 1 {
		t.Fatalf("prometheus.yaml looks for no pods:\n%s", text)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yaml")
	text = strings.Replace(text, pods, "    static_configs: [{targets: [\"localhost:9846\"]}]\n", 1)
	for name, content := range map[string]string{file: text, filepath.Join(dir, rulesFile): read(t, rulesFile)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := promtool(t, "check", "config", file); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
