package main

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/verify/long"
)

const (
	halfSource = "package half\n\nfunc Of(n int) int {\n\tif n > 100 {\n\t\treturn -1\n\t}\n\tfor n < 0 {\n\t\tn += 2\n\t}\n\treturn n / 2\n}\n\nfunc Never(n int) int { return n * 2 }\n"
	halfTests  = "package half\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif Of(8) != 4 || Of(-3) != 0 {\n\t\tt.Error(Of(8))\n\t}\n}\n\nfunc TestSick(t *testing.T) { t.Error(\"always\") }\n"
)

// TestARunTellsWhatTheTestsNotice: of a package whose tests ask little, and one of
// which fails anyway.
func TestARunTellsWhatTheTestsNotice(t *testing.T) {
	long.Only(t)
	if testing.Short() {
		t.Skip("compiles a program, and waits for one without an end")
	}
	module(t, halfSource, halfTests)
	var stdout, stderr bytes.Buffer
	err := dispatch(t.Context(), []string{"-v", "half"}, &stdout, &stderr)
	got := make(map[string]string)
	for line := range strings.Lines(stdout.String()) {
		if how, rest, ok := strings.Cut(line, " half/half.go:"); ok {
			_, key, _ := strings.Cut(rest, "  ")
			key, _, _ = strings.Cut(strings.TrimSpace(key), "  by ")
			got[key] = strings.TrimSpace(how)
		}
	}
	want := map[string]string{
		"half Of never: n > 100":     "idle",
		"half Of always: n > 100":    "caught",
		"half Of boundary: n > 100":  "idle",
		"half Of never: n < 0":       "caught",
		"half Of boundary: n < 0":    "idle",
		"half Of constant: 0 is 1":   "survived",
		"half Of dropped: n += 2":    "hung",
		"half Of zero: n / 2":        "caught",
		"half Of operator: n / 2":    "caught",
		"half Never zero: n * 2":     "idle",
		"half Never operator: n * 2": "idle",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v\n%s", got, want, stdout.String())
	}
	if !strings.Contains(stderr.String(), "TestSick of half fails with no mutant on, and is left out") {
		t.Errorf("nothing is said of the test that fails: %s", stderr.String())
	}
	if err == nil || !strings.Contains(err.Error(), "want 80 %") {
		t.Errorf("the error is %v", err)
	}
}

// TestWhatTestsComeByIsWrittenOrTheyFail: without room on a disk all mutants would survive.
func TestWhatTestsComeByIsWrittenOrTheyFail(t *testing.T) {
	if _, err := os.Stat("/dev/full"); testing.Short() || err != nil {
		t.Skip("compiles a program, and wants a disk without room")
	}
	root := module(t, halfSource, halfTests)
	all := made(t, root)
	s := setup{root: root, parallel: 1, stderr: io.Discard}
	if err := s.prepare(t.Context(), all, all[0].mutants); err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, tests := range s.trial.reach {
		for file, passes := range map[string]bool{filepath.Join(t.TempDir(), "reached"): true, "/dev/full": false} {
			if r := tests[0].run(t.Context(), root, cost{time.Minute, time.Minute}, reachVariable+"="+file, tests[0].name); r.passed != passes {
				t.Errorf("with %s the test passes: %v\n%s", file, r.passed, r.said)
			}
		}
		return
	}
	t.Error("no test comes by any mutant")
}

func TestASeedDrawsTheSameSample(t *testing.T) {
	module(t, everyKind, "package half\n")
	list := func(args ...string) []string {
		var stdout bytes.Buffer
		if err := dispatch(t.Context(), slices.Concat([]string{"-list"}, args, []string{"half"}), &stdout, os.Stderr); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(stdout.String()), "\n")
	}
	all := list()
	first, again, other := list("-sample", "9", "-seed", "7"), list("-sample", "9", "-seed", "7"), list("-sample", "9", "-seed", "8")
	if len(first) != 9 || !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Errorf("%v\n%v\n%v", first, again, other)
	}
	for _, key := range first {
		if !slices.Contains(all, key) {
			t.Errorf("%s is no mutant", key)
		}
	}
	if some := list("-run", "swapped"); len(some) != 1 || !strings.Contains(some[0], "order") && !strings.Contains(some[0], "swapped: i, n") {
		t.Errorf("%v", some)
	}
}

