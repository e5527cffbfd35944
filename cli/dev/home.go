package dev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// home is the data directory while this process has it for itself.
//
//	lock     empty; locked while its process lives, whatever ends it
//	broker/  the embedded broker's files
type home struct {
	dir       string
	lock      *os.File
	temporary bool // removed by Close
}

// errLocked is lockFile's error where another process has the lock.
var errLocked = errors.New("locked by another process")

// openHome makes and locks the directory. The lock belongs to the open file:
// a killed process leaves none behind.
func openHome(dir string) (*home, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("data directory: %w; choose another with --data-dir", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w; choose another with --data-dir", err)
	}
	if err := lockFile(lock); err != nil {
		lock.Close()
		if errors.Is(err, errLocked) {
			return nil, fmt.Errorf("data directory %s is in use by another layover dev: stop that, or choose another with --data-dir", dir)
		}
		return nil, fmt.Errorf("data directory %s cannot be locked: %w; choose another with --data-dir", dir, err)
	}
	return &home{dir: dir, lock: lock}, nil
}

// brokerDir is for the broker alone, which owns every file in it.
func (h *home) brokerDir() string { return filepath.Join(h.dir, "broker") }

// Close gives the directory free. The file stays: removing it could take the
// lock from a process that opened it meanwhile.
func (h *home) Close() error {
	err := h.lock.Close()
	if h.temporary { // made by this process, so that no other looks for its lock
		err = errors.Join(err, os.RemoveAll(h.dir))
	}
	return err
}
