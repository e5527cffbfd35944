//go:build unix

package dev

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks f for this open file, or returns errLocked at once.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
