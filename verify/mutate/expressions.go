package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

func (m *maker) exprs(list []ast.Expr) {
	for i, e := range list {
		list[i] = m.expr(e)
	}
}

func (m *maker) values(list []ast.Expr) {
	for i, e := range list {
		list[i] = m.value(e)
	}
}

// condition lets that of an if be never true, or always.
func (m *maker) condition(e ast.Expr) ast.Expr {
	if m.info.Types[e].Value != nil {
		return e
	}
	text, at := m.text(e), e.Pos()
	e = m.expr(e)
	e = binary(e, token.LAND, not(m.add("never", text, at)))
	return binary(e, token.LOR, m.add("always", text, at))
}

// loopCondition lets a loop never begin. One that never ends tells nothing.
func (m *maker) loopCondition(e ast.Expr) ast.Expr {
	text, at := m.text(e), e.Pos()
	return binary(m.expr(e), token.LAND, not(m.add("never", text, at)))
}

// value rewrites an expression whose value goes somewhere: truth is negated. What
// compares or joins has mutants of its own that are harder to notice.
func (m *maker) value(e ast.Expr) ast.Expr {
	tv := m.info.Types[e]
	if !isBool(tv.Type) || tv.IsType() {
		return m.expr(e)
	}
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && b.Op != token.EQL && b.Op != token.NEQ {
		return m.expr(e)
	}
	text, at := m.text(e), e.Pos()
	return binary(m.expr(e), token.NEQ, m.add("negated", text, at))
}

func isBool(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// result rewrites an expression that is returned.
func (m *maker) result(e ast.Expr) ast.Expr {
	tv := m.info.Types[e]
	if tv.Value != nil || tv.IsNil() || tv.Type == nil || isBool(tv.Type) {
		return m.value(e)
	}
	_, several := tv.Type.(*types.Tuple)
	if several || m.beside || hasLooseShift(m.info, e) || isEmpty(tv.Type, e) {
		return m.expr(e)
	}
	kind, text, at := "zero", m.text(e), e.Pos()
	if isError(tv.Type) {
		kind = "swallowed"
	}
	return m.helper("zero", kind, text, at, m.expr(e))
}

// isEmpty says whether an expression is T{} for a struct: its zero value.
func isEmpty(t types.Type, e ast.Expr) bool {
	lit, ok := e.(*ast.CompositeLit)
	_, isStruct := structOf(t)
	return ok && isStruct && len(lit.Elts) == 0
}

// expr rewrites what an expression consists of.
func (m *maker) expr(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	tv := m.info.Types[e]
	if tv.IsType() || tv.IsBuiltin() {
		return e
	}
	if tv.Value != nil {
		return m.constant(e, tv)
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return m.binary(e)
	case *ast.CallExpr:
		return m.call(e)
	case *ast.CompositeLit:
		m.literal(e)
	case *ast.FuncLit:
		m.body(e.Type, e.Body)
	case *ast.ParenExpr:
		e.X = m.expr(e.X)
	case *ast.UnaryExpr:
		e.X = m.expr(e.X)
	case *ast.StarExpr:
		e.X = m.expr(e.X)
	case *ast.SelectorExpr:
		e.X = m.expr(e.X)
	case *ast.IndexExpr:
		e.X, e.Index = m.expr(e.X), m.expr(e.Index)
	case *ast.SliceExpr:
		e.X, e.Low, e.High, e.Max = m.expr(e.X), m.expr(e.Low), m.expr(e.High), m.expr(e.Max)
	case *ast.TypeAssertExpr:
		e.X = m.expr(e.X)
	}
	return e
}

// constant lets 0 be 1, and 1 be 0.
func (m *maker) constant(e ast.Expr, tv types.TypeAndValue) ast.Expr {
	lit, ok := e.(*ast.BasicLit)
	if !ok || m.beside || lit.Kind != token.INT || lit.Value != "0" && lit.Value != "1" {
		return e
	}
	name := m.typeName(tv.Type)
	if name == nil {
		return e
	}
	other := map[string]string{"0": "1", "1": "0"}[lit.Value]
	as := func(value string) ast.Expr {
		return &ast.CallExpr{Fun: name, Args: []ast.Expr{&ast.BasicLit{Kind: token.INT, Value: value}}}
	}
	return m.helper("pick", "constant", lit.Value+" is "+other, lit.Pos(), as(lit.Value), as(other))
}

// typeName is how the file being rewritten names a type of numbers or strings, or nil.
func (m *maker) typeName(t types.Type) ast.Expr {
	switch t := t.(type) {
	case *types.Basic:
		if t.Info()&types.IsUntyped == 0 {
			return ast.NewIdent(t.Name())
		}
	case *types.Named:
		if _, ok := t.Underlying().(*types.Basic); !ok || t.Obj().Parent() == nil {
			return nil
		}
		if t.Obj().Pkg() == m.types {
			return ast.NewIdent(t.Obj().Name())
		}
		if name := m.imports[t.Obj().Pkg().Path()]; name != "" && t.Obj().Exported() {
			return &ast.SelectorExpr{X: ast.NewIdent(name), Sel: ast.NewIdent(t.Obj().Name())}
		}
	}
	return nil
}

// operators are those that a helper has, by the name of the helper.
var operators = map[token.Token]string{
	token.LSS: "less", token.LEQ: "atmost", token.GTR: "more", token.GEQ: "atleast",
	token.ADD: "add", token.SUB: "sub", token.MUL: "mul", token.QUO: "quo", token.AND: "and", token.OR: "or",
}

func (m *maker) binary(e *ast.BinaryExpr) ast.Expr {
	text, at, op := m.text(e), e.Pos(), e.Op
	switch op {
	case token.LAND:
		left, right := m.text(e.X), m.text(e.Y)
		e.X, e.Y = m.expr(e.X), m.expr(e.Y)
		e.X = binary(e.X, token.LOR, m.add("operand", left+" && …", at))
		e.Y = binary(e.Y, token.LOR, m.add("operand", "… && "+right, at))
		return e
	case token.LOR:
		left, right := m.text(e.X), m.text(e.Y)
		e.X, e.Y = m.expr(e.X), m.expr(e.Y)
		e.X = binary(e.X, token.LAND, not(m.add("operand", left+" || …", at)))
		e.Y = binary(e.Y, token.LAND, not(m.add("operand", "… || "+right, at)))
		return e
	}
	name, known := operators[op]
	kind := "operator"
	fits := m.isNumber(e.X) && m.isNumber(e.Y)
	if op == token.LSS || op == token.LEQ || op == token.GTR || op == token.GEQ {
		kind = "boundary"
	}
	loose := hasLooseShift(m.info, e)
	if op == token.SHL || op == token.SHR { // a left side that is a constant takes its type from elsewhere
		if m.info.Types[e.X].Value == nil {
			e.X = m.expr(e.X)
		}
		e.Y = m.expr(e.Y)
		return e
	}
	e.X, e.Y = m.expr(e.X), m.expr(e.Y)
	if !known || !fits || loose {
		return e
	}
	return m.helper(name, kind, text, at, e.X, e.Y)
}

func (m *maker) isNumber(e ast.Expr) bool {
	t := m.info.Types[e].Type
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsNumeric != 0 && b.Info()&types.IsComplex == 0
}

// hasLooseShift says whether an expression has a shift of a constant, whose type
// depends on what is around it.
func hasLooseShift(info *types.Info, e ast.Expr) (has bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if ok && (b.Op == token.SHL || b.Op == token.SHR) && info.Types[b].Value == nil && info.Types[b.X].Value != nil {
			has = true
		}
		return !has
	})
	return has
}

