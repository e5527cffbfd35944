package process

import (
	"reflect"
	"testing"
)

func TestFlagsMayStandAnywhere(t *testing.T) {
	tests := map[string]struct {
		args     []string
		operands []string
		text     string
		on       bool
		wrong    bool
	}{
		"nothing":                        {},
		"before":                         {args: []string{"--text", "a", "v"}, operands: []string{"v"}, text: "a"},
		"behind":                         {args: []string{"v", "--text", "a"}, operands: []string{"v"}, text: "a"},
		"around":                         {args: []string{"-on", "v", "-text=a", "w"}, operands: []string{"v", "w"}, text: "a", on: true},
		"a dash is an operand":           {args: []string{"-", "--on"}, operands: []string{"-"}, on: true},
		"an empty operand":               {args: []string{"", "--on"}, operands: []string{""}, on: true},
		"two dashes end the flags":       {args: []string{"--on", "--", "--text", "-"}, operands: []string{"--text", "-"}, on: true},
		"two dashes behind an operand":   {args: []string{"v", "--", "-w"}, operands: []string{"v", "-w"}},
		"two dashes as a value":          {args: []string{"--text", "--", "v", "--on"}, operands: []string{"v"}, text: "--", on: true},
		"a negative value":               {args: []string{"v", "--text", "-5s"}, operands: []string{"v"}, text: "-5s"},
		"a boolean takes no value":       {args: []string{"--on", "v"}, operands: []string{"v"}, on: true},
		"a boolean with one":             {args: []string{"v", "--on=false"}, operands: []string{"v"}},
		"an unknown flag":                {args: []string{"v", "--nope"}, wrong: true},
		"an unknown flag and an operand": {args: []string{"--nope", "v"}, wrong: true},
		"a missing value":                {args: []string{"v", "--text"}, wrong: true},
		"a bad boolean":                  {args: []string{"--on=maybe"}, wrong: true},
		"three dashes":                   {args: []string{"---on"}, wrong: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			flags := NewFlags("test")
			text := flags.String("text", "", "")
			on := flags.Bool("on", false, "")
			operands, err := ParseFlags(flags, test.args)
			if (err != nil) != test.wrong {
				t.Fatalf("error %v, want one: %v", err, test.wrong)
			}
			if !test.wrong && (!reflect.DeepEqual(operands, test.operands) || *text != test.text || *on != test.on) {
				t.Errorf("got %q, text %q, on %v", operands, *text, *on)
			}
		})
	}
}
