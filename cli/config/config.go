// Package config is the verb config. It shows the settings that Layover would
// run with and the origin of each, checks them, and lists all there are.
//
//	$ layover config
//	KAFKA_BROKERS           kafka:9092       environment
//	KAFKA_CLIENT_ID         layover          default
//	LAYOVER_INGRESS_TOPICS  delayed          file /run/secrets/topics
//	...
//
// It prints the answers of layover/config and asks no broker, but for
// config check --connect, which is the verb doctor.
package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"layover/cli/doctor"
	"layover/cli/process"
	"layover/config"
)

// verb is the name under which errors are reported.
const verb = "config"

// Command returns the verb config. Without an action it prints.
func Command(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "show or check the settings, or list all there are",
		Long: `Shows every setting in force, with its value and where it is from, as
'layover config print' does; or checks the settings, or lists all there are.

Everything wrong with the settings is printed to stderr, as by layover run, and
warnings are too.

Exit code: 0 if the settings are fine, 1 if stdout cannot be written to or a
check of --connect failed, 2 if the command line or a setting is wrong.`,
		Args: process.OnlyActions,
	}
	show := printCommand(p)
	cmd.AddCommand(show, checkCommand(p), helpCommand(p))
	p.AddEnvFile(cmd)
	cmd.Flags().AddFlagSet(show.Flags()) // first: without an action it is show
	process.KnowsFlagsOfActions(cmd)
	cmd.Run = show.Run
	return cmd
}

func printCommand(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "every setting in force and where it is from (the default)",
		Long: `Prints every setting in force, with its value and where it is from:
environment, file (named by a _FILE variable), binding (of
SERVICE_BINDING_ROOT), env file, or default. A value that depends on this
machine is followed by its amount here. Secrets and certificates are shown by
their length, and URLs without their query.`,
		Args: cobra.NoArgs,
	}
	output := process.AddOutput(cmd, "one object, of all settings")
	cmd.Run = p.Does(verb, func(context.Context, []string) int {
		values, code := effective(p)
		if code != process.ExitOK {
			return code
		}
		return p.FailStdout(printValues(p.Stdout, values, output.JSON()))
	})
	return cmd
}

func checkCommand(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "whether the settings are fine",
		Long: `Checks whether layover run would take the settings. If so, nothing is printed.

With --connect it also checks brokers, topics, rights and this machine, and
prints and returns what 'layover doctor' does.`,
		Args: cobra.NoArgs,
	}
	connect := cmd.Flags().Bool("connect", false, "ask the brokers too, as 'layover doctor' does")
	output := process.AddOutput(cmd, "with --connect,\n"+doctor.Fields)
	cmd.Run = p.Does(verb, func(ctx context.Context, _ []string) int {
		if *connect {
			return doctor.Check(ctx, p, output.JSON())
		}
		if output.JSON() {
			return p.FailUsage(errors.New("check prints nothing: -o json needs --connect"))
		}
		_, code := effective(p)
		return code
	})
	return cmd
}

func helpCommand(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "help",
		Short: "all settings there are",
		Long:  "Lists all settings there are, each with its default, range and meaning.",
		Args:  cobra.NoArgs,
	}
	output := process.AddOutput(cmd, "one object, of all settings")
	cmd.Run = p.Does(verb, func(context.Context, []string) int {
		return p.FailStdout(printTable(p.Stdout, output.JSON()))
	})
	return cmd
}

// effective returns the settings in force. Where the code is not ExitOK,
// stderr says why.
func effective(p *process.Process) (values []config.Value, code int) {
	if err := p.ReadEnvFiles(); err != nil {
		return nil, p.FailUsage(err)
	}
	values, warnings, err := config.Effective(p.Environ, p.EnvFrom)
	if !p.Judge(warnings, err) {
		return nil, process.ExitUsage
	}
	return values, process.ExitOK
}

// valueFacts is a value as -o json prints it. The names are documented.
type valueFacts struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Effective string `json:"effective,omitempty"`
	Origin    string `json:"origin"`
	Path      string `json:"path,omitempty"`
	Secret    bool   `json:"secret"`
}

func printValues(w io.Writer, values []config.Value, asJSON bool) error {
	if asJSON {
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

// shown is a value for people. A missing value is -. A value that does not tell its
// amount on this machine is followed by it.
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

// inMiB writes a number from 1 MiB on as bytes for people, and a smaller one as it is,
// which may be of processors.
func inMiB(number string) string {
	const size = 1 << 20
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < size {
		return number
	}
	return strconv.FormatFloat(float64(n)/size, 'f', 1, 64) + " MiB"
}

// rowFacts is a setting as -o json prints it. The names are documented.
type rowFacts struct {
	Name        string `json:"name"`
	File        string `json:"file"`
	Default     string `json:"default"`
	Values      string `json:"values"`
	Description string `json:"description"`
	Example     string `json:"example"`
	Secret      bool   `json:"secret"`
}

func printTable(w io.Writer, asJSON bool) error {
	if asJSON {
		var all []rowFacts
		for _, row := range config.Table() {
			all = append(all, rowFacts{row.Variable, row.File(), row.Default, row.Values, row.Description, row.Example, row.Secret})
		}
		return process.WriteJSON(w, map[string]any{"settings": all})
	}
	_, err := io.WriteString(w, Table())
	return err
}

// Table returns all settings there are, for people.
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
