package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"layover/cli/completion"
	"layover/cli/process"
)

// help is the verb help: all verbs, or what one of them says about itself.
func help(ctx context.Context, p process.Process) int {
	if len(p.Args) > 0 && !strings.HasPrefix(p.Args[0], "-") {
		return run(process.Process{
			Args: []string{p.Args[0], "--help"}, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr,
		})
	}
	return p.Print(verbTable())
}

// verbTable is the help of all verbs.
func verbTable() string {
	var b strings.Builder
	b.WriteString("Layover delivers Kafka records when they are due.\n\nUsage: layover [VERB] [flags]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  %-11s %s\n", v.name, v.synopsis)
	}
	b.WriteString(`
  --env-file FILE, before or behind a verb that reads settings, reads them from
  lines of NAME=value in FILE too; -o json, where a verb prints facts, prints
  them for machines.

'layover help VERB' says more; 'layover config help' lists the settings.

Exit codes:
  0  fine, or stopped by a signal where that is how it ends
  1  something went wrong: Kafka, a file, the network, an unhealthy answer
  2  the command line, an env file or a setting is wrong; nothing was done
`)
	return b.String()
}

// verbNames returns what help takes.
func verbNames() [][2]string {
	var all [][2]string
	for _, v := range verbs() {
		all = append(all, [2]string{v.name, v.synopsis})
	}
	return all
}

// printCompletion is the verb completion.
func printCompletion(_ context.Context, p process.Process) int {
	operands, err := process.ParseFlags(process.NewFlags(p.Verb), p.Args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return p.Help(completion.Help)
	case err == nil && len(operands) != 1:
		err = errors.New("one shell is wanted: bash, zsh or fish")
	}
	if err != nil {
		return p.FailUsage(err)
	}
	var all []completion.Verb
	for _, v := range verbs() {
		c := completion.Verb{Name: v.name, Synopsis: v.synopsis}
		if v.flags != nil {
			c.Flags = v.flags()
		}
		if v.words != nil {
			c.Words = v.words()
		}
		all = append(all, c)
	}
	script, err := completion.Script(operands[0], all)
	if err != nil {
		return p.FailUsage(err)
	}
	return p.Print(script)
}

// versionFlags returns the flags of version, for those who list them.
func versionFlags() *flag.FlagSet {
	flags := process.NewFlags("version")
	process.AddOutput(flags)
	return flags
}

const versionHelp = `Usage: layover version [-o json]

Prints the version, the revision it was built from, and the version of Go.

  -o json  print an object: version, revision, go, os, arch
`

// printVersion is the verb version.
func printVersion(_ context.Context, p process.Process) int {
	flags := process.NewFlags(p.Verb)
	output := process.AddOutput(flags)
	if code, done := noArguments(p, flags, func() string { return versionHelp }); done {
		return code
	}
	v, r := built(p)
	if output.JSON() {
		err := process.WriteJSON(p.Stdout, map[string]string{
			"version": v, "revision": r, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
		if err != nil {
			return p.Fail(fmt.Errorf("stdout: %w", err))
		}
		return process.ExitOK
	}
	return p.Print(fmt.Sprintf("layover %s\nrevision %s\n%s %s/%s\n", v, r, runtime.Version(), runtime.GOOS, runtime.GOARCH))
}

// built is the version and the revision of this binary, as far as they are known.
func built(p process.Process) (v, r string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return describe(p.Version, p.Revision, info)
}

// describe returns the version and the revision as they were linked or, where they were
// not, as Go's build information has them. A revision that was linked is taken as it
// is: whether files were modified is only known of the other one.
func describe(linkedVersion, linkedRevision string, info *debug.BuildInfo) (v, r string) {
	seen, modified := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			seen = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	return cmp.Or(linkedVersion, info.Main.Version, "(devel)"), cmp.Or(linkedRevision, seen+modified)
}
