package delay

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The constants are read from the source, so that one that is forgotten in
// Reasons fails here.
func TestReasonsAreAllOfTheConstantsSorted(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "invalid.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Reason
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Reason" {
				code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, Reason(code))
			}
		}
		return true
	})
	slices.Sort(declared)
	if len(declared) != 20 || len(slices.Compact(slices.Clone(declared))) != 20 {
		t.Errorf("found %d constants %v, want 20 that differ", len(declared), declared)
	}
	if got := Reasons(); !slices.Equal(got, declared) {
		t.Errorf("Reasons() is %v, declared are %v", got, declared)
	}
}

func TestReasonsGivesEachCallerItsOwnSlice(t *testing.T) {
	Reasons()[0] = "changed"
	if slices.Contains(Reasons(), "changed") {
		t.Error("a caller changed what the next one gets")
	}
}

func TestMessageQuotesAtMost100BytesOfTheValue(t *testing.T) {
	long := strings.Repeat("a", 300)
	tests := map[string]struct {
		value []byte
		want  string
	}{
		"null":                    {nil, `null`},
		"empty":                   {[]byte{}, `""`},
		"plain":                   {[]byte("tomorrow"), `"tomorrow"`},
		"quotes and backslashes":  {[]byte(`a"b\c`), `"a\"b\\c"`},
		"control characters":      {[]byte("a\nb\x00"), `"a\x0ab\x00"`},
		"the ends of ASCII":       {[]byte(" ~\x7f"), `" ~\x7f"`},
		"not ASCII":               {[]byte("\xc2\xb5\xff"), `"\xc2\xb5\xff"`},
		"exactly 100 bytes":       {[]byte(long[:100]), `"` + long[:100] + `"`},
		"101 bytes":               {[]byte(long[:101]), `"` + long[:100] + `" (cut from 101 bytes)`},
		"300 bytes":               {[]byte(long), `"` + long[:100] + `" (cut from 300 bytes)`},
		"escapes count in full":   {[]byte(strings.Repeat("\xff", 26)), `"` + strings.Repeat(`\xff`, 25) + `" (cut from 26 bytes)`},
		"nothing behind a cut":    {[]byte(long[:98] + "\xffb"), `"` + long[:98] + `" (cut from 100 bytes)`},
		"no escape is cut in two": {[]byte(long[:98] + "\xff"), `"` + long[:98] + `" (cut from 99 bytes)`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := quote(tt.value); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestInvalidIsAnError(t *testing.T) {
	var err error = &Invalid{Reason: ReasonNoTarget, Message: "why"}
	if err.Error() != "why" {
		t.Errorf("got %q", err)
	}
}
