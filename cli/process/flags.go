package process

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
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

// envFileFlag is the one flag that may stand before the verb as well.
const envFileFlag = "env-file"

// AddEnvFile adds --env-file to the flags of a verb that reads settings. Its
// files come after those that stood before the verb.
func (p *Process) AddEnvFile(flags *flag.FlagSet) {
	flags.Func(envFileFlag, "read settings from a `FILE` too, the environment wins", p.addEnvFile)
}

func (p *Process) addEnvFile(path string) error {
	if path == "" {
		return errors.New("want the name of a file")
	}
	p.EnvFiles = append(p.EnvFiles, path)
	return nil
}

// TakeEnvFiles takes each --env-file that stands before the verb.
func (p *Process) TakeEnvFiles() error {
	for len(p.Args) > 0 {
		name, path, hasPath := strings.Cut(p.Args[0], "=")
		if name != "--"+envFileFlag && name != "-"+envFileFlag {
			return nil
		}
		p.Args = p.Args[1:]
		if !hasPath && len(p.Args) > 0 {
			path, p.Args = p.Args[0], p.Args[1:]
		}
		if err := p.addEnvFile(path); err != nil {
			return fmt.Errorf("--%s: %w", envFileFlag, err)
		}
	}
	return nil
}

// Choice is the value of a flag that takes one of a few words, the first by
// default.
type Choice struct {
	words  []string
	chosen string
}

// String returns the word that was chosen.
func (c *Choice) String() string { return c.chosen }

// Set chooses a word.
func (c *Choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("want %s", strings.Join(c.words, " or "))
	}
	c.chosen = word
	return nil
}

// Words returns all that there is to choose from.
func (c *Choice) Words() []string { return c.words }

// Output is the form in which a verb prints facts.
type Output struct{ Choice }

// AddOutput adds -o to the flags of a verb.
func AddOutput(flags *flag.FlagSet) *Output {
	o := &Output{Choice{words: []string{"text", "json"}, chosen: "text"}}
	flags.Var(o, "o", "print in a `FORMAT` for people or for machines")
	return o
}

// JSON reports whether a machine reads what is printed.
func (o *Output) JSON() bool { return o.chosen == "json" }

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

// WasGiven reports whether the flag was there, also if it was empty.
func WasGiven(flags *flag.FlagSet, name string) bool {
	given := false
	flags.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}
