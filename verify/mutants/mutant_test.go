package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"layover/verify/long"
)

const good = `The commit names the offset after the low one:
each restart loses a record.
known: daemon TestAKill

@@ purgatory
 	return offsets.Commit{
-		Low: low,
+		Low: low + 1,
 	}

@@ offsets Window.Low
-	gone()
`

func TestAMutantIsReadAsItIsWritten(t *testing.T) {
	m, err := parse("low.txt", good)
	if err != nil {
		t.Fatal(err)
	}
	if m.name != "low" || m.about != "The commit names the offset after the low one: each restart loses a record." {
		t.Errorf("name %q, about %q", m.name, m.about)
	}
	if m.known != (known{"daemon", "TestAKill"}) {
		t.Errorf("the known test is %+v", m.known)
	}
	want := []edit{
		{"purgatory", "", "\treturn offsets.Commit{\n\t\tLow: low,\n\t}\n", "\treturn offsets.Commit{\n\t\tLow: low + 1,\n\t}\n"},
		{"offsets", "Window.Low", "\tgone()\n", ""},
	}
	if !slices.Equal(m.edits, want) {
		t.Errorf("the edits are %+v, want %+v", m.edits, want)
	}
}

func TestAMutantThatCannotBeReadIsRefusedWithItsLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no sentence":           {"@@ a\n-x\n", "m.txt: want a sentence"},
		"no edit":               {"A bug.\n", "m.txt: want a sentence"},
		"nothing to look for":   {"A bug.\n\n@@ a\n+x\n", "m.txt: the edit of a: want lines to look for"},
		"a comment alone":       {"A bug.\n\n@@ a\n-// x\n", "m.txt: the edit of a: want lines to look for"},
		"no change":             {"A bug.\n\n@@ a\n x\n", "m.txt: the edit of a: want lines to look for"},
		"a line without a sign": {"A bug.\n\n@@ a\n-x\ny\n", `m.txt:5: "y": want a line that begins with`},
		"a line behind an edit": {"A bug.\n\n@@ a\n-x\n\n-y\n", `m.txt:6: "-y": want @@ and a package`},
		"a file":                {"A bug.\n\n@@ a/b.go\n-x\n", `m.txt:3: "@@ a/b.go": want the directory of a package`},
		"known without a test":  {"A bug.\nknown: daemon\n\n@@ a\n-x\n", `m.txt:2: "known: daemon": want the directory of a package, from the module's root, and the name`},
		"known is a pattern":    {"A bug.\nknown: daemon TestA|TestB\n\n@@ a\n-x\n", `m.txt:2: "known: daemon TestA|TestB": want the directory`},
		"two known tests":       {"A bug.\nknown: a TestA\nknown: a TestB\n\n@@ a\n-x\n", `m.txt:3: "known: a TestB": want one known test`},
		"elsewhere":             {"A bug.\n\n@@ ../b\n-x\n", `m.txt:3: "@@ ../b": want the directory of a package`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse("m.txt", c.text); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("the error is %v, want %s…", err, c.want)
			}
		})
	}
}

// planted applies edits of a package of two files, and returns the first.
func planted(t *testing.T, edits string) (string, error) {
	t.Helper()
	m, err := parse("m.txt", "A bug.\n\n"+edits)
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.apply(func(string) (sources, error) {
		return sources{"b.go": `package a

func (c *core) commit(low int64) { // comments
	c.low = low // do not count
	c.send(low, nil)
}

func (c *core) end() {
	c.over = true
	c.send(c.low, nil)
}
`, "c.go": `package a

func other(c *core) {
	c.over = true
}
`}, nil
	})
	return c.files["a/b.go"], err
}

func TestEditsAreFoundByTheirTokens(t *testing.T) {
	for name, c := range map[string]struct{ edits, want string }{
		"whatever the space":  {"@@ a\n-c.low  = low\n-\t\t\tc.send( low, nil )\n+c.send(low+1, nil)\n", "{ // comments\n\tc.send(low+1, nil)\n}"},
		"one after the other": {"@@ a\n-c.low = low\n+c.low = 1\n\n@@ a\n-c.low = 1\n+c.low = 2\n", "\tc.low = 2 // do not count\n"},
		"in a function":       {"@@ a core.end\n-c.over = true\n+c.over = false\n", "end() {\n\tc.over = false\n"},
		"with other names":    {"@@ a\n-k.low = low\n-k.send(low, nil)\n+k.send(low, k.low)\n", "{ // comments\n\tc.send(low, c.low)\n}"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := planted(t, c.edits); err != nil || !strings.Contains(got, c.want) {
				t.Errorf("the file becomes\n%s\nerror %v, want in it\n%s", got, err, c.want)
			}
		})
	}
}

func TestAnEditThatDoesNotMatchExactlyOnceIsAnError(t *testing.T) {
	const nowhere = "mutant m: a has the lines to change nowhere, want them once:\n"
	for name, c := range map[string]struct{ edits, want string }{
		"no such line":        {"@@ a\n-four()\n", nowhere + "four()\n"},
		"in two files":        {"@@ a\n-c.over = true\n", "mutant m: a has the lines to change 2 times, want once:\nc.over = true\n"},
		"in another function": {"@@ a core.end\n-c.low = low\n", "mutant m: a core.end has the lines to change nowhere, want them once:\nc.low = low\n"},
		"changed before":      {"@@ a\n-c.low = low\n\n@@ a\n-c.low = low\n", nowhere + "c.low = low\n"},
		"half of it renamed":  {"@@ a\n-x.y = y\n", nowhere + "x.y = y\n"},
		"one name for two":    {"@@ a\n-c.low = low\n-c.send(lowest, nil)\n", nowhere + "c.low = low\nc.send(lowest, nil)\n"},
		"true is no name":     {"@@ a core.end\n-c.over = false\n-c.send(c.low, nil)\n", "mutant m: a core.end has the lines to change nowhere, want them once:\nc.over = false\nc.send(c.low, nil)\n"},
		"no such function":    {"@@ a core.none\n-c.low = low\n", "mutant m: a core.none has the lines to change nowhere, want them once:\nc.low = low\n"},
		"a part of a line":    {"@@ a\n-c.send(low\n", nowhere + "c.send(low\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := planted(t, c.edits); err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

func TestEveryMutantAppliesAndCompiles(t *testing.T) {
	ms, root := all(t)
	every := 150 // compiling takes most of a second
	switch {
	case long.Asked() && !testing.Short():
		every = 1
	case long.Asked():
		every = 30
	}
	for i, m := range ms {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			overlay, err := m.overlay(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := m.known.exists(root); err != nil {
				t.Error(err)
			}
			if i%every != 0 {
				return
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

// The simulation is left out: it plays the core itself, and judges with its own
// books, audit.go.
func TestTheJudgesImportNothingOfWhatTheyJudge(t *testing.T) {
	_, root := all(t)
	cmd := exec.Command("go", "list", "-f", `{{range .Imports}}{{$.ImportPath}} {{.}}{{"\n"}}{{end}}`, "./verify/...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		who, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if who != "layover/verify/sim" && strings.HasPrefix(what, "layover/") && !strings.HasPrefix(what+"/", "layover/verify/") {
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
