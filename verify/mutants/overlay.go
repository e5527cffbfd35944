package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// moduleRoot returns the directory of go.mod: the program runs anywhere below it.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("directory of the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// overlay writes what the mutant changes to dir, and returns the file that the go
// command takes as -overlay: the source itself stays as it is.
func (m *mutant) overlay(root, dir string) (string, error) {
	edited, err := m.apply(func(file string) (string, error) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		return string(text), err
	})
	if err != nil {
		return "", err
	}
	replace := make(map[string]string, len(edited))
	for file, text := range edited {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = copied
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, text, 0o600)
}
