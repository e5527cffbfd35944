package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is what the go command says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// pkg is a package that mutants are made of: its source without tests and comments,
// with the types of its expressions.
type pkg struct {
	dir   string // from the module's root, with slashes
	name  string
	set   *token.FileSet
	files []*ast.File
	paths []string // of files, absolute
	types *types.Package
	info  *types.Info
}

// moduleRoot returns the directory of go.mod: the program runs anywhere below it.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("directory of the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// load reads packages by their directories below root.
func load(root string, dirs []string) ([]*pkg, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}
	for _, dir := range dirs {
		args = append(args, "./"+dir)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("packages %s: %w\n%s", strings.Join(dirs, " "), err, stderr.Bytes())
	}
	byDir := make(map[string]listed)
	exports := make(map[string]string)
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("list of packages: %w", err)
		}
		byDir[l.Dir] = l
		exports[l.ImportPath] = l.Export
	}
	var all []*pkg
	for _, dir := range dirs {
		l, ok := byDir[filepath.Join(root, filepath.FromSlash(dir))]
		if !ok {
			return nil, fmt.Errorf("%s: no package is there", dir)
		}
		p, err := l.read(dir, exports)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		all = append(all, p)
	}
	return all, nil
}

// read parses and types one package. What it imports comes from the compiler's
// export data, by import path.
func (l *listed) read(dir string, exports map[string]string) (*pkg, error) {
	p := &pkg{dir: dir, set: token.NewFileSet()}
	for _, name := range l.GoFiles {
		path := filepath.Join(l.Dir, name)
		f, err := parser.ParseFile(p.set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, f)
		p.paths = append(p.paths, path)
		p.name = f.Name.Name
	}
	p.info = &types.Info{
		Types:      make(map[ast.Expr]types.TypeAndValue),
		Uses:       make(map[*ast.Ident]types.Object),
		Selections: make(map[*ast.SelectorExpr]*types.Selection),
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	conf := types.Config{Importer: importer.ForCompiler(p.set, "gc", lookup)}
	var err error
	p.types, err = conf.Check(l.ImportPath, p.set, p.files, p.info)
	return p, err
}
