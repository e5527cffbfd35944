package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const good = `The commit names the offset after the low one:
each restart loses a record.

@@ purgatory/commit.go
 	return offsets.Commit{
-		Low: low,
+		Low: low + 1,
 	}

@@ offsets/window.go
-// Gone.
`

func TestAMutantIsReadAsItIsWritten(t *testing.T) {
	m, err := parse("low.txt", good)
	if err != nil {
		t.Fatal(err)
	}
	if m.name != "low" || m.about != "The commit names the offset after the low one: each restart loses a record." {
		t.Errorf("name %q, about %q", m.name, m.about)
	}
	want := []edit{
		{"purgatory/commit.go", "\treturn offsets.Commit{\n\t\tLow: low,\n\t}\n", "\treturn offsets.Commit{\n\t\tLow: low + 1,\n\t}\n"},
		{"offsets/window.go", "// Gone.\n", ""},
	}
	if len(m.edits) != len(want) {
		t.Fatalf("%d edits, want %d", len(m.edits), len(want))
	}
	for i, e := range m.edits {
		if e != want[i] {
			t.Errorf("edit %d is %+v, want %+v", i, e, want[i])
		}
	}
}

func TestAMutantThatCannotBeReadIsRefusedWithItsLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no sentence":           {"@@ a/b.go\n-x\n", "m.txt: want a sentence"},
		"no edit":               {"A bug.\n", "m.txt: want a sentence"},
		"nothing to look for":   {"A bug.\n\n@@ a/b.go\n+x\n", "m.txt: the edit of a/b.go: want lines to look for"},
		"no change":             {"A bug.\n\n@@ a/b.go\n x\n", "m.txt: the edit of a/b.go: want lines to look for"},
		"a line without a sign": {"A bug.\n\n@@ a/b.go\n-x\ny\n", `m.txt:5: "y": want a line that begins with`},
		"a line behind an edit": {"A bug.\n\n@@ a/b.go\n-x\n\n-y\n", `m.txt:6: "-y": want @@ and a file`},
		"a test":                {"A bug.\n\n@@ a/b_test.go\n-x\n", `m.txt:3: "@@ a/b_test.go": want the path of a Go file`},
		"a file elsewhere":      {"A bug.\n\n@@ ../b.go\n-x\n", `m.txt:3: "@@ ../b.go": want the path of a Go file`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse("m.txt", c.text); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("the error is %v, want %s…", err, c.want)
			}
		})
	}
}

// source is a file with one line twice in a row, and that line's text once more in
// the middle of another.
const source = "one\ntwo\ntwo\nno two\nthree\n"

func applied(t *testing.T, edits string) (string, error) {
	t.Helper()
	m, err := parse("m.txt", "A bug.\n\n"+edits)
	if err != nil {
		t.Fatal(err)
	}
	files, err := m.apply(func(string) (string, error) { return source, nil })
	return files["a/b.go"], err
}

func TestEditsReplaceWholeLines(t *testing.T) {
	got, err := applied(t, "@@ a/b.go\n-one\n+eins\n two\n two\n\n@@ a/b.go\n-three\n")
	if want := "eins\ntwo\ntwo\nno two\n"; err != nil || got != want {
		t.Errorf("the file becomes %q, error %v, want %q", got, err, want)
	}
}

func TestAnEditThatDoesNotMatchExactlyOnceIsAnError(t *testing.T) {
	for name, c := range map[string]struct{ edits, want string }{
		"no such line":       {"@@ a/b.go\n-four\n", "mutant m: a/b.go has the lines to change 0 times, want once:\nfour\n"},
		"a part of a line":   {"@@ a/b.go\n-wo\n", "mutant m: a/b.go has the lines to change 0 times, want once:\nwo\n"},
		"the same line next": {"@@ a/b.go\n-two\n", "mutant m: a/b.go has the lines to change 2 times, want once:\ntwo\n"},
		"changed before":     {"@@ a/b.go\n-one\n\n@@ a/b.go\n-one\n", "mutant m: a/b.go has the lines to change 0 times, want once:\none\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := applied(t, c.edits); err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestEveryMutantAppliesAndCompiles(t *testing.T) {
	ms, root := all(t)
	for _, m := range ms {
		t.Run(m.name, func(t *testing.T) {
			overlay, err := m.overlay(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if testing.Short() {
				return // compiling takes most of a second
			}
			if err := build(t.Context(), root, overlay, packages(m)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheDocumentListsExactlyTheMutantsThereAre(t *testing.T) {
	ms, root := all(t)
	cells, err := listed(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range ms {
		if _, ok := cells[m.name]; !ok {
			t.Errorf("%s does not list %s", document, m.name)
		}
		delete(cells, m.name)
	}
	for name := range cells {
		t.Errorf("%s lists %s, which is no mutant", document, name)
	}
}

func TestNothingBelowThisDirectoryImportsWhatItTests(t *testing.T) {
	_, root := all(t)
	cmd := exec.Command("go", "list", "-f", `{{range .Imports}}{{$.ImportPath}} {{.}}{{"\n"}}{{end}}`, "./verify/...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		who, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(what, "layover/") && !strings.HasPrefix(what, "layover/verify/") {
			t.Errorf("%s imports %s", who, what)
		}
	}
}

func all(t *testing.T) ([]mutant, string) {
	t.Helper()
	ms, err := mutants()
	if err != nil {
		t.Fatal(err)
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return ms, root
}
