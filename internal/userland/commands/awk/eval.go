package awk

import (
	"errors"
	"math"
	"strings"

	"coderunner/internal/userland/regex"
)

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// cell returns a variable's cell.
func (r *run) cell(n *node) *cell {
	if n.local {
		return r.frame[n.slot]
	}
	return &r.globals[n.slot]
}

func (r *run) subscript(list []*node) (string, error) {
	if len(list) == 1 {
		v, err := r.eval(list[0])
		return v.str(r.convfmt), err
	}
	parts := make([]string, len(list))
	for i, n := range list {
		v, err := r.eval(n)
		if err != nil {
			return "", err
		}
		parts[i] = v.str(r.convfmt)
	}
	size := 0
	for _, p := range parts {
		size += len(p) + len(r.subsep)
	}
	if err := r.room(size); err != nil {
		return "", err
	}
	return strings.Join(parts, r.subsep), nil
}

// eval evaluates an expression.
func (r *run) eval(n *node) (value, error) {
	if n.op == "const" {
		return n.value, nil
	}
	if err := r.c.Enter(frame); err != nil {
		return value{}, err
	}
	transient := r.transient
	v, err := r.compute(n)
	r.transient = min(r.transient, transient+int64(len(v.s))) // the rest is garbage
	r.c.Leave(frame)
	return v, err
}

// compute evaluates an expression that is not constant.
func (r *run) compute(n *node) (value, error) {
	switch n.op {
	case "var":
		if n.slot == varNF && !n.local {
			if err := r.record.splitFields(); err != nil {
				return value{}, err
			}
		}
		c := r.cell(n)
		if c.array != nil {
			return value{}, n.scalar("")
		}
		return c.v, nil
	case "field":
		v, err := r.eval(n.a)
		if err != nil {
			return v, err
		}
		return r.record.field(int(v.num()))
	case "index":
		key, err := r.subscript(n.list)
		if err != nil {
			return value{}, err
		}
		e, err := r.element(n, key)
		if err != nil {
			return value{}, err
		}
		return e.v, nil
	case "group":
		return r.eval(n.a)
	case "regex":
		line, err := r.record.line()
		if err != nil {
			return value{}, err
		}
		return r.match(r.literal(n), line)
	case "assign":
		v, err := r.eval(n.b)
		if err != nil {
			return v, err
		}
		return v, r.assign(n.a, v)
	case "update", "prefix", "postfix":
		return r.update(n)
	case "?:", "&&", "||", "unary":
		return r.logic(n)
	case "in":
		key, err := r.subscript(n.list)
		if err != nil {
			return value{}, err
		}
		arr, err := r.arrayOf(n.a)
		return boolean(err == nil && arr.has(key)), err
	case "~", "!~":
		return r.matches(n)
	case "call":
		return r.call(n)
	case "builtin":
		v, err := n.builtin.run(r, n.list)
		if err == nil {
			err = r.room(len(v.s))
		}
		return v, err
	case "getline":
		return r.getline(n)
	}
	return r.binary(n)
}

// logic evaluates what depends on its first operand: "?:", "&&", "||" and signs.
func (r *run) logic(n *node) (value, error) {
	v, err := r.eval(n.a)
	switch {
	case err != nil:
		return v, err
	case n.op == "?:" && v.truth():
		return r.eval(n.b)
	case n.op == "?:":
		return r.eval(n.c)
	case n.text == "!":
		return boolean(!v.truth()), nil
	case n.text == "-":
		return num(-v.num()), nil
	case n.op == "unary":
		return num(v.num()), nil
	case v.truth() == (n.op == "||"):
		return boolean(v.truth()), nil
	}
	v, err = r.eval(n.b)
	return boolean(v.truth()), err
}

// element returns the element of n's array with the given key, which is a value.
func (r *run) element(n *node, key string) (*entry, error) {
	e, err := r.at(n, key)
	if err == nil && e.sub != nil {
		err = n.scalar(key)
	}
	return e, err
}

func (r *run) binary(n *node) (value, error) {
	a, err := r.eval(n.a)
	if err != nil {
		return a, err
	}
	b, err := r.eval(n.b)
	if err != nil {
		return b, err
	}
	switch n.op {
	case "concat":
		s, t := a.str(r.convfmt), b.str(r.convfmt)
		if err := r.room(len(s) + len(t)); err != nil {
			return value{}, err
		}
		return str(s + t), nil
	case "arith":
		return arith(n.text, a.num(), b.num())
	}
	d := r.compare(a, b)
	switch n.op {
	case "<":
		return boolean(d < 0), nil
	case "<=":
		return boolean(d <= 0), nil
	case "==":
		return boolean(d == 0), nil
	case "!=":
		return boolean(d != 0), nil
	case ">":
		return boolean(d > 0), nil
	}
	return boolean(d >= 0), nil
}

