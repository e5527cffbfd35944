package completion

import (
	"fmt"
	"strings"
)

// bashHead finds the verb, which is the first word that is neither a flag nor the
// value of one, and the flag whose value is being written, if there is one. Bash
// takes an equals sign for a word of its own. What it calls sees its variables: i is
// where the verb is.
const bashHead = `# Completion of layover for bash:  source <(layover completion bash)
_layover() {
    local cur=${COMP_WORDS[COMP_CWORD]} flag= verb= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --env-file | -env-file)
            [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
            ((i++))
            ;;
        -*) ;;
        *)
            verb=${COMP_WORDS[i]}
            break
            ;;
        esac
    done
    if [[ $cur == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 1]} cur=
    elif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
    else
        flag=${COMP_WORDS[COMP_CWORD - 1]}
    fi
    [[ $flag == --?* ]] && flag=${flag:1}
    case $verb:$flag in
`

const bashTail = `    esac
}
_layover_words() {
    COMPREPLY=($(compgen -W "$1" -- "$2"))
}
_layover_first_word() {
    local word
    for word in "${COMP_WORDS[@]:i+1:COMP_CWORD-i-1}"; do
        [[ " $1 " == *" $word "* ]] && return
    done
    _layover_words "$1" "$2"
}
_layover_files() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen "$1" -- "$2"))
}
complete -F _layover layover
`

func bash(verbs []Verb) string {
	var b strings.Builder
	b.WriteString(bashHead)
	bashValues(&b, "", before(verbs))
	for _, v := range verbs {
		bashValues(&b, v.Name, v.options())
	}
	bashWords(&b, Verb{Words: names(verbs)}, before(verbs))
	for _, v := range verbs {
		bashWords(&b, v, v.options())
	}
	b.WriteString(bashTail)
	return b.String()
}

// bashValues writes what a flag of a verb takes. A value that nothing is known of
// is completed by nothing, not by more flags.
func bashValues(b *strings.Builder, verb string, options []option) {
	for _, o := range options {
		if o.value == "" {
			continue
		}
		name := "-" + strings.TrimLeft(o.name, "-") // a flag is taken with either
		action := "return"
		switch {
		case len(o.choices) > 0:
			action = fmt.Sprintf("_layover_words %s \"$cur\"", quoted(strings.Join(o.choices, " ")))
		case o.takesFile():
			action = `_layover_files -f "$cur"`
		case o.takesDir():
			action = `_layover_files -d "$cur"`
		}
		fmt.Fprintf(b, "    %s:%s) %s ;;\n", verb, name, action)
	}
}

// bashWords writes what may stand behind a verb: flags where a dash is there, and
// its words else, unless one of them is there already.
func bashWords(b *strings.Builder, v Verb, options []option) {
	var flags, words []string
	for _, o := range options {
		flags = append(flags, o.name)
	}
	for _, w := range v.Words {
		words = append(words, w[0])
	}
	fmt.Fprintf(b, "    %s:*)\n        if [[ $cur == -* ]]; then\n            _layover_words %s \"$cur\"\n",
		v.Name, quoted(strings.Join(flags, " ")))
	if len(words) > 0 {
		fmt.Fprintf(b, "        else\n            _layover_first_word %s \"$cur\"\n", quoted(strings.Join(words, " ")))
	}
	b.WriteString("        fi\n        ;;\n")
}
