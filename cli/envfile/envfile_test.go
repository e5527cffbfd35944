package envfile

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestLinesAreReadAsDockerComposeReadsThem(t *testing.T) {
	tests := map[string]struct {
		text string
		want []Entry
	}{
		"nothing":                    {"", nil},
		"blank lines and comments":   {"\n  \n# A=b\n\t# c\n", nil},
		"a value":                    {"A=b", []Entry{{"A", "b"}}},
		"the line's end of Windows":  {"A=b\r\nC=d\r\n", []Entry{{"A", "b"}, {"C", "d"}}},
		"a mark of the encoding":     {"\xef\xbb\xbfA=b\n", []Entry{{"A", "b"}}},
		"in front":                   {"\tA=b", []Entry{{"A", "b"}}},
		"export":                     {"export A=b\nexport\tC=d", []Entry{{"A", "b"}, {"C", "d"}}},
		"a name like export":         {"exportA=b\nexport=c", []Entry{{"exportA", "b"}, {"export", "c"}}},
		"blanks around the equals":   {"A = b c ", []Entry{{"A", "b c"}}},
		"the same name twice":        {"A=b\nA=c", []Entry{{"A", "b"}, {"A", "c"}}},
		"names of others":            {"_a.b-C9=x", []Entry{{"_a.b-C9", "x"}}},
		"an empty value":             {"A=\nB=''\nC=\"\"", []Entry{{"A", ""}, {"B", ""}, {"C", ""}}},
		"a second equals sign":       {"A=b=c", []Entry{{"A", "b=c"}}},
		"a comment behind":           {"A=b # c\nB=b\t# c", []Entry{{"A", "b"}, {"B", "b"}}},
		"a comment and no value":     {"A= # c", []Entry{{"A", ""}}},
		"a # that is none":           {"A=b#c\nB=#c", []Entry{{"A", "b#c"}, {"B", "#c"}}},
		"a quote within":             {"A=x'y'", []Entry{{"A", "x'y'"}}},
		"a backslash without quotes": {`A=a\tb`, []Entry{{"A", `a\tb`}}},
		"a dollar is a dollar":       {"A=$x\nB=\"${y}\"\nC='$z'", []Entry{{"A", "$x"}, {"B", "${y}"}, {"C", "$z"}}},
		"single quotes":              {`A=' b # c '`, []Entry{{"A", " b # c "}}},
		"escapes in single quotes":   {`A='it\'s \\ a\tb'`, []Entry{{"A", `it's \\ a\tb`}}},
		"double quotes":              {`A=" b # c "`, []Entry{{"A", " b # c "}}},
		"escapes in double quotes":   {`A="\"\\\n\r\t\$\q"`, []Entry{{"A", "\"\\\n\r\t$\\q"}}},
		"a comment behind quotes":    {"A='b' # c\nB=\"b\"#c", []Entry{{"A", "b"}, {"B", "b"}}},
		"other quotes inside":        {`A="it's"` + "\n" + `B='"'`, []Entry{{"A", "it's"}, {"B", `"`}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("x.env", []byte(test.text))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestABadLineIsNamedAndNotRepeated(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"no equals sign":       {"hunter2", "x.env:1: there is no =, want NAME=value"},
		"export alone":         {"export hunter2", "x.env:1: there is no =, want NAME=value"},
		"no name":              {"\n=hunter2", "x.env:2: the text before the = is no name"},
		"a digit first":        {"1hunter2=hunter2", "x.env:1: the text before the = is no name"},
		"a blank in a name":    {"# c\n\nhunter 2=hunter2", "x.env:3: the text before the = is no name"},
		"a letter beyond":      {"é=hunter2", "x.env:1: the text before the = is no name"},
		"an open single quote": {"A='hunter2", "x.env:1: the quote ' is not closed"},
		"an open double quote": {"A=\"hunter2\\\"", "x.env:1: the quote \" is not closed"},
		"over two lines":       {"A='hunter2\nB'", "x.env:1: the quote ' is not closed"},
		"behind a quote":       {"A='hunter2' hunter2", "x.env:1: there is something behind the closing quote"},
		"a zero byte":          {"A=hunter2\x00", "x.env:1: the line is not text"},
		"not UTF-8":            {"A=hunter2\xff", "x.env:1: the line is not text"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse("x.env", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) || got != nil {
				t.Fatalf("got %q, %v, want %q", got, err, test.want)
			}
			if strings.Contains(err.Error(), "hunter") {
				t.Errorf("the line is repeated: %v", err)
			}
		})
	}
	_, err := Parse("x.env", []byte("A=b\nx\nB=c\ny\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "x.env:2: ") || !strings.Contains(err.Error(), "x.env:4: ") {
		t.Errorf("two bad lines: %v", err)
	}
}

func files(t *testing.T, texts ...string) []string {
	t.Helper()
	var paths []string
	for i, text := range texts {
		path := filepath.Join(t.TempDir(), string(rune('a'+i))+".env")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestTheLastFileWinsAndTheEnvironmentOverAll(t *testing.T) {
	paths := files(t, "A=1\nB=1\nC=1\nD=1\nD=2\n", "B=2\nC=2\n")
	merged, origins, err := Merge([]string{"C=3", "E=3", "=C:=C:\\", "strange"}, paths)
	if err != nil {
		t.Fatal(err)
	}
	last := make(map[string]string)
	for _, pair := range merged {
		name, value, _ := strings.Cut(pair, "=")
		last[name] = value
	}
	for name, want := range map[string]string{"A": "1", "B": "2", "C": "3", "D": "2", "E": "3"} {
		if last[name] != want {
			t.Errorf("%s is %q, want %q", name, last[name], want)
		}
	}
	if want := map[string]string{"A": paths[0], "B": paths[1], "D": paths[0]}; !reflect.DeepEqual(origins, want) {
		t.Errorf("origins %q, want %q", origins, want)
	}
	if !slices.Contains(merged, "strange") {
		t.Errorf("%q: an entry of the environment is gone", merged)
	}
}

// Wherever the first of a name counts, or an empty one does not, it still wins.
func TestWhatTheEnvironmentSetsIsNotThereTwice(t *testing.T) {
	merged, _, err := Merge([]string{"A="}, files(t, "A=1"))
	if err != nil || !slices.Equal(merged, []string{"A="}) {
		t.Errorf("got %q, %v", merged, err)
	}
}

func TestEverythingThatIsWrongWithAnyFileIsSaid(t *testing.T) {
	paths := append(files(t, "A=1", "x"), filepath.Join(t.TempDir(), "missing"), t.TempDir())
	merged, origins, err := Merge([]string{"A=2"}, paths)
	if err == nil || merged != nil || origins != nil {
		t.Fatalf("got %q, %q, %v", merged, origins, err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], paths[1]+":1: ") ||
		!strings.HasPrefix(lines[1], "env file "+paths[2]+": cannot be read: ") || !strings.HasPrefix(lines[2], "env file "+paths[3]+": cannot be read: ") {
		t.Errorf("got %q", lines)
	}
}

func TestAFileIsReadUpToItsBound(t *testing.T) {
	largest := "A=1\n#" + strings.Repeat("x", 1<<20-5)
	paths := files(t, largest, largest+"x")
	if merged, _, err := Merge(nil, paths[:1]); err != nil || !slices.Equal(merged, []string{"A=1"}) {
		t.Errorf("1 MiB: %q, %v", merged, err)
	}
	if _, _, err := Merge(nil, paths[1:]); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
		t.Errorf("a byte more: %v", err)
	}
}

func TestWithoutFilesNothingChanges(t *testing.T) {
	environ := []string{"A=1", "A=2", "B"}
	merged, origins, err := Merge(environ, nil)
	if err != nil || !slices.Equal(merged, environ) || len(origins) > 0 {
		t.Errorf("got %q, %q, %v", merged, origins, err)
	}
}

// written is an entry as a line that reads as the same: in double quotes, with a
// backslash before all that means something there.
func written(e Entry) string {
	value := strings.NewReplacer("\\", `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).Replace(e.Value)
	return "export " + e.Name + "= \"" + value + "\" # c"
}

// FuzzEnvFile reads any text. Accepted entries, written out, read as the same. A
// refusal has the number of a line of the text, and the same words whatever letters
// the line is made of.
func FuzzEnvFile(f *testing.F) {
	for _, seed := range []string{
		"", "A=b\n", "export A=b\r\n\r\n# c\nB = 'x' # y", "A=\"a\\n\\\"b\\q\"", "A='it\\'s'", "A=b # c\nB=b#c\nC= #", "\xef\xbb\xbfA=1", "A", "=b", "A='", "A='b'c", "A=\"\\",
		"1=x", "export =x", "export", "export export A=b", "A=\x00", "A=\xff", "A.b-c_9=$x", "A=x'y\"z", " \t = ", "A=\v", "A=b\rC=d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse("f", []byte(text))
		if err != nil {
			lines := strings.Count(text, "\n") + 1
			problems := strings.Split(err.Error(), "\n")
			if got != nil || len(problems) > lines {
				t.Fatalf("%q: %q beside %d problems", text, got, len(problems))
			}
			for _, problem := range problems {
				if _, reason, ok := strings.Cut(problem, ": "); !ok || !strings.HasPrefix(problem, "f:") || !slices.ContainsFunc(reasons, func(known string) bool { return strings.HasPrefix(reason, known) }) {
					t.Fatalf("%q: problem %q", text, problem)
				}
			}
			return
		}
		var again strings.Builder
		for _, e := range got {
			if e.Name == "" || strings.ContainsAny(e.Name, "=# \t\r\n'\"") || !strings.Contains(text, e.Name) {
				t.Fatalf("%q: name %q", text, e.Name)
			}
			again.WriteString(written(e) + "\n")
		}
		if same, err := Parse("again", []byte(again.String())); err != nil || !slices.Equal(same, got) {
			t.Fatalf("%q reads as %q, and that written as %q reads as %q, %v", text, got, again.String(), same, err)
		}
	})
}

// reasons are how the reasons begin, none of which depends on the line.
var reasons = []string{"there is no =", "the text before the =", "the quote ' is not", "the quote \" is not", "there is something behind", "the line is not text"}
