package dlq

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestOffsetsAreReadAsTheyArePrinted(t *testing.T) {
	for text, want := range map[string]stretches{
		"0:12-90":                          {0: {12, 90}},
		"0:12-90,1:7-40":                   {0: {12, 90}, 1: {7, 40}},
		"3:5":                              {3: {5, 5}},
		"10:0-0,2:1-9":                     {10: {0, 0}, 2: {1, 9}},
		"0:12-90,1:0-end":                  {0: {12, 90}, 1: {0, toEnd}},
		"2147483647:0-9223372036854775807": {2147483647: {0, 9223372036854775807}},
	} {
		got, err := parseStretches(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if got := (stretches{10: {0, 0}, 2: {1, 9}, 3: {0, toEnd}}).String(); got != "2:1-9,3:0-end,10:0-0" {
		t.Errorf("printed as %q", got)
	}
	for text, want := range map[string]string{
		"": "want PARTITION:FIRST-LAST", "0": "want PARTITION", "0:": "want PARTITION", "0:1-": "want PARTITION", "0:-1": "want PARTITION",
		"0:1-2,": "want PARTITION", "-1:1-2": "want PARTITION", "+1:1-2": "want PARTITION", "0:1 - 2": "want PARTITION", "2147483648:1-2": "want PARTITION",
		"0:1-9223372036854775808": "want PARTITION", "0:1-2-3": "want PARTITION",
		"0:end": "want PARTITION", "0:end-end": "want PARTITION", "0:-end": "want PARTITION",
		"0:3-2": "below the first", "0:1-2,0:5-6": "partition 0 is there twice",
	} {
		if got, err := parseStretches(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %q", text, got, err, want)
		}
	}
}

// FuzzOffsets: what is read is printed so that the same is read again, and holds no
// empty stretch.
func FuzzOffsets(f *testing.F) {
	for _, seed := range []string{"0:12-90,1:7-40", "3:5", "0:3-2", "0:1-2,0:1-2", "", "00:01-002", "0:7-end", "1:9223372036854775807"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseStretches(text)
		if err != nil {
			return
		}
		for n, s := range all {
			if n < 0 || s.first < 0 || s.first > s.last {
				t.Fatalf("%q: %d has %+v", text, n, s)
			}
		}
		again, err := parseStretches(all.String())
		if err != nil || !reflect.DeepEqual(again, all) {
			t.Fatalf("%q: printed as %q, and that is %v, %v", text, all, again, err)
		}
	})
}

// TestOnlyTheAcknowledgedPrefixIsDone: the answers come in any order, and the model looks
// for the first offset that is not done.
func TestOnlyTheAcknowledgedPrefixIsDone(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		const end = 40
		p := newPositions(stretches{3: {0, end - 1}})
		var done [end]bool
		var flying []int64
		check := func() {
			t.Helper()
			first := 0
			for first < end && done[first] {
				first++
			}
			want := stretches{}
			if first < end {
				want[3] = stretch{int64(first), end - 1}
			}
			if got := p.left(); !reflect.DeepEqual(got, want) {
				t.Fatalf("left is %v, want %v, with %v in flight", got, want, flying)
			}
		}
		for at := int64(0); at < end || len(flying) > 0; {
			switch {
			case at < end && rng.IntN(3) == 0: // a letter that needs no answer, or a gap
				done[at] = true
				at++
				p[3].passed(at)
			case at < end && rng.IntN(2) == 0:
				p[3].sent(at)
				flying = append(flying, at)
				at++
			case len(flying) > 0:
				i := rng.IntN(len(flying))
				p[3].acknowledged(flying[i])
				done[flying[i]] = true
				flying = append(flying[:i], flying[i+1:]...)
			}
			check()
		}
	}
}
