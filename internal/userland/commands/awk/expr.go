package awk

import (
	"fmt"
	"slices"
	"strconv"

	"coderunner/internal/userland/regex"
)

// lvalue reports whether a node can be assigned to.
func (n *node) lvalue() bool { return n.op == "var" || n.op == "index" || n.op == "field" }

func (p *parser) expr() *node {
	defer p.deeper(exprFrame)()
	left := p.ternary()
	if p.is("=", "+=", "-=", "*=", "/=", "%=", "^=") && left.lvalue() {
		op := p.tok.text
		line := p.tok.line
		p.advance()
		p.newlines()
		right := p.expr()
		if op == "=" {
			return &node{op: "assign", a: left, b: right, line: line}
		}
		return &node{op: "update", text: op[:1], a: left, b: right, line: line}
	}
	return left
}

func (p *parser) ternary() *node {
	n := p.or()
	if !p.is("?") {
		return n
	}
	p.advance()
	p.newlines()
	a := p.expr()
	p.newlines()
	p.expect(":")
	p.newlines()
	return &node{op: "?:", a: n, b: a, c: p.expr()}
}

// joined reads operands with binary operators that associate to the left.
func (p *parser) joined(operand func() *node, operators ...string) *node {
	n := operand()
	for p.is(operators...) {
		op := p.tok.text
		if p.advance(); op == "&&" || op == "||" {
			p.newlines()
		}
		n = &node{op: op, a: n, b: operand()}
	}
	return n
}

func (p *parser) or() *node             { return p.joined(p.and, "||") }
func (p *parser) and() *node            { return p.joined(p.in, "&&") }
func (p *parser) matching() *node       { return p.joined(p.comparison, "~", "!~") }
func (p *parser) additive() *node       { return p.joined(p.multiplicative, "+", "-") }
func (p *parser) multiplicative() *node { return p.joined(p.unary, "*", "/", "%") }

func (p *parser) in() *node {
	n := p.matching()
	for !p.noIn && p.accept("in") {
		n = &node{op: "in", list: []*node{n}, a: p.reference()}
	}
	return n
}

func (p *parser) comparison() *node {
	n := p.concatenation()
	for p.is("<", "<=", "==", "!=", ">=") || p.is(">") && !p.noGT {
		op := p.tok.text
		p.advance()
		n = &node{op: op, a: n, b: p.concatenation()}
	}
	// A pipe into getline binds as loosely as a comparison.
	for p.is("|") {
		save, lex := p.tok, p.lex
		p.advance()
		if !p.is("getline") {
			p.tok, p.lex = save, lex
			break
		}
		p.advance()
		n = &node{op: "getline", text: "|", a: n, b: p.optional()}
	}
	return n
}

// optional is the variable that getline may name.
func (p *parser) optional() *node {
	if p.is("$") || p.tok.kind == identifier {
		return p.postfix(true)
	}
	return nil
}

// starts reports whether an operand begins here, for concatenation.
func (p *parser) starts() bool {
	switch p.tok.kind {
	case number, stringLiteral, regexLiteral, identifier, call, builtin:
		return true
	}
	return p.is("$", "!", "(", "-", "+", "++", "--")
}

func (p *parser) concatenation() *node {
	n := p.additive()
	for p.starts() && !p.is("in") {
		n = &node{op: "concat", a: n, b: p.additive()}
	}
	return n
}

func (p *parser) unary() *node {
	if p.is("!", "-", "+") {
		defer p.deeper(operandFrame)()
		op := p.tok.text
		p.advance()
		return &node{op: "unary", text: op, a: p.unary()}
	}
	return p.power()
}

func (p *parser) power() *node {
	defer p.deeper(operandFrame)()
	n := p.postfix(false)
	if p.accept("^") {
		var exponent *node
		if p.is("-", "+", "!") {
			exponent = p.unary()
		} else {
			exponent = p.power()
		}
		return &node{op: "^", a: n, b: exponent}
	}
	return n
}

// postfix is an operand with ++ or --. bare leaves them to the caller.
func (p *parser) postfix(bare bool) *node {
	n := p.primary()
	if !bare && n.lvalue() && p.is("++", "--") {
		n = &node{op: "postfix", text: p.tok.text, a: n}
		p.advance()
	}
	return n
}

func (p *parser) primary() *node {
	defer p.deeper(operandFrame)()
	n := &node{line: p.tok.line, text: p.tok.text}
	switch p.tok.kind {
	case number:
		n.op, n.value = "const", constant(p.tok.text)
		p.advance()
		return n
	case stringLiteral:
		n.op, n.value = "const", str(p.tok.text)
		p.advance()
		return n
	case regexLiteral:
		re, err := regex.Dialect{Extended: true, Escapes: true, Octal: true, Limits: p.c.Limits()}.Compile(p.tok.text)
		if err != nil {
			p.fail("error: %s: /%s/", err, p.tok.text)
		}
		n.op, n.text, n.expr = "regex", p.tok.text, re
		p.advance()
		return n
	case identifier:
		return p.reference()
	case call:
		n.op, n.fn = "call", p.named(p.tok.text)
		p.advance()
		p.expect("(")
		n.list = p.group(")")
		p.expect(")")
		return n
	case builtin:
		return p.builtin(n)
	}
	return p.operator(n)
}

