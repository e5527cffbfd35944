// Package reach says which memory two values share, by reflection:
//
//	reach.Shared(core.Snapshot(), core) // [".Late[ready]"]: the snapshot has the core's own histogram
//
// It is for values that are handed to another goroutine while their origin goes on. Memory is
// what pointers, maps, slices and channels lead to, unexported fields included. Strings do not
// count, for nobody writes to them, nor do functions, into which nobody sees.
package reach

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// block is a piece of memory and the way to it.
type block struct {
	from, to uintptr // to is not included
	path     string
}

// walk collects what a value leads to.
type walk struct {
	blocks []block
	empty  []string // maps and slices without an element
	seen   map[visit]bool
}

type visit struct {
	at    uintptr
	kind  reflect.Type
	count int
}

// immutable are types whose values are shared and never written to.
var immutable = []reflect.Type{reflect.TypeFor[*time.Location](), reflect.TypeFor[reflect.Type]()}

func of(v any) *walk {
	w := &walk{seen: make(map[visit]bool)}
	w.value(reflect.ValueOf(v), "")
	return w
}

// Shared returns the ways in copied to memory that origin leads to as well, sorted. The
// values must not be written to meanwhile. The cost grows with all that both lead to.
func Shared(copied, origin any) (paths []string) {
	theirs := of(origin).blocks
	slices.SortFunc(theirs, func(a, b block) int { return cmp.Compare(a.from, b.from) })
	ends := make([]uintptr, len(theirs)) // the highest end up to here: blocks may lie within others
	for i, b := range theirs {
		ends[i] = b.to
		if i > 0 {
			ends[i] = max(ends[i], ends[i-1])
		}
	}
	for _, ours := range of(copied).blocks {
		at, _ := slices.BinarySearchFunc(theirs, ours.to, func(b block, to uintptr) int { return cmp.Compare(b.from, to) })
		if at > 0 && ends[at-1] > ours.from {
			paths = append(paths, ours.path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// Empty returns the ways to maps and slices in a value that have no element. What they would
// share is not seen.
func Empty(v any) []string { return of(v).empty }

// add notes a block, and reports whether it is new.
func (w *walk) add(v reflect.Value, at, size uintptr, count int, path string) bool {
	id := visit{at, v.Type(), count}
	if at == 0 || w.seen[id] {
		return false
	}
	w.seen[id] = true
	if size > 0 {
		w.blocks = append(w.blocks, block{at, at + size, path})
	}
	return true
}

func (w *walk) value(v reflect.Value, path string) {
	if !v.IsValid() || slices.Contains(immutable, v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if w.add(v, v.Pointer(), v.Type().Elem().Size(), 1, path) {
			w.value(v.Elem(), path)
		}
	case reflect.Interface:
		w.value(v.Elem(), path)
	case reflect.Chan:
		w.add(v, v.Pointer(), 1, 1, path)
	case reflect.Struct:
		for i := range v.NumField() {
			w.value(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Array:
		w.elements(v, path)
	case reflect.Slice:
		if v.Len() == 0 {
			w.empty = append(w.empty, path)
		}
		if w.add(v, v.Pointer(), uintptr(v.Cap())*v.Type().Elem().Size(), v.Len(), path) {
			w.elements(v, path)
		}
	case reflect.Map:
		if v.Len() == 0 {
			w.empty = append(w.empty, path)
		}
		if w.add(v, v.Pointer(), 1, 1, path) {
			for of := v.MapRange(); of.Next(); {
				w.value(of.Key(), path)
				w.value(of.Value(), fmt.Sprintf("%s[%v]", path, of.Key()))
			}
		}
	}
}

// elements goes through an array or a slice, unless its elements lead nowhere.
func (w *walk) elements(v reflect.Value, path string) {
	if !leads(v.Type().Elem()) {
		return
	}
	for i := range v.Len() {
		w.value(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
}

// leads reports whether a value of a type can lead to memory.
func leads(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if leads(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return leads(t.Elem())
	case reflect.Pointer, reflect.Interface, reflect.Chan, reflect.Slice, reflect.Map:
		return true
	default:
		return false
	}
}

// Sizes returns how many elements the maps and slices have that a value leads to. The numbers
// are summed up by the way to them without keys and indexes. Values of types for which skip is
// true are left out.
func Sizes(v any, skip func(reflect.Type) bool) map[string]int {
	c := count{sizes: make(map[string]int), seen: make(map[visit]bool), skip: skip}
	c.value(reflect.ValueOf(v), "")
	return c.sizes
}

type count struct {
	sizes map[string]int
	seen  map[visit]bool
	skip  func(reflect.Type) bool
}

// first reports whether memory is come by for the first time.
func (c *count) first(v reflect.Value) bool {
	id := visit{v.Pointer(), v.Type(), 1}
	if v.Kind() == reflect.Slice {
		id.count = v.Len()
	}
	if c.seen[id] {
		return false
	}
	c.seen[id] = true
	return true
}

func (c *count) value(v reflect.Value, path string) {
	if !v.IsValid() || slices.Contains(immutable, v.Type()) || c.skip(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && c.first(v) {
			c.value(v.Elem(), path)
		}
	case reflect.Interface:
		c.value(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			c.value(v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Chan:
		c.sizes[path] += v.Len()
	case reflect.Array, reflect.Slice:
		if v.Kind() == reflect.Slice {
			if v.IsNil() || !c.first(v) {
				return
			}
			c.sizes[path] += v.Len()
		}
		for i := range v.Len() {
			if !leads(v.Type().Elem()) {
				break
			}
			c.value(v.Index(i), path+"[]")
		}
	case reflect.Map:
		if v.IsNil() || !c.first(v) {
			return
		}
		c.sizes[path] += v.Len()
		for of := v.MapRange(); of.Next(); {
			c.value(of.Value(), path+"[]")
		}
	}
}
