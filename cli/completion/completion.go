// Package completion writes the scripts by which a shell completes the command
// line of Layover:
//
//	$ source <(layover completion bash)
//	$ layover jour<TAB> re<TAB>
//	recover  reset
//
// They are made of one table, the verbs with their words and the very flags that
// they parse, so that a script offers what the program takes. The scripts ask
// nothing while they complete: no topic's name comes from a broker.
package completion

import (
	"flag"
	"fmt"
	"strings"
)

// Help is what the verb says about itself.
const Help = `Usage: layover completion bash|zsh|fish

Prints a script that completes verbs and flags in a shell.

  bash  source <(layover completion bash), in ~/.bashrc
  zsh   source <(layover completion zsh), in ~/.zshrc behind compinit; or into a
        file _layover in a folder of $fpath
  fish  layover completion fish | source, in ~/.config/fish/config.fish

Exit code: 0, 1 if stdout cannot be written to, 2 if there is no such shell.
`

// Verb is a word of the command line with what may follow it.
type Verb struct {
	Name, Synopsis string
	Words          [][2]string   // operands with a meaning, each with what it does
	Flags          *flag.FlagSet // nil is none; --help every verb has
}

// Shells returns the shells that there is a script for.
func Shells() [][2]string {
	return [][2]string{{"bash", "a script for bash"}, {"zsh", "a script for zsh"}, {"fish", "a script for fish"}}
}

// Script returns the script for a shell.
func Script(shell string, verbs []Verb) (string, error) {
	switch shell {
	case "bash":
		return bash(verbs), nil
	case "zsh":
		return zsh(verbs), nil
	case "fish":
		return fish(verbs), nil
	}
	return "", fmt.Errorf("there is no script for %q: want bash, zsh or fish", shell)
}

// option is a flag as the scripts need it.
type option struct {
	name    string // with its dashes
	usage   string
	value   string   // what its value is called, empty if it takes none
	choices []string // all values, if there are few
}

// takesFile and takesDir go by what the value is called.
func (o option) takesFile() bool { return o.value == "FILE" }
func (o option) takesDir() bool  { return o.value == "DIR" }

// options returns the flags of v, --help among them.
func (v Verb) options() []option {
	all := []option{{name: "--help", usage: "what there is to know"}}
	if v.Flags == nil {
		return all
	}
	v.Flags.VisitAll(func(f *flag.Flag) {
		o := option{name: dashed(f.Name)}
		o.value, o.usage = flag.UnquoteUsage(f)
		if choice, ok := f.Value.(interface{ Words() []string }); ok {
			o.choices = choice.Words()
		}
		all = append(all, o)
	})
	return all
}

// names are the verbs as words.
func names(verbs []Verb) [][2]string {
	var all [][2]string
	for _, v := range verbs {
		all = append(all, [2]string{v.Name, v.Synopsis})
	}
	return all
}

// before are the flags that may stand before a verb.
func before(verbs []Verb) []option {
	all := []option{{name: "--help", usage: "what there is to know"}, {name: "--version", usage: "print the version"}}
	for _, v := range verbs {
		for _, o := range v.options() {
			if o.name == envFile {
				return append(all, o)
			}
		}
	}
	return all
}

// envFile is the one flag with a value that may stand before a verb, so that the
// scripts have to know where the verb is.
const envFile = "--env-file"

// dashed is a flag as it is written: a letter has one dash.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// quoted is text in single quotes of any of the shells but fish.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
