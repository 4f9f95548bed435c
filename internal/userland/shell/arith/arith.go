// Package arith evaluates bash's arithmetic. What it knows of the shell is its Env.
package arith

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"coderunner/internal/machine/kernel"
	"coderunner/internal/userland/shell/parse"
	"coderunner/internal/userland/shell/vars"
)

// Env is what expressions need of the shell that has them.
type Env interface {
	Variables() *vars.Vars
	// Source returns the text that is executed.
	Source() *parse.Source
	// Nounset reports whether a variable that is not set is an error.
	Nounset() bool
	// Stack bounds how deep expressions nest.
	Stack() *kernel.Stack
	// Literal expands a word, and Text what stands in double quotes.
	Literal(w *syntax.Word) (string, error)
	Text(s string) (string, error)
	// Fetch returns what name[index] stands for.
	Fetch(name string, index syntax.ArithmExpr, p *syntax.ParamExp) (vars.Value, error)
	// Key expands the subscript of an associative array.
	Key(index syntax.ArithmExpr) (string, error)
}

// Frame is what a level of an expression takes of the stack, in bytes.
const Frame = 4 << 10

const tooDeep = "expression recursion level exceeded"

// arithmetic evaluates one expression. After an error it computes nothing more.
type arithmetic struct {
	env   Env
	vars  *vars.Vars
	text  string            // for errors, or
	expr  syntax.ArithmExpr // what it is the text of
	inner string            // an operand's text that is evaluated, "" in the script itself
	deep  bool              // the stack ended it
	err   error
}

// sourceOf returns the text of a part of the expression.
func (a *arithmetic) sourceOf(x syntax.ArithmExpr) string {
	if a.inner == "" {
		return a.env.Source().Of(x)
	}
	from, to := x.Pos().Offset(), x.End().Offset()
	return a.inner[min(from, to, uint(len(a.inner))):min(to, uint(len(a.inner)))]
}

// Expression evaluates an expression of the syntax tree, nil for none.
func Expression(env Env, x syntax.ArithmExpr) (int64, error) {
	if x == nil {
		return 0, nil
	}
	a := &arithmetic{env: env, vars: env.Variables(), expr: x}
	n := a.eval(x)
	if a.err == errNotOne || a.expanded() {
		return expandedText(env, x)
	}
	return n, a.err
}

// Evaluate evaluates the text of an expression.
func Evaluate(env Env, s string) (int64, error) {
	s = trimBlanks(s)
	if s == "" {
		return 0, nil
	}
	if n, ok := decimal(s); ok {
		return n, nil
	}
	a := &arithmetic{env: env, vars: env.Variables(), text: s}
	n := a.value(s)
	return n, a.err
}

// trimBlanks leaves out the blanks around an expression. A carriage return is none.
func trimBlanks(s string) string { return strings.Trim(s, " \t\n") }

