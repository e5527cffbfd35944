package completion

import (
	"fmt"
	"strings"
)

// fishHead has the function that tells which verb is there, none being the empty
// one, and that no word behind it is one of the others given: fish's own takes the
// value of --env-file for a verb.
const fishHead = `# Completion of layover for fish:  layover completion fish | source
function __layover_at
    set -l verb
    set -l value no
    set -l all (commandline -opc)
    for word in $all[2..-1]
        if test $value = yes
            set value no
        else if test -n "$verb"
            contains -- $word $argv[2..-1]; and return 1
        else
            switch $word
                case --env-file -env-file
                    set value yes
                case '-*'
                case '*'
                    set verb $word
            end
        end
    end
    test "$verb" = "$argv[1]"
end
complete -c layover -f
`

func fish(verbs []Verb) string {
	var b strings.Builder
	b.WriteString(fishHead)
	fishVerb(&b, Verb{Words: names(verbs)}, before(verbs))
	for _, v := range verbs {
		fishVerb(&b, v, v.options())
	}
	return b.String()
}

// fishVerb completes what may stand behind a verb, or behind none: its flags, and
// its words unless one of them is there already.
func fishVerb(b *strings.Builder, v Verb, options []option) {
	where := "complete -c layover -n '__layover_at " + fishQuoted(v.Name, `"`)
	var words []string
	for _, w := range v.Words {
		words = append(words, w[0])
	}
	for _, w := range v.Words {
		fmt.Fprintf(b, "%s %s' -a %s -d %s\n", where, strings.Join(words, " "), w[0], fishQuoted(w[1], "'"))
	}
	for _, o := range options {
		fmt.Fprintf(b, "%s' %s -d %s\n", where, o.fish(), fishQuoted(o.usage, "'"))
	}
}

// fish is a flag as complete takes it.
func (o option) fish() string {
	name := "-l " + strings.TrimPrefix(o.name, "--")
	if !strings.HasPrefix(o.name, "--") {
		name = "-s " + strings.TrimPrefix(o.name, "-")
	}
	switch {
	case o.value == "":
		return name
	case len(o.choices) > 0:
		return name + " -x -a " + fishQuoted(strings.Join(o.choices, " "), "'")
	case o.takesFile():
		return name + " -r -F"
	case o.takesDir():
		return name + " -x -a '(__fish_complete_directories)'"
	}
	return name + " -x"
}

// fishQuoted is text in quotes, in which a backslash escapes them.
func fishQuoted(text, quote string) string {
	return quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(text) + quote
}
