package verify

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unstopped are the functions that make a timer and do not stop it themselves, each with what
// ends it.
var unstopped = map[string]string{
	"cli/send newCounter":             "stop, which send calls when it is over",
	"consumer fetchFaults.handle":     "calls once, a second later",
	"consumer fetchFaults.goOnLater":  "calls once, half a minute later at most",
	"consumer fetching.set":           "calls once, a tenth of a second later",
	"consumer jumper.wake":            "calls once, a second later at most",
	"lane openings.opened":            "calls once, a second later",
	"daemon preflight.run":            "nobody waits for it after a stop, and it is collected",
	"cluster/doctor asking.askTopics": "nobody waits for it after a stop, and it is collected",
}

// makers are the functions of package time that make a timer. Those that return none cannot be
// stopped.
var makers = []string{"NewTimer", "NewTicker", "AfterFunc", "After", "Tick"}

// TestEveryTimerIsStoppedByTheFunctionThatMakesIt on all ways, by a deferred call, or by what
// is listed.
func TestEveryTimerIsStoppedByTheFunctionThatMakesIt(t *testing.T) {
	left := make(map[string]bool)
	made := 0
	walkProduction(t, func(pkg string, f *ast.FuncDecl) {
		n, unstopped := timersOf(f)
		made += n
		if unstopped > 0 {
			left[pkg+" "+nameOf(f)] = true
		}
	})
	for name := range left {
		if unstopped[name] == "" {
			t.Errorf("%s makes a timer that it does not stop: defer its Stop, or say here what ends it", name)
		}
	}
	for name := range unstopped {
		if !left[name] {
			t.Errorf("%s is listed, and leaves no timer unstopped", name)
		}
	}
	if made < 20 {
		t.Errorf("only %d timers were found", made)
	}
}

// TestATimerThatIsNotStoppedIsSeen by what the test above looks with.
func TestATimerThatIsNotStoppedIsSeen(t *testing.T) {
	for body, want := range map[string][2]int{
		"t := time.NewTicker(d); defer t.Stop()":                       {1, 0},
		"t := time.NewTicker(d); <-t.C":                                {1, 1},
		"t := time.NewTicker(d); t.Stop()":                             {1, 1}, // not on all ways
		"t := time.NewTimer(d); u := time.NewTimer(d); defer t.Stop()": {2, 1},
		"go func() { t := time.NewTimer(d); defer t.Stop() }()":        {1, 0},
		"t := time.NewTimer(d); go func() { defer t.Stop() }()":        {1, 1}, // the other one stops it
		"s.timer = time.NewTimer(d)":                                   {1, 1},
		"select { case <-time.After(d): case <-done: }":                {1, 1},
		"time.AfterFunc(d, f)":                                         {1, 1},
		"for range time.Tick(d) {}":                                    {1, 1},
		"now := time.Now(); defer now.Stop()":                          {0, 0},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if made, left := timersOf(f.Decls[0].(*ast.FuncDecl)); [2]int{made, left} != want {
			t.Errorf("%s: %d timers, %d unstopped; want %v", body, made, left, want)
		}
	}
}

// walkProduction calls f with each function that the product has, by the directory of its package.
func walkProduction(t *testing.T, f func(pkg string, f *ast.FuncDecl)) {
	t.Helper()
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path == "verify" || path == "bench" || path == "integration" || path != "." && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				f(filepath.ToSlash(filepath.Dir(path)), fn)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// nameOf returns a function's name, with the type that it is a method of.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	return fmt.Sprintf("%s.%s", of, f.Name.Name)
}

// timersOf counts the timers that a function makes, and those of which the function literal,
// or the function, that makes them has no deferred Stop.
func timersOf(f *ast.FuncDecl) (made, unstopped int) {
	bodies := []*ast.BlockStmt{f.Body}
	for len(bodies) > 0 {
		body := bodies[0]
		bodies = bodies[1:]
		kept, stopped, n := make(map[string]bool), make(map[string]bool), 0
		ast.Inspect(body, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncLit: // a function of its own
				bodies = append(bodies, node.Body)
				return false
			case *ast.AssignStmt:
				if id, ok := node.Lhs[0].(*ast.Ident); ok && len(node.Rhs) == 1 && isMaker(node.Rhs[0]) {
					kept[id.Name] = true
				}
			case *ast.DeferStmt:
				if sel, ok := node.Call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Stop" {
					if id, ok := sel.X.(*ast.Ident); ok {
						stopped[id.Name] = true
					}
				}
			case *ast.CallExpr:
				if isMaker(node) {
					n++
				}
			}
			return true
		})
		made += n
		for name := range kept {
			if stopped[name] {
				n--
			}
		}
		unstopped += n
	}
	return made, unstopped
}

// isMaker reports whether an expression calls a function that makes a timer.
func isMaker(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(makers, sel.Sel.Name) {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "time"
}
