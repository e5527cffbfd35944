package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// block rewrites statements that follow each other. With keepLast the last one is
// not left out: it is the return at a function's end. With sole the block is the
// whole of an if, and one statement in it is left out by the condition already.
func (m *maker) block(list []ast.Stmt, keepLast, sole bool) []ast.Stmt {
	sole = sole && len(list) == 1
	for i, s := range list {
		list[i] = m.stmt(s, sole || keepLast && i == len(list)-1)
	}
	return list
}

// stmt rewrites one statement. With keep it is not left out itself.
func (m *maker) stmt(s ast.Stmt, keep bool) ast.Stmt {
	text, at := "", s.Pos()
	kind := m.droppable(s)
	if keep {
		kind = ""
	}
	if kind != "" {
		text = m.text(s)
	}
	s = m.within(s)
	if kind == "" {
		return s
	}
	return &ast.IfStmt{Cond: not(m.add(kind, text, at)), Body: &ast.BlockStmt{List: []ast.Stmt{s}}}
}

// droppable is the kind of mutant that leaves a statement out, or "".
func (m *maker) droppable(s ast.Stmt) string {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE && !allBlank(s.Lhs) {
			return "dropped"
		}
	case *ast.ExprStmt:
		if call, ok := s.X.(*ast.CallExpr); ok {
			return m.droppableCall(call)
		}
		return "dropped"
	case *ast.DeferStmt:
		return m.droppableCall(s.Call)
	case *ast.GoStmt, *ast.SendStmt, *ast.IncDecStmt:
		return "dropped"
	case *ast.ReturnStmt:
		return "return"
	case *ast.BranchStmt:
		if s.Tok == token.BREAK || s.Tok == token.CONTINUE {
			return "loop"
		}
	}
	return ""
}

// droppableCall leaves locks alone: without one the process stops or panics, which
// says nothing about the tests.
func (m *maker) droppableCall(c *ast.CallExpr) string {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return "dropped"
	}
	switch s.Sel.Name {
	case "Lock", "Unlock", "RLock", "RUnlock":
		return ""
	}
	if of := m.info.Selections[s]; of != nil && strings.HasSuffix(of.Recv().String(), "log/slog.Logger") {
		return "log"
	}
	return "dropped"
}

func allBlank(list []ast.Expr) bool {
	for _, e := range list {
		if name, ok := e.(*ast.Ident); !ok || name.Name != "_" {
			return false
		}
	}
	return true
}

// within rewrites what a statement consists of.
func (m *maker) within(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.AssignStmt:
		m.exprs(s.Lhs)
		m.values(s.Rhs)
	case *ast.IncDecStmt:
		s.X = m.expr(s.X)
	case *ast.ExprStmt:
		s.X = m.expr(s.X)
	case *ast.SendStmt:
		s.Chan, s.Value = m.expr(s.Chan), m.value(s.Value)
	case *ast.DeferStmt:
		m.callParts(s.Call)
	case *ast.GoStmt:
		m.callParts(s.Call)
	case *ast.DeclStmt:
		if d, ok := s.Decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				m.values(spec.(*ast.ValueSpec).Values)
			}
		}
	case *ast.ReturnStmt:
		fails := m.fails(s)
		for i, e := range s.Results {
			m.beside = fails && i < len(s.Results)-1
			s.Results[i] = m.result(e)
		}
		m.beside = false
	case *ast.BranchStmt:
		return m.branch(s)
	case *ast.LabeledStmt:
		s.Stmt = m.stmt(s.Stmt, true)
	default:
		m.compound(s)
	}
	return s
}

