//go:build !unix

package integration

import (
	"os/exec"
	"syscall"
)

// Only what is skipped without SIGTERM has groups.
func inGroup(*exec.Cmd)      {}
func endGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

// There is nothing that suspends a process, and no test that starts one.
const suspend, resume = syscall.SIGTERM, syscall.SIGTERM