// literal rewrites the elements of a composite literal. A field of a struct may be
// left out.
func (m *maker) literal(e *ast.CompositeLit) {
	_, isStruct := structOf(m.info.Types[e].Type)
	for i, el := range e.Elts {
		kv, keyed := el.(*ast.KeyValueExpr)
		switch {
		case keyed && isStruct:
			kv.Value = m.field(kv)
		case keyed:
			kv.Value = m.value(kv.Value)
		default:
			e.Elts[i] = m.value(el)
		}
	}
}

func structOf(t types.Type) (*types.Struct, bool) {
	if t == nil {
		return nil, false
	}
	if p, ok := t.Underlying().(*types.Pointer); ok { // an element of []*T without its type
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	return s, ok
}

func (m *maker) field(kv *ast.KeyValueExpr) ast.Expr {
	tv := m.info.Types[kv.Value]
	if tv.IsNil() || tv.Type == nil || isZero(tv.Value) || hasLooseShift(m.info, kv.Value) {
		return m.expr(kv.Value)
	}
	if _, is := m.info.Uses[kv.Key.(*ast.Ident)].Type().Underlying().(*types.Interface); is {
		return m.expr(kv.Value) // the zero value of what is assigned is not that of the field
	}
	text, at := m.text(kv), kv.Pos()
	value := m.expr(kv.Value)
	if tv.Value != nil {
		name := m.typeName(tv.Type)
		if name == nil {
			return value
		}
		value = &ast.CallExpr{Fun: name, Args: []ast.Expr{value}}
	}
	return m.helper("zero", "field", text, at, value)
}

func isZero(v constant.Value) bool {
	if v == nil {
		return false
	}
	switch v.Kind() {
	case constant.Bool:
		return !constant.BoolVal(v)
	case constant.String:
		return constant.StringVal(v) == ""
	default:
		return constant.Sign(v) == 0
	}
}
