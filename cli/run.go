package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	verbconfig "layover/cli/config"
	"layover/cli/dev"
	"layover/cli/process"
	"layover/config"
	"layover/daemon"
)

// runFlags returns the flags of run, for those who list them.
func runFlags() *flag.FlagSet { return newRunFlags(new(process.Process)) }

func newRunFlags(p *process.Process) *flag.FlagSet {
	flags := process.NewFlags("run")
	p.AddEnvFile(flags)
	return flags
}

// runDaemon is the verb run.
func runDaemon(ctx context.Context, p process.Process) int {
	if code, done := noArguments(p, newRunFlags(&p), runHelp); done {
		return code
	}
	if err := p.ReadEnvFiles(); err != nil {
		return p.FailUsage(err)
	}
	cfg, warnings, err := config.Load(p.Environ)
	if err != nil {
		for _, warning := range warnings {
			fmt.Fprintln(p.Stderr, "warning:", warning)
		}
		fmt.Fprintln(p.Stderr, err)
		return process.ExitUsage
	}
	log := newLogger(cfg.LogLevel, cfg.LogFormat, p.Stderr)
	for _, warning := range warnings {
		log.Warn("configuration", "warning", warning)
	}
	daemon.TuneRuntime(cfg)
	v, revision := built(p)
	d, err := daemon.New(cfg, daemon.Options{Log: log, Version: v, Revision: revision})
	if err == nil {
		err = d.Run(ctx)
	}
	if err != nil {
		return p.Fail(err)
	}
	return process.ExitOK
}

// runDev is the verb dev.
func runDev(ctx context.Context, p process.Process) int {
	v, revision := built(p)
	return dev.Run(ctx, p, dev.Options{NewLogger: newLogger, Version: v, Revision: revision})
}

// noArguments handles the command line of a verb that has nothing but flags.
// done says that this was all.
func noArguments(p process.Process, flags *flag.FlagSet, text func() string) (code int, done bool) {
	operands, err := process.ParseFlags(flags, p.Args)
	if err == nil && len(operands) > 0 {
		err = fmt.Errorf("unexpected argument %q", operands[0])
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return p.Help(text()), true
	case err != nil:
		return p.FailUsage(err), true
	}
	return process.ExitOK, false
}

// runHelp lists the settings from their specification.
func runHelp() string {
	return `Usage: layover [run] [--env-file FILE]

Delivers delayed records until SIGTERM or SIGINT. A second signal ends it at
once.

  --env-file FILE  read settings from FILE too: lines of NAME=value, for laptops;
                   may be repeated, the last wins, and the environment over all

Exit code: 0 when stopped, 1 if it cannot go on, 2 if the command line or a
setting is wrong. 'layover config' shows what is set and from where.

` + verbconfig.Table()
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
