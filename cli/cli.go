// Package cli is the command line: the table of verbs, and the verbs run, help
// and version. Every other verb is a package below it.
package cli

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"layover/cli/completion"
	"layover/cli/config"
	"layover/cli/dev"
	"layover/cli/health"
	"layover/cli/journal"
	"layover/cli/process"
	"layover/cli/send"
)

// verb is one word of the command line.
type verb struct {
	name, synopsis string
	run            func(context.Context, process.Process) int
	// flags are those that run parses, for those who list them; none is --help
	// alone. words are the operands with a meaning of their own, each with what it
	// does.
	flags func() *flag.FlagSet
	words func() [][2]string
	// untilStopped: it ends when it is told to, and gracefully. Any other verb
	// ends by itself, and a signal ends it at once.
	untilStopped bool
}

// readsSettings reports whether --env-file means anything to v.
func (v verb) readsSettings() bool {
	return v.flags != nil && v.flags().Lookup("env-file") != nil
}

func verbs() []verb {
	return []verb{
		{"run", "deliver delayed records until stopped (the default)", runDaemon, runFlags, nil, true},
		{"dev", "try it out on an embedded broker, without Kafka", runDev, dev.Flags, nil, true},
		{"send", "write a delayed record", send.Run, send.Flags, nil, false},
		{"journal", "show, recover or reset what is finished, as the journals have it", journal.Journal, journal.Flags, journal.Actions, false},
		{"skip", "leave out what a partition has stopped at", journal.Skip, journal.SkipFlags, nil, false},
		{"health", "ask a running Layover how it is", health.Run, health.Flags, nil, false},
		{"config", "show or check the settings, or list what there are", config.Config, config.Flags, config.Actions, false},
		{"completion", "print a script that completes this in a shell", printCompletion, nil, completion.Shells, false},
		{"version", "print the version", printVersion, versionFlags, nil, false},
		{"help", "print this, or what is known about a verb", help, nil, verbNames, false},
	}
}

// Main runs the verb that the process's arguments begin with, and returns its
// exit code. version and revision are as they were linked, or empty.
func Main(version, revision string) int {
	return run(process.Process{
		Version: version, Revision: revision,
		Args: os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinIsTerminal: isTerminal(os.Stdin), StdoutIsTerminal: isTerminal(os.Stdout), StderrIsTerminal: isTerminal(os.Stderr),
	})
}

// run runs the verb that the arguments begin with, and returns the exit code.
func run(p process.Process) int {
	name := "run"
	if err := p.TakeEnvFiles(); err != nil {
		fmt.Fprintln(p.Stderr, "layover:", err)
		return process.ExitUsage
	}
	if len(p.Args) > 0 {
		name, p.Args = p.Args[0], p.Args[1:]
	}
	switch name {
	case "-h", "-help", "--help":
		name = "help"
	case "-version", "--version":
		name = "version"
	}
	for _, v := range verbs() {
		if v.name != name {
			continue
		}
		if len(p.EnvFiles) > 0 && !v.readsSettings() {
			fmt.Fprintf(p.Stderr, "layover: --env-file goes with a verb that reads settings, and %s does not\n", v.name)
			return process.ExitUsage
		}
		p.Verb = v.name
		ctx := context.Background()
		if v.untilStopped {
			var stop context.CancelFunc
			ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal kills at once
		}
		return v.run(ctx, p)
	}
	fmt.Fprintf(p.Stderr, "layover: unknown verb %q\n\n%s", name, verbTable())
	return process.ExitUsage
}
