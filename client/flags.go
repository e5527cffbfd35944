package client

import (
	"flag"
	"io"
	"strings"
)

// NewFlags returns an empty set of flags that prints nothing by itself: what
// goes wrong is returned, and --help is flag.ErrHelp.
func NewFlags(verb string) *flag.FlagSet {
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	return flags
}

// ParseFlags parses args into flags and returns the arguments that are no
// flags. Unlike the flag package alone it takes flags behind such arguments as
// well: "send hello --delay 5s" would otherwise send three values. A bare "-"
// is an argument, and "--" makes one of everything behind it.
func ParseFlags(flags *flag.FlagSet, args []string) (operands []string, err error) {
	var named []string
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			operands = append(operands, args...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			operands = append(operands, arg)
			continue
		}
		named = append(named, arg)
		if takesNext(flags, arg) && len(args) > 0 {
			named = append(named, args[0])
			args = args[1:]
		}
	}
	return operands, flags.Parse(named)
}

// takesNext reports whether the value of the flag arg is the argument behind
// it, whatever that looks like. An unknown flag is left to the flag package,
// which refuses it.
func takesNext(flags *flag.FlagSet, arg string) bool {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	if strings.Contains(name, "=") {
		return false
	}
	found := flags.Lookup(name)
	if found == nil {
		return false
	}
	boolean, ok := found.Value.(interface{ IsBoolFlag() bool })
	return !ok || !boolean.IsBoolFlag()
}

// wasGiven reports whether the flag was there, also if it was empty.
func wasGiven(flags *flag.FlagSet, name string) bool {
	given := false
	flags.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}
