package completion

import (
	"fmt"
	"strings"
)

// zshTail also serves a file _layover in $fpath, which is run as the function.
const zshTail = `        esac
        ;;
    esac
}
if [[ $funcstack[1] == _layover ]]; then
    _layover "$@"
else
    compdef _layover layover
fi
`

func zsh(verbs []Verb) string {
	var b strings.Builder
	b.WriteString("#compdef layover\n# Completion of layover for zsh:  source <(layover completion zsh)\n_layover() {\n")
	b.WriteString("    local curcontext=$curcontext state line\n    local -a verbs words_of_verb\n    typeset -A opt_args\n")
	b.WriteString("    verbs=(\n")
	for _, v := range verbs {
		fmt.Fprintf(&b, "        %s\n", zshDescribed(v.Name, v.Synopsis))
	}
	b.WriteString("    )\n    _arguments -C \\\n")
	for _, o := range before(verbs) {
		fmt.Fprintf(&b, "        %s \\\n", o.zsh())
	}
	b.WriteString("        '1: :->verb' '*:: :->rest'\n    case $state in\n    verb) _describe verb verbs ;;\n    rest)\n        case $words[1] in\n")
	for _, v := range verbs {
		zshVerb(&b, v)
	}
	b.WriteString(zshTail)
	return b.String()
}

func zshVerb(b *strings.Builder, v Verb) {
	fmt.Fprintf(b, "        %s)\n", v.Name)
	if len(v.Words) > 0 {
		b.WriteString("            words_of_verb=(\n")
		for _, w := range v.Words {
			fmt.Fprintf(b, "                %s\n", zshDescribed(w[0], w[1]))
		}
		b.WriteString("            )\n")
	}
	b.WriteString("            _arguments")
	for _, o := range v.options() {
		fmt.Fprintf(b, " \\\n                %s", o.zsh())
	}
	if len(v.Words) > 0 {
		b.WriteString(" \\\n                '1: :{_describe word words_of_verb}'")
	}
	b.WriteString("\n            ;;\n")
}

// zshDescribed is a word with what it does, as _describe takes them.
func zshDescribed(word, text string) string {
	return quoted(word + ":" + strings.ReplaceAll(text, ":", `\:`))
}

// zsh is a flag as _arguments takes it. All may come again: some do, and a flag
// that is there twice is no mistake.
func (o option) zsh() string {
	escape := strings.NewReplacer(":", `\:`, "[", `\[`, "]", `\]`, `\`, `\\`).Replace
	spec := "*" + o.name + "[" + escape(o.usage) + "]"
	switch {
	case o.value == "":
	case len(o.choices) > 0:
		spec += ":" + escape(o.value) + ":(" + strings.Join(o.choices, " ") + ")"
	case o.takesFile():
		spec += ":" + escape(o.value) + ":_files"
	case o.takesDir():
		spec += ":" + escape(o.value) + ":_files -/"
	default:
		spec += ":" + escape(o.value) + ": "
	}
	return quoted(spec)
}
