package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// constantOf matches a constant that a row of retries.md names, as path:name.
var constantOf = regexp.MustCompile("`([a-z/]+\\.go:[A-Za-z]+)`")

// pauseOf matches a pause in a row, such as 200 ms.
var pauseOf = regexp.MustCompile(`\b([0-9]+) (ms|s|min)\b`)

// retryName matches the names of constants that say how long until something is tried again.
var retryName = regexp.MustCompile(`[rR]etry(Ms)?$|BackOff$|^(first|max|fullP)[a-zA-Z]*ause(Ms)?$|^hold(First|Max)Ms$|Again$`)

// notPauses are constants of such a name that are no pause before a retry.
var notPauses = []string{
	"cluster/retention.go:configureAgain", // a number of topics
	"cluster/doctor/ask.go:askAgain",      // one further question of a verb
}

func TestEachPauseOfARetryIsThatOfTheCode(t *testing.T) {
	named := make(map[string]bool)
	for _, line := range strings.Split(read(t, "retries.md"), "\n") {
		constants := constantOf.FindAllStringSubmatch(line, -1)
		if len(constants) == 0 || !strings.HasPrefix(line, "|") {
			continue
		}
		var pauses []time.Duration
		cells := strings.Split(line, "|")
		for _, m := range pauseOf.FindAllStringSubmatch(cells[2]+cells[3], -1) {
			unit := map[string]string{"ms": "ms", "s": "s", "min": "m"}[m[2]]
			d, err := time.ParseDuration(m[1] + unit)
			if err != nil {
				t.Fatal(err)
			}
			pauses = append(pauses, d)
		}
		for _, c := range constants {
			named[c[1]] = true
			file, name, _ := strings.Cut(c[1], ":")
			d, ok := durations(t, "../"+file)[name]
			if !ok {
				t.Errorf("%s is no constant of a time", c[1])
			} else if !slices.Contains(pauses, d) {
				t.Errorf("%s is %v, and its row says %v", c[1], d, pauses)
			}
		}
	}
	if len(named) < 20 {
		t.Fatalf("%d constants are named", len(named))
	}
	for _, c := range retriesIn(t) {
		if !named[c] && !slices.Contains(notPauses, c) {
			t.Errorf("no row of retries.md names %s", c)
		}
	}
}

// retriesIn returns the constants of the program whose names say that they are of a retry.
func retriesIn(t *testing.T) (found []string) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"verify", "bench", "integration", "deploy", ".git"}, name):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for _, c := range slices.Sorted(maps.Keys(durations(t, path))) {
			if retryName.MatchString(c) {
				found = append(found, name+":"+c)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// durations returns the constants of a file that are times: a number of milliseconds where
// the name ends in Ms, nanoseconds otherwise.
func durations(t *testing.T, path string) map[string]time.Duration {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]time.Duration)
	for _, d := range file.Decls {
		gen, is := d.(*ast.GenDecl)
		if !is || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			s := spec.(*ast.ValueSpec)
			for i, value := range s.Values {
				n, err := number(value)
				if err != nil {
					continue // a text, or made of other constants
				}
				if strings.HasSuffix(s.Names[i].Name, "Ms") {
					n *= int64(time.Millisecond)
				}
				found[s.Names[i].Name] = time.Duration(n)
			}
		}
	}
	return found
}

// number is the value of a product of numbers and units of package time.
func number(e ast.Expr) (int64, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if n, ok := constant.Int64Val(constant.ToInt(constant.MakeFromLiteral(e.Value, e.Kind, 0))); ok {
			return n, nil
		}
	case *ast.SelectorExpr:
		units := map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
		if d, ok := units[e.Sel.Name]; ok {
			return int64(d), nil
		}
	case *ast.BinaryExpr:
		x, err := number(e.X)
		if err != nil || e.Op != token.MUL {
			return 0, fmt.Errorf("not a product: %v", err)
		}
		y, err := number(e.Y)
		return x * y, err
	}
	return 0, fmt.Errorf("%T is no number", e)
}
