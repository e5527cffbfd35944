package config

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// host is a machine on which every derived default is recognisable. The files
// there hold what follows /v/ in their path, and there are no others.
var host = machine{cores: 3, memoryLimit: 1 << 30, readDir: noDir, now: time.Now, readFile: func(path string) ([]byte, error) {
	content, ok := strings.CutPrefix(path, "/v/")
	if !ok {
		return nil, errors.New("cannot be read: there is none")
	}
	return []byte(content), nil
}}

func noDir(string) ([]fs.DirEntry, error) { return nil, fs.ErrNotExist }

// hostOf is a machine with other derived defaults.
func hostOf(cores int, memoryLimit int64) machine {
	other := host
	other.cores, other.memoryLimit = cores, memoryLimit
	return other
}

// realFiles is host with the files of the machine that runs the test.
func realFiles() machine {
	real := host
	real.readFile, real.readDir = readFile, os.ReadDir
	return real
}

// minimal is the smallest valid environment with more after it. Of a name that
// is there twice the last wins, so more overrides, and NAME= unsets.
func minimal(more ...string) []string {
	return append([]string{
		"KAFKA_BROKERS=kafka:9092",
		"LAYOVER_INGRESS_TOPICS=delayed",
		"LAYOVER_EGRESS_TOPIC=ready",
		"LAYOVER_DLQ_TOPIC=dead-letters",
	}, more...)
}

// mustLoad loads what has to be valid and raises no warning.
func mustLoad(t *testing.T, environ []string) *Config {
	t.Helper()
	cfg, warnings, err := load(environ, host)
	if err != nil {
		t.Fatalf("load(%q): %v", environ, err)
	}
	if len(warnings) > 0 {
		t.Fatalf("load(%q) warns: %q", environ, warnings)
	}
	return cfg
}

// problemsOf loads what has to be invalid.
func problemsOf(t *testing.T, environ []string) []Problem {
	t.Helper()
	cfg, _, err := load(environ, host)
	var all *Errors
	if !errors.As(err, &all) {
		t.Fatalf("load(%q): error %v, want *Errors", environ, err)
	}
	if cfg != nil {
		t.Errorf("load(%q) returns a configuration beside the error", environ)
	}
	return all.Problems
}

// wantProblem checks that environ has exactly one problem, of variable, whose
// reason holds every one of the parts.
func wantProblem(t *testing.T, environ []string, variable string, parts ...string) {
	t.Helper()
	problems := problemsOf(t, environ)
	if len(problems) != 1 || problems[0].Variable != variable {
		t.Fatalf("load(%q): problems %q, want one of %s", environ, problems, variable)
	}
	for _, part := range parts {
		if !strings.Contains(problems[0].Reason, part) {
			t.Errorf("%s: reason %q, want it to hold %q", variable, problems[0].Reason, part)
		}
	}
}

func variablesOf(problems []Problem) []string {
	var names []string
	for _, p := range problems {
		names = append(names, p.Variable)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
