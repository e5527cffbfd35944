package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"layover/bench/report"
	"layover/bench/rival"
	"layover/bench/speed"
)

// TestMain lets the test's own binary be the process of a measurement, as the
// command's is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		main()
	}
	os.Exit(m.Run())
}

func TestTheCommandMeasuresEverythingAndWritesItDown(t *testing.T) {
	// A process built with the race detector sleeps for a second before it ends.
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	dir := t.TempDir()
	doc, out := filepath.Join(dir, "wheel.md"), filepath.Join(dir, "plots")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-part", "wheel", "-sizes", "200,400", "-runs", "1", "-doc", doc, "-out", out}, &stdout, &stderr)
	if code != 0 {
		t.Fatalf("code %d: %s", code, &stderr)
	}
	written, err := os.ReadFile(doc)
	if err != nil || !strings.Contains(string(written), strings.TrimSpace(stdout.String())) ||
		!strings.HasPrefix(string(written), "# "+string(report.Wheel)+"\n") {
		t.Errorf("%v: the document does not hold what was printed:\n%s", err, written)
	}
	checkText(t, stdout.String())
	for _, name := range []string{"insert", "cancel", "expire", "bytes"} {
		if _, err := os.Stat(filepath.Join(out, name+".svg")); err != nil {
			t.Error(err)
		}
		if link := "](plots/" + name + ".svg)"; !strings.Contains(string(written), link) {
			t.Errorf("the document has no link %s", link)
		}
	}
}

func checkText(t *testing.T, text string) {
	t.Helper()
	for _, want := range []string{"`go run . -part wheel -runs 1 -sizes 200,400`", "go1.", "timingwheel v0.", "### 200 pending, uniform",
		"### 400 pending, uniform", "### 400 pending, constant", "### 400 pending, heavy-tailed",
		"### Longest single advance: 400 pending", "### All due at once"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "not measured") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("a goal was not judged:\n%s", text)
	}
	for _, kind := range rival.Kinds() {
		// A table of each kind of delays at 400, and one at 200.
		rows := regexp.MustCompile(`(?m)^\| `+regexp.QuoteMeta(kind.Name)+` +\|( +[0-9][^|]*\|){2}`).FindAllString(text, -1)
		if len(rows) < 4 {
			t.Errorf("%s: %d rows, want at least 4 in\n%s", kind.Name, len(rows), text)
		}
	}
}

func TestFlagsThatMeanNothingAreErrors(t *testing.T) {
	for name, args := range map[string][]string{
		"argument":       {"quick"},
		"unknown":        {"-fast"},
		"no structure":   {"-only", "sundial"},
		"no expression":  {"-only", "("},
		"no part":        {"-part", "clock"},
		"fewer than no":  {"-part", "runs", "-far", "-1"},
		"no table":       {"-part", "runs", "-table", "chair"},
		"no speed table": {"-part", "speed", "-table", "chair"},
		"no ingress":     {"-part", "speed", "-delay-header", "at"},
		"no brokers":     {"-part", "speed", "-ingress", "wait"},
		"no format":      {"-part", "speed", "-brokers", "localhost:1", "-ingress", "wait", "-delay-format", "weeks"},
		"no JSON":        {"-part", "speed", "-json", filepath.Join(t.TempDir(), "none", "speed.json")},
		"no runs":        {"-runs", "0"},
		"no size":        {"-sizes", "1000,few"},
		"tiny size":      {"-sizes", "3"},
		"no directory":   {"-doc", filepath.Join(t.TempDir(), "none", "wheel.md"), "-sizes", "100"},
		"no child":       {childFlag},
		"broken child":   {childFlag, "{"},
	} {
		var stderr strings.Builder
		if code := run(t.Context(), args, io.Discard, &stderr); code != 1 || stderr.Len() == 0 {
			t.Errorf("%s: code %d, %q", name, code, stderr.String())
		}
	}
}

func TestAMeasurementThatFailsIsNamedAndTheRestIsPrinted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr strings.Builder
	if code := run(ctx, []string{"-part", "wheel", "-sizes", "100", "-only", "layover"}, &stdout, &stderr); code != 1 {
		t.Errorf("code %d", code)
	}
	if !strings.Contains(stdout.String(), "Not measured:\n\n- everything after an interruption") {
		t.Errorf("printed:\n%s", &stdout)
	}
}

func TestSpeedIsMeasuredOfWhatTheFlagsSay(t *testing.T) {
	o, err := parse([]string{"-part", "speed", "-quick", "-brokers", "a:1,b:2", "-ingress", "wait", "-product", "other", "-delay-format", "seconds",
		"-target", "out", "-json", "x.json", "-table", "Burst"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := speed.Product{Name: "other", Ingress: "wait", Target: "out", DelayHeader: "x-delay", Format: speed.Seconds}
	if o.speed.Product != want || !slices.Equal(o.speed.Brokers, []string{"a:1", "b:2"}) || o.speed.Runs != 1 || o.subject() != report.Speed {
		t.Errorf("%+v", o.speed)
	}
	if strings.Contains(o.command, "json") || !strings.Contains(o.command, "-target out") {
		t.Errorf("command %q", o.command)
	}
	if o, err = parse([]string{"-part", "speed", "-quick", "-runs", "2"}, io.Discard); err != nil || o.speed.Runs != 2 || o.speed.Product != speed.Layover() {
		t.Errorf("%v, %+v", err, o.speed)
	}
}

func TestStructuresTakeTurns(t *testing.T) {
	o, err := parse([]string{"-runs", "2"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, round := range o.plan.rounds() {
		if len(round) != 3*len(rival.Kinds()) {
			t.Fatalf("%d measurements in a round, want three of each structure", len(round))
		}
		for i, s := range round {
			if s.Rival != rival.Kinds()[i%len(rival.Kinds())].Name {
				t.Fatalf("measurement %d of a round is of %s", i, s.Rival)
			}
		}
		seen[round[0].Delays+"/"+strings.Repeat("0", round[0].Pending/1_000_000)]++
	}
	for what, want := range map[string]int{
		"uniform/": 12, "constant/": 0, // 10,000 and 100,000 together
		"uniform/0": 2, "uniform/000000": 2, "uniform/0000000000": 2,
		"constant/0": 2, "constant/000000": 1, "heavy-tailed/0000000000": 2,
	} {
		if seen[what] != want {
			t.Errorf("%s: %d rounds, want %d", what, seen[what], want)
		}
	}
}
