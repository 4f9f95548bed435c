package awk

import (
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

func (r *run) subscript(list []*node) string {
	if len(list) == 1 {
		return r.eval(list[0]).str(r.convfmt)
	}
	parts := r.strs(list...)
	size := 0
	for _, p := range parts {
		size += len(p) + len(r.subsep)
	}
	r.room(size)
	return strings.Join(parts, r.subsep)
}

// strs evaluates expressions as strings.
func (r *run) strs(list ...*node) []string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = r.eval(n).str(r.convfmt)
	}
	return parts
}

// eval evaluates an expression.
func (r *run) eval(n *node) value {
	if n.op == "const" {
		return n.value
	}
	r.enter()
	transient := r.transient
	v := r.compute(n)
	r.transient = min(r.transient, transient+int64(len(v.s))) // the rest is garbage
	r.c.Leave(frame)
	return v
}

// compute evaluates an expression that is not constant.
func (r *run) compute(n *node) value {
	switch n.op {
	case "var":
		if n.slot == varNF && !n.local {
			r.record.splitFields()
		}
		c := r.cell(n)
		if c.array != nil {
			r.scalar(n, "")
		}
		return c.v
	case "field":
		return r.record.field(int(r.eval(n.a).num()))
	case "index":
		return r.element(n, r.subscript(n.list)).v
	case "group":
		return r.eval(n.a)
	case "regex":
		return r.match(r.literal(n), r.record.line())
	case "assign":
		v := r.eval(n.b)
		r.assign(n.a, v)
		return v
	case "update", "prefix", "postfix":
		return r.update(n)
	case "?:", "&&", "||", "unary":
		return r.logic(n)
	case "in":
		key := r.subscript(n.list)
		return boolean(r.arrayOf(n.a).has(key))
	case "~", "!~":
		v := r.eval(n.a)
		found := r.match(r.pattern(n.b), v.str(r.convfmt))
		return boolean(found.truth() == (n.op == "~"))
	case "call":
		return r.call(n)
	case "builtin":
		v := n.builtin.run(r, n.list)
		r.room(len(v.s))
		return v
	case "getline":
		return r.getline(n)
	}
	return r.binary(n)
}

// logic evaluates what depends on its first operand: "?:", "&&", "||" and signs.
func (r *run) logic(n *node) value {
	v := r.eval(n.a)
	switch {
	case n.op == "?:" && v.truth():
		return r.eval(n.b)
	case n.op == "?:":
		return r.eval(n.c)
	case n.text == "!":
		return boolean(!v.truth())
	case n.text == "-":
		return num(-v.num())
	case n.op == "unary":
		return num(v.num())
	case v.truth() == (n.op == "||"):
		return boolean(v.truth())
	}
	return boolean(r.eval(n.b).truth())
}

// element returns the element of n's array with the given key, which is a value.
func (r *run) element(n *node, key string) *entry {
	e := r.at(n, key)
	if e.sub != nil {
		r.scalar(n, key)
	}
	return e
}

func (r *run) binary(n *node) value {
	a := r.eval(n.a)
	b := r.eval(n.b)
	switch n.op {
	case "concat":
		s, t := a.str(r.convfmt), b.str(r.convfmt)
		r.room(len(s) + len(t))
		return str(s + t)
	case "<":
		return boolean(r.compare(a, b) < 0)
	case "<=":
		return boolean(r.compare(a, b) <= 0)
	case "==":
		return boolean(r.compare(a, b) == 0)
	case "!=":
		return boolean(r.compare(a, b) != 0)
	case ">":
		return boolean(r.compare(a, b) > 0)
	case ">=":
		return boolean(r.compare(a, b) >= 0)
	}
	return r.arith(n.op, a.num(), b.num())
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

func (r *run) arith(op string, a, b float64) value {
	switch op {
	case "+":
		return num(a + b)
	case "-":
		return num(a - b)
	case "*":
		return num(a * b)
	case "/":
		if b == 0 {
			r.c.Throw("division by zero attempted")
		}
		return num(a / b)
	case "%":
		if b == 0 {
			r.c.Throw("division by zero attempted in `%%'")
		}
		return num(math.Mod(a, b))
	}
	return num(math.Pow(a, b))
}

// match reports whether a pattern matches a string.
func (r *settings) match(p regex.Pattern, s string) value {
	r.room(len(s))
	return boolean(p.Match([]byte(s)))
}

// pattern is an expression used as a regular one.
func (r *run) pattern(n *node) regex.Pattern {
	if n.op == "regex" {
		return r.literal(n)
	}
	return r.regex(r.eval(n).str(r.convfmt))
}

// literal returns the pattern of a regular expression of the program.
func (r *settings) literal(n *node) regex.Pattern {
	if r.fold {
		return r.regex(n.text)
	}
	return n.expr
}

// assign sets a variable, an element or a field.
func (r *run) assign(n *node, v value) {
	switch n.op {
	case "var":
		if !n.local {
			r.setGlobal(n.slot, v)
			return
		}
		c := r.frame[n.slot]
		r.set(&c.v, &c.charged, v)
	case "index":
		e := r.element(n, r.subscript(n.list))
		r.set(&e.v, &e.charged, v)
	default:
		r.record.setField(int(r.eval(n.a).num()), v)
	}
}

// update is x += y, ++x and x++.
func (r *run) update(n *node) value {
	operand := func() (op string, by float64) {
		if n.op != "update" {
			return n.text[:1], 1
		}
		return n.text, r.eval(n.b).num()
	}
	var old, v value
	if n.a.op == "index" { // an element is found once, so that a subscript with an effect has it once
		key := r.subscript(n.a.list)
		op, by := operand()
		e := r.element(n.a, key)
		old = num(e.v.num())
		v = r.arith(op, old.n, by)
		r.set(&e.v, &e.charged, v)
	} else {
		op, by := operand()
		target := n.a
		if target.op == "field" {
			target = &node{op: "field", a: &node{op: "const", value: r.eval(target.a)}}
		}
		old = num(r.eval(target).num())
		v = r.arith(op, old.n, by)
		r.assign(target, v)
	}
	if n.op == "postfix" {
		return old
	}
	return v
}
