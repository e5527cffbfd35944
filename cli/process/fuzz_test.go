package process

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// FuzzFlagsMeanTheSameInFront parses arguments, and what came out again with the
// flags in front and the operands behind two dashes.
func FuzzFlagsMeanTheSameInFront(f *testing.F) {
	for _, line := range []string{"", "v --text a", "-on v -text=a w", "- --on", "--text -- v --on", "--on=false", "--on=maybe", "---on", "-- --text", "--text", "--=", "-=", "--text= v", "-h", "--on --on=0 -text a --text b"} {
		f.Add(strings.ReplaceAll(line, " ", "\x00"))
	}
	parse := func(args []string) (text string, on bool, operands []string, err error) {
		flags := NewFlags("test")
		t, b := flags.String("text", "", ""), flags.Bool("on", false, "")
		operands, err = ParseFlags(flags, args)
		return *t, *b, operands, err
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		text, on, operands, err := parse(args)
		if err != nil {
			return
		}
		rest := args
		for _, operand := range operands {
			at := slices.Index(rest, operand)
			if at < 0 {
				t.Fatalf("%q: operands %q", args, operands)
			}
			rest = rest[at+1:]
		}
		front := append([]string{"--text=" + text, "-on=" + strconv.FormatBool(on), "--"}, operands...)
		text2, on2, operands2, err := parse(front)
		if err != nil || text2 != text || on2 != on || !slices.Equal(operands2, operands) {
			t.Fatalf("%q: %q %v %q, but %q: %q %v %q %v", args, text, on, operands, front, text2, on2, operands2, err)
		}
	})
}
