package bc

import (
	"slices"
	"strings"

	"coderunner/internal/userland/commands/command"
)

// place is what can be assigned to.
type place struct {
	name  string
	index int // -1: a variable
}

func (b *run) get(p place) num {
	v := b.vars[p.name]
	if p.index >= 0 {
		v = b.arrays[p.name][p.index]
	}
	if v.n == nil {
		return integer(0)
	}
	return v
}

func (b *run) set(p place, v num) {
	if b.skip {
		return
	}
	if p.index >= 0 {
		if b.arrays[p.name] == nil {
			b.arrays[p.name] = map[int]num{}
		}
		old, has := b.arrays[p.name][p.index]
		grown := v.size() - old.size()
		if !has {
			grown += elementCost
		}
		b.c.Check(b.c.Reserve(grown))
		b.arrays[p.name][p.index] = v
		return
	}
	switch n := v.int(); p.name {
	case "scale":
		if n < 0 || n > maxDigits {
			b.c.Throw("scale must be between 0 and 65536")
		}
		v = integer(int64(n))
	case "ibase":
		v = integer(int64(min(max(n, 2), 16)))
	case "obase":
		v = integer(int64(max(n, 2)))
	}
	b.c.Check(b.c.Reserve(v.size() - b.vars[p.name].size()))
	b.vars[p.name] = v
}

// elementCost is what an element of an array takes beside its number.
const elementCost = 128

// size returns how many bytes the digits of a number take.
func (x num) size() int64 {
	if x.n == nil {
		return 0
	}
	return int64(x.n.BitLen() / 8)
}

func (b *run) scale() int { return b.vars["scale"].int() }

// expr evaluates an expression.
func (b *run) expr() num {
	v, _ := b.assignment()
	return v
}

// assignment evaluates an expression. assigned reports that it is an assignment, whose
// value is not printed.
func (b *run) assignment() (v num, assigned bool) {
	b.enter()
	defer b.c.Leave(frame)
	at := b.at
	if p, ok := b.place(); ok {
		switch op := b.peek(); op {
		case "=", "+=", "-=", "*=", "/=", "%=", "^=":
			b.at++
			v := b.expr()
			if op != "=" {
				v = b.apply(op[:1], b.get(p), v)
			}
			b.set(p, v)
			return v, true
		}
	}
	b.at = at
	return b.binary(0), false
}

// place reads a variable or an element, if one stands here.
func (b *run) place() (p place, ok bool) {
	t := b.peek()
	if t == "" || t[0] < 'a' || t[0] > 'z' {
		return p, false
	}
	switch t {
	case "length", "sqrt", "read", "if", "while", "for", "define", "return":
		return p, false
	}
	b.at++
	if b.peek() == "(" {
		return p, false
	}
	p = place{t, -1}
	if b.accept("[") {
		if p.index = b.expr().int(); p.index < 0 || p.index > 1<<24 {
			b.c.Throw("Array subscript out of bounds.")
		}
		b.expect("]")
	}
	return p, true
}

// levels are the binary operators, loosest first.
var levels = [][]string{{"||"}, {"&&"}, {"!"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-"}, {"*", "/", "%"}}

func (b *run) binary(level int) num {
	if level == 2 { // "!" binds looser than comparisons
		if b.accept("!") {
			b.enter()
			v := b.binary(2)
			b.c.Leave(frame)
			return truth(v.zero())
		}
		return b.binary(3)
	}
	if level == len(levels) {
		return b.unary()
	}
	v := b.binary(level + 1)
	for op := b.peek(); slices.Contains(levels[level], op); op = b.peek() {
		b.at++
		v = b.apply(op, v, b.binary(level+1))
	}
	return v
}

func truth(ok bool) num { return integer(int64(command.Btoi(ok))) }

func (b *run) apply(op string, x, y num) num {
	if b.skip {
		return integer(1)
	}
	if x.n.BitLen()+y.n.BitLen() > 8*maxDigits {
		b.c.Throw("the number is too large")
	}
	switch op {
	case "+":
		return x.add(y)
	case "-":
		return x.add(y.neg())
	case "*":
		return x.mul(y, b.scale())
	case "/", "%":
		if y.zero() {
			b.c.Throw("divide by zero")
		}
		if op == "/" {
			return x.div(y, b.scale())
		}
		return x.mod(y, b.scale())
	case "^":
		v, ok := x.pow(y.int(), b.scale())
		if !ok {
			b.c.Throw("the power is too large, or divides by zero")
		}
		return v
	case "&&":
		return truth(!x.zero() && !y.zero())
	case "||":
		return truth(!x.zero() || !y.zero())
	}
	d := x.cmp(y)
	return truth(map[string]bool{"==": d == 0, "!=": d != 0, "<": d < 0, "<=": d <= 0, ">": d > 0, ">=": d >= 0}[op])
}

func (b *run) unary() num {
	b.enter()
	defer b.c.Leave(frame)
	if b.accept("-") {
		return b.unary().neg()
	}
	v := b.operand()
	if b.accept("^") {
		v = b.apply("^", v, b.unary())
	}
	return v
}

func (b *run) operand() num {
	t := b.peek()
	switch {
	case t == "":
		b.c.Check(errSyntax)
	case t == "(":
		b.at++
		v := b.expr()
		b.expect(")")
		return v
	case t == "++" || t == "--":
		b.at++
		p, ok := b.place()
		if !ok {
			b.c.Check(errSyntax)
		}
		v := b.get(p).add(integer(map[string]int64{"++": 1, "--": -1}[t]))
		b.set(p, v)
		return v
	case t[0] >= '0' && t[0] <= '9' || t[0] == '.' || t[0] >= 'A' && t[0] <= 'F':
		b.at++
		return parseBC(t, b.vars["ibase"].int())
	}
	at := b.at
	p, ok := b.place()
	if !ok {
		b.at = at
		return b.function()
	}
	v := b.get(p)
	for op, by := range map[string]int64{"++": 1, "--": -1} {
		if b.accept(op) {
			b.set(p, v.add(integer(by)))
			break
		}
	}
	return v
}

// function calls a function: length, sqrt, scale, those of -l, or the program's.
func (b *run) function() num {
	name := b.peek()
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		b.c.Check(errSyntax)
	}
	b.at++
	b.expect("(")
	var args []num
	for b.peek() != ")" && b.at < len(b.src) {
		if args = append(args, b.expr()); !b.accept(",") {
			break
		}
	}
	if b.expect(")"); b.skip {
		return integer(1)
	}
	if _, own := b.funcs[name]; own || len(args) == 0 {
		return b.call(name, args)
	}
	x, scale := args[0], b.scale()
	switch name {
	case "length":
		return integer(int64(max(x.scale, len(strings.TrimPrefix(x.n.String(), "-")))))
	case "scale":
		return integer(int64(x.scale))
	case "sqrt":
		if x.n.Sign() < 0 {
			b.c.Throw("Square root of a negative number")
		}
		return x.sqrt(scale)
	}
	if b.library && scale <= 2000 {
		switch name {
		case "s", "c":
			return sin(x, scale, name == "c")
		case "a":
			return atan(x, scale)
		case "l":
			return ln(x, scale)
		case "e":
			v, ok := exp(x, scale)
			if !ok {
				b.c.Throw("the power is too large")
			}
			return v
		}
	}
	return b.call(name, args)
}
