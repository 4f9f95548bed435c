package bc

import (
	"errors"
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

func (b *run) set(p place, v num) error {
	if b.skip {
		return nil
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
		if err := b.c.Reserve(grown); err != nil {
			return err
		}
		b.arrays[p.name][p.index] = v
		return nil
	}
	switch n := v.int(); p.name {
	case "scale":
		if n < 0 || n > maxDigits {
			return errors.New("scale must be between 0 and 65536")
		}
		v = integer(int64(n))
	case "ibase":
		v = integer(int64(min(max(n, 2), 16)))
	case "obase":
		v = integer(int64(max(n, 2)))
	}
	if err := b.c.Reserve(v.size() - b.vars[p.name].size()); err != nil {
		return err
	}
	b.vars[p.name] = v
	return nil
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

// expr parses an expression. assigned reports that it is an assignment, whose
// value is not printed.
func (b *run) expr() (v num, assigned bool, err error) {
	if err := b.enter(); err != nil {
		return integer(0), false, err
	}
	defer b.c.Leave(frame)
	at := b.at
	if p, ok, err := b.place(); err != nil {
		return integer(0), false, err
	} else if ok {
		switch op := b.peek(); op {
		case "=", "+=", "-=", "*=", "/=", "%=", "^=":
			b.at++
			v, _, err := b.expr()
			if err == nil && op != "=" {
				v, err = b.apply(op[:1], b.get(p), v)
			}
			if err == nil {
				err = b.set(p, v)
			}
			return v, true, err
		}
	}
	b.at = at
	v, err = b.binary(0)
	return v, false, err
}

// place reads a variable or an element, if one stands here.
func (b *run) place() (p place, ok bool, err error) {
	t := b.peek()
	if t == "" || t[0] < 'a' || t[0] > 'z' {
		return p, false, nil
	}
	switch t {
	case "length", "sqrt", "read", "if", "while", "for", "define", "return":
		return p, false, nil
	}
	b.at++
	if b.peek() == "(" {
		return p, false, nil
	}
	p = place{t, -1}
	if b.accept("[") {
		i, _, err := b.expr()
		if err != nil {
			return p, false, err
		}
		if p.index = i.int(); p.index < 0 || p.index > 1<<24 {
			return p, false, errors.New("Array subscript out of bounds.")
		}
		if err := b.expect("]"); err != nil {
			return p, false, err
		}
	}
	return p, true, nil
}

// levels are the binary operators, loosest first.
var levels = [][]string{{"||"}, {"&&"}, {"!"}, {"==", "!=", "<", "<=", ">", ">="}, {"+", "-"}, {"*", "/", "%"}}

func (b *run) binary(level int) (num, error) {
	if level == 2 { // "!" binds looser than comparisons
		if b.accept("!") {
			if err := b.enter(); err != nil {
				return integer(0), err
			}
			v, err := b.binary(2)
			b.c.Leave(frame)
			if err != nil {
				return v, err
			}
			return integer(int64(command.Btoi(v.zero()))), err
		}
		return b.binary(3)
	}
	if level == len(levels) {
		return b.unary()
	}
	v, err := b.binary(level + 1)
	for err == nil {
		op := ""
		for _, o := range levels[level] {
			if b.peek() == o {
				op = o
			}
		}
		if op == "" {
			break
		}
		b.at++
		var w num
		if w, err = b.binary(level + 1); err == nil {
			v, err = b.apply(op, v, w)
		}
	}
	return v, err
}

func (b *run) apply(op string, x, y num) (num, error) {
	if b.skip {
		return integer(1), nil
	}
	truth := func(ok bool) (num, error) { return integer(int64(command.Btoi(ok))), nil }
	if x.n.BitLen()+y.n.BitLen() > 8*maxDigits {
		return x, errors.New("the number is too large")
	}
	switch op {
	case "+":
		return x.add(y), nil
	case "-":
		return x.add(y.neg()), nil
	case "*":
		return x.mul(y, b.scale()), nil
	case "/", "%":
		if y.zero() {
			return x, errors.New("divide by zero")
		}
		if op == "/" {
			return x.div(y, b.scale()), nil
		}
		return x.mod(y, b.scale()), nil
	case "^":
		v, ok := x.pow(y.int(), b.scale())
		if !ok {
			return x, errors.New("the power is too large, or divides by zero")
		}
		return v, nil
	case "&&":
		return truth(!x.zero() && !y.zero())
	case "||":
		return truth(!x.zero() || !y.zero())
	}
	d := x.cmp(y)
	return truth(map[string]bool{"==": d == 0, "!=": d != 0, "<": d < 0, "<=": d <= 0, ">": d > 0, ">=": d >= 0}[op])
}

func (b *run) unary() (num, error) {
	if err := b.enter(); err != nil {
		return integer(0), err
	}
	defer b.c.Leave(frame)
	if b.accept("-") {
		v, err := b.unary()
		return v.neg2(), err
	}
	v, err := b.operand()
	if err == nil && b.accept("^") {
		var e num
		if e, err = b.unary(); err == nil {
			v, err = b.apply("^", v, e)
		}
	}
	return v, err
}

// neg2 is neg, for the zero value too.
func (x num) neg2() num {
	if x.n == nil {
		return integer(0)
	}
	return x.neg()
}

func (b *run) operand() (num, error) {
	t := b.peek()
	switch {
	case t == "":
		return integer(0), errSyntax
	case t == "(":
		b.at++
		v, _, err := b.expr()
		if err == nil {
			err = b.expect(")")
		}
		return v, err
	case t == "++" || t == "--":
		b.at++
		p, ok, err := b.place()
		if !ok || err != nil {
			return integer(0), errSyntax
		}
		v := b.get(p).add(integer(map[string]int64{"++": 1, "--": -1}[t]))
		return v, b.set(p, v)
	case t[0] >= '0' && t[0] <= '9' || t[0] == '.' || t[0] >= 'A' && t[0] <= 'F':
		b.at++
		return parseBC(t, b.vars["ibase"].int()), nil
	}
	at := b.at
	p, ok, err := b.place()
	if err != nil {
		return integer(0), err
	}
	if !ok {
		b.at = at
		return b.function()
	}
	v := b.get(p)
	for op, by := range map[string]int64{"++": 1, "--": -1} {
		if b.accept(op) {
			return v, b.set(p, v.add(integer(by)))
		}
	}
	return v, nil
}

// function calls a function: length, sqrt, scale, those of -l, or the program's.
func (b *run) function() (num, error) {
	name := b.peek()
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		return integer(0), errSyntax
	}
	b.at++
	if err := b.expect("("); err != nil {
		return integer(0), err
	}
	var args []num
	for b.peek() != ")" && b.at < len(b.src) {
		v, _, err := b.expr()
		if err != nil {
			return v, err
		}
		if args = append(args, v); !b.accept(",") {
			break
		}
	}
	if err := b.expect(")"); err != nil || b.skip {
		return integer(1), err
	}
	if _, own := b.funcs[name]; own || len(args) == 0 {
		return b.call(name, args)
	}
	x, scale := args[0], b.scale()
	switch name {
	case "length":
		return integer(int64(max(x.scale, len(strings.TrimPrefix(x.n.String(), "-"))))), nil
	case "scale":
		return integer(int64(x.scale)), nil
	case "sqrt":
		if x.n.Sign() < 0 {
			return x, errors.New("Square root of a negative number")
		}
		return x.sqrt(scale), nil
	}
	if b.library && scale <= 2000 {
		switch name {
		case "s", "c":
			return sin(x, scale, name == "c"), nil
		case "a":
			return atan(x, scale), nil
		case "l":
			return ln(x, scale), nil
		case "e":
			if v, ok := exp(x, scale); ok {
				return v, nil
			}
			return x, errors.New("the power is too large")
		}
	}
	return b.call(name, args)
}
