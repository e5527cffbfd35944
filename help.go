package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"layover/client"
)

// help is the verb help: all verbs, or what one of them says about itself.
func help(ctx context.Context, p client.Process) int {
	if len(p.Args) > 0 && !strings.HasPrefix(p.Args[0], "-") {
		return run(client.Process{
			Args: []string{p.Args[0], "--help"}, Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr,
		})
	}
	printVerbs(p.Stdout)
	return client.ExitOK
}

func printVerbs(w io.Writer) {
	fmt.Fprint(w, "Layover delivers Kafka records when they are due.\n\nUsage: layover [VERB] [flags]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-8s %s\n", v.name, v.synopsis)
	}
	fmt.Fprint(w, "\n'layover help VERB' says more; 'layover help run' lists the settings.\n"+
		"Exit codes: 0 fine, 1 runtime, 2 usage or configuration.\n")
}

// printVersion is the verb version.
func printVersion(_ context.Context, p client.Process) int {
	usage := func() string {
		return "Usage: layover version\n\nPrints the version, the revision it was built from, and the version of Go.\n"
	}
	if code, done := noArguments(p, usage); done {
		return code
	}
	v, revision := built()
	fmt.Fprintf(p.Stdout, "layover %s\nrevision %s\n%s %s/%s\n", v, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return client.ExitOK
}

// version can be set when linking: -ldflags "-X main.version=v1.2.3".
var version string

// built is the version and the revision of this binary, as far as they are
// known: a build outside a repository has no revision.
func built() (v, revision string) {
	v, revision = version, "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(v, "unknown"), revision
	}
	v = cmp.Or(v, info.Main.Version, "(devel)")
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	return v, revision + modified
}
