package long_test

import (
	"strconv"
	"testing"

	"layover/verify/long"
)

func TestEachLongTestIsPlayedInOnePart(t *testing.T) {
	names, most := 0, 0
	played := map[string]int{}
	for part := range 4 {
		t.Setenv("LAYOVER_TEST_LONG", strconv.Itoa(part+1)+"/4")
		here := 0
		for i := range 400 {
			name := "TestNumber" + strconv.Itoa(i)
			is, err := long.Played(name)
			if err != nil {
				t.Fatal(err)
			}
			if is {
				played[name]++
				here++
			}
		}
		names, most = names+here, max(most, here)
	}
	if len(played) != 400 || names != 400 || most > 150 {
		t.Errorf("%d tests in %d plays, %d in one part, want 400 in 400, spread over 4", len(played), names, most)
	}
}

func TestLongTestsAreAskedForByOneOrByAPart(t *testing.T) {
	for value, c := range map[string]struct{ long, fails bool }{
		"":     {},
		"1":    {long: true},
		"1/1":  {long: true},
		"0/4":  {fails: true},
		"5/4":  {fails: true},
		"0/0":  {fails: true},
		"a/b":  {fails: true},
		"true": {fails: true},
	} {
		t.Setenv("LAYOVER_TEST_LONG", value)
		if is, err := long.Played("TestAny"); is != c.long || (err != nil) != c.fails {
			t.Errorf("%q: %t, error %v; want %t, error %t", value, is, err, c.long, c.fails)
		}
	}
}
