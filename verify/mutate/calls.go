package main

import (
	"go/ast"
	"go/types"
)

// call rewrites a call, which may become one of a helper.
func (m *maker) call(c *ast.CallExpr) ast.Expr {
	name, builtin := c.Fun.(*ast.Ident)
	builtin = builtin && m.info.Types[c.Fun].IsBuiltin()
	if builtin && (name.Name == "min" || name.Name == "max") && m.isNumber(c) {
		text, at := m.text(c), c.Pos()
		m.exprs(c.Args)
		return m.helper(name.Name, "minmax", text, at, c.Args...)
	}
	if builtin && name.Name == "make" {
		// A capacity, or what a map may hold, changes nothing but the cost.
		_, isMap := m.info.Types[c].Type.Underlying().(*types.Map)
		if len(c.Args) > 1 && !isMap {
			c.Args[1] = m.expr(c.Args[1])
		}
		return c
	}
	m.callParts(c)
	return c
}

// callParts rewrites the function and the arguments.
func (m *maker) callParts(c *ast.CallExpr) {
	if m.info.Types[c.Fun].IsType() || m.info.Types[c.Fun].IsBuiltin() {
		m.exprs(c.Args)
		return
	}
	swaps := m.swaps(c)
	texts := make([]string, len(c.Args))
	for i, e := range c.Args {
		texts[i] = m.text(e)
	}
	c.Fun = m.expr(c.Fun)
	for i, e := range c.Args {
		if !swaps[i] && (i == 0 || !swaps[i-1]) {
			c.Args[i] = m.value(e)
		}
	}
	for i := range c.Args {
		if swaps[i] {
			a, b := c.Args[i], c.Args[i+1]
			c.Args[i] = m.helper("pick", "swapped", texts[i]+", "+texts[i+1], c.Pos(), a, b)
			on := c.Args[i].(*ast.CallExpr)
			c.Args[i+1] = &ast.CallExpr{Fun: on.Fun, Args: []ast.Expr{on.Args[0], b, a}}
		}
	}
}

// swaps says at which arguments one and the next can change places. Both are of the
// type that the function wants, and nothing happens when they are read.
func (m *maker) swaps(c *ast.CallExpr) map[int]bool {
	of, ok := m.info.Types[c.Fun].Type.(*types.Signature)
	if !ok {
		return nil
	}
	fixed := of.Params().Len()
	if of.Variadic() {
		fixed--
	}
	swaps := make(map[int]bool)
	for i := 0; i+1 < len(c.Args) && i+1 < fixed; i++ {
		a, b := m.info.Types[c.Args[i]], m.info.Types[c.Args[i+1]]
		if swaps[i-1] || a.Value != nil || b.Value != nil || !m.isPlain(c.Args[i]) || !m.isPlain(c.Args[i+1]) {
			continue
		}
		same := types.Identical(a.Type, b.Type) && types.Identical(of.Params().At(i).Type(), of.Params().At(i+1).Type())
		if same && m.text(c.Args[i]) != m.text(c.Args[i+1]) {
			swaps[i] = true
		}
	}
	return swaps
}

// isPlain says whether an expression is a variable or a field.
func (m *maker) isPlain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return !m.info.Types[e].IsNil()
	case *ast.SelectorExpr:
		return m.isPlain(e.X)
	}
	return false
}
