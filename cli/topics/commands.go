package topics

import (
	"fmt"
	"slices"
	"strings"

	"layover/cluster/needs"
)

// command is one call of a tool: its words by lines, of which the first has the name.
type command [][]string

// String returns the command for a shell, on several lines.
func (c command) String() string {
	lines := make([]string, len(c))
	for i, words := range c {
		lines[i] = strings.Join(quoteAll(words), " ")
	}
	return strings.Join(lines, " \\\n  ")
}

// oneLine returns the command for a shell, on one line.
func (c command) oneLine() string { return strings.Join(quoteAll(slices.Concat(c...)), " ") }

func quoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = quote(word)
	}
	return out
}

// quote returns a word as a POSIX shell reads it.
func quote(word string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-:/=,@+", c)
	}
	if word != "" && !strings.ContainsFunc(word, func(c rune) bool { return !plain(c) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// flag is a flag with its value. A value that begins with a dash would be taken for a flag.
func flag(name, value string) []string {
	if strings.HasPrefix(value, "-") {
		return []string{name + "=" + value}
	}
	return []string{name, value}
}

// tool begins a call of one of Kafka's tools.
func (o *options) tool(name string, more ...string) []string {
	words := append([]string{name}, flag("--bootstrap-server", o.servers)...)
	if o.adminConfig != "" {
		words = append(words, flag("--command-config", o.adminConfig)...)
	}
	return append(words, more...)
}

// config is the configuration of a topic. From three replicas on two have to acknowledge: by
// Kafka's default one does, and an acknowledged record is lost with its broker.
func (o *options) config(t needs.Topic) []needs.Setting {
	if o.replicas < 3 {
		return t.Config
	}
	return append(slices.Clone(t.Config), needs.Setting{Name: "min.insync.replicas", Value: "2"})
}

// create is the command that makes a topic, unless it is there.
func (o *options) create(t needs.Topic) command {
	c := command{
		append(o.tool("kafka-topics.sh", "--create", "--if-not-exists"), flag("--topic", t.Name)...),
		{"--partitions", fmt.Sprint(o.partitions), "--replication-factor", fmt.Sprint(o.replicas)},
	}
	var settings []string
	for _, s := range o.config(t) {
		settings = append(settings, "--config", s.Name+"="+s.Value)
	}
	if len(settings) > 0 {
		c = append(c, settings)
	}
	return c
}

// grant is all the rights on one name.
type grant struct {
	resource   needs.Resource
	name       string
	pattern    needs.Pattern
	operations []needs.Operation
}

// grants puts the rights on one name together, in the order of the table.
func grants(rights []needs.Right) (out []grant) {
	for _, r := range rights {
		at := slices.IndexFunc(out, func(g grant) bool { return g.resource == r.Resource && g.name == r.Name && g.pattern == r.Pattern })
		if at < 0 {
			at = len(out)
			out = append(out, grant{resource: r.Resource, name: r.Name, pattern: r.Pattern})
		}
		for _, operation := range r.Operations {
			if !slices.Contains(out[at].operations, operation) {
				out[at].operations = append(out[at].operations, operation)
			}
		}
	}
	return out
}

// operationsInALine keeps lines within a terminal.
const operationsInALine = 4

// allow is the command that adds the ACLs of a grant. It may be repeated.
func (o *options) allow(g grant) command {
	words := flag("--"+string(g.resource), g.name)
	if g.pattern != needs.Literal {
		words = append(words, "--resource-pattern-type", string(g.pattern))
	}
	c := command{append(o.tool("kafka-acls.sh", "--add"), flag("--allow-principal", o.principal)...), words}
	for i, operation := range g.operations {
		if i > 0 && i%operationsInALine == 0 {
			c = append(c, nil)
		}
		c[len(c)-1] = append(c[len(c)-1], "--operation", string(operation))
	}
	return c
}

// commands are those of a table; without a principal there are no ACLs.
func (o *options) commands(table needs.Table) (topics, acls []command) {
	for _, t := range table.Topics {
		topics = append(topics, o.create(t))
	}
	if o.principal == "" {
		return topics, nil
	}
	for _, g := range grants(table.Rights) {
		acls = append(acls, o.allow(g))
	}
	return topics, acls
}

// script is the table as commands for a shell.
func (o *options) script(table needs.Table) string {
	topics, acls := o.commands(table)
	var b strings.Builder
	b.WriteString("# Topics. One that is there stays as it is.\n")
	for _, c := range topics {
		fmt.Fprintln(&b, c)
	}
	if o.principal == "" {
		fmt.Fprintf(&b, "\n# %s\n", noPrincipal)
	} else {
		fmt.Fprintf(&b, "\n# ACLs of %s.\n", o.principal)
	}
	for _, c := range acls {
		fmt.Fprintln(&b, c)
	}
	b.WriteString(gapComments(table.Gaps))
	return b.String()
}

// gapComments are comments in a shell and in YAML.
func gapComments(gaps []needs.Gap) string {
	var b strings.Builder
	for i, g := range gaps {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "# %s: %s\n", g.Name, g.Why)
	}
	return b.String()
}

// facts is the table as -o json prints it. The names are documented.
type facts struct {
	Principal string       `json:"principal"` // "" where it is not known
	Topics    []topicFacts `json:"topics"`
	ACLs      []aclFacts   `json:"acls"`
	Gaps      []gapFacts   `json:"gaps"`
	Commands  []string     `json:"commands"`
}

type topicFacts struct {
	Name       string            `json:"name"`
	Role       needs.Role        `json:"role"`
	Of         string            `json:"of,omitempty"`
	Partitions int32             `json:"partitions"`
	Replicas   int32             `json:"replication_factor"`
	Config     map[string]string `json:"config"`
}

type aclFacts struct {
	Resource   needs.Resource    `json:"resource"`
	Name       string            `json:"name"`
	Pattern    needs.Pattern     `json:"pattern"`
	Role       needs.Role        `json:"role"`
	Operations []needs.Operation `json:"operations"`
	For        string            `json:"for"`
	Without    string            `json:"without"`
}

type gapFacts struct {
	Name string     `json:"name"`
	Role needs.Role `json:"role"`
	Why  string     `json:"why"`
}

func (o *options) facts(table needs.Table) facts {
	f := facts{Principal: o.principal, Topics: []topicFacts{}, ACLs: []aclFacts{}, Gaps: []gapFacts{}, Commands: []string{}}
	for _, t := range table.Topics {
		settings := make(map[string]string)
		for _, s := range o.config(t) {
			settings[s.Name] = s.Value
		}
		f.Topics = append(f.Topics, topicFacts{t.Name, t.Role, t.Of, o.partitions, o.replicas, settings})
	}
	for _, r := range table.Rights {
		f.ACLs = append(f.ACLs, aclFacts{r.Resource, r.Name, r.Pattern, r.Role, r.Operations, r.For, r.Without})
	}
	for _, g := range table.Gaps {
		f.Gaps = append(f.Gaps, gapFacts{g.Name, g.Role, g.Why})
	}
	topics, acls := o.commands(table)
	for _, c := range slices.Concat(topics, acls) {
		f.Commands = append(f.Commands, c.oneLine())
	}
	return f
}
