// Package config is the verb config: it shows what settings Layover would run
// with and where each is from, checks them, and lists what there are.
//
//	$ layover config
//	KAFKA_BROKERS           kafka:9092       environment
//	KAFKA_CLIENT_ID         layover          default
//	LAYOVER_INGRESS_TOPICS  delayed          file /run/secrets/topics
//	...
//
// It only prints what package config says, and asks nobody: whether the topics
// are there is for layover run to find out.
package config

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"layover/cli/process"
	"layover/config"
)

// The actions of the verb, the first by default.
const (
	actionPrint = "print"
	actionCheck = "check"
	actionHelp  = "help"
)

const help = `Usage: layover config [print] [--env-file FILE] [-o json]
       layover config check   [--env-file FILE]
       layover config help    [-o json]

  print   every setting that is in force, with its value and where it is from:
          environment, file (that a _FILE variable names), env file, or default.
          A value that depends on this machine is followed by what it comes to
          here. Secrets are shown by their length
  check   whether layover run would take the settings; nothing is printed if so
  help    every setting that there is, with its default, range and meaning

  --env-file FILE  read settings from FILE too; may be repeated, the last wins,
                   and the environment over all
  -o json          print one object

All that is wrong with the settings is printed to stderr, as layover run does,
and warnings are too.

Exit code: 0 if the settings are fine, 1 if stdout cannot be written to, 2 if
the command line or a setting is wrong.
`

// command is the command line of the verb as it was given.
type command struct {
	*flag.FlagSet
	output *process.Output
	action string
}

func newCommand(p *process.Process) *command {
	c := &command{FlagSet: process.NewFlags("config")}
	p.AddEnvFile(c.FlagSet)
	c.output = process.AddOutput(c.FlagSet)
	return c
}

// Flags returns the flags of the verb, for those who list them.
func Flags() *flag.FlagSet { return newCommand(new(process.Process)).FlagSet }

// Actions returns the words that the verb takes, each with what it does.
func Actions() [][2]string {
	return [][2]string{
		{actionPrint, "every setting in force and where it is from"},
		{actionCheck, "whether the settings are fine"},
		{actionHelp, "every setting that there is"},
	}
}

// Config is the verb config.
func Config(_ context.Context, p process.Process) int {
	c, err := parse(&p)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return p.Help(help)
	case err != nil:
		return p.FailUsage(err)
	}
	if c.action == actionHelp {
		return c.finish(p, c.printTable(p.Stdout))
	}
	values, warnings, err := config.Effective(p.Environ, p.EnvFrom)
	for _, warning := range warnings {
		fmt.Fprintln(p.Stderr, "warning:", warning)
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return process.ExitUsage
	}
	if c.action == actionCheck {
		return process.ExitOK
	}
	return c.finish(p, c.printValues(p.Stdout, values))
}

// parse reads the command line, and the files that it names.
func parse(p *process.Process) (*command, error) {
	c := newCommand(p)
	operands, err := process.ParseFlags(c.FlagSet, p.Args)
	switch {
	case err != nil:
		return nil, err
	case len(operands) > 1:
		return nil, fmt.Errorf("unexpected argument %q", operands[1])
	}
	c.action = actionPrint
	if len(operands) == 1 {
		c.action = operands[0]
	}
	switch c.action {
	case actionPrint:
	case actionCheck:
		if c.output.JSON() {
			return nil, errors.New("-o goes with print and help: check prints nothing")
		}
	case actionHelp:
		return c, nil // what is set does not matter, nor do its files
	default:
		return nil, fmt.Errorf("unknown action %q: want print, check or help", c.action)
	}
	return c, p.ReadEnvFiles()
}

func (c *command) finish(p process.Process, err error) int {
	if err != nil {
		return p.Fail(fmt.Errorf("stdout: %w", err))
	}
	return process.ExitOK
}

// valueFacts is what -o json prints of a value. The names are documented.
type valueFacts struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Effective string `json:"effective,omitempty"`
	Origin    string `json:"origin"`
	Path      string `json:"path,omitempty"`
	Secret    bool   `json:"secret"`
}

func (c *command) printValues(w io.Writer, values []config.Value) error {
	if c.output.JSON() {
		all := make([]valueFacts, len(values))
		for i, v := range values {
			all[i] = valueFacts{v.Variable, v.Text, v.Effective, string(v.Origin.Kind), v.Origin.Path, v.Secret}
		}
		return process.WriteJSON(w, map[string]any{"settings": all})
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range values {
		fmt.Fprintf(table, "%s\t%s\t%s\n", v.Variable, shown(v), v.Origin)
	}
	return table.Flush()
}

// shown is a value for people: - where there is none, and with what it comes to
// where one cannot see that.
func shown(v config.Value) string {
	switch {
	case v.Text == "":
		return "-"
	case v.Effective == "":
		return v.Text
	case v.Text == "auto" || v.Text == "off":
		return fmt.Sprintf("%s (%s here)", v.Text, inMiB(v.Effective))
	case v.Text == v.Effective && v.Text != inMiB(v.Text):
		return fmt.Sprintf("%s (%s)", v.Text, inMiB(v.Text))
	}
	return v.Text
}

// inMiB is a number of bytes from 1 MiB on as people read it, and anything else
// as it is: no machine has a million processors.
func inMiB(number string) string {
	const size = 1 << 20
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < size {
		return number
	}
	return strconv.FormatFloat(float64(n)/size, 'f', 1, 64) + " MiB"
}

// rowFacts is what -o json prints of a setting. The names are documented.
type rowFacts struct {
	Name        string `json:"name"`
	File        string `json:"file"`
	Default     string `json:"default"`
	Values      string `json:"values"`
	Description string `json:"description"`
	Example     string `json:"example"`
	Secret      bool   `json:"secret"`
}

func (c *command) printTable(w io.Writer) error {
	if c.output.JSON() {
		var all []rowFacts
		for _, row := range config.Table() {
			all = append(all, rowFacts{row.Variable, row.File(), row.Default, row.Values, row.Description, row.Example, row.Secret})
		}
		return process.WriteJSON(w, map[string]any{"settings": all})
	}
	_, err := io.WriteString(w, Table())
	return err
}

// Table returns every setting that there is, for people.
func Table() string {
	var b strings.Builder
	b.WriteString("Settings are environment variables; an empty one is unset. Each has a twin with\n" +
		"_FILE behind its name that names a file with the value instead, as in\n" +
		"LAYOVER_GROUP_ID_FILE=/run/secrets/group.\n\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range config.Table() {
		fmt.Fprintf(table, "%s\t%s\n", row.Variable, row.Description)
		fmt.Fprintf(table, "\t  default: %s; %s\n", row.Default, row.Values)
	}
	table.Flush()
	return b.String()
}
