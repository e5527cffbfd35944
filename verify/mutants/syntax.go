package main

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"strings"
)

// piece is one token of Go source, from byte from to byte to.
type piece struct {
	token.Token
	text     string
	from, to int
	line     int // on which it begins
}

// pieces returns the tokens of source without its comments. A semicolon that only a line
// feed stands for is one, too.
func pieces(source string) (all []piece) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, []byte(source), func(token.Position, string) {}, 0) // an edit may begin within anything
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return all
		}
		p := piece{Token: tok, text: text, from: file.Offset(pos), line: file.Line(pos)}
		switch {
		case tok == token.SEMICOLON && text == "\n":
			p.text, p.to = ";", p.from
		case text == "":
			p.text, p.to = tok.String(), p.from+len(tok.String())
		default:
			p.to = p.from + len(text)
		}
		all = append(all, p)
	}
}

// trimmed leaves out the semicolon at the end: what follows on the line stays.
func trimmed(all []piece) []piece {
	if n := len(all); n > 0 && all[n-1].Token == token.SEMICOLON && all[n-1].from == all[n-1].to {
		return all[:n-1]
	}
	return all
}

// match is a place at which source has the tokens of an edit, maybe with other names.
type match struct {
	from, to int
	names    map[string]string // what the source calls a name of the edit that it calls otherwise
}

// matches returns the places in source of what an edit looks for: whole lines. With renamed
// a name may be another one, the same everywhere, as long as more than half of the names
// are those of the edit.
func matches(source, wanted []piece, renamed bool) (all []match) {
	for at := range source {
		end := at + len(wanted)
		if end > len(source) {
			break
		}
		begins := at == 0 || source[at-1].line < source[at].line
		if ends := end == len(source) || source[end].line > source[end-1].line || source[end].from == source[end].to; !begins || !ends {
			continue
		}
		if names, ok := compared(source[at:end], wanted, renamed); ok {
			all = append(all, match{source[at].from, source[end-1].to, names})
		}
	}
	return all
}

func compared(source, wanted []piece, renamed bool) (names map[string]string, ok bool) {
	names, back := make(map[string]string), make(map[string]string)
	for i, w := range wanted {
		s := source[i]
		switch {
		case s.Token != w.Token:
			return nil, false
		case !renamed || w.Token != token.IDENT || types.Universe.Lookup(w.text) != nil:
			if s.text != w.text {
				return nil, false
			}
		default:
			to, known := names[w.text]
			from, taken := back[s.text]
			if known && to != s.text || taken && from != w.text {
				return nil, false
			}
			names[w.text], back[s.text] = s.text, w.text
		}
	}
	all := len(names)
	for from, to := range names {
		if from == to {
			delete(names, from)
		}
	}
	return names, 2*len(names) < max(all, 1)
}

// spelled returns source with other names.
func spelled(source string, names map[string]string) string {
	var b strings.Builder
	at := 0
	for _, p := range pieces(source) {
		if to, ok := names[p.text]; ok && p.Token == token.IDENT {
			b.WriteString(source[at:p.from])
			b.WriteString(to)
			at = p.to
		}
	}
	b.WriteString(source[at:])
	return b.String()
}

// within returns where in a file a function or method is: "Name" or "Type.Name".
func within(source, function string) (from, to int, ok bool) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	if err != nil {
		return 0, 0, false
	}
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && nameOf(f) == function {
			return set.Position(f.Pos()).Offset, set.Position(f.End()).Offset, true
		}
	}
	return 0, 0, false
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}
