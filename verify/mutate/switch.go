package main

import (
	"encoding/json"
	"fmt"
	"go/printer"
	"os"
	"path/filepath"
	"strings"
)

// Variables of the environment of a test binary. None begins like a setting: an
// unknown setting is refused.
const (
	onVariable    = "MUTANT_ON"      // the mutant that is switched on
	reachVariable = "MUTANT_REACHED" // the file that gets the ids that a run comes by
)

// switchSource is the file that each package gets: whether a mutant is on, and the
// operations that are another one where it is. Operands are evaluated as they would
// be without. Its names have a character that Go style knows in no name.
const switchSource = `package %s

import (
	mutant_cmp "cmp"
	mutant_os "os"
	mutant_strconv "strconv"
	mutant_atomic "sync/atomic"
)

const mutant_from, mutant_count = %d, %d

var (
	mutant_active, _ = mutant_strconv.Atoi(mutant_os.Getenv(%q))
	mutant_reached   = mutant_open(mutant_os.Getenv(%q))
	mutant_seen      [mutant_count + 1]mutant_atomic.Bool
)

func mutant_open(name string) *mutant_os.File {
	if name == "" {
		return nil
	}
	f, err := mutant_os.OpenFile(name, mutant_os.O_APPEND|mutant_os.O_CREATE|mutant_os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	return f
}

func mutant_on(id int) bool {
	return id == mutant_active || mutant_reached != nil && mutant_note(id)
}

func mutant_note(id int) bool {
	if s := &mutant_seen[id-mutant_from]; !s.Load() && s.CompareAndSwap(false, true) {
		if _, err := mutant_reached.WriteString(mutant_strconv.Itoa(id) + "\n"); err != nil {
			panic(err) // or the mutant would survive tests that come by it
		}
	}
	return false
}

type mutant_integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutant_number interface {
	mutant_integer | ~float32 | ~float64
}

func mutant_pick[T any](id int, a, b T) T {
	if mutant_on(id) {
		return b
	}
	return a
}

func mutant_zero[T any](id int, v T) T {
	if mutant_on(id) {
		var none T
		return none
	}
	return v
}

func mutant_less[T mutant_cmp.Ordered](id int, a, b T) bool    { return a < b || a == b && mutant_on(id) }
func mutant_atmost[T mutant_cmp.Ordered](id int, a, b T) bool  { return a < b || a == b && !mutant_on(id) }
func mutant_more[T mutant_cmp.Ordered](id int, a, b T) bool    { return a > b || a == b && mutant_on(id) }
func mutant_atleast[T mutant_cmp.Ordered](id int, a, b T) bool { return a > b || a == b && !mutant_on(id) }

func mutant_add[T mutant_number](id int, a, b T) T {
	if mutant_on(id) {
		return a - b
	}
	return a + b
}

func mutant_sub[T mutant_number](id int, a, b T) T {
	if mutant_on(id) {
		return a + b
	}
	return a - b
}

func mutant_mul[T mutant_number](id int, a, b T) T {
	if mutant_on(id) {
		return a / b
	}
	return a * b
}

func mutant_quo[T mutant_number](id int, a, b T) T {
	if mutant_on(id) {
		return a * b
	}
	return a / b
}

func mutant_and[T mutant_integer](id int, a, b T) T {
	if mutant_on(id) {
		return a | b
	}
	return a & b
}

func mutant_or[T mutant_integer](id int, a, b T) T {
	if mutant_on(id) {
		return a & b
	}
	return a | b
}

func mutant_min[T mutant_cmp.Ordered](id int, of ...T) T {
	return mutant_end(mutant_on(id), of)
}

func mutant_max[T mutant_cmp.Ordered](id int, of ...T) T {
	return mutant_end(!mutant_on(id), of)
}

func mutant_end[T mutant_cmp.Ordered](highest bool, of []T) T {
	end := of[0]
	for _, v := range of {
		if highest {
			end = max(end, v)
		} else {
			end = min(end, v)
		}
	}
	return end
}
`

// overlay writes rewritten packages to dir and returns the file that the go command
// takes as -overlay: the source itself stays as it is.
func overlay(root, dir string, of []rewritten) (string, error) {
	replace := make(map[string]string)
	put := func(path, text string) error {
		copied := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		replace[path] = copied
		return os.WriteFile(copied, []byte(text), 0o600)
	}
	for _, r := range of {
		for i, f := range r.files {
			var b strings.Builder
			if err := printer.Fprint(&b, r.set, f); err != nil {
				return "", fmt.Errorf("%s: %w", r.paths[i], err)
			}
			if err := put(r.paths[i], b.String()); err != nil {
				return "", err
			}
		}
		switches := filepath.Join(root, filepath.FromSlash(r.dir), "mutant_switch.go")
		text := fmt.Sprintf(switchSource, r.name, r.first, len(r.mutants), onVariable, reachVariable)
		if err := put(switches, text); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, text, 0o600)
}

// rewritten is a package with all of its mutants.
type rewritten struct {
	*pkg
	first   int
	mutants []mutant
}

// rewriteAll numbers the mutants of packages from 1 on.
func rewriteAll(packages []*pkg) (all []rewritten) {
	next := 1
	for _, p := range packages {
		r := rewritten{pkg: p, first: next, mutants: rewrite(p, next)}
		next += len(r.mutants)
		all = append(all, r)
	}
	return all
}
