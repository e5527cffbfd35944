package monitoring

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const rulesFile = "alerts.yaml"

// alert is one rule as the file has it.
type alert struct{ name, expr, text string }

var (
	alertLine = regexp.MustCompile(`(?m)^      - alert: (\w+)\n`)
	exprBlock = regexp.MustCompile(`(?m)^        expr: \|\n((?:          .*\n)+)`)
)

// alerts reads the rules in the one form in which they are written; promtool, which
// reads all of YAML, counts them too.
func alerts(t *testing.T) []alert {
	t.Helper()
	text := read(t, rulesFile)
	var out []alert
	at := alertLine.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		a := alert{name: text[m[2]:m[3]], text: text[m[0]:end]}
		expr := exprBlock.FindStringSubmatch(a.text)
		if expr == nil {
			t.Fatalf("%s: %s has no expression as a block", rulesFile, a.name)
		}
		a.expr = expr[1]
		out = append(out, a)
	}
	if n := strings.Count(text, "alert:"); n != len(out) || n == 0 {
		t.Fatalf("%s: read %d of %d alerts", rulesFile, len(out), n)
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// unitTests are the files that promtool runs.
func unitTests(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("alerts_*_test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("unit tests of alerts: %v, %v", files, err)
	}
	return files
}

// promtool runs it and returns what it says.
func promtool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("skipped: promtool is not installed; Debian has it in the package prometheus")
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(out), err
}

func TestPromtoolTakesTheRules(t *testing.T) {
	out, err := promtool(t, "check", "rules", rulesFile)
	if want := fmt.Sprintf("SUCCESS: %d rules found", len(alerts(t))); err != nil || !strings.Contains(out, want) {
		t.Errorf("want %q, got %v\n%s", want, err, out)
	}
}

func TestEachAlertFiresWhenItShouldAndNotElse(t *testing.T) {
	for _, file := range unitTests(t) {
		t.Run(file, func(t *testing.T) {
			if out, err := promtool(t, "test", "rules", file); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

var (
	caseName  = regexp.MustCompile(`alertname: (\w+)`)
	firesLine = regexp.MustCompile(`exp_alerts:\s*(\[\])?`)
)

// TestEachAlertHasACaseInWhichItFiresAndOneInWhichItDoesNot is about what the unit
// tests have; whether they hold is promtool's part.
func TestEachAlertHasACaseInWhichItFiresAndOneInWhichItDoesNot(t *testing.T) {
	fires, quiet := make(map[string]int), make(map[string]int)
	for _, file := range unitTests(t) {
		text := read(t, file)
		for _, m := range caseName.FindAllStringSubmatchIndex(text, -1) {
			name := text[m[2]:m[3]]
			expected := firesLine.FindStringSubmatch(text[m[1]:])
			switch {
			case expected == nil:
				t.Fatalf("%s: a case of %s expects nothing", file, name)
			case expected[1] == "":
				fires[name]++
			default:
				quiet[name]++
			}
		}
	}
	for _, a := range alerts(t) {
		if fires[a.name] == 0 || quiet[a.name] == 0 {
			t.Errorf("%s: %d cases in which it fires, %d in which it does not; want one of each", a.name, fires[a.name], quiet[a.name])
		}
		delete(fires, a.name)
	}
	for name := range fires {
		t.Errorf("there are cases for %s, which is no alert", name)
	}
}

func TestEachAlertSaysHowUrgentItIsAndWhereToReadOn(t *testing.T) {
	var seen []string
	for _, a := range alerts(t) {
		for _, want := range []string{
			"          summary: ", "          description: ", "$value",
			"          runbook: " + operating + "#" + strings.ToLower(a.name) + "\n",
		} {
			if !strings.Contains(a.text, want) {
				t.Errorf("%s has no %q", a.name, want)
			}
		}
		if strings.Count(a.text, "          severity: page\n")+strings.Count(a.text, "          severity: ticket\n") != 1 {
			t.Errorf("%s: its severity has to be page or ticket", a.name)
		}
		if slices.Contains(seen, a.name) {
			t.Errorf("%s is there twice", a.name)
		}
		seen = append(seen, a.name)
	}
}

func TestRulesAndPanelsNameWhatExists(t *testing.T) {
	there := scrapeLive(t)
	check := func(t *testing.T, where, expr string) {
		absent, err := missing(expr, there)
		if err != nil {
			t.Errorf("%s: %v", where, err)
		}
		for _, what := range absent {
			t.Errorf("%s: /metrics has no %s", where, what)
		}
	}
	t.Run("rules", func(t *testing.T) {
		for _, a := range alerts(t) {
			check(t, a.name, a.expr)
		}
	})
	t.Run("dashboard", func(t *testing.T) {
		d := loadDashboard(t)
		for _, q := range d.queries() {
			check(t, q.where, q.expr)
		}
	})
	t.Run("document", func(t *testing.T) {
		for _, name := range metricName.FindAllString(read(t, "../../"+operating), -1) {
			if _, ok := there[name]; !ok && there[name+"_bucket"] == nil {
				t.Errorf("%s: /metrics has no metric %s", operating, name)
			}
		}
	})
	if t.Failed() {
		t.Logf("there are: %v", there.names())
	}
}
