package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
)

// maker rewrites a package so that it has all of its mutants, each behind a switch.
// Nodes are changed in place, and what a rule needs of a node it reads before.
type maker struct {
	*pkg
	next int // the id of the next mutant
	made []mutant
	same map[key]int // how many there are of a key, without its ordinal

	// Of the place that is being rewritten:
	imports  map[string]string // of the file: names of packages by their paths
	function string
	inLoop   bool // the innermost statement that a break ends is a loop
	failing  bool // what is in the body of if err != nil
	beside   bool // the result of a return beside a failure: nobody looks at it
}

// rewrite makes the mutants of a package, with ids from first on.
func rewrite(p *pkg, first int) []mutant {
	m := &maker{pkg: p, next: first, same: make(map[key]int)}
	for _, f := range p.files {
		m.imports = importsOf(f, p.types)
		for _, d := range f.Decls {
			m.decl(d)
		}
	}
	return m.made
}

func importsOf(f *ast.File, in *types.Package) map[string]string {
	names := make(map[string]string)
	for _, i := range in.Imports() {
		names[i.Path()] = i.Name()
	}
	imported := make(map[string]string)
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil || spec.Name != nil && (spec.Name.Name == "_" || spec.Name.Name == ".") {
			continue
		}
		imported[path] = names[path]
		if spec.Name != nil {
			imported[path] = spec.Name.Name
		}
	}
	return imported
}

func (m *maker) decl(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Body == nil {
			return
		}
		m.function = nameOf(d)
		m.body(d.Type, d.Body)
	case *ast.GenDecl:
		if d.Tok != token.VAR {
			return
		}
		for _, s := range d.Specs {
			s := s.(*ast.ValueSpec) // of a var
			m.function = s.Names[0].Name
			m.exprs(s.Values)
		}
	}
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	switch generic := of.(type) {
	case *ast.IndexExpr:
		of = generic.X
	case *ast.IndexListExpr:
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// body rewrites a function's. The panic at its end is never reached without a
// mutant. The compiler needs it: as far as it knows, a mutant's switch may leave out
// the last return or a case, or break a loop that has no break.
func (m *maker) body(of *ast.FuncType, b *ast.BlockStmt) {
	loop, failing, beside := m.inLoop, m.failing, m.beside
	m.inLoop, m.failing, m.beside = false, false, false
	list := b.List
	b.List = m.block(list, len(list) > 0 && isReturn(list[len(list)-1]), false)
	if of.Results != nil {
		b.List = append(b.List, &ast.ExprStmt{X: &ast.CallExpr{
			Fun: ast.NewIdent("panic"), Args: []ast.Expr{&ast.BasicLit{Kind: token.STRING, Value: `"mutant"`}},
		}})
	}
	m.inLoop, m.failing, m.beside = loop, failing, beside
}

func isReturn(s ast.Stmt) bool {
	_, ok := s.(*ast.ReturnStmt)
	return ok
}

// add notes a mutant of a kind and returns the condition that it is switched on.
func (m *maker) add(kind, text string, at token.Pos) ast.Expr {
	id := m.next
	m.next++
	k := key{dir: m.dir, function: m.function, kind: kind, text: text}
	m.same[k]++
	k.nth = m.same[k]
	where := m.set.Position(at)
	m.made = append(m.made, mutant{id: id, key: k, file: where.Filename, line: where.Line})
	return &ast.CallExpr{Fun: ast.NewIdent("mutant_on"), Args: []ast.Expr{number(id)}}
}

// helper is a call of a function in the file that is added to the package: the
// mutant's id, and the operands.
func (m *maker) helper(name, kind, text string, at token.Pos, operands ...ast.Expr) ast.Expr {
	on := m.add(kind, text, at).(*ast.CallExpr)
	return &ast.CallExpr{Fun: ast.NewIdent("mutant_" + name), Args: append(on.Args, operands...)}
}

// text is what a reader sees of a node, before it is rewritten.
func (m *maker) text(n ast.Node) string { return textOf(m.set, n) }

func number(n int) ast.Expr {
	return &ast.BasicLit{Kind: token.INT, Value: strconv.Itoa(n)}
}

func paren(e ast.Expr) ast.Expr { return &ast.ParenExpr{X: e} }

func binary(x ast.Expr, op token.Token, y ast.Expr) ast.Expr {
	return &ast.ParenExpr{X: &ast.BinaryExpr{X: paren(x), Op: op, Y: y}}
}

func not(e ast.Expr) ast.Expr { return &ast.UnaryExpr{Op: token.NOT, X: e} }