// TestTheListOfEquivalentMutantsFitsTheSource: a reason about source that has
// changed may not hold any more.
func TestTheListOfEquivalentMutantsFitsTheSource(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, s := range subjects {
		dirs = append(dirs, s.dir)
	}
	packages, err := load(root, dirs)
	if err != nil {
		t.Fatal(err)
	}
	all := rewriteAll(packages)
	reasons, err := equivalent(all)
	if err != nil {
		t.Error(err)
	}
	listed, _ := parseEquivalent(equivalentText)
	if len(reasons) != len(listed) || len(reasons) == 0 {
		t.Errorf("%d keys are of a subject, %d are listed", len(reasons), len(listed))
	}
	mutants := 0
	for _, r := range all {
		mutants += len(r.mutants)
	}
	if mutants < 8000 {
		t.Errorf("%d mutants: the rules have lost some", mutants)
	}
}

func TestTheListOfEquivalentMutantsIsRead(t *testing.T) {
	got, err := parseEquivalent("# A comment.\n\na F dropped: x = 1\na F dropped: x = 1 (2)\n    The reason,\n    on two lines.\n\nb G zero: n\n    Another.\n")
	want := map[string]string{
		"a F dropped: x = 1": "The reason, on two lines.", "a F dropped: x = 1 (2)": "The reason, on two lines.", "b G zero: n": "Another.",
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	for text, words := range map[string]string{
		"    A reason.\n": "without a key",
		"a F zero: n\n":   "want a reason",
		"a F zero: n\n    X.\na F zero: n\n    Y.\n": "twice",
	} {
		if _, err := parseEquivalent(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q in it", text, err, words)
		}
	}
}

func TestAPackageBelowItsShareFails(t *testing.T) {
	results := func(dir string, caughtOf, of int) (all []result) {
		for i := range of {
			r := result{mutant: mutant{key: key{dir: dir}}, outcome: survived}
			switch {
			case i < caughtOf && i%2 == 0:
				r.outcome = hung
			case i < caughtOf:
				r.outcome = caught
			case i%2 == 0:
				r.outcome = idle
			}
			all = append(all, r)
		}
		return all
	}
	dirs := []string{"wheel", "lane"}
	both := slices.Concat(results("wheel", 90, 100), results("lane", 80, 100))
	if err := verdict(dirs, both, false); err != nil {
		t.Error(err)
	}
	low := slices.Concat(results("wheel", 89, 100), results("lane", 79, 100))
	if err := verdict(dirs, low, false); err == nil || err.Error() != "wheel: tests noticed 89.0 %, want 90 %\nlane: tests noticed 79.0 %, want 80 %" {
		t.Errorf("%v", err)
	}
	if err := verdict(dirs, results("wheel", 75, 100), true); err != nil {
		t.Error(err)
	}
	if err := verdict(dirs, results("wheel", 74, 100), true); err == nil {
		t.Error("a sample of which 74 % were noticed is enough")
	}
	if err := verdict(dirs, results("wheel", 20, leastSample-1), true); err != nil {
		t.Errorf("too few to judge: %v", err)
	}
	if err := verdict(dirs, results("wheel", 20, leastSample), true); err == nil {
		t.Error("20 of 30 are enough")
	}
	if err := verdict(dirs, nil, true); err == nil {
		t.Error("a sample of which none was tried is enough")
	}
	if text := table(dirs, both, nil, nil); !strings.Contains(text, "| `wheel` | 0 | 0 | 100 | 90 | 45 | 5 | 5 | 90.0 % | 90 % |") {
		t.Error(text)
	}
}

// TestWhatIsLeftOutIsNotRun: other packages' tests with -own, and tests that take long with -most.
func TestWhatIsLeftOutIsNotRun(t *testing.T) {
	for own, want := range map[bool][]string{false: {"lane", "wheel", "verify/sim", "daemon"}, true: {"lane", "wheel"}} {
		var got []string
		for _, s := range suites([]string{"lane", "wheel"}, own) {
			got = append(got, s.dir)
		}
		if !slices.Equal(got, want) {
			t.Errorf("own %v: tests of %q, want %q", own, got, want)
		}
	}
	slow := &test{suite: &suite{dir: "lane", binary: "there-is-none"}, name: "TestSlow", took: cost{cpu: 2 * time.Second}}
	m := mutant{id: 7, key: key{dir: "lane"}}
	for most, want := range map[time.Duration]outcome{0: caught, time.Second: idle, 2 * time.Second: caught} { // a program that is not there fails
		of := trial{root: "/", most: most, order: map[*suite]int{slow.suite: 0}, reach: reach{7: {slow}}}
		if got := of.one(t.Context(), m); got.outcome != want {
			t.Errorf("most %v: %v, want %v", most, got.outcome, want)
		}
	}
}
