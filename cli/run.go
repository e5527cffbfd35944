package cli

import (
	"context"

	"github.com/spf13/cobra"

	settings "layover/cli/config"
	"layover/cli/process"
	"layover/config"
	"layover/daemon"
)

func runCommand(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "deliver delayed records until stopped (the default)",
		Long: `Delivers delayed records until SIGTERM or SIGINT. A second signal ends it at
once.

Exit code: 0 when stopped, 1 if it cannot go on, 2 if the command line or a
setting is wrong. 'layover config' shows what is set and from where.

` + settings.Table(),
		Args: cobra.NoArgs,
	}
	p.AddEnvFile(cmd)
	cmd.Run = p.Does("run", func(ctx context.Context, _ []string) int {
		ctx, stop := process.UntilStopped(ctx)
		defer stop()
		return run(ctx, p)
	})
	return cmd
}

// run is the verb run.
func run(ctx context.Context, p *process.Process) int {
	if err := p.ReadEnvFiles(); err != nil {
		return p.FailUsage(err)
	}
	cfg, warnings, err := config.Load(p.Environ)
	if err != nil {
		p.Judge(warnings, err)
		return process.ExitUsage
	}
	log, level := process.NewLogger(cfg.LogLevel, cfg.LogFormat, p.Stderr)
	for _, warning := range warnings {
		log.Warn("configuration", "warning", warning)
	}
	daemon.TuneRuntime(cfg)
	version, revision := p.Build()
	d, err := daemon.New(cfg, daemon.Options{Log: log, Level: level, Warnings: warnings, Version: version, Revision: revision})
	if err == nil {
		err = d.Run(ctx)
	}
	if err != nil {
		return p.Fail(err)
	}
	return process.ExitOK
}