// compound rewrites statements that have others in them.
func (m *maker) compound(s ast.Stmt) {
	outer := m.inLoop
	switch s := s.(type) {
	case *ast.BlockStmt:
		m.block(s.List, false, false)
	case *ast.IfStmt:
		m.simple(s.Init)
		failing := m.failing
		m.failing = m.isFailure(s.Cond)
		s.Cond = m.condition(s.Cond)
		m.block(s.Body.List, false, s.Else == nil)
		m.failing = failing
		if s.Else != nil {
			s.Else = m.stmt(s.Else, true)
		}
	case *ast.ForStmt:
		m.simple(s.Init)
		if s.Cond != nil {
			s.Cond = m.loopCondition(s.Cond)
		}
		m.simple(s.Post)
		m.inLoop = true
		m.block(s.Body.List, false, false)
	case *ast.RangeStmt:
		s.X = m.expr(s.X)
		m.inLoop = true
		m.block(s.Body.List, false, false)
	case *ast.SwitchStmt:
		m.simple(s.Init)
		m.inLoop = false
		m.clauses(s.Body.List, s.Tag == nil)
		s.Tag = m.expr(s.Tag)
	case *ast.TypeSwitchStmt:
		m.simple(s.Init)
		m.inLoop = false
		m.clauses(s.Body.List, false)
	case *ast.SelectStmt:
		m.inLoop = false
		m.clauses(s.Body.List, false)
	}
	m.inLoop = outer
}

// simple rewrites the init or post statement of another one: it stays where it is.
func (m *maker) simple(s ast.Stmt) {
	if s != nil {
		m.within(s)
	}
}

// clauses rewrites the cases of a switch or select.
func (m *maker) clauses(list []ast.Stmt, conditions bool) {
	for _, c := range list {
		switch c := c.(type) {
		case *ast.CaseClause:
			text := "default"
			if c.List != nil {
				text = m.texts(c.List)
			}
			for i, e := range c.List {
				if conditions {
					c.List[i] = m.condition(e)
				}
			}
			c.Body = m.clause(c.Body, text, c.Pos())
		case *ast.CommClause:
			text := "default"
			if c.Comm != nil {
				text = m.text(c.Comm)
			}
			c.Body = m.clause(c.Body, text, c.Pos())
		}
	}
}

func (m *maker) texts(list []ast.Expr) string {
	var all []string
	for _, e := range list {
		all = append(all, m.text(e))
	}
	return strings.Join(all, ", ")
}

// clause rewrites the body of a case, which a break leaves. One that is a single
// statement is emptied by leaving that out.
func (m *maker) clause(body []ast.Stmt, text string, at token.Pos) []ast.Stmt {
	if len(body) == 0 {
		return body
	}
	last, ok := body[len(body)-1].(*ast.BranchStmt)
	through := ok && last.Tok == token.FALLTHROUGH
	single := len(body) == 1
	single = single && m.droppable(body[0]) != ""
	body = m.block(body, false, false)
	if through || single {
		return body
	}
	leave := &ast.IfStmt{Cond: m.add("case", text, at), Body: &ast.BlockStmt{
		List: []ast.Stmt{&ast.BranchStmt{Tok: token.BREAK}},
	}}
	return append([]ast.Stmt{leave}, body...)
}

// fails says whether the last result of a return is a failure: false, an error, or a
// name of a fault. The values beside it are then nothing that a caller looks at.
func (m *maker) fails(s *ast.ReturnStmt) bool {
	if len(s.Results) < 2 {
		return false
	}
	last := s.Results[len(s.Results)-1]
	tv := m.info.Types[last]
	if tv.Value != nil {
		_, named := tv.Type.(*types.Named)
		return isBool(tv.Type) && isZero(tv.Value) || named && !isZero(tv.Value)
	}
	if !isError(tv.Type) {
		return false
	}
	_, call := last.(*ast.CallExpr)
	return call || m.failing
}

// isFailure says whether a condition is that of an error.
func (m *maker) isFailure(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && b.Op == token.NEQ && isError(m.info.Types[b.X].Type) && m.info.Types[b.Y].IsNil()
}

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// branch lets a break of a loop be a continue, and back.
func (m *maker) branch(s *ast.BranchStmt) ast.Stmt {
	other := map[token.Token]token.Token{token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK}[s.Tok]
	if !m.inLoop || other == token.ILLEGAL || s.Label != nil {
		return s
	}
	on := m.add("loop", s.Tok.String()+" is "+other.String(), s.Pos())
	return &ast.IfStmt{
		Cond: on,
		Body: &ast.BlockStmt{List: []ast.Stmt{&ast.BranchStmt{Tok: other}}},
		Else: &ast.BlockStmt{List: []ast.Stmt{s}},
	}
}
