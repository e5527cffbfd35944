package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"

	"layover/client"
	"layover/config"
	"layover/daemon"
	"layover/dev"
)

// runDaemon is the verb run.
func runDaemon(ctx context.Context, p client.Process) int {
	if code, done := noArguments(p, runHelp); done {
		return code
	}
	cfg, warnings, err := config.Load(p.Environ)
	if err != nil {
		for _, warning := range warnings {
			fmt.Fprintln(p.Stderr, "warning:", warning)
		}
		fmt.Fprintln(p.Stderr, err)
		return client.ExitUsage
	}
	log := newLogger(cfg.LogLevel, cfg.LogFormat, p.Stderr)
	for _, warning := range warnings {
		log.Warn("configuration", "warning", warning)
	}
	daemon.TuneRuntime(cfg)
	v, revision := built()
	d, err := daemon.New(cfg, daemon.Options{Log: log, Version: v, Revision: revision})
	if err == nil {
		err = d.Run(ctx)
	}
	if err != nil {
		return p.Fail(err)
	}
	return client.ExitOK
}

// runDev is the verb dev.
func runDev(ctx context.Context, p client.Process) int {
	v, revision := built()
	return dev.Run(ctx, p, dev.Options{NewLogger: newLogger, Version: v, Revision: revision})
}

// noArguments handles the command line of a verb that has nothing but --help.
// done says that this was all.
func noArguments(p client.Process, text func() string) (code int, done bool) {
	operands, err := client.ParseFlags(client.NewFlags(p.Verb), p.Args)
	if err == nil && len(operands) > 0 {
		err = fmt.Errorf("unexpected argument %q", operands[0])
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return p.Help(text()), true
	case err != nil:
		return p.FailUsage(err), true
	}
	return client.ExitOK, false
}

// runHelp lists the settings from their specification.
func runHelp() string {
	var b strings.Builder
	b.WriteString("Usage: layover [run]\n\nDelivers delayed records until SIGTERM or SIGINT. A second signal ends it at\nonce. Settings are environment variables; an empty one is unset.\n\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range config.Table() {
		fmt.Fprintf(table, "%s\t%s\n", row.Variable, row.Description)
		fmt.Fprintf(table, "\t  default: %s; %s\n", row.Default, row.Values)
	}
	table.Flush()
	return b.String()
}

// newLogger returns a logger of lines in w. Auto is text where a person reads
// along, which is on a terminal.
func newLogger(level slog.Level, format config.LogFormat, w io.Writer) *slog.Logger {
	text := format == config.LogFormatText
	if format == config.LogFormatAuto {
		text = isTerminal(w)
	}
	options := &slog.HandlerOptions{Level: level}
	if text {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