// operator is an operand that begins with an operator or a parenthesis.
func (p *parser) operator(n *node) *node {
	switch {
	case p.accept("("):
		return p.parenthesis(n)
	case p.accept("$"):
		n.op = "field"
		if p.is("++", "--", "-", "+", "!") {
			n.a = p.unary()
		} else {
			n.a = p.primary()
		}
		return n
	case p.is("++", "--"):
		p.advance()
		n.op, n.a = "prefix", p.primary()
		if !n.a.lvalue() {
			p.syntax()
		}
		return n
	case p.is("-", "+", "!"):
		return p.unary()
	case p.accept("getline"):
		n.op, n.text, n.b = "getline", "", p.optional()
		if p.accept("<") {
			n.text, n.a = "<", p.postfix(false)
		}
		return n
	}
	p.syntax()
	return nil
}

// group reads expressions inside brackets, where ">" and "in" are operators.
func (p *parser) group(end string) []*node {
	in, gt := p.noIn, p.noGT
	p.noIn, p.noGT = false, false
	p.newlines()
	list := p.exprs(end)
	p.newlines()
	p.noIn, p.noGT = in, gt
	return list
}

func (p *parser) parenthesis(n *node) *node {
	list := p.group(")")
	p.expect(")")
	if len(list) > 1 {
		if !p.accept("in") {
			p.syntax()
		}
		n.op, n.list, n.a = "in", list, p.reference()
		return n
	}
	if len(list) == 0 {
		p.syntax()
	}
	n.op, n.a = "group", list[0]
	return n
}

func (p *parser) builtin(n *node) *node {
	name := p.tok.text
	p.advance()
	n.op = "builtin"
	end := p.tok.at
	f := functions[name]
	n.builtin = &f
	if p.accept("(") {
		n.list = p.group(")")
		end = p.tok.at
		p.expect(")")
	} else if name != "length" {
		p.syntax()
	}
	if len(n.list) < f.least || f.most >= 0 && len(n.list) > f.most {
		panic(&mistake{p.lex.lineOf(end), end, fmt.Sprintf("%d is invalid as number of arguments for %s", len(n.list), name)})
	}
	return n
}

// simple is an expression or a print.
func (p *parser) simple() *node {
	n := &node{line: p.tok.line}
	if !p.is("print", "printf") {
		n.op, n.a = "expr", p.expr()
		return n
	}
	n.op = p.tok.text
	p.advance()
	p.noGT = true
	if p.is("(") {
		// A list in parentheses, unless an operator follows.
		save, lex := p.tok, p.lex
		p.advance()
		p.noGT = false
		n.list = p.exprs(")")
		p.noGT = true
		p.expect(")")
		if !p.is(">", ">>", "|", ";", "}") && p.tok.kind != newline && p.tok.kind != endOfInput {
			p.tok, p.lex = save, lex
			n.list = p.exprs("")
		}
	} else if !p.is(">", ">>", "|", ";", "}") && p.tok.kind != newline && p.tok.kind != endOfInput {
		n.list = p.exprs("")
	}
	if p.is(">", ">>", "|") {
		n.text = p.tok.text
		p.advance()
		n.a = p.concatenation()
	}
	p.noGT = false
	if n.op == "printf" && len(n.list) == 0 {
		p.fail("fatal: printf: no format")
	}
	return n
}

func (p *parser) exprs(end string) (list []*node) {
	for end == "" || !p.is(end) {
		list = append(list, p.expr())
		if !p.accept(",") {
			break
		}
		p.newlines()
	}
	return list
}

// reference reads a variable, or an element of it: a[i], a[i, j] or a[i][j].
func (p *parser) reference() *node {
	n := p.variable()
	for p.accept("[") {
		defer p.deeper(operandFrame)()
		n = &node{op: "index", text: n.text, a: n, list: p.group("]"), line: n.line}
		if p.expect("]"); len(n.list) == 0 {
			p.syntax()
		}
	}
	return n
}

// variable reads a name.
func (p *parser) variable() *node {
	if p.tok.kind != identifier {
		p.syntax()
	}
	n := &node{op: "var", text: p.tok.text, line: p.tok.line}
	if at := slices.Index(p.locals, n.text); at >= 0 {
		n.slot, n.local = at, true
	} else {
		n.slot = p.global(n.text)
	}
	p.advance()
	return n
}

// constant returns the value of a number in the program.
func constant(text string) value {
	if len(text) > 2 && text[1]|32 == 'x' {
		n, _ := strconv.ParseUint(text[2:], 16, 64)
		return num(float64(n))
	}
	f, _ := strconv.ParseFloat(text, 64)
	return num(f)
}
