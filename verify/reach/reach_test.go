package reach

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"
)

// leaf and tree are values with every kind of memory.
type leaf struct{ n int }

type tree struct {
	Name   string
	At     time.Time
	list   []int
	byName map[string]*leaf
	any    any
	in     struct{ deep [2]*leaf }
	wake   chan struct{}
	f      func()
}

func grown() tree {
	t := tree{Name: "a", At: time.Now(), list: []int{1, 2, 3, 4}, byName: map[string]*leaf{"x": {1}}, any: &leaf{2}, wake: make(chan struct{})}
	t.in.deep[1] = &leaf{3}
	return t
}

func TestSharedMemoryIsNamedByTheWayToIt(t *testing.T) {
	origin := grown()
	for name, test := range map[string]struct {
		share func(t *tree)
		want  []string
	}{
		"nothing":               {func(*tree) {}, nil},
		"a text":                {func(t *tree) { t.Name = origin.Name }, nil},
		"a time":                {func(t *tree) { t.At = origin.At }, nil},
		"a function":            {func(t *tree) { t.f = func() {} }, nil},
		"a slice":               {func(t *tree) { t.list = origin.list }, []string{".list"}},
		"the end of a slice":    {func(t *tree) { t.list = origin.list[3:] }, []string{".list"}},
		"room behind a slice":   {func(t *tree) { t.list = origin.list[:0] }, []string{".list"}},
		"a map":                 {func(t *tree) { t.byName = origin.byName }, []string{".byName", ".byName[x]"}},
		"a value of a map":      {func(t *tree) { t.byName["y"] = origin.byName["x"] }, []string{".byName[y]"}},
		"behind an interface":   {func(t *tree) { t.any = origin.any }, []string{".any"}},
		"deep within":           {func(t *tree) { t.in.deep[0] = origin.in.deep[1] }, []string{".in.deep[0]"}},
		"a channel":             {func(t *tree) { t.wake = origin.wake }, []string{".wake"}},
		"a pointer into a list": {func(t *tree) { t.any = &origin.list[2] }, []string{".any"}},
	} {
		t.Run(name, func(t *testing.T) {
			copied := grown()
			test.share(&copied)
			if got := Shared(&copied, &origin); !slices.Equal(got, test.want) {
				t.Errorf("shared %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhatIsEmptyIsNamed(t *testing.T) {
	v := grown()
	v.list, v.byName = v.list[:0], nil
	if got := Empty(&v); !slices.Equal(got, []string{".list", ".byName"}) {
		t.Errorf("empty %q", got)
	}
}

func TestSizesAreSummedUpByTheWayToThem(t *testing.T) {
	type forest struct {
		trees  []*tree
		byName map[string][]int
		hidden *leaf
	}
	one := grown()
	f := forest{trees: []*tree{&one, &one, nil}, byName: map[string][]int{"a": {1, 2}, "b": {3}}, hidden: &leaf{}}
	got := Sizes(&f, func(of reflect.Type) bool { return of == reflect.TypeFor[leaf]() })
	want := map[string]int{".trees": 3, ".trees[].list": 4, ".trees[].byName": 1, ".trees[].wake": 0, ".byName": 2, ".byName[]": 3}
	if !maps.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
}
