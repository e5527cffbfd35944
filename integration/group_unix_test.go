//go:build unix

package integration

import (
	"os/exec"
	"syscall"
)

// inGroup has a command and all that it starts end with [endGroup].
func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func endGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// The signals that suspend a process and let it go on.
const (
	suspend = syscall.SIGSTOP
	resume  = syscall.SIGCONT
)
