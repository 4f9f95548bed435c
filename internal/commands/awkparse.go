package commands

import (
	"fmt"
	"slices"
)

// awkDepth bounds the nesting of expressions and statements, and of calls.
const (
	awkDepth = 1000
	awkCalls = 10000
)

// awkParser is a recursive-descent parser. Errors unwind it by a panic with an
// *awkError, which parseAwk recovers.
type awkParser struct {
	lex    awkLexer
	tok    awkToken
	prog   *awkProgram
	locals []string
	depth  int
	noIn   bool // "in" is for's, not an operator
	noGT   bool // ">" is print's redirection
	inFunc bool
}

func parseAwk(src string) (prog *awkProgram, err error) {
	p := &awkParser{
		lex:  awkLexer{src: src, line: 1},
		prog: &awkProgram{functions: map[string]*awkFunction{}, globals: map[string]int{}},
	}
	for _, name := range awkSpecial {
		p.global(name)
	}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*awkError)
			if !ok {
				panic(r)
			}
			prog, err = nil, e
		}
	}()
	p.lex.last = awkToken{kind: awkNewline}
	p.advance()
	p.program()
	for _, f := range p.prog.functions {
		if !f.defined {
			panic(&awkError{f.line, "function " + f.name + " never defined"})
		}
	}
	return p.prog, nil
}

func (p *awkParser) advance() {
	t, err := p.lex.next()
	if err != nil {
		panic(err.(*awkError))
	}
	p.tok = t
}

func (p *awkParser) fail(format string, args ...any) {
	panic(&awkError{p.tok.line, fmt.Sprintf(format, args...)})
}

// is reports whether the token is a keyword or punctuation.
func (p *awkParser) is(words ...string) bool {
	return (p.tok.kind == awkWord || p.tok.kind == awkPunct) && slices.Contains(words, p.tok.text)
}

func (p *awkParser) accept(word string) bool {
	if p.is(word) {
		p.advance()
		return true
	}
	return false
}

func (p *awkParser) expect(word string) {
	if !p.accept(word) {
		p.fail("syntax error at or near %s", p.near())
	}
}

func (p *awkParser) near() string {
	if p.tok.kind == awkNewline {
		return "end of line"
	}
	return p.tok.text
}

func (p *awkParser) newlines() {
	for p.tok.kind == awkNewline {
		p.advance()
	}
}

func (p *awkParser) ends() {
	for p.tok.kind == awkNewline || p.is(";") {
		p.advance()
	}
}

func (p *awkParser) global(name string) int {
	slot, ok := p.prog.globals[name]
	if !ok {
		slot = len(p.prog.globals)
		p.prog.globals[name] = slot
	}
	return slot
}

func (p *awkParser) program() {
	for p.ends(); p.tok.kind != awkEOF; p.ends() {
		switch {
		case p.accept("BEGIN"):
			p.prog.begin = append(p.prog.begin, p.block())
		case p.accept("END"):
			p.prog.end = append(p.prog.end, p.block())
		case p.is("function", "func"):
			p.advance()
			p.function()
		default:
			r := &awkRule{}
			if !p.is("{") {
				r.from = p.expr()
				if p.accept(",") {
					p.newlines()
					r.to = p.expr()
				}
			}
			if r.bare = !p.is("{"); !r.bare {
				r.body = p.block()
			}
			p.prog.rules = append(p.prog.rules, r)
		}
	}
}

func (p *awkParser) named(name string) *awkFunction {
	f := p.prog.functions[name]
	if f == nil {
		f = &awkFunction{name: name, line: p.tok.line}
		p.prog.functions[name] = f
	}
	return f
}

func (p *awkParser) function() {
	if p.tok.kind != awkName && p.tok.kind != awkCall {
		p.fail("syntax error at or near %s", p.near())
	}
	f := p.named(p.tok.text)
	if f.defined {
		p.fail("function %s is defined twice", f.name)
	}
	f.defined = true
	p.advance()
	p.expect("(")
	for !p.is(")") {
		if p.tok.kind != awkName {
			p.fail("syntax error at or near %s", p.near())
		}
		f.params = append(f.params, p.tok.text)
		p.advance()
		if !p.accept(",") {
			break
		}
		p.newlines()
	}
	p.expect(")")
	p.newlines()
	p.locals, p.inFunc = f.params, true
	f.body = p.block()
	p.locals, p.inFunc = nil, false
}