// decimal reads what most variables hold, without the parser: -5 is an expression.
func decimal(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '1' && len(digits) > 1 || digits[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// value evaluates what an operand's text is: a number, a name or an expression.
func (a *arithmetic) value(s string) int64 {
	written := strings.TrimLeft(s, " \t\n")
	s = trimBlanks(s)
	if s == "" || a.err != nil {
		return 0
	}
	if n, ok := decimal(s); ok {
		return n
	}
	if c := s[0]; '0' <= c && c <= '9' && !strings.ContainsAny(s, " \t+-*/%<>=&|^!~?:,()") {
		if n, ok := a.number(s); ok || a.err != nil {
			return n
		}
	}
	if parse.ValidName(s) {
		return a.variable(s)
	}
	if !a.env.Stack().Enter(Frame) {
		return a.overflow(s)
	}
	defer a.env.Stack().Leave(Frame)
	if a.text == "" && a.expr == nil || strings.ContainsAny(s, " \t+-*/%<>=&|^!~?:,(") {
		defer func(text string) { a.text = text }(a.text)
		a.text = written
	}
	defer func(text string) { a.inner = text }(a.inner)
	a.inner = written
	x, err := parse.Arithmetic(s)
	if errors.Is(err, parse.ErrNesting) {
		a.text = ""
		return a.overflow("")
	}
	if err != nil {
		at, _ := parse.ArithmeticError(err)
		return a.malformed(written, strings.TrimLeft(written[min(at, len(s)):], " \t\n"))
	}
	if w, ok := x.(*syntax.Word); ok {
		if p, ok := w.Parts[0].(*syntax.ParamExp); !ok || len(w.Parts) > 1 || p.Index == nil {
			return a.malformed(written, strings.TrimLeft(written[min(int(w.End().Offset()), len(s)):], " \t\n"))
		}
	}
	if end := min(int(x.End().Offset()), len(s)); trimBlanks(s[end:]) != "" { // where the parser stopped
		return a.malformed(written, strings.TrimLeft(written[end:], " \t\n"))
	}
	return a.eval(x)
}

func (a *arithmetic) variable(name string) int64 {
	s := a.vars.Get(name)
	if s == "" {
		a.bound(name)
		return 0
	}
	if !a.env.Stack().Enter(Frame) {
		return a.overflow(name)
	}
	defer a.env.Stack().Leave(Frame)
	defer func(text string) { a.text = text }(a.text)
	a.text = s
	return a.value(s)
}

// bound fails under set -u if a variable that is read has no value. An array that has
// one needs none at the index.
func (a *arithmetic) bound(name string) {
	name, _ = a.vars.Resolve(name)
	if v := a.vars.Lookup(name); a.err == nil && a.env.Nounset() && (v == nil || !v.IsSet) {
		a.err = &vars.Error{Msg: name + ": unbound variable", Fatal: true}
	}
}

func (a *arithmetic) eval(x syntax.ArithmExpr) int64 {
	if a.err != nil {
		return 0
	}
	if !a.env.Stack().Enter(Frame) {
		return a.overflow("")
	}
	defer a.env.Stack().Leave(Frame)
	switch x := x.(type) {
	case *syntax.Word:
		return a.word(x)
	case *syntax.ParenArithm:
		return a.eval(x.X)
	case *syntax.UnaryArithm:
		return a.unary(x)
	case *syntax.BinaryArithm:
		return a.binary(x)
	}
	return a.fail("syntax error in expression", "")
}

func (a *arithmetic) word(w *syntax.Word) int64 {
	if len(w.Parts) == 1 {
		switch p := w.Parts[0].(type) {
		case *syntax.Lit:
			return a.value(p.Value)
		case *syntax.ParamExp:
			if p.Short && p.Index != nil && !p.Dollar.IsValid() { // a[i]
				a.bound(p.Param.Value)
				v, err := a.env.Fetch(p.Param.Value, p.Index, p)
				a.err = cmp.Or(a.err, err)
				return a.value(strings.Join(v.Elems, " "))
			}
		}
	}
	s, err := a.env.Literal(w)
	a.err = cmp.Or(a.err, err)
	if a.err == nil && a.inner == "" && a.expr != nil && a.expr != syntax.ArithmExpr(w) && !oneOperand(s) {
		a.err = errNotOne
	}
	return a.value(s)
}

// target is what an assignment assigns to.
type target struct {
	name string
	key  string
}

// target returns the variable that an operand names, and its value where an
// assignment reads that: x[0] = 1 does not care what x[0] is.
func (a *arithmetic) target(x syntax.ArithmExpr, reads bool) (t target, old int64) {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) == 0 {
		a.fail("attempted assignment to non-variable", "=")
		return
	}
	if p, ok := w.Parts[0].(*syntax.ParamExp); ok && p.Index != nil && !p.Dollar.IsValid() {
		t.name, _ = a.vars.Resolve(p.Param.Value)
		v := a.vars.Lookup(t.name)
		if v != nil && v.Kind == vars.Associative {
			var err error
			if t.key, err = a.env.Key(p.Index); err == nil && t.key == "" {
				err = fmt.Errorf("%s[]: %w", t.name, vars.ErrSubscript)
			}
			a.err = cmp.Or(a.err, err)
		} else {
			t.key = strconv.FormatInt(a.eval(p.Index), 10)
		}
		if reads {
			a.bound(t.name)
		}
		if !reads || a.err != nil {
			return t, 0
		}
		e, err := a.vars.Element(t.name, t.key)
		a.err = cmp.Or(a.err, err)
		return t, a.value(strings.Join(e.Elems, " "))
	}
	s, err := a.env.Literal(w)
	a.err = cmp.Or(a.err, err)
	if !parse.ValidName(s) {
		a.fail("attempted assignment to non-variable", "= ")
		return
	}
	if t.name = s; reads && a.err == nil {
		old = a.variable(s)
	}
	return t, old
}

func (a *arithmetic) assign(t target, n int64) int64 {
	if a.err != nil {
		return 0
	}
	if t.key != "" {
		a.err = a.vars.SetElement(t.name, t.key, strconv.FormatInt(n, 10), false)
	} else {
		a.err = a.vars.Set(t.name, strconv.FormatInt(n, 10))
	}
	return n
}
