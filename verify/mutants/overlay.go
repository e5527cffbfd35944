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
// command takes as -overlay. The source itself stays as it is.
func (m *mutant) overlay(root, dir string) (string, error) {
	planted, err := m.apply(func(dir string) (sources, error) { return readPackage(root, dir) })
	if err != nil {
		return "", err
	}
	replace := make(map[string]string, len(planted.files))
	for file, text := range planted.files {
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

// readPackage reads the Go files of a package that are no tests.
func readPackage(root, dir string) (sources, error) {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return nil, err
	}
	all := make(sources)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all[filepath.Base(name)] = string(text)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no package is there", dir)
	}
	return all, nil
}
