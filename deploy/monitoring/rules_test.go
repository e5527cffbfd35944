package monitoring

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"layover/verify/long"
)

const (
	rulesFile = "alerts.yaml"
	// standIn is the address of the document in the rules, for people to write theirs.
	standIn = "https://layover.example/" + operating
)

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
			if slices.Contains([]string{"alerts_absence_test.yaml", "alerts_intake_test.yaml", "alerts_runs_test.yaml"}, file) {
				long.Only(t)
			}
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
	sections := anchors(read(t, "../../"+operating))
	var seen []string
	for _, a := range alerts(t) {
		for _, want := range []string{
			"          summary: ", "          description: ", "$value",
		} {
			if !strings.Contains(a.text, want) {
				t.Errorf("%s has no %q", a.name, want)
			}
		}
		if strings.Count(a.text, "          severity: page\n")+strings.Count(a.text, "          severity: ticket\n") != 1 {
			t.Errorf("%s: its severity has to be page or ticket", a.name)
		}
		if !runbook(a.text, standIn, sections) {
			t.Errorf("%s has no runbook_url that is %s with the anchor of its section:\n%s", a.name, standIn, a.text)
		}
		if slices.Contains(seen, a.name) {
			t.Errorf("%s is there twice", a.name)
		}
		seen = append(seen, a.name)
	}
}

// runbook says whether the text of one alert has one runbook_url. It has to be an
// absolute address below base that leads to the section of the alert.
func runbook(text, base string, sections map[string]string) bool {
	name := alertLine.FindStringSubmatch(text)
	links := runbookLine.FindAllStringSubmatch(text, -1)
	if name == nil || len(links) != 1 || strings.Contains(text, "runbook: ") {
		return false
	}
	link, err := url.Parse(links[0][1])
	if err != nil || !link.IsAbs() || link.Host == "" {
		return false
	}
	document, anchor, _ := strings.Cut(links[0][1], "#")
	return document == base && sections[anchor] == name[1]
}

var runbookLine = regexp.MustCompile(`(?m)^          runbook_url: (\S+)$`)

func TestARunbookThatLeadsNowhereIsFound(t *testing.T) {
	sections := anchors("# Operating\n\n### LayoverStalled\n\n### LayoverSick\n")
	for link, want := range map[string]bool{
		"          runbook_url: " + standIn + "#layoverstalled\n":                   true,
		"          runbook_url: " + operating + "#layoverstalled\n":                 false, // relative
		"          runbook_url: " + standIn + "#LayoverStalled\n":                   false,
		"          runbook_url: " + standIn + "#layoversick\n":                      false, // of another alert
		"          runbook_url: https://layover.example/elsewhere#layoverstalled\n": false,
		"          runbook_url: " + standIn + "\n":                                  false,
		"          runbook: " + standIn + "#layoverstalled\n":                       false,
		"": false,
	} {
		if got := runbook("      - alert: LayoverStalled\n"+link, standIn, sections); got != want {
			t.Errorf("%q: %v, want %v", link, got, want)
		}
	}
}

// TestTheCommandOfTheDocumentWritesAnotherRunbook runs the one that changes the address.
func TestTheCommandOfTheDocumentWritesAnotherRunbook(t *testing.T) {
	const own = "https://git.acme.example/layover/" + operating
	sections := anchors(read(t, "../../"+operating))
	found := 0
	for _, line := range commands(read(t, "../../"+operating)) {
		if !strings.HasPrefix(line, "sed ") {
			continue
		}
		found++
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = "../.."
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		at := alertLine.FindAllStringIndex(string(out), -1)
		if len(at) != len(alerts(t)) {
			t.Fatalf("%d alerts, want %d", len(at), len(alerts(t)))
		}
		for i, m := range at {
			end := len(out)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			if text := string(out)[m[0]:end]; !runbook(text, own, sections) {
				t.Errorf("no runbook_url below %s:\n%s", own, text)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d commands change the address, want 1", found)
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
