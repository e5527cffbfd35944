// Layover delivers Kafka records when they are due: a record with a delay
// header goes into one topic and comes out of another on time.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"layover/client"
	"layover/inspect"
)

// verb is one word of the command line.
type verb struct {
	name, synopsis string
	run            func(context.Context, client.Process) int
	// untilStopped: it ends when it is told to, and gracefully. Any other verb
	// ends by itself, and a signal ends it at once.
	untilStopped bool
}

func verbs() []verb {
	return []verb{
		{"run", "deliver delayed records until stopped (the default)", runDaemon, true},
		{"dev", "try it out on an embedded broker, without Kafka", runDev, true},
		{"send", "write a delayed record", client.Send, false},
		{"journal", "show, recover or reset what is finished, as the journals have it", inspect.Journal, false},
		{"health", "ask a running Layover how it is", client.Health, false},
		{"version", "print the version", printVersion, false},
		{"help", "print this, or what is known about a verb", help, false},
	}
}

func main() {
	os.Exit(run(client.Process{
		Args: os.Args[1:], Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}))
}

// run runs the verb that the arguments begin with, and returns the exit code.
func run(p client.Process) int {
	name := "run"
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
	fmt.Fprintf(p.Stderr, "layover: unknown verb %q\n\n", name)
	printVerbs(p.Stderr)
	return client.ExitUsage
}