func (r *settings) compare(a, b value) int {
	if a.numeric() && b.numeric() {
		return compareFloat(a.num(), b.num())
	}
	s, t := a.str(r.convfmt), b.str(r.convfmt)
	if r.fold {
		s, t = strings.ToLower(s), strings.ToLower(t)
	}
	return strings.Compare(s, t)
}

func arith(op string, a, b float64) (value, error) {
	switch op {
	case "+":
		return num(a + b), nil
	case "-":
		return num(a - b), nil
	case "*":
		return num(a * b), nil
	case "/":
		if b == 0 {
			return value{}, errors.New("division by zero attempted")
		}
		return num(a / b), nil
	case "%":
		if b == 0 {
			return value{}, errors.New("division by zero attempted in `%'")
		}
		return num(math.Mod(a, b)), nil
	}
	return num(math.Pow(a, b)), nil
}

// matches is "~" and "!~".
func (r *run) matches(n *node) (value, error) {
	v, err := r.eval(n.a)
	if err != nil {
		return v, err
	}
	p, err := r.pattern(n.b)
	if err != nil {
		return v, err
	}
	found, err := r.match(p, v.str(r.convfmt))
	return boolean(found.truth() == (n.op == "~")), err
}

// match reports whether a pattern matches a string.
func (r *settings) match(p regex.Pattern, s string) (value, error) {
	if err := r.room(len(s)); err != nil {
		return value{}, err
	}
	return boolean(p.Match([]byte(s))), nil
}

// pattern is an expression used as a regular one.
func (r *run) pattern(n *node) (regex.Pattern, error) {
	if n.op == "regex" {
		return r.literal(n), nil
	}
	v, err := r.eval(n)
	if err != nil {
		return nil, err
	}
	return r.regex(v.str(r.convfmt))
}

// literal returns the pattern of a regular expression of the program.
func (r *settings) literal(n *node) regex.Pattern {
	if r.fold {
		if p, err := r.regex(n.text); err == nil {
			return p
		}
	}
	return n.expr
}

// assign sets a variable, an element or a field.
func (r *run) assign(n *node, v value) error {
	switch n.op {
	case "var":
		if n.local {
			c := r.frame[n.slot]
			return r.set(&c.v, &c.charged, v)
		}
		return r.setGlobal(n.slot, v)
	case "index":
		key, err := r.subscript(n.list)
		if err != nil {
			return err
		}
		e, err := r.element(n, key)
		if err != nil {
			return err
		}
		return r.set(&e.v, &e.charged, v)
	}
	at, err := r.eval(n.a)
	if err != nil {
		return err
	}
	return r.record.setField(int(at.num()), v)
}

// update is x += y, ++x and x++.
func (r *run) update(n *node) (value, error) {
	// An element is found once, so that a subscript with an effect has it once.
	if n.a.op == "index" {
		key, err := r.subscript(n.a.list)
		if err != nil {
			return value{}, err
		}
		by, op, err := r.operand(n)
		if err != nil {
			return value{}, err
		}
		e, err := r.element(n.a, key)
		if err != nil {
			return value{}, err
		}
		old := e.v.num()
		v, err := arith(op, old, by)
		if err != nil {
			return v, err
		}
		err = r.set(&e.v, &e.charged, v)
		if n.op == "postfix" {
			return num(old), err
		}
		return v, err
	}
	by, op, err := r.operand(n)
	if err != nil {
		return value{}, err
	}
	target := n.a
	if target.op == "field" {
		at, err := r.eval(target.a)
		if err != nil {
			return at, err
		}
		target = &node{op: "field", a: &node{op: "const", value: at}}
	}
	was, err := r.eval(target)
	if err != nil {
		return was, err
	}
	old := was.num()
	v, err := arith(op, old, by)
	if err != nil {
		return v, err
	}
	if n.op == "postfix" {
		return num(old), r.assign(target, v)
	}
	return v, r.assign(target, v)
}

func (r *run) operand(n *node) (by float64, op string, err error) {
	if n.op != "update" {
		return 1, n.text[:1], nil
	}
	v, err := r.eval(n.b)
	return v.num(), n.text, err
}
