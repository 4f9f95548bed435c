package awk

import (
	"fmt"
	"slices"

	"coderunner/internal/userland/commands/command"
)

// What a level of the parser's recursions takes of the stack at most, twice.
const (
	exprFrame    = 8 << 10 // from an expression to one in its parentheses
	operandFrame = 2 << 10
)

// parser is a recursive-descent parser. Errors unwind it by a panic with an
// *mistake, which parseAwk recovers.
type parser struct {
	lex    lexer
	tok    token
	prog   *program
	locals []string
	c      *command.Call
	noIn   bool // "in" is for's, not an operator
	noGT   bool // ">" is print's redirection
	inFunc bool
}

func parseAwk(c *command.Call, src string) (prog *program, err error) {
	p := &parser{
		c:    c,
		lex:  lexer{src: src, line: 1},
		prog: &program{blocks: map[string][][]*node{}, functions: map[string]*function{}, globals: map[string]int{}},
	}
	for _, name := range special {
		p.global(name)
	}
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*mistake)
			if !ok {
				panic(r)
			}
			prog, err = nil, e
		}
	}()
	p.lex.last = token{kind: newline}
	p.advance()
	p.program()
	for _, f := range p.prog.functions {
		if !f.defined {
			panic(&mistake{f.line, -1, "fatal: function `" + f.name + "' not defined"})
		}
	}
	return p.prog, nil
}

func (p *parser) advance() { p.tok = p.lex.next() }

func (p *parser) fail(format string, args ...any) {
	panic(&mistake{p.tok.line, -1, fmt.Sprintf(format, args...)})
}

// is reports whether the token is a keyword or punctuation.
func (p *parser) is(words ...string) bool {
	return (p.tok.kind == word || p.tok.kind == punct) && slices.Contains(words, p.tok.text)
}

func (p *parser) accept(word string) bool {
	if p.is(word) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(word string) {
	if !p.accept(word) {
		p.syntax()
	}
}

// syntax refuses the token.
func (p *parser) syntax() {
	what := "syntax error"
	if p.tok.kind == newline || p.tok.kind == endOfInput {
		what = "unexpected newline or end of string"
	}
	panic(&mistake{p.tok.line, p.tok.at, what})
}

func (p *parser) newlines() {
	for p.tok.kind == newline {
		p.advance()
	}
}

func (p *parser) ends() {
	for p.tok.kind == newline || p.is(";") {
		p.advance()
	}
}

func (p *parser) global(name string) int {
	slot, ok := p.prog.globals[name]
	if !ok {
		slot = len(p.prog.globals)
		p.prog.globals[name] = slot
	}
	return slot
}

func (p *parser) program() {
	for p.ends(); p.tok.kind != endOfInput; p.ends() {
		switch {
		case p.is("BEGIN", "END", "BEGINFILE", "ENDFILE"):
			kind := p.tok.text
			p.advance()
			p.prog.blocks[kind] = append(p.prog.blocks[kind], p.block())
		case p.is("function", "func"):
			p.advance()
			p.function()
		default:
			r := &rule{line: p.tok.line}
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

func (p *parser) named(name string) *function {
	f := p.prog.functions[name]
	if f == nil {
		f = &function{name: name, line: p.tok.line}
		p.prog.functions[name] = f
	}
	return f
}

func (p *parser) function() {
	if p.tok.kind != identifier && p.tok.kind != call {
		p.syntax()
	}
	f := p.named(p.tok.text)
	if f.defined {
		p.fail("error: function name `%s' previously defined", f.name)
	}
	f.defined = true
	p.advance()
	p.expect("(")
	for !p.is(")") {
		if p.tok.kind != identifier {
			p.syntax()
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

func (p *parser) block() []*node {
	p.newlines()
	p.expect("{")
	list := p.statements()
	p.expect("}")
	return list
}

func (p *parser) statements() (list []*node) {
	for p.ends(); !p.is("}") && p.tok.kind != endOfInput; p.ends() {
		list = append(list, p.statement())
	}
	return list
}

// body is a statement or a block after if, while and for.
func (p *parser) body() []*node {
	p.newlines()
	if p.accept(";") {
		return nil
	}
	if p.is("{") {
		return p.block()
	}
	s := p.statement()
	return []*node{s}
}

// end ends a simple statement.
func (p *parser) end() {
	switch {
	case p.is("}") || p.tok.kind == endOfInput:
	case p.is(";") || p.tok.kind == newline:
		p.advance()
	default:
		p.syntax()
	}
}

// deeper counts a level of a recursion that takes frame bytes of the stack. What it
// returns ends the level.
func (p *parser) deeper(frame int) func() {
	if err := p.c.Enter(frame); err != nil {
		p.fail("fatal: the program is %s", err)
	}
	return func() { p.c.Leave(frame) }
}

// condition is an expression in parentheses.
func (p *parser) condition() *node {
	p.expect("(")
	n := p.expr()
	p.expect(")")
	return n
}

func (p *parser) statement() *node {
	defer p.deeper(exprFrame)()
	n := &node{line: p.tok.line}
	switch {
	case p.is("{"):
		n.op, n.body = "block", p.block()
	case p.accept("if"):
		n.op, n.a, n.body = "if", p.condition(), p.body()
		save, lex := p.tok, p.lex
		p.ends()
		if p.accept("else") {
			n.list = p.body()
		} else {
			p.tok, p.lex = save, lex
		}
	case p.accept("while"):
		n.op, n.a, n.body = "while", p.condition(), p.body()
	case p.accept("do"):
		n.op, n.body = "do", p.body()
		p.ends()
		p.expect("while")
		n.a = p.condition()
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
			panic(&mistake{p.tok.line, p.tok.at, "`return' used outside function context"})
		}
		p.advance()
		if !p.is(";", "}") && p.tok.kind != newline && p.tok.kind != endOfInput {
			n.a = p.expr()
		}
		p.end()
	case p.accept("delete"):
		n.op, n.a = "delete", p.reference()
		if n.a.op == "index" {
			n.a, n.list = n.a.a, n.a.list
		}
		p.end()
	default:
		n = p.simple()
		p.end()
	}
	return n
}

func (p *parser) choice(n *node) {
	n.op, n.a = "switch", p.condition()
	p.newlines()
	p.expect("{")
	for p.ends(); !p.is("}"); p.ends() {
		c := &node{op: "case", line: p.tok.line}
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

func (p *parser) forLoop(n *node) {
	n.op = "for"
	p.expect("(")
	if p.tok.kind == identifier {
		save, lex := p.tok, p.lex
		name := p.variable()
		if p.accept("in") && p.tok.kind == identifier {
			array := p.reference()
			if p.accept(")") {
				n.op, n.a, n.b, n.body = "forin", name, array, p.body()
				return
			}
		}
		p.tok, p.lex = save, lex
	}
	if !p.is(";") {
		n.list = []*node{p.simple()}
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
