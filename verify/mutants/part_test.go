package main

import (
	"maps"
	"slices"
	"testing"
)

func TestThePartsAreAllMutantsTogether(t *testing.T) {
	all, err := mutants()
	if err != nil {
		t.Fatal(err)
	}
	tried := make(map[string]int)
	for _, text := range []string{"1/3", "2/3", "3/3"} {
		var p part
		if err := p.Set(text); err != nil || p.String() != text {
			t.Fatalf("%s: %v, reads as %s", text, err, &p)
		}
		some := p.take(all)
		if len(some) < len(all)/3 || len(some) > len(all)/3+1 {
			t.Errorf("%s has %d of %d", text, len(some), len(all))
		}
		for _, m := range some {
			tried[m.name]++
		}
	}
	if len(tried) != len(all) || slices.ContainsFunc(slices.Collect(maps.Values(tried)), func(n int) bool { return n != 1 }) {
		t.Errorf("%d of %d mutants are in one part each", len(tried), len(all))
	}
	if some := new(part).take(all); len(some) != len(all) {
		t.Errorf("without a part %d of %d are tried", len(some), len(all))
	}
	for _, text := range []string{"", "0/3", "4/3", "1", "1/3x", "a/b", "1/0", "-1/3"} {
		if err := new(part).Set(text); err == nil {
			t.Errorf("%q is taken for a part", text)
		}
	}
}
