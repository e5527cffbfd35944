package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"layover/verify/long"
)

func TestAKnownTestThatIsNotThereIsAnError(t *testing.T) {
	root := module(t)
	for name, c := range map[string]struct {
		known known
		want  string
	}{
		"none":                    {known{}, "mutant m: want a line \"known: \" with the directory of a package and the name of a test that notices it"},
		"there":                   {known{"half", "TestHalf"}, ""},
		"only the name begins so": {known{"half", "TestHal"}, "mutant m: the known test TestHal is not in half"},
		"no such package":         {known{"none", "TestHalf"}, "mutant m: the known test TestHalf is not in none"},
	} {
		t.Run(name, func(t *testing.T) {
			m := halving(t, "\treturn n / 2", "\treturn n")
			m.known = c.known
			if err := check(root, []mutant{m}, io.Discard); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

func TestAKnownTestIsTriedBeforeTheLayers(t *testing.T) {
	long.WholeOnly(t)
	root := module(t)
	file, err := os.OpenFile(root+"/half/half_test.go", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("\nfunc TestNothing(t *testing.T) {}\n"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		first bool
		known known
		want  string
	}{
		"it notices":        {true, known{"half", "TestHalf"}, "TestHalf"},
		"it does not":       {true, known{"half", "TestNothing"}, "package"},
		"it is not there":   {true, known{"half", "TestGone"}, "package"},
		"none is known":     {true, known{}, "package"},
		"all layers wanted": {false, known{"half", "TestHalf"}, "package"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := trial{root: root, layers: []layer{{name: "package", timeout: time.Minute}}, first: c.first, stderr: io.Discard}
			m := halving(t, "\treturn n / 2", "\treturn n")
			m.known = c.known
			tr.baselines(t.Context(), []mutant{m})
			if r := tr.one(t.Context(), m); r.caughtBy() != c.want || r.err != nil {
				t.Errorf("caught by %s, want %s; error %v", r.caughtBy(), c.want, r.err)
			}
		})
	}
	t.Run("it fails without the mutant", func(t *testing.T) {
		if _, err := file.WriteString("\nfunc TestBroken(t *testing.T) { t.Fail() }\n"); err != nil {
			t.Fatal(err)
		}
		tr := trial{root: root, first: true, stderr: io.Discard}
		m := halving(t, "\treturn n / 2", "\treturn n")
		m.known = known{"half", "TestBroken"}
		r := tr.one(t.Context(), m)
		if want := "layer TestBroken fails on the source as it is"; r.err == nil || !strings.HasPrefix(r.err.Error(), want) {
			t.Errorf("the error is %v, want %s…", r.err, want)
		}
	})
}
