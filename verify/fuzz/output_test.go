package main

import (
	"reflect"
	"strings"
	"testing"
)

func TestTargetsAreListedWithTheirPackage(t *testing.T) {
	const listed = `ok  	example.org/m	0.004s
FuzzA
FuzzB
ok  	example.org/m/one	0.004s
?   	example.org/m/none	[no test files]
ok  	example.org/m/two	0.003s
FuzzC
ok  	example.org/m/two/deep	(cached)
`
	want := []target{{"one", "FuzzA"}, {"one", "FuzzB"}, {"two/deep", "FuzzC"}}
	if got := parseList(listed, "example.org/m"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := parseList("FuzzA\nok  \texample.org/m\t0.1s\n", "example.org/m"); len(got) != 1 || got[0].folder != "." {
		t.Errorf("a target beside go.mod: got %v", got)
	}
}

func TestTheLastCountersOfARunHold(t *testing.T) {
	const out = `fuzz: elapsed: 0s, gathering baseline coverage: 0/15 completed
fuzz: elapsed: 1s, gathering baseline coverage: 15/15 completed, now fuzzing with 2 workers
fuzz: elapsed: 3s, execs: 41023 (13673/sec), new interesting: 3 (total: 18)
fuzz: elapsed: 5s, execs: 70001 (14480/sec), new interesting: 7 (total: 22)
PASS
ok  	example.org/m/one	5.104s
`
	got := parseRun(out)
	if got.execs != 70001 || got.found != 7 || got.corpus != 22 || got.input != "" {
		t.Errorf("got %+v", got)
	}
}

func TestAFailureKeepsItsInputAndWhatGoSaid(t *testing.T) {
	const out = `fuzz: elapsed: 0s, gathering baseline coverage: 2/2 completed, now fuzzing with 2 workers
fuzz: elapsed: 0s, execs: 812 (16240/sec), new interesting: 1 (total: 3)
fuzz: minimizing 41-byte failing input file
--- FAIL: FuzzA (0.06s)
    --- FAIL: FuzzA (0.00s)
        a_test.go:11: "x": got 1, want 2
    
    Failing input written to testdata/fuzz/FuzzA/771e938e4458e983
    To re-run:
    go test -run=FuzzA/771e938e4458e983
FAIL
exit status 1
FAIL	example.org/m/one	0.067s
`
	got := parseRun(out)
	if got.input != "testdata/fuzz/FuzzA/771e938e4458e983" || got.execs != 812 {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(got.report, `"x": got 1, want 2`) || strings.Contains(got.report, "elapsed") {
		t.Errorf("report %q", got.report)
	}
	got.target, got.failed = target{"one", "FuzzA"}, true
	if line := got.String(); !strings.HasPrefix(line, "FAILED") || !strings.Contains(line, "one/FuzzA") || strings.Contains(line, "\n") {
		t.Errorf("line %q", line)
	}
}

func TestAFailureWithoutAnInputSaysSo(t *testing.T) {
	const out = `fuzz: elapsed: 0s, gathering baseline coverage: 0/3 completed
failure while testing seed corpus entry: FuzzA/seed#1
fuzz: elapsed: 0s, gathering baseline coverage: 1/3 completed
--- FAIL: FuzzA (0.02s)
    --- FAIL: FuzzA (0.00s)
        a_test.go:11: wrong
FAIL
`
	got := parseRun(out)
	if got.input != "" || !strings.Contains(got.whereInput(), "seed") || !strings.Contains(got.report, "FuzzA/seed#1") {
		t.Errorf("got %+v", got)
	}
}

func TestARunThatGoEndedAMomentLateIsNoFailure(t *testing.T) {
	const out = `fuzz: elapsed: 23s, execs: 418576 (17231/sec), new interesting: 43 (total: 229)
fuzz: elapsed: 24s, execs: 418576 (0/sec), new interesting: 43 (total: 229)
--- FAIL: FuzzA (24.32s)
    context deadline exceeded
FAIL
exit status 1
FAIL	example.org/m/one	24.337s
`
	if got := parseRun(out); !got.late || got.execs != 418576 {
		t.Errorf("got %+v", got)
	}
	own := strings.Replace(out, "    context", "    --- FAIL: FuzzA (0.00s)\n        a_test.go:1: context", 1)
	if parseRun(own).late {
		t.Error("a failure with that message of its own is taken for one")
	}
}

func TestAWrongCommandLineIsExitCode2(t *testing.T) {
	for _, args := range [][]string{{"-for", "soon"}, {"-run", "("}, {"offsets"}, {"-nope"}} {
		if code := run(args, new(strings.Builder), new(strings.Builder)); code != 2 {
			t.Errorf("%q: exit code %d, want 2", args, code)
		}
	}
}