func (p *awkParser) block() []*awkNode {
	p.newlines()
	p.expect("{")
	list := p.statements()
	p.expect("}")
	return list
}

func (p *awkParser) statements() (list []*awkNode) {
	for p.ends(); !p.is("}") && p.tok.kind != awkEOF; p.ends() {
		list = append(list, p.statement())
	}
	return list
}

// body is a statement or a block after if, while and for.
func (p *awkParser) body() []*awkNode {
	p.newlines()
	if p.accept(";") {
		return nil
	}
	if p.is("{") {
		return p.block()
	}
	s := p.statement()
	return []*awkNode{s}
}

// end ends a simple statement.
func (p *awkParser) end() {
	switch {
	case p.is("}") || p.tok.kind == awkEOF:
	case p.is(";") || p.tok.kind == awkNewline:
		p.advance()
	default:
		p.fail("syntax error at or near %s", p.near())
	}
}

func (p *awkParser) deeper() func() {
	if p.depth++; p.depth > awkDepth {
		p.fail("the program is nested too deeply")
	}
	return func() { p.depth-- }
}

func (p *awkParser) statement() *awkNode {
	defer p.deeper()()
	n := &awkNode{line: p.tok.line}
	switch {
	case p.is("{"):
		n.op, n.body = "block", p.block()
	case p.accept("if"):
		n.op = "if"
		p.expect("(")
		n.a = p.expr()
		p.expect(")")
		n.body = p.body()
		save, lex := p.tok, p.lex
		p.ends()
		if p.accept("else") {
			n.list = p.body()
		} else {
			p.tok, p.lex = save, lex
		}
	case p.accept("while"):
		n.op = "while"
		p.expect("(")
		n.a = p.expr()
		p.expect(")")
		n.body = p.body()
	case p.accept("do"):
		n.op, n.body = "do", p.body()
		p.ends()
		p.expect("while")
		p.expect("(")
		n.a = p.expr()
		p.expect(")")
		p.end()
	case p.accept("for"):
		p.forLoop(n)
	case p.accept("switch"):
		p.choice(n)
	case p.is("break", "continue", "next", "nextfile"):
		n.op = p.tok.text
		p.advance()
		p.end()
	case p.is("exit", "return"):
		n.op = p.tok.text
		if n.op == "return" && !p.inFunc {
			p.fail("return outside function body")
		}
		p.advance()
		if !p.is(";", "}") && p.tok.kind != awkNewline && p.tok.kind != awkEOF {
			n.a = p.expr()
		}
		p.end()
	case p.accept("delete"):
		n.op, n.a = "delete", p.variable()
		if p.accept("[") {
			n.list = p.exprs("]")
			p.expect("]")
		}
		p.end()
	default:
		n = p.simple()
		p.end()
	}
	return n
}

func (p *awkParser) choice(n *awkNode) {
	n.op = "switch"
	p.expect("(")
	n.a = p.expr()
	p.expect(")")
	p.newlines()
	p.expect("{")
	for p.ends(); !p.is("}"); p.ends() {
		c := &awkNode{op: "case", line: p.tok.line}
		if p.accept("default") {
			c.op = "default"
		} else {
			p.expect("case")
			c.a = p.primary()
		}
		p.expect(":")
		for p.ends(); !p.is("case", "default", "}"); p.ends() {
			c.body = append(c.body, p.statement())
		}
		n.list = append(n.list, c)
	}
	p.expect("}")
}

func (p *awkParser) forLoop(n *awkNode) {
	n.op = "for"
	p.expect("(")
	if p.tok.kind == awkName {
		save, lex := p.tok, p.lex
		name := p.variable()
		if p.accept("in") && p.tok.kind == awkName {
			array := p.variable()
			if p.accept(")") {
				n.op, n.a, n.b, n.body = "forin", name, array, p.body()
				return
			}
		}
		p.tok, p.lex = save, lex
	}
	if !p.is(";") {
		n.list = []*awkNode{p.simple()}
	}
	p.expect(";")
	p.newlines()
	if !p.is(";") {
		n.a = p.expr()
	}
	p.expect(";")
	p.newlines()
	if !p.is(")") {
		n.b = p.simple()
	}
	p.expect(")")
	n.body = p.body()
}
