package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"layover/cli/process"
)

func versionCommand(p *process.Process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long:  "Prints the version, the revision it was built from, and the version of Go.",
		Args:  cobra.NoArgs,
	}
	output := process.AddOutput(cmd, "an object: version, revision, go, os, arch")
	cmd.Run = p.Does("version", func(context.Context, []string) int {
		if !output.JSON() {
			_, err := io.WriteString(p.Stdout, versionText(p))
			return p.FailStdout(err)
		}
		version, revision := p.Build()
		return p.FailStdout(process.WriteJSON(p.Stdout, map[string]string{
			"version": version, "revision": revision, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		}))
	})
	return cmd
}

// versionText is the version for people.
func versionText(p *process.Process) string {
	version, revision := p.Build()
	return fmt.Sprintf("layover %s\nrevision %s\n%s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
