//go:build !unix

package integration

import "os/exec"

// Only what is skipped without SIGTERM has groups.
func inGroup(*exec.Cmd)      {}
func endGroup(cmd *exec.Cmd) { cmd.Process.Kill() }
